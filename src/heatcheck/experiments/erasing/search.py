"""Orders of words that no method gave: drawn at random, and built greedily by asking the model.

They say how good and how bad an order can be for one text and model, which makes methods comparable across models.
Greedy: at each share of words, erase every remaining word on its own in addition to those chosen so far, and choose as
many as the share needs, those that lower the probability most. Four such orders: words whose loss lowers the output
most (comprehensive) or least, and, adding words to the empty text, words that raise it most (sufficient) or least.
What is found is a bound from one side: a better order may exist.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heatcheck.experiments.erasing.edits import Eraser
from heatcheck.experiments.erasing.words import Words
from heatcheck.randomness import random_numbers


def random_ranks(words: Words, seeds: Int[ndarray, "B"], orders: int) -> Int[ndarray, "R B U"]:
    """Random orders of each text's words, by the text's own seed."""
    numbers = random_numbers(seeds, range(orders), words.real.shape[1]).astype(float)
    return np.stack([words.ranks(n) for n in numbers]) if orders else np.empty((0, *words.real.shape), int)


def searched_ranks(eraser: Eraser, counts: Int[ndarray, "B S"], classes: Int[ndarray, "B"]) -> Int[ndarray, "4 B U"]:
    return np.stack(
        [
            greedy(eraser, counts, classes, adding=adding, best=best)
            for adding, best in product((False, True), (True, False))
        ]
    )


def greedy(
    eraser: Eraser, counts: Int[ndarray, "B S"], classes: Int[ndarray, "B"], *, adding: bool, best: bool
) -> Int[ndarray, "B U"]:
    """`adding`: words are put back into the empty text. Ranks behind the largest share are in the text's order."""
    real = eraser.words.real
    merit = np.zeros(real.shape)  # the earlier chosen the higher
    chosen = np.zeros_like(real)
    steps = np.sort(counts, axis=1)
    for step in range(steps.shape[1]):
        needed = steps[:, step] - chosen.sum(1)
        gain = _gain(eraser, chosen, real & ~chosen & (needed > 0)[:, None], classes, adding=adding)
        gain = np.where(np.isnan(gain), -np.inf, gain if best else -gain)
        order = np.argsort(-gain, axis=1, kind="stable")
        place = np.argsort(order, axis=1)  # of each candidate among the candidates
        taken = (place < needed[:, None]) & np.isfinite(gain)
        merit = np.where(taken, (steps.shape[1] - step) * (real.shape[1] + 1) - place, merit)
        chosen |= taken
    return eraser.words.ranks(merit)


def _gain(
    eraser: Eraser,
    chosen: Bool[ndarray, "B U"],
    candidates: Bool[ndarray, "B U"],
    classes: Int[ndarray, "B"],
    *,
    adding: bool,
) -> Float[ndarray, "B U"]:
    """How good it is to choose each candidate next; NaN for what is none."""
    row, word = np.nonzero(candidates)
    gain = np.full(candidates.shape, np.nan)
    if len(row) == 0:
        return gain
    next_ = chosen[row]
    next_[np.arange(len(row)), word] = True
    erased = eraser.words.real[row] & ~next_ if adding else next_
    probability = eraser(row, erased)[np.arange(len(row)), classes[row]]
    gain[row, word] = probability if adding else -probability
    return gain
