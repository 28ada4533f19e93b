"""From a value per text to aggregates with intervals, overall and by predicted class."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy import ndarray
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from heatcheck.measure.intervals import bootstrap
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
    """F1 (of the second class if there are two, micro otherwise), accuracy, ROC-AUC for two classes."""
    truth = examples["label"].map(labels.index).to_numpy()
    predicted = examples["predicted"].map(labels.index).to_numpy()
    probability = examples["probability"].to_numpy()
    average = "binary" if len(labels) == 2 else "micro"

    def f1(rows: ndarray) -> float:
        return float(f1_score(truth[rows], predicted[rows], average=average, zero_division=0.0))

    def accuracy(rows: ndarray) -> float:
        return float(accuracy_score(truth[rows], predicted[rows]))

    yield _performance("f1", f1, len(truth), seed, average)
    yield _performance("accuracy", accuracy, len(truth), seed, None)
    if len(labels) == 2:
        positive = np.where(predicted == 1, probability, 1 - probability)
        both = len(set(truth.tolist())) == 2
        if not both:
            yield Score("roc_auc", None, "model", n=len(truth), reason="all texts have the same label")
        else:
            yield _performance("roc_auc", lambda r: _roc_auc(truth[r], positive[r]), len(truth), seed, None)


def _roc_auc(truth: ndarray, positive: ndarray) -> float:
    return float(roc_auc_score(truth, positive)) if len(set(truth.tolist())) == 2 else float("nan")


def _performance(
    measure: str, function: Callable[[ndarray], float], n: int, seed: int, setting: str | None, resamples: int = 200
) -> Score:
    """These are not means over texts, so whole samples of texts are drawn anew."""
    rng = np.random.default_rng(seed)
    drawn = [function(rng.integers(0, n, n)) for _ in range(resamples)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    value = function(np.arange(n))
    return Score(measure, value, "model", statistic="mean", setting=setting, low=float(low), high=float(high), n=n)
