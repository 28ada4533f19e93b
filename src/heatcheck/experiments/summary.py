"""From a value per text to aggregates with intervals, overall and by predicted class."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray
from scipy import stats

from heatcheck.measure.intervals import Interval, bootstrap, resampled
from heatcheck.results import Score

SIGNIFICANT = 0.05
STATISTICS: dict[str, Callable[..., ndarray]] = {"mean": np.mean, "std": np.std, "median": np.median}
IDENTITY = ["measure", "subject", "reference", "setting", "at"]
SUMMARISED = [*IDENTITY, "example_id", "group", "statistic", "value"]


def summarise(scores: pd.DataFrame, *, seed: int) -> Iterator[Score]:
    """Mean, standard deviation and median of each measure; for correlations the share that is significant too."""
    scores = scores[scores["example_id"].notna()]
    for identity, same in scores.groupby(IDENTITY, dropna=False, sort=True):
        named = {k: None if v != v else v for k, v in zip(IDENTITY, identity, strict=True)}  # NaN is a null cell
        for group, members in _groups(same):
            values = members[members["statistic"] == "value"]["value"]
            p_values = members[members["statistic"] == "p_value"]["value"]
            yield from _aggregates(named, group, values, STATISTICS, seed)
            if len(p_values):
                significant = (p_values.dropna() < SIGNIFICANT).astype(float)
                yield from _aggregates(named, group, significant, {"significant_fraction": np.mean}, seed)


def _groups(scores: pd.DataFrame) -> Iterator[tuple[str | None, pd.DataFrame]]:
    yield None, scores
    for group, members in scores.groupby("group", sort=True):
        yield str(group), members


def _aggregates(
    named: dict[str, object],
    group: str | None,
    values: pd.Series,
    statistics: dict[str, Callable[..., ndarray]],
    seed: int,
) -> Iterator[Score]:
    known = values.dropna().to_numpy(dtype=float)
    for statistic, function in statistics.items():
        common = {**named, "group": group, "statistic": statistic, "n": len(known)}
        if len(known) == 0:
            yield Score(value=None, reason="no text has a value", **common)  # type: ignore[arg-type]
            continue
        own_seed = zlib.crc32(repr((seed, sorted(common.items(), key=str))).encode())
        value, low, high = bootstrap(known, function, seed=own_seed)
        yield Score(value=value, low=low, high=high, **common)  # type: ignore[arg-type]


def summarise_performance(examples: pd.DataFrame, labels: tuple[str, ...], *, seed: int) -> Iterator[Score]:
    """F1 (of the second of two classes; micro, which is accuracy, for more), accuracy, ROC-AUC for two classes."""
    truth, predicted = (examples[column].map(labels.index).to_numpy() for column in ("label", "predicted"))
    n = len(truth)
    accuracy = bootstrap((truth == predicted).astype(float), np.mean, seed=seed)
    f1 = resampled(lambda rows: f1_of_second(truth[rows], predicted[rows]), n, seed=seed)
    yield _performance("f1", f1 if len(labels) == 2 else accuracy, n, "binary" if len(labels) == 2 else "micro")
    yield _performance("accuracy", accuracy, n)
    if len(labels) == 2 and len(set(truth.tolist())) == 2:
        log_odds = examples["log_odds"].to_numpy()
        yield _performance("roc_auc", resampled(lambda rows: roc_auc(truth[rows], log_odds[rows]), n, seed=seed), n)
    elif len(labels) == 2:
        yield Score("roc_auc", None, "model", statistic="mean", n=n, reason="all texts have the same label")


def f1_of_second(truth: Int[ndarray, "N"], predicted: Int[ndarray, "N"]) -> float:
    """0 if the class is neither there nor predicted."""
    both, either = int(((truth == 1) & (predicted == 1)).sum()), int((truth == 1).sum() + (predicted == 1).sum())
    return 2 * both / max(either, 1)


def roc_auc(truth: Int[ndarray, "N"], scores: Float[ndarray, "N"]) -> float:
    """The share of pairs that are ordered rightly, ties half; NaN for one class."""
    positives = np.count_nonzero(truth == 1)
    pairs = positives * (len(truth) - positives)
    above = stats.rankdata(scores)[truth == 1].sum() - positives * (positives + 1) / 2
    return float(above / pairs) if pairs else float("nan")


def _performance(measure: str, found: Interval, n: int, setting: str | None = None) -> Score:
    return Score(measure, found.value, "model", statistic="mean", setting=setting, low=found.low, high=found.high, n=n)
