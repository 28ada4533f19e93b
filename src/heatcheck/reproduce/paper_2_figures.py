"""Paper 2's figures as tables, and Figure 5 as a picture too.

Adversaries that are far from each other, which the paper names as future work, are here as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heatcheck.measure.intervals import Interval
from heatcheck.reproduce.carried import NOT_YET, table_rows
from heatcheck.reproduce.page import (
    BIN_HEADS,
    Finished,
    Lines,
    between,
    first_number,
    heading,
    line,
    median,
    medians_by_attention,
)
from heatcheck.reproduce.paper_2 import APART
from heatcheck.reproduce.paper_2_numbers import TABLE_5
from heatcheck.reproduce.paper_2_runs import SWEPT, TITLES, Runs, at_lambda, sweep
from heatcheck.reproduce.plane import Panel, Point, picture
from heatcheck.results import ALL_SEEDS

BOTH = ("jsd", "tvd")
SIGNS = ("▲", "■", "+", "●")  # at the end of a mark's name


def figure_3(runs: Runs) -> Lines:
    """Seeds beside paper 1's adversary: medians by bins of maximum attention instead of violins."""
    yield from heading("data", "predicted class", "attention of", "all texts", *BIN_HEADS)
    for dataset in SWEPT:
        run = runs.get(dataset)
        if run is None:
            yield line(TITLES[dataset], *[NOT_YET] * 7)
            continue
        for label in run.labels:
            for name, measure in (("other seeds", "seed_jsd"), ("paper 1's adversary", "adversarial_jsd")):
                yield line(TITLES[dataset], label, name, *_by_attention(run, label, measure))
    yield ""
    yield (
        "Median JSD to the base model's attention, [95% interval over texts] and number of texts; of other seeds each "
        "text's largest, as in the paper. Paper 1's adversary is the exact one (ε = .01)."
    )


def _by_attention(run: Finished, label: str, measure: str) -> list[str]:
    values = run.texts(measure).groupby(level=0).max()
    examples = run.examples.set_index("example_id").loc[values.index]
    values, most = values[examples["predicted"] == label], examples["max_attention"][examples["predicted"] == label]
    return [median(values), *medians_by_attention(values, most)]


def figure_5(runs: Runs) -> Lines:
    """Every mark of the figure as a row; the curve is in table 5."""
    yield from heading("data", "mark", "mean JSD", "mean TVD")
    for dataset in SWEPT:
        if dataset not in runs:
            yield line(TITLES[dataset], *[NOT_YET] * 3)
            continue
        run = runs[dataset]
        for name, jsd, tvd in marks(run):
            yield line(TITLES[dataset], name, between(jsd, "–"), between(tvd, "–"))
        height = between(run.find("trained_adversary_area"), "–")
        yield line(TITLES[dataset], "*mean height of the curve*", "", height)
    yield ""
    yield (
        "[95% interval over texts; of several seeds over both.] The height is the area under the curve of TVD over JSD "
        "from the base model (0, 0) to the farthest adversary, divided by that distance: 0 if lying costs nothing."
    )


class Mark(NamedTuple):
    name: str
    jsd: Interval | None
    tvd: Interval | None


def marks(run: Finished) -> list[Mark]:
    """The points of the figure, by growing λ for the curve."""
    uniform = run.scores[(run.scores["measure"] == "uniform_jsd") & run.scores["example_id"].isna()]
    found = [Mark("other seeds ▲", *(run.find(f"seed_{m}", reference=ALL_SEEDS) for m in BOTH))]
    for name in sorted(uniform["reference"].unique()):
        found.append(Mark(f"{name} ■", *(run.find(f"uniform_{m}", reference=name) for m in BOTH)))
    found.append(Mark("paper 1's adversary +", *(run.find(f"adversarial_{m}") for m in BOTH)))
    for weight in sweep(run):
        found.append(Mark(f"adversary, λ = {weight:g} ●", *reversed(at_lambda(run, weight)[1:])))
    return found


def drawn(tables: Mapping[str, str]) -> str:
    """The same table as a picture, with the paper's curve."""
    panels = []
    for dataset in SWEPT:
        found = [row for row in table_rows(tables["figure-5"]) if row[0] == TITLES[dataset] and row[1].endswith(SIGNS)]
        points = [(name[-1], Point(*map(first_number, values))) for _, name, *values in found if "–" not in values]
        panels.append(
            Panel(
                TITLES[dataset],
                [point for sign, point in points if sign == "●"],
                [Point(theirs.jsd, theirs.true_tvd) for theirs in TABLE_5[dataset].values()],
                [(sign, point) for sign, point in points if sign != "●"],
            )
        )
    return picture(panels)


def figure_6(runs: Runs) -> Lines:
    yield from heading("data", "λ", *(f"{which} class: {m}" for which in ("first", "second") for m in ("TVD", "JSD")))
    for dataset in SWEPT:
        run = runs.get(dataset)
        for weight in sweep(run) if run else ():
            groups: Sequence[str] = run.labels if run else ()
            cells = (
                [between(found, "–") for group in groups for found in at_lambda(run, weight, group)[1:]] if run else []
            )
            yield line(TITLES[dataset], f"{weight:g}", *cells)
        if run is None:
            yield line(TITLES[dataset], *[NOT_YET] * 5)
    yield ""
    yield "By predicted class: first is negative, second positive. [95% interval over texts.]"


def apart(run: Finished | None) -> Lines:
    """Adversaries of one λ that are far from the base and from each other: the paper's future work."""
    yield from heading("adversary", "F1", "TVD to base", "JSD to base", "JSD to number 1", "JSD to number 2")
    yield from [line(*[NOT_YET] * 6)] if run is None else _each_apart(run)
    yield ""
    yield f"SST, λ = {APART.lambdas[0]:g}, one seed; [95% interval over texts]."


def _each_apart(run: Finished) -> Lines:
    settings = run.scores[run.scores["measure"] == "trained_adversary_jsd"]["setting"].unique()
    for place, setting in enumerate(sorted(settings), start=1):
        own = [
            run.find("trained_adversary_f1", subject=setting),
            *(run.find(f"trained_adversary_{m}", setting=setting) for m in ("tvd", "jsd")),
        ]
        others = [
            run.find("trained_adversary_apart", subject=f"number {k}", reference=f"number {place}") for k in (1, 2)
        ]
        yield line(f"number {place}", *(between(f, "–") for f in own), *(between(f, "") for f in others))
