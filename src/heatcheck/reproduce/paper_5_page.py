"""docs/reproduction/paper-5.md: tables from the run folders that are there, ours beside the paper's.

What has no finished run yet says so in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from heatcheck.experiments.ranking import LARGEST_DELTA
from heatcheck.reproduce.carried import NOT_YET
from heatcheck.reproduce.page import between, joined, number
from heatcheck.reproduce.paper_5_numbers import FIGURE_1, METHODS, PAIRS, TABLE_3, TABLE_4, TABLE_9, TAUS, Accuracy
from heatcheck.reproduce.paper_5_questions import question_1, question_2
from heatcheck.reproduce.paper_5_runs import Runs, average, contrast, mean_over_pairs

# Ours and the paper's data set of the same column.
DATASETS = {"imdb-240": "imdb", "sst": "sst", "mrpc": "quora", "snli": "snli"}
TITLES = {"imdb-240": "IMDb", "sst": "SST-2", "mrpc": "MRPC ²", "snli": "SNLI ¹"}
MODELS = {"bilstm": "BiLSTM", "minilm": "MiniLM ³"}
LABELS = {
    "attention": "attention",
    "lime": "LIME",
    "integrated_gradients": "Int-Grad",
    "deep_lift": "DeepLIFT",
    "deep_lift_captum": "DeepLIFT (Captum's)",
    "gradient_shap": "Grad-SHAP",
    "deep_shap": "Deep-SHAP",
    "flow": "flow",
}
ATTRIBUTIONS = METHODS[1:]
SHARE = (0, 1)
NOTES = (
    "¹ 18,000 of SNLI's 549,367 training pairs are here: accuracies are not comparable. "
    "² MRPC; the paper's numbers beside it are Quora's. ³ Our MiniLM; the paper's numbers beside it are DistilBERT's. "
    "† Misses the sum it promises by more than 5% (see Completeness): compared, but not to be ranked."
)


def page(out: Path, kept: Path | None = None) -> dict[str, str]:
    """The blocks of the page by name. In `kept` are the numbers of runs on any machine; those of the runs here join."""
    runs = Runs(out, kept)
    runs.keep()
    blocks: dict[str, Callable[[], Iterator[str]]] = {
        "runs": lambda: there(runs),
        "tables-3-9": lambda: tables_3_9(runs),
        "table-2": lambda: taus(runs, "bilstm"),
        "table-1": lambda: taus(runs, "minilm", marks=True),
        "table-1-words": lambda: taus(runs, "minilm"),
        "table-4": lambda: table_4(runs),
        "figure-1": lambda: figure_1(runs),
        "question-1": lambda: question_1(runs, DATASETS, TITLES),
        "question-2": lambda: question_2(runs, DATASETS, TITLES),
        "completeness": lambda: completeness(runs),
    }
    return joined(blocks)


def named(method: str, runs: Runs, model: str) -> str:
    """Marked if on some data set the median text's scores miss their sum by more than a ranked method's may."""
    missed = [runs.deltas(dataset, model).get(method, 0.0) for dataset in DATASETS]
    return LABELS[method] + (" †" if max(missed) > LARGEST_DELTA else "")


def there(runs: Runs) -> Iterator[str]:
    """Which rows exist."""
    yield "| data | model | trained with softmax: seeds | with uniform: seeds | explained: texts of each seed |"
    yield "|---|---|---|---|---|"
    for dataset in DATASETS:
        for model, title in MODELS.items():
            seeds = [", ".join(map(str, runs.right(dataset, model, w))) or NOT_YET for w in ("softmax", "uniform")]
            texts = ", ".join(str(len(table)) for table in runs.taus(dataset, model, marks=True)) or NOT_YET
            yield f"| {TITLES[dataset]} | {title} | {' | '.join(seeds)} | {texts} |"
    yield ""
    yield NOTES


def tables_3_9(runs: Runs) -> Iterator[str]:
    yield (
        "| data | model | uniform: paper | ours | softmax: paper | ours | softmax − uniform: paper | ours "
        "| validation, softmax: paper | ours |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for dataset, theirs in DATASETS.items():
        for model, title in MODELS.items():
            cells = [_accuracy_cells(runs, dataset, model, w, theirs) for w in ("uniform", "softmax")]
            difference = TABLE_3[theirs, model, "softmax"].mean - TABLE_3[theirs, model, "uniform"].mean
            validation = TABLE_9[theirs, model]
            ours = runs.right(dataset, model, "softmax", "dev")
            yield (
                f"| {TITLES[dataset]} | {title} | {cells[0]} | {cells[1]} | {number(difference)} "
                f"| {_paired(runs, dataset, model)} | {_percent(validation)} | {_accuracy(ours)} |"
            )
    yield ""
    yield (
        "Accuracy on the whole test set, mean ± standard deviation over seeds (of one seed the mean alone); the "
        "difference is of the same seeds and texts, [95% interval: texts resampled, seeds by Student's t]."
    )


def _accuracy_cells(runs: Runs, dataset: str, model: str, weighting: str, theirs: str) -> str:
    printed = TABLE_3[theirs, model, weighting]
    return f"{number(printed.mean)} ± {number(printed.std)} | {_accuracy(runs.right(dataset, model, weighting))}"


def _percent(printed: Accuracy) -> str:
    return f"{number(printed.mean / 100)} ± {number(printed.std / 100)}"


def _accuracy(by_seed: dict[int, pd.Series]) -> str:
    means = [float(right.mean()) for right in by_seed.values()]
    if not means:
        return NOT_YET
    return number(float(np.mean(means))) + (f" ± {number(float(np.std(means)))}" if len(means) > 1 else "")


def _paired(runs: Runs, dataset: str, model: str) -> str:
    softmax, uniform = (runs.right(dataset, model, w) for w in ("softmax", "uniform"))
    differences = [(softmax[s] - uniform[s]).to_numpy(dtype=float) for s in softmax if s in uniform]
    return between(contrast((1, differences))) if differences else NOT_YET


def shown_pairs() -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Our pairs of methods, each with the paper's: Captum's DeepLIFT is compared with the same numbers again."""
    for pair in PAIRS:
        yield pair, pair
        if "deep_lift" in pair:
            first, second = (name.replace("deep_lift", "deep_lift_captum") for name in pair)
            yield (first, second), pair


def taus(runs: Runs, model: str, *, marks: bool = False) -> Iterator[str]:
    """Tables 1 and 2, a row for each two methods."""
    tables = {dataset: runs.taus(dataset, model, marks=marks) for dataset in DATASETS}
    heads = " | ".join(f"{TITLES[d]}: paper | ours" for d in DATASETS)
    yield f"| methods | {heads} |"
    yield "|---|" + "---|---|" * len(DATASETS)
    for pair, printed in shown_pairs():
        cells = (
            f"{number(TAUS[model][theirs][printed])} | {cell(tables[ours], pair)}" for ours, theirs in DATASETS.items()
        )
        yield f"| {' – '.join(named(name, runs, model) for name in pair)} | {' | '.join(cells)} |"
    yield ""
    yield "Mean Kendall τ-b over texts and seeds, [95% interval: texts resampled, seeds by Student's t, cut at ±1]."


def cell(tables: Sequence[pd.DataFrame], pair: tuple[str, str]) -> str:
    return between(average(mean_over_pairs(tables, [pair]))) if tables else NOT_YET


def table_4(runs: Runs) -> Iterator[str]:
    """Flow, with the row that the paper had to leave out."""
    heads = " | ".join(f"{named(name, runs, 'minilm')}: paper | ours" for name in ATTRIBUTIONS)
    yield f"| data | {heads} | rollout: ours |"
    yield "|---|" + "---|---|" * len(ATTRIBUTIONS) + "---|"
    for marks in (True, False):
        for dataset, theirs in DATASETS.items():
            tables = runs.taus(dataset, "minilm", marks=marks)
            printed = [number(x) for x in TABLE_4[theirs]] if theirs in TABLE_4 else ["unfeasible"] * len(ATTRIBUTIONS)
            cells = [
                f"{paper if marks else ''} | {cell(tables, (name, 'flow'))}"
                for paper, name in zip(printed, ATTRIBUTIONS, strict=True)
            ]
            where = TITLES[dataset] if marks else f"{TITLES[dataset]}, words only"
            yield f"| {where} | {' | '.join(cells)} | {cell(tables, ('attention', 'flow'))} |"
    yield ""
    yield "Mean Kendall τ-b of attention flow with each method, MiniLM ³."


def figure_1(runs: Runs) -> Iterator[str]:
    yield (
        "| data | model | texts | mean [95% interval] | lowest tenth below | median | highest tenth above "
        "| texts below .1 | two methods' highest quarters share |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for dataset in DATASETS:
        for model, title in MODELS.items():
            for marks in (False,) if model == "bilstm" else (True, False):
                where = f"{TITLES[dataset]} | {title}" + (", marks ranked too" if marks else "")
                yield f"| {where} | {_of_a_text(runs, dataset, model, marks)} |"
    yield f"| SST-2 | *paper, one text, DistilBERT* | 1 | {number(FIGURE_1['sst'])} |  |  |  |  |  |"
    yield f"| MNLI | *paper, one text, DistilBERT* | 1 | {number(FIGURE_1['mnli'])} |  |  |  |  |  |"
    yield ""
    yield "Each text's mean τ over the 15 pairs of the paper's six methods (DeepLIFT: the complete one)."


def _of_a_text(runs: Runs, dataset: str, model: str, marks: bool) -> str:
    tables = runs.taus(dataset, model, marks=marks)
    if not tables:
        return " | ".join([NOT_YET] * 7)
    samples = mean_over_pairs(tables, PAIRS)
    joined = np.concatenate(samples)
    low, middle, high = (number(float(x)) for x in np.quantile(joined, [0.1, 0.5, 0.9]))
    below = [(values < 0.1).astype(float) for values in samples]
    # The run itself measured the overlap: for a transformer with the marks.
    same_words = marks or model == "bilstm"
    shared = between(average(mean_over_pairs(runs.overlaps(dataset, model), PAIRS), SHARE)) if same_words else ""
    cells = (f"{len(joined):,}", between(average(samples)), low, middle, high, between(average(below, SHARE)))
    return " | ".join((*cells, shared))


def completeness(runs: Runs) -> Iterator[str]:
    names = ("integrated_gradients", "deep_lift", "deep_lift_captum", "gradient_shap", "deep_shap")
    yield f"| data | model | {' | '.join(LABELS[name] for name in names)} |"
    yield "|---|---|---|---|---|---|---|"
    for dataset in DATASETS:
        for model, title in MODELS.items():
            found = runs.deltas(dataset, model)
            cells = (f"{found[name]:.1%}" if name in found else NOT_YET for name in names)
            yield f"| {TITLES[dataset]} | {title} | {' | '.join(cells)} |"
    yield ""
    yield "Median over texts of |sum of scores − promised sum| as a share of the promised sum. Above 5%: †."
