"""Paper 5's two questions as tests: does agreement depend on the model (RQ1), does it on the kind of task (RQ2)?

An interval over models and texts says whether these models on these data sets differ. Whether models or tasks of these
kinds differ is a question about data sets, of which there are few: an exact test has the data set as its unit, for our
numbers and for the paper's. With so few it cannot be significant, whatever the numbers are, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from heatcheck.measure.intervals import Interval
from heatcheck.reproduce.carried import NOT_YET
from heatcheck.reproduce.page import between, number
from heatcheck.reproduce.paper_5_numbers import METHODS, PAIR, PAIRS, SINGLE, TAUS
from heatcheck.reproduce.paper_5_runs import Runs, Samples, contrast, mean_over_pairs

# With attention in them or not: the paper's conclusions are about both kinds.
WITH_ATTENTION = tuple(pair for pair in PAIRS if METHODS[0] in pair)
WITHOUT = tuple(pair for pair in PAIRS if METHODS[0] not in pair)
KINDS = {"attention with the five attributions": WITH_ATTENTION, "the attributions with each other": WITHOUT}


def question_1(runs: Runs, datasets: Mapping[str, str], titles: Mapping[str, str]) -> Iterator[str]:
    """BiLSTM − transformer, data set by data set."""
    yield f"| data | {' | '.join(f'{kind}: paper | ours' for kind in KINDS)} |"
    yield "|---|---|---|---|---|"
    for ours, theirs in datasets.items():
        cells = (
            f"{number(_printed_difference(theirs, pairs))} | {_between_models(runs, [ours], pairs)}"
            for pairs in KINDS.values()
        )
        yield f"| {titles[ours]} | {' | '.join(cells)} |"
    for named, marks in (("mean of these", False), ("mean of these, marks ranked too", True)):
        yield f"| *{named}* | {' | '.join(_overall(runs, datasets, pairs, marks) for pairs in KINDS.values())} |"
    yield f"| *exact test, p* | {' | '.join(_sign_tests(runs, datasets, pairs) for pairs in KINDS.values())} |"
    yield ""
    yield (
        "Mean τ of the BiLSTM − mean τ of the transformer, words only, [95% interval: texts resampled, seeds by "
        "Student's t]. Exact test: signs flipped data set by data set; four data sets cannot give less than p = .125, "
        "the paper's five (MNLI too) not less than .0625."
    )


def _printed(model: str, dataset: str, pairs: Sequence[tuple[str, str]]) -> float:
    return float(np.mean([TAUS[model][dataset][pair] for pair in pairs]))


def _printed_difference(dataset: str, pairs: Sequence[tuple[str, str]]) -> float:
    return _printed("bilstm", dataset, pairs) - _printed("minilm", dataset, pairs)


def _samples(runs: Runs, model: str, dataset: str, pairs: Sequence[tuple[str, str]], marks: bool = False) -> Samples:
    return mean_over_pairs(runs.taus(dataset, model, marks=marks), pairs)


def _difference(
    runs: Runs, datasets: Sequence[str], pairs: Sequence[tuple[str, str]], marks: bool = False
) -> Interval | None:
    """The mean over data sets; None if a run is missing."""
    terms = [
        (sign / len(datasets), _samples(runs, model, dataset, pairs, marks))
        for dataset in datasets
        for model, sign in (("bilstm", 1), ("minilm", -1))
    ]
    return contrast(*terms) if terms and all(len(samples) for _, samples in terms) else None


def _between_models(runs: Runs, datasets: Sequence[str], pairs: Sequence[tuple[str, str]], marks: bool = False) -> str:
    return between(_difference(runs, datasets, pairs, marks))


def _overall(runs: Runs, datasets: Mapping[str, str], pairs: Sequence[tuple[str, str]], marks: bool) -> str:
    """Of the data sets that are there, ours and the paper's."""
    ready = [ours for ours in datasets if _difference(runs, [ours], pairs) is not None]
    same = [datasets[ours] for ours in ready] or list(datasets.values())
    printed = float(np.mean([_printed_difference(theirs, pairs) for theirs in same]))
    return f"{number(printed)} | {_between_models(runs, ready, pairs, marks)}"


def _sign_tests(runs: Runs, datasets: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> str:
    printed = [_printed_difference(theirs, pairs) for theirs in (*SINGLE, *PAIR)]
    found = [_difference(runs, [ours], pairs) for ours in datasets]
    complete = [interval.value for interval in found if interval is not None]
    ours = number(sign_flips(complete)) if len(complete) == len(found) else NOT_YET
    return f"{number(sign_flips(printed))} | {ours}"


def sign_flips(differences: Sequence[float]) -> float:
    """How often would signs at random give a mean as far from 0? Exact, two-sided.

    >>> sign_flips([1.0, 2.0, 3.0, 0.5])
    0.125
    """
    values = np.array(differences)
    means = np.abs([(values * signs).mean() for signs in product((1, -1), repeat=len(values))])
    return float((means >= abs(values.mean()) - 1e-12).mean())


def question_2(runs: Runs, datasets: Mapping[str, str], titles: Mapping[str, str]) -> Iterator[str]:
    """Single texts − pairs of texts, model by model."""
    heads = " | ".join(f"{kind}: paper | ours | exact p: paper | ours" for kind in KINDS)
    yield f"| model | ours is of | {heads} |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    rows = (("BiLSTM", "bilstm", False), ("MiniLM ³", "minilm", False), ("MiniLM ³, marks ranked too", "minilm", True))
    for title, model, marks in rows:
        ready = _by_task(runs, model, datasets)
        of = " − ".join(", ".join(titles[d] for d in kind) for kind in ready) if all(ready) else NOT_YET
        cells = (" | ".join(_between_tasks(runs, model, ready, pairs, marks)) for pairs in KINDS.values())
        yield f"| {title} | {of} | {' | '.join(cells)} |"
    yield ""
    yield (
        "Mean τ over the single-text data sets − over those of pairs, [95% interval: texts resampled, seeds by "
        "Student's t]; the paper's is IMDb, SST-2 − MNLI, Quora, SNLI. Exact test: which data sets are called single "
        "is drawn again; two against two cannot give less than p = .333, the paper's two against three not less than "
        ".100."
    )


def _by_task(runs: Runs, model: str, datasets: Mapping[str, str]) -> list[list[str]]:
    """Those of single texts and those of pairs that have been explained."""
    return [[d for d, theirs in datasets.items() if theirs in kind and runs.taus(d, model)] for kind in (SINGLE, PAIR)]


def _between_tasks(
    runs: Runs, model: str, ready: Sequence[Sequence[str]], pairs: Sequence[tuple[str, str]], marks: bool
) -> tuple[str, ...]:
    printed = [[_printed(model, theirs, pairs) for theirs in kind] for kind in (SINGLE, PAIR)]
    paper = number(float(np.mean(printed[0]) - np.mean(printed[1])))
    if not all(ready):
        return paper, NOT_YET, number(relabelled(*printed)), NOT_YET
    samples = [[_samples(runs, model, dataset, pairs, marks) for dataset in kind] for kind in ready]
    terms = [(sign / len(kind), s) for sign, kind in zip((1, -1), samples, strict=True) for s in kind]
    means = [[float(np.mean([values.mean() for values in s])) for s in kind] for kind in samples]
    exact = number(relabelled(*means)) if all(len(kind) == 2 for kind in ready) else NOT_YET
    return paper, between(contrast(*terms)), number(relabelled(*printed)), exact


def relabelled(first: Sequence[float], second: Sequence[float]) -> float:
    """How often would labels at random give means as far apart? Exact, two-sided.

    >>> round(relabelled([1.0, 2.0], [5.0, 6.0]), 3)
    0.333
    """
    values, n = np.array([*first, *second]), len(first)
    picked = [list(chosen) for chosen in combinations(range(len(values)), n)]
    differences = [abs(values[chosen].mean() - np.delete(values, chosen).mean()) for chosen in picked]
    return float((np.array(differences) >= abs(values[:n].mean() - values[n:].mean()) - 1e-12).mean())
