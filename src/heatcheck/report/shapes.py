"""The shapes that charts draw, counted over every text: histograms and violins by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatcheck.report.source import Run

Values = NDArray[np.float64]

TAU_EDGES = [round(-1 + step / 10, 1) for step in range(21)]
DISTANCE_EDGES = [round(step / 20, 2) for step in range(21)]
JSD_EDGES = [round(step / 20, 2) for step in range(15)]
ATTENTION_EDGES = [0.0, 0.25, 0.5, 0.75, 1.0]
# With fewer values a density says more than the data do: the values are drawn as dots.
FEWEST_FOR_VIOLIN = 8
_GRID = np.linspace(0, 1, 81)


def by_panel(run: Run, values: Mapping[str, float]) -> list[Values]:
    """The values sorted into the panels of predicted classes."""
    found: list[list[float]] = [[] for _ in run.panels]
    for example, value in values.items():
        found[run.panel_of[run.by_id[example]["predicted"]]].append(value)
    return [np.array(panel, dtype=np.float64) for panel in found]


def histogram(panels: Sequence[Values], edges: list[float]) -> dict[str, Any]:
    """Counts per bin, [low, high) but for the last, which is closed; values beyond the range join the outer bins."""
    inside = [np.clip(values, edges[0], edges[-1]) for values in panels]
    return {
        "edges": edges,
        "counts": [np.histogram(values, edges)[0].tolist() for values in inside],
        "mean": [round(float(values.mean()), 4) if values.size else None for values in panels],
    }


def by_attention(run: Run, values: Mapping[str, float]) -> tuple[list[list[Values]], int]:
    """The values in rows of maximum attention, each sorted into panels; and how many texts have no known maximum."""
    peaks = {example: run.by_id[example]["max_attention"] for example in values}
    known = {example: value for example, value in values.items() if peaks[example] is not None}
    rows: list[dict[str, float]] = [{} for _ in ATTENTION_EDGES[1:]]
    for example, value in known.items():
        rows[_row(peaks[example])][example] = value
    return [by_panel(run, row) for row in rows], len(values) - len(known)


def _row(peak: float) -> int:
    """The bin of a maximum attention; the page, which sees four digits, must sort texts the same way."""
    return int(np.clip(np.searchsorted(ATTENTION_EDGES, round(peak, 4), side="right") - 1, 0, len(ATTENTION_EDGES) - 2))


def violin(values: Values) -> dict[str, Any]:
    """A density of values in 0..1, with median and quartiles; or the values themselves if they are few."""
    if values.size == 0:
        return {"n": 0}
    quartiles = [round(float(value), 4) for value in np.quantile(values, (0.25, 0.5, 0.75))]
    summary = {"n": int(values.size), "quartiles": quartiles}
    if values.size < FEWEST_FOR_VIOLIN:
        return summary | {"points": sorted(values.tolist())}
    inside = (values.min() - 0.01 <= _GRID) & (values.max() + 0.01 >= _GRID)
    density = _density(values)[inside]
    return summary | {
        "grid": np.round(_GRID[inside], 4).tolist(),
        "density": np.round(density / density.max(), 3).tolist(),
    }


def _density(values: Values) -> Values:
    """Gaussian kernels of Scott's width, reflected at 0 and 1 so that no mass lies where no value can."""
    width = max(float(values.std()) * values.size ** (-1 / 5), 0.012)
    mirrored = np.concatenate([values, -values, 2 - values])
    return np.array([np.exp(-0.5 * ((point - mirrored) / width) ** 2).sum() for point in _GRID])
