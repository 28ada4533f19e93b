from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The same cases each time, and no failures because a shared machine was busy.
settings.register_profile("heatcheck", deadline=None, derandomize=True)
settings.load_profile("heatcheck")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The development data beside the repository; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"development data is not in {folder}")
    return folder
