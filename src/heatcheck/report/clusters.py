"""Methods that agree stand side by side: average linkage on 1 − τ, as a row order and a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform


class Join(NamedTuple):
    """Two branches meet: where each stands among the rows, how far each had grown, and the τ at which they meet."""

    places: tuple[float, float]
    grown: tuple[float, float]
    at: float


class Clusters(NamedTuple):
    order: list[int]
    joins: list[Join]


def clustered(agreement: NDArray[np.float64]) -> Clusters:
    """`agreement` is symmetric, 1 for the same; NaN, where there is no value, counts as 0, no relation.

    >>> tau = np.array([[1, 0.1, 0.8], [0.1, 1, 0.2], [0.8, 0.2, 1]])
    >>> clustered(tau).order, [round(join.at, 2) for join in clustered(tau).joins]
    ([1, 2, 0], [0.8, 0.15])
    """
    n = len(agreement)
    if n < 2:
        return Clusters(list(range(n)), [])
    distance = 1 - np.nan_to_num((agreement + agreement.T) / 2)
    np.fill_diagonal(distance, 0)
    merges = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    order = [int(leaf) for leaf in leaves_list(merges)]
    return Clusters(order, _joins(merges, order))


def _joins(merges: NDArray[np.float64], order: Sequence[int]) -> list[Join]:
    places = {leaf: float(place) for place, leaf in enumerate(order)}
    grown = dict.fromkeys(places, 1.0)
    found = []
    for number, (one, other, distance, _) in enumerate(merges):
        pair = sorted((int(one), int(other)), key=places.__getitem__)
        node = len(order) + number
        found.append(Join((places[pair[0]], places[pair[1]]), (grown[pair[0]], grown[pair[1]]), float(1 - distance)))
        places[node], grown[node] = (places[pair[0]] + places[pair[1]]) / 2, float(1 - distance)
    return found
