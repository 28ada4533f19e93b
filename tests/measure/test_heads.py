"""Heads are compared after the best one-to-one matching."""

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.measure.distributions import jsd
from heatcheck.measure.heads import head_distances, matched, matching


def heads(seed: int, texts: int = 3, n: int = 4, words: int = 6) -> torch.Tensor:
    return torch.softmax(torch.randn(texts, n, words, generator=torch.Generator().manual_seed(seed)), -1)


def test_distances_are_those_of_each_pair():
    ours, theirs = heads(0), heads(1)
    found = head_distances(ours, theirs)
    for i, j in itertools.product(range(4), repeat=2):
        assert torch.allclose(found[:, i, j], jsd(ours[:, i], theirs[:, j]))


@given(st.integers(0, 1000), st.permutations(range(4)))
def test_reordering_heads_is_no_difference(seed, order):
    ours = heads(seed)
    assert torch.equal(matched(ours, ours[:, order]), ours)
    theirs = heads(seed + 1)
    assert torch.equal(matched(ours, theirs[:, order]), matched(ours, theirs))


@given(st.integers(0, 1000))
def test_the_matching_is_the_best_of_all(seed):
    distances = torch.rand(4, 4, generator=torch.Generator().manual_seed(seed))
    rows = torch.arange(4)
    best = min(float(distances[rows, list(order)].sum()) for order in itertools.permutations(range(4)))
    assert abs(float(distances[rows, matching(distances)].sum()) - best) < 1e-6
