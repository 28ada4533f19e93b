"""Numbers over texts and models, with intervals that know both sources of chance.

Everything is computed for the sample itself (row 0) and for resamples of it (the other rows) at once: a resample is how
often each text is drawn, so means over texts are one matrix product. Models are too few to be drawn: see `over_groups`.
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
    with np.errstate(invalid="ignore"):  # a sample without the class, in truth and prediction, has no F1
        return np.asarray(2 * both / either)


def balanced_accuracies(
    drawn: Float[ndarray, "R N"], truth: Int[ndarray, "N"], predicted: Int[ndarray, "N M"]
) -> Float[ndarray, "R M"]:
    """Mean recall of the classes, of each model: 1 / their number for one that answers all alike. Where a resample
    lacks a class, that one would be at 1 / the number drawn: so each is set between 0 and 1 there, and back."""
    right = (predicted == truth[:, None]).astype(float)
    members = [(truth == label).astype(float) for label in np.unique(truth)]
    with np.errstate(invalid="ignore"):
        recalls = np.stack([drawn @ (right * those[:, None]) / (drawn @ those)[:, None] for those in members])
    found = np.nanmean(recalls, axis=0)
    if len(members) == 1:
        return np.asarray(found)
    classes = (~np.isnan(recalls)).sum(0)
    chance = np.where(classes > 1, 1 / classes, np.nan)  # where one class alone is drawn there is no number
    return np.asarray((found - chance) / (1 - chance) * (1 - 1 / len(members)) + 1 / len(members))


def over_models(values: Float[ndarray, "R M"], *, seed: int, most: float = 1.0) -> Float[ndarray, "R"]:
    """Mean over models of a number between 0 and `most`; row 0 is the plain mean."""
    return over_groups(values[:, None, :], seed=seed, most=most)


def over_groups(values: Float[ndarray, "R G M"], *, seed: int, most: float = 1.0) -> Float[ndarray, "R"]:
    """Mean over groups of models, which depend on what their group shares. Row 0 is the plain mean; the others have the
    chance of the models added, by Student's t of what is independent: the groups, or the models of a single one.
    (Drawing three models again, as texts are drawn, would give intervals that hold the truth 74 times of 100.)

    >>> values = np.tile(np.array([[0.4, 0.4], [0.6, 0.6]]), (1000, 1, 1))
    >>> over_groups(values, seed=0)[0].item(), over_groups(values[:, :1], seed=0).max().item()
    (0.5, 0.4)
    """
    units = values.mean(2) if values.shape[1] > 1 else values[:, 0]
    chance = chance_of_models(units, np.random.default_rng(seed))
    chance[0] = 0
    return np.asarray(np.clip(units.mean(1) + chance, 0, most))


def chance_of_models(values: Float[ndarray, "R M"], rng: np.random.Generator) -> Float[ndarray, "R"]:
    """What the mean of M independent models is off by, drawn by Student's t. Of a single model nothing is known."""
    rows, models = values.shape
    if models == 1:
        return np.zeros(rows)
    return np.asarray(rng.standard_t(models - 1, rows) * values.std(1, ddof=1) / np.sqrt(models))


def interval(values: Float[ndarray, "R"]) -> Interval:
    """Row 0 with the 95% percentile interval of the others.

    >>> interval(np.array([2.0, 1.0, 2.0, 3.0])).value
    2.0
    """
    if np.isnan(values).all():
        return Interval(float("nan"), None, None)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(values[1:], [tail, 1 - tail])
    return Interval(float(values[0]), float(low), float(high))
