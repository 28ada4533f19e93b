"""docs/reproduction/paper-3.md: tables from the run folders that are there, ours beside the paper's.

TVD is the true one throughout: the paper's numbers, ½|p − q|, are doubled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from heatcheck.measure.resampling import interval
from heatcheck.reproduce.carried import NOT_YET, WITH_FULL, table_rows
from heatcheck.reproduce.lanes import Group, Lane, picture
from heatcheck.reproduce.page import Lines, against, between, heading, joined, line, number, spread
from heatcheck.reproduce.paper_3 import CASES, FULL_CASES, LSTM, MLP, MOCK, TABLES, Case
from heatcheck.reproduce.paper_3_numbers import TABLE_2, TABLE_3, Spread
from heatcheck.reproduce.paper_3_runs import Attacked, read_attacked
from heatcheck.verdict.attefa import GAVE_UP

TITLES = {"sst-full": "SST", "agnews": "AG News ¹", "imdb-paper": "IMDB"}
MODELS = {MLP: "MLP", LSTM: "LSTM"}
PART = "¹ 7,882 of the paper's 51,000 training texts are here: the row is not comparable."
AS_PUBLISHED = (
    "“So” is of AtteFa as published, which the paper's claim is about. Where adversaries gave up (relative AtteFa, "
    f"below, {number(GAVE_UP, 2)} or more), that number does not say how faithful attention is."
)
DOUBLED = "TVD is the true one; the paper prints half of it, and its numbers are doubled here."
Runs = Mapping[str, Attacked]  # by the case's name, without "-full"
EXTENSIONS = ("vectors", "temperature", "place", "strength", "encoder", "heads", "bases")
# What a variant is compared with, where that stands in table 3.
BESIDE = {
    ("vectors", "mock-1"): Case("mock-1", LSTM, ()),
    ("temperature", "mock-1"): Case("mock-1", MLP, ()),
    ("bases", "sst-full"): Case("sst-full", MLP, ()),
}


def page(out: Path) -> dict[str, str]:
    """The blocks of the page by name."""
    runs = read_runs(out)
    return joined(
        {
            "table-2": lambda: table_2(runs),
            "table-3": lambda: table_3(runs),
            "context": lambda: context(runs),
            "frequency": lambda: frequency(runs),
            "variants": lambda: variants(runs),
            "seeds": lambda: seeds(runs),
            **{name: partial(extension, runs, name) for name in EXTENSIONS},
        }
    )


def read_runs(out: Path) -> dict[str, Attacked]:
    """Of a case at both scales the paper's own is taken."""
    found = {}
    for case in (*CASES, *FULL_CASES):
        run = read_attacked(out / case.name)
        if run is not None:
            found[case.name.removesuffix("-full")] = run
    return found


def title(dataset: str) -> str:
    """
    >>> title("mock-3q"), title("sst-full")
    ('Mock-3q', 'SST')
    """
    return TITLES.get(dataset, dataset.capitalize())


def missing(dataset: str, encoder: str) -> str:
    """What to say of a row without a run."""
    planned = any((case.dataset, case.encoder, case.what) == (dataset, encoder, TABLES) for case in CASES)
    return NOT_YET if planned else WITH_FULL


def table_2(runs: Runs) -> Lines:
    columns = [f"{model}: {who}" for model in MODELS.values() for who in ("paper", "ours")]
    yield from heading("data", *columns)
    for dataset in dict.fromkeys(data for data, _ in TABLE_2):
        cells = []
        for encoder in MODELS:
            run = runs.get(f"{dataset}-{encoder}")
            printed = number(TABLE_2[dataset, encoder])
            cells += [printed, missing(dataset, encoder) if run is None else between(run.base_f1)]
        yield line(title(dataset), *cells)
    yield ""
    yield f"F1 of the base models, [95% interval over texts]. {PART}"


def table_3(runs: Runs) -> Lines:
    columns = ("epoch", "F1", "TVD", "JSD", "AtteFa")
    yield from heading("data", "model", "our seeds", *(f"{c}: {who}" for c in columns for who in ("paper", "ours")))
    for (dataset, encoder), row in TABLE_3.items():
        run = runs.get(f"{dataset}-{encoder}")
        parts = (row.epoch, row.f1, row.true_tvd, row.jsd, row.attefa)
        printed = [_printed(part, digits) for part, digits in zip(parts, (0, 3, 3, 3, 4), strict=True)]
        ours = [missing(dataset, encoder)] * 5 if run is None else _ours(run)
        cells = [cell for pair in zip(printed, ours, strict=True) for cell in pair]
        seeds = missing(dataset, encoder) if run is None else str(len(run.seeds))
        yield line(title(dataset), MODELS[encoder], seeds, *cells)
    yield ""
    yield (
        "Of the adversaries: mean ± standard deviation over seeds (the paper's: nine), of one seed the value; for "
        f"AtteFa also [95% interval: texts resampled, seeds by Student's t]. {DOUBLED} {PART}"
    )


def _printed(part: Spread, digits: int) -> str:
    return f"{number(part.mean, digits)} ± {number(part.std, digits)}"


def _ours(run: Attacked) -> list[str]:
    epochs = spread(run.epochs, 0) if run.epochs else "–"
    found = between(run.attefa, "–", 4).replace(" [", f" ± {number(float(np.std(run.by_seed)), 4)} [", 1)
    attefa = found if len(run.seeds) > 1 else between(run.attefa, "–", 4)
    return [epochs, spread(run.f1), spread(run.tvd), spread(run.jsd), attefa]


def context(runs: Runs) -> Lines:
    """Section 6.1: MLPs are more faithful than LSTMs."""
    yield from heading("data", "paper: MLP − LSTM", "ours: MLP", "LSTM", "MLP − LSTM", "MLP / LSTM", "so", "gave up")
    for dataset in dict.fromkeys(data for data, _ in TABLE_3):
        mlp, lstm = (runs.get(f"{dataset}-{encoder}") for encoder in (MLP, LSTM))
        if mlp is None or lstm is None:
            continue
        printed = TABLE_3[dataset, MLP].attefa.mean - TABLE_3[dataset, LSTM].attefa.mean
        difference = interval(mlp.drawn - lstm.drawn)
        times = f"{mlp.drawn[0] / lstm.drawn[0]:.1f}" if lstm.drawn[0] > 0 else "–"
        said = against(difference, 0, "confirmed", "refuted")
        cells = (number(float(x.drawn[0]), 4) for x in (mlp, lstm))
        gave_up = ", ".join(name for name, run in zip(MODELS.values(), (mlp, lstm), strict=True) if run.gave_up)
        yield line(title(dataset), number(printed, 4), *cells, between(difference, digits=4), times, said, gave_up)
    yield ""
    which = "AtteFa, on the same texts; [95% interval: texts resampled, seeds by Student's t; of one seed texts alone]."
    yield f"{which} {AS_PUBLISHED}"


def frequency(runs: Runs) -> Lines:
    """Section 6.2: AtteFa falls as informative words become common."""
    yield from heading("model", "data", "Spearman: paper", "ours", "first − last: paper", "ours", "so", "gave up")
    for encoder, model in MODELS.items():
        here = [name for name in MOCK if f"{name}-{encoder}" in runs]
        if len(here) < 3:
            yield line(model, *[NOT_YET] * 7)
            continue
        printed = np.array([TABLE_3[name, encoder].attefa.mean for name in here])
        found = np.stack([runs[f"{name}-{encoder}"].drawn for name in here], axis=1)
        falling, lost = interval(trend(found)), interval(found[:, 0] - found[:, -1])
        said = against(falling, 0, "refuted", "confirmed")
        theirs = (number(float(trend(printed[None])[0]), 2), number(float(printed[0] - printed[-1]), 4))
        ours = (between(falling, digits=2), between(lost, digits=4))
        gave_up = ", ".join(title(name) for name in here if runs[f"{name}-{encoder}"].gave_up)
        yield line(model, ", ".join(map(title, here)), theirs[0], ours[0], theirs[1], ours[1], said, gave_up)
    yield ""
    which = "Spearman's rank correlation of AtteFa with the number of informative words: −1 if it always falls."
    yield f"{which} {AS_PUBLISHED}"


def trend(found: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each row with its own order; 0 if all are equal.

    >>> trend(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    array([-1.,  1.,  0.])
    """
    ranks = rankdata(found, axis=1)
    order = np.arange(found.shape[1], dtype=float)
    ranks, order = ranks - ranks.mean(1, keepdims=True), order - order.mean()
    spread_of_both = np.sqrt((ranks**2).sum(1) * (order**2).sum())
    return np.asarray(ranks @ order / np.where(spread_of_both > 0, spread_of_both, 1))


def variants(runs: Runs) -> Lines:
    """Section 6.2 asks for one that accounts for the base model's own performance."""
    yield from heading("data", "model", "base F1", "published", "relative", "right")
    for dataset, encoder in TABLE_3:
        run = runs.get(f"{dataset}-{encoder}")
        if run is not None:
            found = (between(run.variant(name), "–", 4) for name in ("published", "relative", "right"))
            yield line(title(dataset), MODELS[encoder], between(run.base_f1), *found)
    yield ""
    yield (
        "AtteFa. `relative`: TVD divided by that of one who always gives the same output, the nearest to the base's "
        "(1: no closer than one who has read nothing); `right`: only texts that the base gets right."
    )


def seeds(runs: Runs) -> Lines:
    """Tables 4 and 5 and figure 1: every adversary."""
    yield from heading("data", "model", "AtteFa by seed")
    for dataset, encoder in TABLE_3:
        run = runs.get(f"{dataset}-{encoder}")
        if run is not None:
            cells = (f"{seed}: {number(value, 4)}" for seed, value in zip(run.seeds, run.by_seed, strict=True))
            yield line(title(dataset), MODELS[encoder], ", ".join(cells))


def drawn(tables: Mapping[str, str]) -> str:
    """Figure 1 as a picture, mock data too."""
    by_seed = {(data, model): values.split(", ") for data, model, values in table_rows(tables["seeds"])[1:]}
    groups = []
    for dataset in dict.fromkeys(data for data, _ in TABLE_3):
        lanes = []
        for encoder, name in MODELS.items():
            ours = [float(value.rpartition(" ")[2]) for value in by_seed.get((title(dataset), name), ())]
            lanes.append(Lane(name, ours, *TABLE_3[dataset, encoder].attefa))
        groups.append(Group(title(dataset), lanes))
    return picture(groups)


PICTURES = {"paper-3-figure-1.svg": drawn}


def extension(runs: Runs, what: str) -> Lines:
    """One row for each variant, with what it is compared with."""
    columns = ["base F1", "adversaries", "F1", "TVD", "JSD", "AtteFa", "relative"]
    columns += ["AtteFa by adversary seed", "by base seed"] if what == "bases" else []
    yield from heading("data", "encoder", *([] if what == "encoder" else [what]), *columns)
    for case in rows(what):
        run = runs.get(case.name)
        cells = [NOT_YET] * 9 if run is None else [*_measured(run), *_sources(run)]
        yield line(case.dataset, case.encoder, *_varied(case, what), *cells[: len(columns)])
    yield ""
    yield NOTES.get(
        what, "Of several adversaries mean ± standard deviation; [95% interval: texts resampled, seeds by Student's t]."
    )


NOTES = {
    "bases": "AtteFa is over all; F1, TVD and JSD are of the adversaries of the first base (seed 10). The last columns "
    "are the standard deviation (n − 1) of AtteFa by its source; that of the base without its adversaries’ part.",
    "heads": "Heads are compared after the best one-to-one matching: another order of heads counts for nothing.",
}


def _varied(case: Case, what: str) -> list[str]:
    """What tells the row from the others, if not its encoder."""
    values = {
        "vectors": case.recipe.vectors, "temperature": f"{case.temperature:g}", "heads": f"{case.heads}",
        "bases": f"{1 + len(case.bases)}",
    }  # fmt: skip
    return [] if what == "encoder" else [values.get(what, case.variant)]


def rows(what: str) -> Sequence[Case]:
    chosen = [case for case in CASES if case.what == what]
    if what == "heads":
        chosen = [case for case in CASES if (case.what, case.encoder) == ("encoder", MLP)] + chosen
    beside = [case for (kind, _), case in BESIDE.items() if kind == what]
    return [*beside, *chosen]


def _measured(run: Attacked) -> list[str]:
    n = f"{len(run.by_seed)} × {run.bases} bases" if run.bases > 1 else f"{len(run.by_seed)}"
    numbers = (spread(run.f1), spread(run.tvd), spread(run.jsd))
    found = (between(run.variant(name), "–", 4) for name in ("published", "relative"))
    return [between(run.base_f1), n, *numbers, *found]


def _sources(run: Attacked) -> list[str]:
    return [between(run.deviation(source), "–", 4) for source in ("adversary seed", "base seed")]
