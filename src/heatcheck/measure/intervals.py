"""Intervals by resampling the texts: what would this number be on another sample of texts like these?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import stats

RESAMPLES = 1000
CONFIDENCE = 0.95
CHUNK = 1 << 20  # resampled values held in memory at once


class Interval(NamedTuple):
    value: float
    low: float | None
    high: float | None


def bootstrap(
    values: Float[ndarray, "N"],
    statistic: Callable[..., Float[ndarray, "*M"]],
    *,
    seed: int,
) -> Interval:
    """A statistic of `values` with its 95% percentile bootstrap interval; one value has none.

    >>> bootstrap(np.array([1.0, 1.0, 1.0]), np.mean, seed=0)
    Interval(value=1.0, low=1.0, high=1.0)
    """
    value = float(statistic(values, axis=-1))
    if len(values) < 2:
        return Interval(value, None, None)
    result = stats.bootstrap(
        (values,),
        statistic,
        n_resamples=RESAMPLES,
        batch=max(CHUNK // len(values), 1),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Interval(value, float(result.confidence_interval.low), float(result.confidence_interval.high))


class Columns(NamedTuple):
    """Mean and standard deviation of each column, with intervals: rows are value, low, high."""

    mean: Float[ndarray, "3 M"]
    std: Float[ndarray, "3 M"]
    n: Int[ndarray, "M"]


def bootstrap_columns(values: Float[ndarray, "N M"], *, seed: int) -> Columns:
    """The same for many columns over the same texts at once; NaN is a value that a text does not have.

    A resample is how often each text is drawn, so its sums for all columns are one matrix product.

    >>> bootstrap_columns(np.array([[1.0, np.nan], [1.0, 3.0]]), seed=0).mean[0]
    array([1., 3.])
    """
    known = ~np.isnan(values)
    n = known.sum(0)
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    few = np.where(n > 1, 0.0, np.nan)  # one value has no interval
    with np.errstate(invalid="ignore", divide="ignore"):  # a column or a resample without any value is NaN
        centre = np.where(known, values, 0).sum(0) / n  # the spread of values far from 0 would drown in rounding
        moved = np.where(known, values - centre, 0)
        own_std = np.sqrt((moved**2).sum(0) / n)
        parts = [_moments(moved, known, drawn) for drawn in _drawn(len(values), seed)]
    mean, std = (np.nan_to_num(np.concatenate(rows), nan=0.0) for rows in zip(*parts, strict=True))
    between = [np.quantile(x, tails, axis=0) + few for x in (mean, std)]
    return Columns(np.vstack([centre, between[0] + centre]), np.vstack([own_std, between[1]]), n)


def _drawn(texts: int, seed: int) -> Iterator[Float[ndarray, "R N"]]:
    """How often each text is drawn, for some resamples at a time: all of them would grow with the texts."""
    rng = np.random.default_rng(seed)
    step = max(CHUNK // texts, 1)
    for start in range(0, RESAMPLES, step):
        yield rng.multinomial(texts, np.full(texts, 1 / texts), min(step, RESAMPLES - start)).astype(float)


def _moments(
    moved: Float[ndarray, "N M"], known: Bool[ndarray, "N M"], drawn: Float[ndarray, "R N"]
) -> tuple[Float[ndarray, "R M"], Float[ndarray, "R M"]]:
    """Mean and standard deviation of each column in each resample."""
    count = drawn @ known
    mean = (drawn @ moved) / count
    return mean, np.sqrt(np.maximum((drawn @ moved**2) / count - mean**2, 0))


def resampled(function: Callable[[Int[ndarray, "N"]], float], n: int, *, seed: int) -> Interval:
    """The same for a number that is no mean over texts: `function` gets the rows of a sample and may give NaN.

    >>> resampled(lambda rows: float(len(rows)), 10, seed=0)
    Interval(value=10.0, low=10.0, high=10.0)
    """
    value = function(np.arange(n))
    if n < 2:
        return Interval(value, None, None)
    rng = np.random.default_rng(seed)
    drawn = [function(rng.integers(0, n, n)) for _ in range(RESAMPLES)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Interval(value, float(low), float(high))
