"""docs/reproduction/paper-2.md: tables from the run folders that are there, ours beside the paper's.

TVD is the true one throughout: the paper's numbers, ½|p − q|, are doubled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.measure.intervals import Interval, bootstrap
from heatcheck.measure.resampling import interval, over_models
from heatcheck.reproduce.page import (
    NOT_YET,
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
from heatcheck.reproduce.paper_2 import APART, CASES, FULL_CASES, IMDB, SST
from heatcheck.reproduce.paper_2_numbers import GUIDE, TABLE_2, TABLE_3, TABLE_4, TABLE_5

TITLES = {"sst": "SST", "imdb-paper": "IMDB", "agnews": "AG News ¹"}
SWEPT = (SST, IMDB)
GUIDES = {"uniform": "uniform", "mlp": "trained MLP", "base": "base LSTM", "adversary": f"adversary, λ = {GUIDE}"}
MARGIN = 0.01  # of F1: what needs attention loses more than a point without it
BINS = ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))
PART = "¹ 7,882 of the paper's 60,000 training texts are here: the row is not comparable."
BOTH = ("jsd", "tvd")
DOUBLED = "TVD is the true one; the paper prints half of it, and its numbers are doubled here."
Runs = Mapping[str, Finished]


def page(out: Path) -> dict[str, str]:
    """The blocks of the page by name."""
    runs = read_runs(out)
    return joined(
        {
            "table-2": lambda: table_2(runs),
            "figure-3": lambda: figure_3(runs),
            "table-3": lambda: table_3(runs),
            "guides": lambda: guides(runs),
            "table-4": lambda: table_4(runs),
            "table-5": lambda: table_5(runs),
            "figure-5": lambda: figure_5(runs),
            "figure-6": lambda: figure_6(runs),
            "apart": lambda: apart(read_finished(out / APART.name)),
        }
    )


def read_runs(out: Path) -> dict[str, Finished]:
    """By data set; of one at both scales the paper's own is taken."""
    cases = (case for case in (*CASES, *FULL_CASES) if case is not APART)
    return {case.dataset: run for case in cases if (run := read_finished(out / case.name)) is not None}


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
        "F1 [95% interval: texts and seeds resampled]. Attention is needed if the difference is above one point, not "
        f"needed if it is below. {PART}"
    )


def _performance(run: Finished) -> list[str]:
    base = run.find("uniform_f1", subject="base")
    both = [run.find("uniform_f1", subject=name, reference="all seeds") for name in ("attention", "uniform")]
    lost = run.find("uniform_f1_difference")
    return [*(between(found) for found in (base, *both, lost)), against(lost, MARGIN, "needed", "not needed")]


def figure_3(runs: Runs) -> Lines:
    """Seeds beside paper 1's adversary: medians by bins of maximum attention instead of violins."""
    bins = (f"max α in [{low:g}, {min(high, 1):g}{')' if high < 1 else ']'}" for low, high in BINS)
    yield from heading("data", "predicted class", "attention of", "all texts", *bins)
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
        "text's mean. Paper 1's adversary is the exact one (ε = .01)."
    )


def _by_attention(run: Finished, label: str, measure: str) -> list[str]:
    values = run.texts(measure).groupby(level=0).mean()
    examples = run.examples.set_index("example_id").loc[values.index]
    values, most = values[examples["predicted"] == label], examples["max_attention"][examples["predicted"] == label]
    return [_median(values), *(_median(values[(most >= low) & (most < high)]) for low, high in BINS)]


def _median(values: pd.Series) -> str:
    if not len(values):
        return "–"
    return f"{between(bootstrap(values.to_numpy(dtype=float), np.median, seed=0))} ({len(values):,})"


def table_3(runs: Runs) -> Lines:
    yield from heading("guide", *(f"{TITLES[d]}: {who}" for d in SWEPT for who in ("paper", "ours", "ours − uniform")))
    for guide, title in GUIDES.items():
        cells = []
        for dataset in SWEPT:
            cells += [number(TABLE_3[dataset][guide]), *_guided(runs.get(dataset), guide)]
        yield line(title, *cells)
    yield ""
    yield "F1 of the MLP, [95% interval: texts and 3 seeds resampled]."


def _guided(run: Finished | None, guide: str) -> tuple[str, str]:
    if run is None:
        return NOT_YET, NOT_YET
    f1 = run.find("guided_f1", subject=guide, reference="all seeds")
    return between(f1), between(run.find("guided_f1_difference", subject=guide), "")


CLAIMS = (
    ("mlp", "uniform", "weights that the MLP learns are better than none"),
    ("base", "mlp", "the LSTM's weights are better than those that the MLP learns"),
    ("base", "adversary", "adversaries make poor guides"),
)


def guides(runs: Runs) -> Lines:
    """What the paper concludes from table 3, each as a difference."""
    yield from heading(
        "the paper says", "difference in F1", *(f"{TITLES[d]}: {w}" for d in SWEPT for w in ("paper", "ours", "so"))
    )
    for better, worse, claim in CLAIMS:
        cells = []
        for dataset in SWEPT:
            printed = TABLE_3[dataset][better] - TABLE_3[dataset][worse]
            found = gain(runs[dataset], better, worse) if dataset in runs else None
            cells += [number(printed), between(found), against(found, 0, "confirmed", "refuted")]
        yield line(claim, f"{GUIDES[better]} − {GUIDES[worse]}", *cells)
    yield ""
    yield "[95% interval: texts and 3 seeds resampled.] Confirmed above 0, refuted below; “cannot tell” if 0 is inside."


def gain(run: Finished, better: str, worse: str) -> Interval | None:
    """Difference in F1 on the same texts; the seeds of each are drawn by themselves."""
    f1 = models_f1(run, "guided_mlp")
    seeds = [[values for (name, _), values in f1.items() if name.startswith(f"{guide}, ")] for guide in (better, worse)]
    if not all(seeds):
        return None
    drawn = [over_models(np.stack(values, axis=1), seed=number) for number, values in enumerate(seeds)]
    return interval(drawn[0] - drawn[1])


def models_f1(run: Finished, experiment: str) -> Mapping[tuple[str, float | None], np.ndarray]:
    """F1 of each model of an experiment, for the texts and for resamples of them."""
    rows = run.scores[run.scores["example_id"].notna() & (run.scores["experiment"] == experiment)]
    truth = run.examples.set_index("example_id")["label"].map(run.labels.index)
    return Texts(rows, truth, run.labels, seed=0).f1 if len(rows) else {}


def sweep(run: Finished) -> list[float]:
    """The λ that were trained."""
    here = run.scores[(run.scores["measure"] == "trained_adversary_jsd") & run.scores["example_id"].isna()]
    return sorted(here["at"].dropna().unique())


def at_lambda(run: Finished, weight: float, group: str | None = None) -> list[Interval | None]:
    """F1, TVD and JSD of the first adversary. F1 is of all classes."""
    found = [run.find("trained_adversary_f1", at=weight)]
    return [*found, *(run.find(f"trained_adversary_{m}", at=weight, group=group) for m in ("tvd", "jsd"))]


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
    found = [Mark("other seeds ▲", *(run.find(f"seed_{m}", reference="all seeds") for m in BOTH))]
    for name in sorted(uniform["reference"].unique()):
        found.append(Mark(f"{name} ■", *(run.find(f"uniform_{m}", reference=name) for m in BOTH)))
    found.append(Mark("paper 1's adversary +", *(run.find(f"adversarial_{m}") for m in BOTH)))
    for weight in sweep(run):
        found.append(Mark(f"adversary, λ = {weight:g} ●", *reversed(at_lambda(run, weight)[1:])))
    return found


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
    if run is None:
        yield line(*[NOT_YET] * 6)
        return
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
    yield ""
    yield f"SST, λ = {GUIDE}, one seed; [95% interval over texts]."
