"""heatcheck: check the heatmap before you believe it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatcheck.api import Run, audit, explainer, run
    from heatcheck.attributions import Attributions

__all__ = ["Attributions", "Run", "audit", "explainer", "run"]


def __getattr__(name: str) -> Any:
    """Import on first use: reading a report must not wait for torch."""
    if name in __all__:
        from heatcheck import api

        return getattr(api, name)
    raise AttributeError(f"module 'heatcheck' has no attribute {name!r}")
