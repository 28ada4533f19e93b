"""docs/reproduction/paper-2.md: tables from the run folders that are there, ours beside the paper's.

TVD is the true one throughout: the paper's numbers, ½|p − q|, are doubled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from heatcheck.measure.intervals import Interval
from heatcheck.measure.resampling import interval, over_models
from heatcheck.reproduce.carried import NOT_YET
from heatcheck.reproduce.page import (
    Finished,
    Lines,
    against,
    between,
    heading,
    joined,
    line,
    number,
    read_finished,
)
from heatcheck.reproduce.paper_2 import APART, FAR_GUIDES
from heatcheck.reproduce.paper_2_figures import apart, drawn, figure_3, figure_5, figure_6
from heatcheck.reproduce.paper_2_numbers import GUIDE, TABLE_2, TABLE_3, TABLE_4, TABLE_5
from heatcheck.reproduce.paper_2_runs import SWEPT, TITLES, Runs, at_lambda, models_f1, read_guided, read_runs
from heatcheck.results import ALL_SEEDS

Guided = Mapping[tuple[str, float], Finished]  # by data set and λ
FAR_ONE = "far adversary"
GUIDES = {
    "uniform": "uniform",
    "mlp": "trained MLP",
    "base": "base LSTM",
    "adversary": f"adversary, λ = {GUIDE}",
    FAR_ONE: "adversary that is far ²",
}
MARGIN = 0.01  # of F1: what needs attention loses more than a point without it
PART = "¹ 7,882 of the paper's 60,000 training texts are here: the row is not comparable."
PICTURES = {"paper-2-figure-5.svg": drawn}
DOUBLED = "TVD is the true one; the paper prints half of it, and its numbers are doubled here."


def page(out: Path) -> dict[str, str]:
    """The blocks of the page by name."""
    runs, guided = read_runs(out), read_guided(out)
    return joined(
        {
            "table-2": lambda: table_2(runs),
            "figure-3": lambda: figure_3(runs),
            "table-3": lambda: table_3(runs, guided),
            "guides": lambda: guides(runs, guided),
            "table-4": lambda: table_4(runs),
            "table-5": lambda: table_5(runs),
            "figure-5": lambda: figure_5(runs),
            "figure-6": lambda: figure_6(runs),
            "apart": lambda: apart(read_finished(out / APART.name)),
        }
    )


def table_2(runs: Runs) -> Lines:
    yield from heading(
        "data", "attention: paper 1", "paper 2", "ours, base", "ours, 4 seeds", "uniform: paper 2", "ours, 3 seeds",
        "difference: paper 2", "ours", "needed?",
    )  # fmt: skip
    for dataset, printed in TABLE_2.items():
        theirs = (number(printed.reported, 2), number(printed.reproduced))
        ours = _performance(runs[dataset]) if dataset in runs else [NOT_YET] * 5
        lost = number(printed.reproduced - printed.uniform)
        yield line(TITLES[dataset], *theirs, *ours[:2], number(printed.uniform), ours[2], lost, *ours[3:])
    yield ""
    yield (
        "F1 [95% interval: texts resampled, seeds by Student's t]. Attention is needed if the difference is above one "
        f"point, not needed if it is below. {PART}"
    )


def _performance(run: Finished) -> list[str]:
    base = run.find("uniform_f1", subject="base")
    both = [run.find("uniform_f1", subject=name, reference=ALL_SEEDS) for name in ("attention", "uniform")]
    lost = run.find("uniform_f1_difference")
    return [*(between(found) for found in (base, *both, lost)), against(lost, MARGIN, "needed", "not needed")]


def table_3(runs: Runs, guided: Guided) -> Lines:
    yield from heading("guide", *(f"{TITLES[d]}: {who}" for d in SWEPT for who in ("paper", "ours", "ours − uniform")))
    for guide, title in GUIDES.items():
        cells = []
        for dataset in SWEPT:
            printed = "" if guide == FAR_ONE else number(TABLE_3[dataset][guide])
            cells += [printed, *_guided(guided_run(runs, guided, dataset, guide), guide)]
        yield line(title, *cells)
    yield ""
    which = " and ".join(f"λ = {weight:g} on {TITLES[dataset]}" for dataset, weight in FAR_GUIDES.items())
    yield f"F1 of the MLP, [95% interval: texts resampled, 3 seeds by Student's t]. ² {which}."


def guided_run(runs: Runs, guided: Guided, dataset: str, guide: str) -> Finished | None:
    """The run that has this guide; of adversaries a run has one."""
    weights = {"adversary": GUIDE, FAR_ONE: FAR_GUIDES[dataset]}
    return guided.get((dataset, weights[guide])) if guide in weights else runs.get(dataset)


def _guided(run: Finished | None, guide: str) -> tuple[str, str]:
    if run is None:
        return NOT_YET, NOT_YET
    subject = "adversary" if guide == FAR_ONE else guide
    f1 = run.find("guided_f1", subject=subject, reference=ALL_SEEDS)
    return between(f1), between(run.find("guided_f1_difference", subject=subject), "")


CLAIMS = (
    ("mlp", "uniform", "weights that the MLP learns are better than none"),
    ("base", "mlp", "the LSTM's weights are better than those that the MLP learns"),
    ("base", "adversary", "the LSTM's weights are better than an adversary's"),
    ("uniform", "adversary", "adversaries make poor guides: worse than none"),
    ("uniform", FAR_ONE, "those that are far do (our question)"),
)


def guides(runs: Runs, guided: Guided) -> Lines:
    """What the paper concludes from table 3, each as a difference."""
    yield from heading(
        "the paper says", "difference in F1", *(f"{TITLES[d]}: {w}" for d in SWEPT for w in ("paper", "ours", "so"))
    )
    for better, worse, claim in CLAIMS:
        cells = []
        for dataset in SWEPT:
            printed = "" if worse == FAR_ONE else number(TABLE_3[dataset][better] - TABLE_3[dataset][worse])
            run = guided_run(runs, guided, dataset, worse)
            found = gain(run, better, "adversary" if worse == FAR_ONE else worse) if run else None
            so = NOT_YET if found is None else against(found, 0, "confirmed", "refuted")
            cells += [printed, between(found), so]
        yield line(claim, f"{GUIDES[better]} − {GUIDES[worse]}", *cells)
    yield ""
    yield (
        "[95% interval: texts resampled, 3 seeds by Student's t.] Confirmed above 0, refuted below; “cannot tell” if 0 "
        "is inside."
    )


def gain(run: Finished, better: str, worse: str) -> Interval | None:
    """Difference in F1 on the same texts; the seeds of each are drawn by themselves. The run has those to no guide."""
    if worse == "uniform":
        return run.find("guided_f1_difference", subject=better)
    if better == "uniform":
        found = run.find("guided_f1_difference", subject=worse)
        if found is None or found.low is None or found.high is None:
            return None
        return Interval(-found.value, -found.high, -found.low)
    f1 = models_f1(run, "guided_mlp")
    seeds = [[values for (name, _), values in f1.items() if name.startswith(f"{guide}, ")] for guide in (better, worse)]
    if not all(seeds):
        return None
    drawn = [over_models(np.stack(values, axis=1), seed=number) for number, values in enumerate(seeds)]
    return interval(drawn[0] - drawn[1])


def table_4(runs: Runs) -> Lines:
    columns = ("λ", "F1", "TVD", "JSD")
    yield from heading("data", *(f"{who}{c}" for who in ("paper: ", "ours: ") for c in columns))
    for dataset, weight in TABLE_4.items():
        theirs = TABLE_5[dataset][weight]
        printed = (f"{weight:g}", number(theirs.f1), number(theirs.true_tvd), number(theirs.jsd))
        yield line(TITLES[dataset], *printed, *(_best(runs[dataset]) if dataset in runs else [NOT_YET] * 4))
    yield ""
    yield f"The adversary with the highest F1 among those with a mean JSD above .4. {DOUBLED}"


def _best(run: Finished) -> list[str]:
    rows = run.scores[(run.scores["measure"] == "trained_adversary_best_f1")].dropna(subset=["value"])
    if not len(rows):
        return ["none is that far", "–", "–", "–"]
    weight = float(rows.iloc[0]["at"])
    return [f"{weight:g}", *(between(found) for found in at_lambda(run, weight))]


def table_5(runs: Runs) -> Lines:
    yield from heading("data", "λ", *(f"{m}: {who}" for m in ("F1", "TVD", "JSD") for who in ("paper", "ours")))
    for dataset in SWEPT:
        run = runs.get(dataset)
        for weight, theirs in TABLE_5[dataset].items():
            ours = (
                ["" if found is None else between(found) for found in at_lambda(run, weight)] if run else [NOT_YET] * 3
            )
            printed = [number(x) for x in (theirs.f1, theirs.true_tvd, theirs.jsd)]
            cells = [cell for pair in zip(printed, ours, strict=True) for cell in pair]
            yield line(TITLES[dataset], f"{weight:g}", *cells)
    yield ""
    yield f"One seed; [95% interval over texts]. Empty: not among ours. {DOUBLED}"
