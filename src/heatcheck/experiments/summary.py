"""From a value per text to aggregates with intervals, overall and by predicted class."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray
from scipy import stats
from scipy.special import expit

from heatcheck.measure.intervals import RESAMPLES, Interval, bootstrap, bootstrap_columns, resampled
from heatcheck.measure.resampling import balanced_accuracies, interval
from heatcheck.results import MICRO, Score

SIGNIFICANT = 0.05
FEW_SERIES = 40  # all of paper 1's are fewer; the pairs of many methods are hundreds, and a median takes a sort each
IDENTITY = ["measure", "subject", "reference", "setting", "at"]
SUMMARISED = [*IDENTITY, "example_id", "group", "statistic", "value", "reason"]
REASONS = 3  # that are said of texts without a value, the most frequent first


def summarise(scores: pd.DataFrame, *, seed: int) -> Iterator[Score]:
    """Mean and standard deviation of each measure, over all texts and by predicted class; for correlations the share
    that is significant too, and for experiments with few measures the median."""
    scores = scores[scores["example_id"].notna()]
    series = scores.groupby(IDENTITY, dropna=False, sort=True)
    numbered = scores.assign(series=series.ngroup())
    keys: list[Any] = list(series.groups)
    names = [{k: None if v != v else v for k, v in zip(IDENTITY, key, strict=True)} for key in keys]
    for group, members in _groups(numbered):
        values = members[members["statistic"] == "value"]
        p_values = members[members["statistic"] == "p_value"]
        known = p_values.dropna(subset="value")
        significant = known.assign(value=(known["value"] < SIGNIFICANT).astype(float))
        yield from _aggregates(names, group, values, ("mean", "std"), seed)
        yield from _aggregates(names, group, significant, ("significant_fraction",), seed)
        yield from _nothing(names, group, p_values[~p_values["series"].isin(known["series"])], "significant_fraction")
        if len(names) <= FEW_SERIES:
            yield from _medians(names, group, values, seed)


def _groups(scores: pd.DataFrame) -> Iterator[tuple[str | None, pd.DataFrame]]:
    yield None, scores
    for group, members in scores.groupby("group", sort=True):
        yield str(group), members


def _aggregates(
    names: Sequence[dict[str, Any]], group: str | None, scores: pd.DataFrame, statistics: Sequence[str], seed: int
) -> Iterator[Score]:
    """The first statistic is the mean of the values, the second their standard deviation."""
    if not len(scores):
        return
    table = scores.pivot_table("value", "example_id", "series", aggfunc="first", dropna=False)
    found = bootstrap_columns(table.to_numpy(dtype=float), seed=zlib.crc32(repr((seed, group)).encode()))
    for statistic, rows in zip(statistics, (found.mean, found.std), strict=False):
        for place, column in enumerate(table.columns):
            value, low, high = (None if np.isnan(x) else float(x) for x in rows[:, place])
            reason = _why(scores[scores["series"] == column]) if value is None else None
            yield Score(
                **names[int(str(column))], group=group, statistic=statistic, value=value, low=low, high=high,
                n=int(found.n[place]), reason=reason,
            )  # fmt: skip


def _nothing(
    names: Sequence[dict[str, Any]], group: str | None, scores: pd.DataFrame, statistic: str
) -> Iterator[Score]:
    """Series of which no text has a value."""
    for column, members in scores.groupby("series", sort=True):
        name = names[int(str(column))]
        yield Score(**name, group=group, statistic=statistic, value=None, n=0, reason=_why(members))


def _why(without_value: pd.DataFrame) -> str:
    """The texts' own reasons."""
    common = Counter(without_value["reason"].dropna()).most_common(REASONS)
    said = [f"{reason.removeprefix('undefined: ')} ({n:,} text{'' if n == 1 else 's'})" for reason, n in common]
    return ": ".join(["no text has a value", *(["; ".join(said)] if said else [])])


def _medians(names: Sequence[dict[str, Any]], group: str | None, scores: pd.DataFrame, seed: int) -> Iterator[Score]:
    for column, members in scores.groupby("series", sort=True):
        known = members["value"].dropna().to_numpy(dtype=float)
        common = {**names[int(str(column))], "group": group, "statistic": "median", "n": len(known)}
        if len(known) == 0:
            yield Score(value=None, reason=_why(members), **common)
        else:
            value, low, high = bootstrap(known, np.median, seed=zlib.crc32(repr((seed, group, column)).encode()))
            yield Score(value=value, low=low, high=high, **common)


def summarise_performance(examples: pd.DataFrame, labels: tuple[str, ...], *, seed: int) -> Iterator[Score]:
    """F1 (of the second of two classes; micro, which is accuracy, for more), accuracy, mean recall of the classes
    (`at`: of one who always says the same). For two classes ROC-AUC, and how far the outputs are from a constant."""
    truth, predicted = (examples[column].map(labels.index).to_numpy() for column in ("label", "predicted"))
    n = len(truth)
    accuracy = bootstrap((truth == predicted).astype(float), np.mean, seed=seed)
    yield _f1(truth, predicted, labels, seed) if len(labels) == 2 else _performance("f1", accuracy, n, f1_of(labels))
    yield _performance("accuracy", accuracy, n)
    if len(classes := np.unique(truth)) > 1:
        yield replace(_performance("balanced_accuracy", _recall(truth, predicted, seed), n), at=1 / len(classes))
    if len(labels) == 2:
        outputs = expit(examples["log_odds"].to_numpy(dtype=float))
        found = resampled(lambda rows: output_spread(outputs[rows], predicted[rows]), n, seed=seed)
        yield _performance("output_spread", found, n)
    if len(labels) == 2 and len(classes) == 2:
        log_odds = examples["log_odds"].to_numpy()
        yield _performance("roc_auc", resampled(lambda rows: roc_auc(truth[rows], log_odds[rows]), n, seed=seed), n)
    elif len(labels) == 2:
        yield Score("roc_auc", None, "model", statistic="mean", n=n, reason="all texts have the same label")


def _recall(truth: Int[ndarray, "N"], predicted: Int[ndarray, "N"], seed: int) -> Interval:
    """Of one class, texts that are right are all alike, and so are those that are wrong: it is enough to draw how many
    of each there are, however many texts."""
    kinds, sizes = np.unique(np.stack([truth, truth == predicted]), axis=1, return_counts=True)
    n = len(truth)
    drawn = np.vstack([sizes, np.random.default_rng(seed).multinomial(n, sizes / n, RESAMPLES)]).astype(float)
    said = np.where(kinds[1] == 1, kinds[0], -1)
    return interval(balanced_accuracies(drawn, kinds[0], said[:, None])[:, 0])


def output_spread(outputs: Float[ndarray, "N"], predicted: Int[ndarray, "N"]) -> float:
    """Mean TVD of the outputs from the constant that is nearest to them. All predicted classes weigh the same, or a
    model that knows a rare one would seem to say the same to every text.

    >>> round(output_spread(np.array([0.1, 0.1, 0.1, 0.9]), np.array([0, 0, 0, 1])), 3)
    0.4
    """
    _, kind, sizes = np.unique(predicted, return_inverse=True, return_counts=True)
    weights, order = 1 / sizes[kind], np.argsort(outputs)
    below = weights[order].cumsum()
    middle = outputs[order][np.searchsorted(below, below[-1] / 2)]
    return float(np.average(np.abs(outputs - middle), weights=weights))


def _f1(truth: Int[ndarray, "N"], predicted: Int[ndarray, "N"], labels: tuple[str, ...], seed: int) -> Score:
    if not ((truth == 1) | (predicted == 1)).any():
        why = f"no text is of the class {labels[1]} or predicted to be"
        return Score("f1", None, "model", statistic="mean", setting=f1_of(labels), n=len(truth), reason=why)
    found = resampled(lambda rows: f1_of_second(truth[rows], predicted[rows]), len(truth), seed=seed)
    return _performance("f1", found, len(truth), f1_of(labels))


def f1_of(labels: Sequence[str]) -> str:
    """
    >>> f1_of(["fraud", "ok"]), f1_of(["a", "b", "c"])
    ('of ok', 'micro')
    """
    return f"of {labels[1]}" if len(labels) == 2 else MICRO


def f1_of_second(truth: Int[ndarray, "N"], predicted: Int[ndarray, "N"]) -> float:
    """NaN if the class is neither there nor predicted: nothing was to be found, and nothing was missed."""
    both, either = int(((truth == 1) & (predicted == 1)).sum()), int((truth == 1).sum() + (predicted == 1).sum())
    return 2 * both / either if either else float("nan")


def roc_auc(truth: Int[ndarray, "N"], scores: Float[ndarray, "N"]) -> float:
    """The share of pairs that are ordered rightly, ties half; NaN for one class."""
    positives = np.count_nonzero(truth == 1)
    pairs = positives * (len(truth) - positives)
    above = stats.rankdata(scores)[truth == 1].sum() - positives * (positives + 1) / 2
    return float(above / pairs) if pairs else float("nan")


def _performance(measure: str, found: Interval, n: int, setting: str | None = None) -> Score:
    return Score(measure, found.value, "model", statistic="mean", setting=setting, low=found.low, high=found.high, n=n)
