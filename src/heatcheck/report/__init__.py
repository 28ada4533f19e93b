"""The report: one HTML file made from a run's tables, without torch and without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatcheck.report.page import render, write

__all__ = ["render", "write"]


def __getattr__(name: str) -> Any:
    """Found on first use: the command line takes small parts of this package, and should start at once."""
    if name in __all__:
        from heatcheck.report import page

        return getattr(page, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
