"""docs/reproduction/paper-1.md from the run folders that are there."""

from __future__ import annotations

from pathlib import Path


def page(out: Path) -> str:
    return ""
