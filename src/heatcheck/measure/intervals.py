"""Intervals by resampling the texts: what would this number be on another sample of texts like these?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import stats

RESAMPLES = 1000
CONFIDENCE = 0.95
CHUNK = 1 << 22  # resampled values held in memory at once


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
