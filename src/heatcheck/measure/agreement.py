"""Agreement of two score lists for the same words, row by row for many texts (paper 5, section 3.3, and others).

All take `first`, `second` and `words` (which places are words: the rest never counts) and are symmetric. NaN marks a
value that does not exist: fewer than two words, or a list that is constant and so ranks nothing.

Ties at a cut: a top k or a depth that a group of equal scores straddles holds each of them in equal part. That makes
`topk_overlap` and `rbo` the mean over all ways to break the ties of both lists, each list on its own. Two equal lists
agree fully, except where a tie straddles a cut: neither says then which of the tied words it means.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import stats

PAIRS = 1 << 21  # pairs of words held in memory at once


def pearson(
    first: Float[ndarray, "B T"], second: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]
) -> Float[ndarray, "B"]:
    """Pearson's correlation, equal to scipy.stats.pearsonr.

    >>> pearson(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 6]]), np.ones((1, 3), bool)).round(3)
    array([0.945])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        product = (_standardised(first, words) * _standardised(second, words)).sum(1)
    return np.where(_exists(first, second, words), product.clip(-1, 1), np.nan)


def spearman(
    first: Float[ndarray, "B T"], second: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]
) -> Float[ndarray, "B"]:
    """Spearman's correlation, equal to scipy.stats.spearmanr: Pearson's of the ranks, ties sharing their mean rank.

    >>> spearman(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]]), np.ones((1, 3), bool))
    array([0.5])
    """
    return pearson(_ranks(first, words, "average"), _ranks(second, words, "average"), words)


def topk_overlap(
    first: Float[ndarray, "B T"],
    second: Float[ndarray, "B T"],
    words: Bool[ndarray, "B T"],
    k: int | Int[ndarray, "B"],
) -> Float[ndarray, "B"]:
    """Share of the k highest of one list that are among the k highest of the other; k is at most the number of words.

    >>> topk_overlap(np.array([[3.0, 2, 1]]), np.array([[3.0, 1, 2]]), np.ones((1, 3), bool), k=2)
    array([0.5])
    """
    share = _overlap(_places(first, words), _places(second, words), np.minimum(k, words.sum(1)))
    return np.where(_exists(first, second, words), share, np.nan)


def rbo(
    first: Float[ndarray, "B T"], second: Float[ndarray, "B T"], words: Bool[ndarray, "B T"], p: float = 0.9
) -> Float[ndarray, "B"]:
    """Rank-biased overlap, extrapolated (RBO_ext of Webber, Moffat & Zobel 2010): 1 for equal rankings, never below 0.

    The overlap A_d of the top d, weighted by p^(d−1): pⁿ·A_n + (1−p)/p · Σ_d p^d·A_d. Both lists rank the same n words,
    so that A_n is 1. The smaller p, the more the first places count.

    >>> rbo(np.array([[3.0, 2, 1]]), np.array([[3.0, 1, 2]]), np.ones((1, 3), bool), p=0.5)
    array([0.875])
    """
    places, n = (_places(first, words), _places(second, words)), words.sum(1)
    total = p ** n.astype(float)
    for depth in range(1, n.max(initial=0) + 1):
        total += (1 - p) * p ** (depth - 1) * np.where(depth <= n, _overlap(*places, np.full(len(n), depth)), 0)
    return np.where(_exists(first, second, words), total, np.nan)


def kendall_top_k(
    first: Float[ndarray, "B T"],
    second: Float[ndarray, "B T"],
    words: Bool[ndarray, "B T"],
    k: int | Int[ndarray, "B"],
) -> Float[ndarray, "B"]:
    """Paper 5's Kendall correlation of the top k: 1 equal order, −1 opposite.

    A list's top holds all words with one of its k highest values. Every two words of which one is in the first list's
    top and the other in the second's cost 1 if the lists order them oppositely, ½ if one list ties them and the other
    does not; the correlation is 1 − 2 · mean cost. Without such a pair (both tops are the same one word) it is 1.
    Deviation: a constant list gives NaN; the published code compares it (0, or 1 with another constant list).

    >>> kendall_top_k(np.array([[4.0, 3, 2, 1]]), np.array([[3.0, 4, 1, 2]]), np.ones((1, 4), bool), k=2)
    array([-1.])
    """
    tops = [words & (_ranks(-scores, words, "dense") <= np.reshape(k, (-1, 1))) for scores in (first, second)]
    first, second = (np.where(words, scores, 0) for scores in (first, second))
    step = max(1, PAIRS // max(1, first.shape[1] ** 2))
    costs = np.empty(len(first))
    for start in range(0, len(first), step):
        rows = slice(start, start + step)
        costs[rows] = _mean_cost(first[rows], second[rows], tops[0][rows], tops[1][rows])
    return np.where(_exists(first, second, words), 1 - 2 * costs, np.nan)


def _mean_cost(
    first: Float[ndarray, "K T"], second: Float[ndarray, "K T"], top: Bool[ndarray, "K T"], other: Bool[ndarray, "K T"]
) -> Float[ndarray, "K"]:
    orders = [np.sign(s[:, :, None] - s[:, None, :]) for s in (first, second)]
    costs = np.abs(orders[0] - orders[1]) / 2  # opposite signs 1, a sign and a tie ½
    pairs = top[:, :, None] & other[:, None, :]
    pairs = (pairs | pairs.transpose(0, 2, 1)) & ~np.eye(first.shape[1], dtype=bool)
    return np.asarray(np.where(pairs, costs, 0).sum((1, 2)) / np.maximum(1, pairs.sum((1, 2))))


def _exists(
    first: Float[ndarray, "B T"], second: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]
) -> Bool[ndarray, "B"]:
    """At least two words, and different scores in both lists, which takes two words."""
    return np.asarray(_varies(first, words) & _varies(second, words))


def _varies(scores: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]) -> Bool[ndarray, "B"]:
    highest = np.where(words, scores, -np.inf).max(1, initial=-np.inf)
    return np.asarray(highest > np.where(words, scores, np.inf).min(1, initial=np.inf))


def _standardised(scores: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]) -> Float[ndarray, "B T"]:
    """Mean 0 and length 1 over the words; 0 elsewhere."""
    mean = np.where(words, scores, 0).sum(1, keepdims=True) / words.sum(1, keepdims=True)
    centred = np.where(words, scores - mean, 0)
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


def _ranks(
    scores: Float[ndarray, "B T"], words: Bool[ndarray, "B T"], ties: Literal["average", "min", "max", "dense"]
) -> Float[ndarray, "B T"]:
    """Ranks from the lowest score up. What is no word ranks behind all words, where it disturbs none."""
    return np.asarray(stats.rankdata(np.where(words, scores, np.inf), ties, axis=1), dtype=float)


class Places(NamedTuple):
    """For each word how many score higher and how many the same, itself included."""

    above: Float[ndarray, "B T"]
    tied: Float[ndarray, "B T"]
    words: Bool[ndarray, "B T"]


def _places(scores: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]) -> Places:
    above = _ranks(-scores, words, "min") - 1
    return Places(above, _ranks(-scores, words, "max") - above, words)


def _overlap(first: Places, second: Places, k: Int[ndarray, "B"]) -> Float[ndarray, "B"]:
    both = [((k[:, None] - p.above) / p.tied).clip(0, 1) * p.words for p in (first, second)]
    return np.asarray((both[0] * both[1]).sum(1) / np.maximum(1, k))
