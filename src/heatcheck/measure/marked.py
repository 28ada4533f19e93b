"""How well scores find marked words (planted evidence, people's rationales).

Words of equal score have no order. Both measures are the mean over all orders they could have, computed exactly, so
that equal scores for all words give what a random order gives on average: chance is `measure(np.zeros(n), marked)`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy import stats


def precision_at_k(scores: Float[ndarray, "U"], marked: Bool[ndarray, "U"]) -> float:
    """The share of marked words among the k with the highest scores, k the number of marked ones.

    With as many words chosen as marked this is recall and F1 too.

    >>> precision_at_k(np.array([3.0, 2, 1, 0]), np.array([True, False, True, False]))
    0.5
    """
    k = int(marked.sum())
    above = stats.rankdata(-scores, "min") - 1
    tied = stats.rankdata(-scores, "max") - above
    inside = ((k - above) / tied).clip(0, 1)
    return float(inside[marked].sum() / k)


def average_precision(scores: Float[ndarray, "U"], marked: Bool[ndarray, "U"]) -> float:
    """Mean over the marked words of the precision down to each: the area under the precision–recall curve.

    Without ties it is scikit-learn's. Of m tied words, j of them marked, after a words with b marked: a marked one at
    place i of the m has on average (i−1)(j−1)/(m−1) of the others in front of it.

    >>> average_precision(np.array([3.0, 2, 1, 0]), np.array([False, True, True, False]))
    0.5833333333333333
    >>> average_precision(np.zeros(2), np.array([True, False]))
    0.75
    """
    _, tie, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(tie, marked, minlength=len(sizes))
    words_before, hits_before = sizes.cumsum() - sizes, hits.cumsum() - hits
    place = np.concatenate([np.arange(m) for m in sizes])  # in its tie, from 0
    tie = np.repeat(np.arange(len(sizes)), sizes)
    others = place * (hits[tie] - 1) / np.maximum(sizes[tie] - 1, 1)
    precision = (hits_before[tie] + 1 + others) / (words_before[tie] + 1 + place)
    return float((precision * hits[tie] / sizes[tie]).sum() / marked.sum())
