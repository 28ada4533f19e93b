from __future__ import annotations

from pathlib import Path

import pytest

from heatcheck import report

from .sample import write_sample


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def page(run_folder: Path) -> str:
    return report.render(run_folder)
