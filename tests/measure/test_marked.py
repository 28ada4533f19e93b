"""Both measures against all orders that tied words could have, and against scikit-learn where there are no ties."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from heatcheck.measure.marked import average_precision, precision_at_k

MARKS = st.lists(st.booleans(), min_size=2, max_size=6).filter(any)


def over_all_orders(scores: list[float], marked: list[bool]) -> tuple[float, float]:
    """Average precision and precision at k, as the mean over every order that respects the scores."""
    k, found = sum(marked), []
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            hits = np.array([marked[i] for i in order])
            precision = hits.cumsum() / np.arange(1, len(hits) + 1)
            found.append((precision[hits].mean(), hits[:k].mean()))
    return tuple(np.mean(found, axis=0))


@given(MARKS.flatmap(lambda m: st.tuples(st.just(m), st.lists(st.integers(0, 2), min_size=len(m), max_size=len(m)))))
def test_ties_are_the_mean_over_all_orders(case):
    marked, scores = case
    area, at_k = over_all_orders(scores, marked)
    assert average_precision(np.array(scores, float), np.array(marked)) == pytest.approx(area)
    assert precision_at_k(np.array(scores, float), np.array(marked)) == pytest.approx(at_k)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_without_ties_it_is_scikit_learns(n, seed):
    rng = np.random.default_rng(seed)
    scores, marked = rng.permutation(n).astype(float), rng.permutation(n) < rng.integers(1, n + 1)
    assert average_precision(scores, marked) == pytest.approx(average_precision_score(marked, scores))
    top = np.argsort(-scores)[: marked.sum()]
    assert precision_at_k(scores, marked) == pytest.approx(marked[top].mean())


@pytest.mark.parametrize(("n", "k"), [(2, 1), (4, 1), (4, 3), (5, 2), (5, 5)])
def test_equal_scores_are_chance(n, k):
    marked = np.arange(n) < k
    orders = [np.array(order, float) for order in permutations(range(n))]
    assert average_precision(np.zeros(n), marked) == pytest.approx(
        np.mean([average_precision_score(marked, order) for order in orders])
    )
    assert precision_at_k(np.zeros(n), marked) == pytest.approx(k / n)


@given(MARKS, st.integers(0, 2**32 - 1))
def test_between_the_worst_and_the_best_order(marked, seed):
    marked = np.array(marked)
    scores = np.random.default_rng(seed).integers(0, 4, len(marked)).astype(float)
    for measure in (average_precision, precision_at_k):
        low, high = measure(-marked.astype(float), marked), measure(marked.astype(float), marked)
        assert high == pytest.approx(1)
        assert low - 1e-12 <= measure(scores, marked) <= high + 1e-12
        assert measure(3 * scores - 7, marked) == pytest.approx(measure(scores, marked))
