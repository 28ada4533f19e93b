"""Rank agreement of many pairs of score lists at once.

scipy computes one pair a call; comparing all pairs of positions in one array operation gives the
same numbers for a whole batch of short texts far faster (measured in benchmarks/). Texts longer than
LONG go to scipy, whose sorting wins there.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import stats

LONG = 400  # beyond this length sorting beats comparing all pairs
EXACT_UP_TO = 33  # scipy's switch from the exact p-value to the normal approximation
CHUNK = 1 << 21  # comparisons held in memory at once


class Kendall(NamedTuple):
    """NaN marks a correlation that does not exist (fewer than two tokens, or a constant list)."""

    tau: Float[ndarray, "N"]
    p_value: Float[ndarray, "N"]


def kendall(x: Float[ndarray, "N T"], y: Float[ndarray, "N T"], valid: Bool[ndarray, "N T"]) -> Kendall:
    """Kendall's τ-b with its two-sided p-value, row by row, equal to scipy.stats.kendalltau.

    >>> result = kendall(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]]), np.ones((1, 3), bool))
    >>> round(float(result.tau[0]), 3), round(float(result.p_value[0]), 3)
    (0.333, 1.0)
    """
    tau, p_value = np.full(len(x), np.nan), np.full(len(x), np.nan)
    lengths = valid.sum(1)
    for row in np.flatnonzero(lengths > LONG):
        tau[row], p_value[row] = stats.kendalltau(x[row, valid[row]], y[row, valid[row]])
    short = np.flatnonzero(lengths <= LONG)
    short = short[np.argsort(lengths[short], kind="stable")]
    for chunk in _chunks(short, lengths[short]):
        width = lengths[chunk].max(initial=0)
        packed, inside = _pack(x[chunk], y[chunk], valid[chunk], width)
        tau[chunk], p_value[chunk] = _kendall_pairs(packed[0], packed[1], inside)
    return Kendall(tau, p_value)


def _chunks(index: Int[ndarray, "M"], lengths: Int[ndarray, "M"]) -> list[Int[ndarray, "K"]]:
    """Runs of rows of similar length, each small enough to compare all pairs in memory."""
    chunks, start = [], 0
    while start < len(index):
        stop = start + 1
        while stop < len(index) and (stop + 1 - start) * int(lengths[stop]) ** 2 <= CHUNK:
            stop += 1
        chunks.append(index[start:stop])
        start = stop
    return chunks


def _pack(
    x: Float[ndarray, "K T"], y: Float[ndarray, "K T"], valid: Bool[ndarray, "K T"], width: int
) -> tuple[tuple[Float[ndarray, "K W"], Float[ndarray, "K W"]], Bool[ndarray, "K W"]]:
    """Move the valid positions of each row to its front."""
    order = np.argsort(~valid, axis=1, kind="stable")[:, :width]
    take = functools.partial(np.take_along_axis, indices=order, axis=1)
    return (take(x), take(y)), take(valid)


def _kendall_pairs(x: Float[ndarray, "K W"], y: Float[ndarray, "K W"], inside: Bool[ndarray, "K W"]) -> Kendall:
    both = inside[:, :, None] & inside[:, None, :]
    x_above, y_above = (x[:, :, None] > x[:, None, :]) & both, (y[:, :, None] > y[:, None, :]) & both
    concordant = np.count_nonzero(x_above & y_above, axis=(1, 2))
    discordant = np.count_nonzero(x_above & y_above.transpose(0, 2, 1), axis=(1, 2))
    n = inside.sum(1)
    x_ties = _ties((x[:, :, None] == x[:, None, :]) & both)
    y_ties = _ties((y[:, :, None] == y[:, None, :]) & both)
    pairs = n * (n - 1) // 2
    difference = concordant - discordant
    exists = (pairs > x_ties.pairs) & (pairs > y_ties.pairs)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = difference / np.sqrt(pairs - x_ties.pairs) / np.sqrt(pairs - y_ties.pairs)
    tau = np.where(exists, tau.clip(-1, 1), np.nan)
    p_value = np.where(exists, _p_values(n, difference, discordant, x_ties, y_ties), np.nan)
    return Kendall(tau, p_value)


class Ties(NamedTuple):
    """Sums over groups of t equal values: t(t−1)/2, t(t−1)(t−2) and t(t−1)(2t+5)."""

    pairs: Int[ndarray, "K"]
    triples: Int[ndarray, "K"]
    variance: Int[ndarray, "K"]


def _ties(equal: Bool[ndarray, "K W W"]) -> Ties:
    group = np.count_nonzero(equal, axis=2)  # each token: how many share its value, itself included
    rest = np.maximum(group - 1, 0)
    return Ties(rest.sum(1) // 2, (rest * (group - 2)).sum(1), (rest * (2 * group + 5)).sum(1))


def _p_values(
    n: Int[ndarray, "K"], difference: Int[ndarray, "K"], discordant: Int[ndarray, "K"], x_ties: Ties, y_ties: Ties
) -> Float[ndarray, "K"]:
    p_value = _normal_p(n, difference, x_ties, y_ties)
    fewest = np.minimum(discordant, n * (n - 1) // 2 - discordant)
    untied = (x_ties.pairs == 0) & (y_ties.pairs == 0)
    for row in np.flatnonzero(untied & (n >= 2) & ((n <= EXACT_UP_TO) | (fewest <= 1))):
        p_value[row] = _exact_p(int(n[row]), int(fewest[row]))
    return p_value


def _normal_p(n: Int[ndarray, "K"], difference: Int[ndarray, "K"], x_ties: Ties, y_ties: Ties) -> Float[ndarray, "K"]:
    """Normal approximation with Kendall's variance under ties."""
    ordered = (n * (n - 1)).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (
            (ordered * (2 * n + 5) - x_ties.variance - y_ties.variance) / 18
            + 2.0 * x_ties.pairs * y_ties.pairs / ordered
            + np.where(n > 2, x_ties.triples * y_ties.triples / (9 * ordered * (n - 2)), 0)
        )
        z = difference / np.sqrt(variance)
    return np.asarray(2 * stats.norm.sf(np.abs(z)))


@functools.cache
def _exact_p(n: int, fewest: int) -> float:
    """P of an order at least this far from chance: 2 · P(inversions ≤ fewest), at most 1."""
    if n > EXACT_UP_TO:  # only asked for 0 or 1 inversions: 1 or 1 + (n − 1) orders
        return 2 * (n if fewest else 1) / math.factorial(n)
    return min(1.0, 2 * sum(_orders_by_inversions(n)[: fewest + 1]) / math.factorial(n))


@functools.cache
def _orders_by_inversions(n: int) -> tuple[int, ...]:
    """How many orders of n items have 0, 1, 2, … inversions: inserting item m adds 0 to m − 1."""
    counts = [1]
    for m in range(2, n + 1):
        longer = [0] * (len(counts) + m - 1)
        for inversions, ways in enumerate(counts):
            for added in range(m):
                longer[inversions + added] += ways
        counts = longer
    return tuple(counts)


def top_k_distance(
    x: Float[ndarray, "N T"], y: Float[ndarray, "N T"], valid: Bool[ndarray, "N T"], k: Int[ndarray, "N"]
) -> Float[ndarray, "N"]:
    """Kendall distance of the k highest of each list (Fagin, Kumar & Sivakumar 2003, penalty ½): 0 equal, 1 reversed.

    Two tokens count 1 if the lists order them oppositely and ½ if one list cannot order them, where a token
    outside a top k ranks below all inside it. Ties are broken by position. NaN below two tokens or for a constant list.
    """
    distance, lengths = np.full(len(x), np.nan), valid.sum(1)
    x_ranks, y_ranks = _descending_ranks(x, valid), _descending_ranks(y, valid)
    named = valid & ((x_ranks < k[:, None]) | (y_ranks < k[:, None]))
    exists = np.flatnonzero((lengths >= 2) & ~constant(x, valid) & ~constant(y, valid))
    sizes = named.sum(1)
    exists = exists[np.argsort(sizes[exists], kind="stable")]
    for chunk in _chunks(exists, sizes[exists]):
        ranks, inside = _pack(x_ranks[chunk], y_ranks[chunk], named[chunk], sizes[chunk].max(initial=0))
        most = [_reversed_fagin(n, top) for n, top in zip(lengths[chunk].tolist(), k[chunk].tolist(), strict=True)]
        distance[chunk] = _fagin(*ranks, inside, k[chunk]) / most
    return distance


def constant(scores: Float[ndarray, "N T"], valid: Bool[ndarray, "N T"]) -> Bool[ndarray, "N"]:
    """Lists that rank nothing: all their tokens have one score, or they have no token."""
    highest = np.where(valid, scores, -np.inf).max(1, initial=-np.inf)
    return np.asarray(highest <= np.where(valid, scores, np.inf).min(1, initial=np.inf))


@functools.cache
def _reversed_fagin(n: int, k: int) -> float:
    order = np.arange(n)[None]
    named = (order < k) | (order >= n - k)
    return float(_fagin(order, n - 1 - order, named, np.array([k]))[0])


def _descending_ranks(scores: Float[ndarray, "N T"], valid: Bool[ndarray, "N T"]) -> Int[ndarray, "N T"]:
    """0 for the highest of a row; what is not valid comes last."""
    order = np.lexsort((-scores, ~valid), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(order.shape[1])[None], axis=1)
    return ranks


def _fagin(
    x: Int[ndarray, "K W"], y: Int[ndarray, "K W"], named: Bool[ndarray, "K W"], k: Int[ndarray, "K"]
) -> Float[ndarray, "K"]:
    """Of ranks, over the tokens named in one of the two tops; all ranks outside a top are the same."""
    x, y = np.minimum(x, k[:, None]), np.minimum(y, k[:, None])
    both = named[:, :, None] & named[:, None, :]
    opposite = (x[:, :, None] < x[:, None, :]) & (y[:, :, None] > y[:, None, :]) & both
    unordered = ((x[:, :, None] == x[:, None, :]) != (y[:, :, None] == y[:, None, :])) & both  # each pair twice
    return np.asarray(np.count_nonzero(opposite, axis=(1, 2)) + np.count_nonzero(unordered, axis=(1, 2)) / 4)
