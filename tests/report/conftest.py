from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heatcheck import report

from .browser import ARGUMENTS, CHROMIUM
from .sample import write_sample


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def page(run_folder: Path) -> str:
    return report.render(run_folder)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once for all tests of a process."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield launched
        launched.close()
