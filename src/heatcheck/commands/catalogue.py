"""`heatcheck list`: what is available."""

from __future__ import annotations

from typing import Annotated

from rich.table import Table
from typer import Argument

from heatcheck.console import OUT
from heatcheck.errors import InputError


def catalogue(
    what: Annotated[
        str, Argument(help="data, mock, experiments, explainers, encoders, attentions, weightings or pairings.")
    ] = "",
) -> None:
    """What is available."""
    tables = _lists()
    if what and what not in tables:
        raise InputError(f"There is no list of {what!r}. There are: {', '.join(tables)}.")
    for name, entries in tables.items():
        if what in ("", name):
            table = Table(name, "", title=None, show_header=True, box=None, pad_edge=False)
            for entry, about in entries.items():
                table.add_row(entry, about)
            OUT.print(table)
            OUT.print()


def _lists() -> dict[str, dict[str, str]]:
    from heatcheck.data.mock import SETTINGS
    from heatcheck.data.sources import SOURCES
    from heatcheck.experiments import EXPERIMENTS
    from heatcheck.explain import EXPLAINERS
    from heatcheck.explain.plugins import plugins
    from heatcheck.models.spec import ATTENTIONS, ENCODERS, PAIRINGS, WEIGHTINGS

    return {
        "data": SOURCES,
        "mock": {**SETTINGS, "for example": 'mock-5(place="start", noise=1)'},
        "experiments": {name: f"{e.question} ({e.source})" for name, e in EXPERIMENTS.items()},
        "explainers": {name: method.about for name, method in {**EXPLAINERS, **plugins(EXPLAINERS)}.items()},
        "encoders": ENCODERS,
        "attentions": ATTENTIONS,
        "weightings": WEIGHTINGS,
        "pairings": PAIRINGS,
    }
