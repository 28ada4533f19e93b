"""A file that arrived with another package. Found through that package's list of files: importing it may run much code
or need more packages."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from heatcheck.errors import InputError

PACKAGED = "'heatcheck[packaged]'"


def installed_file(package: str, name: str, *, what: str, otherwise: str, install: str = PACKAGED) -> Path:
    """`what`, `otherwise` and `install` are for the sentence if it is not there."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name and (path := Path(str(file.locate()))).is_file():
            return path
    raise InputError(f"{what} not installed. Run: pip install {install}, or {otherwise}.")
