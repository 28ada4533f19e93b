"""Numbers over texts and models, with intervals that know both sources of chance.

Everything is computed for the sample itself (row 0) and for resamples of it (the other rows) at once: a resample is how
often each text is drawn, so means over texts are one matrix product.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heatcheck.measure.intervals import CONFIDENCE, RESAMPLES, Interval


def drawn_texts(n: int, *, seed: int) -> Float[ndarray, "R N"]:
    """How often each of n texts is drawn; row 0: each once."""
    resamples = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    return np.vstack([np.ones((1, n)), resamples]).astype(float)


def means(drawn: Float[ndarray, "R N"], values: Float[ndarray, "N M"]) -> Float[ndarray, "R M"]:
    return np.asarray(drawn @ values / drawn.sum(1, keepdims=True))


def f1_scores(
    drawn: Float[ndarray, "R N"], truth: Int[ndarray, "N"], predicted: Int[ndarray, "N M"], n_labels: int
) -> Float[ndarray, "R M"]:
    """F1 of each model: of the second of two classes; micro, which is accuracy, for more."""
    if n_labels != 2:
        return means(drawn, (predicted == truth[:, None]).astype(float))
    both = drawn @ ((predicted == 1) & (truth == 1)[:, None]).astype(float)
    either = drawn @ (predicted == 1).astype(float) + (drawn @ (truth == 1).astype(float))[:, None]
    return np.asarray(2 * both / np.maximum(either, 1))


def over_models(values: Float[ndarray, "R M"], *, seed: int) -> Float[ndarray, "R"]:
    """Mean over the models, which are resampled too; row 0 is the plain mean."""
    return over_groups(values[:, None, :], seed=seed)


def over_groups(values: Float[ndarray, "R G M"], *, seed: int) -> Float[ndarray, "R"]:
    """Mean over groups of models, which depend on what their group shares: groups are resampled, then the models of
    each. Row 0 is the plain mean.

    >>> values = np.tile(np.array([[0.0, 0.0], [1.0, 1.0]]), (1000, 1, 1))
    >>> sorted(set(over_groups(values, seed=0).tolist())), over_groups(values, seed=0)[0].item()
    ([0.0, 0.5, 1.0], 0.5)
    """
    rows, groups, models = values.shape
    rng = np.random.default_rng(seed)
    within = rng.integers(0, models, values.shape)
    which = rng.integers(0, groups, (rows, groups))
    within[0], which[0] = np.arange(models), np.arange(groups)
    drawn = np.take_along_axis(values, which[:, :, None], axis=1)
    return np.asarray(np.take_along_axis(drawn, within, axis=2).mean((1, 2)))


def interval(values: Float[ndarray, "R"]) -> Interval:
    """Row 0 with the 95% percentile interval of the others; none where all texts are one.

    >>> interval(np.array([2.0, 1.0, 2.0, 3.0])).value
    2.0
    """
    if np.isnan(values).all():
        return Interval(float("nan"), None, None)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(values[1:], [tail, 1 - tail])
    return Interval(float(values[0]), float(low), float(high))
