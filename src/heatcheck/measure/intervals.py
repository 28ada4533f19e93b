"""Intervals by resampling the texts: what would this number be on another sample of texts like these?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
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
