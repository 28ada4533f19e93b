"""heatcheck: check the heatmap before you believe it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatcheck.api import Run, audit, explainer, run
    from heatcheck.attributions import Attributions

__all__ = ["Attributions", "Run", "audit", "explainer", "run"]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Import on first use: reading a report must not wait for torch."""
    if name == "__version__":
        from importlib.metadata import version

        return version("heatcheck")
    if name in __all__:
        from heatcheck import api

        return getattr(api, name)
    raise AttributeError(f"module 'heatcheck' has no attribute {name!r}")
