"""Agreement against scipy and against definitions written as plain loops."""

import warnings
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from heatcheck.measure import agreement
from heatcheck.measure.agreement import kendall_top_k, pearson, rbo, spearman, topk_overlap

MEASURES = {
    "pearson": pearson,
    "spearman": spearman,
    "topk_overlap": lambda x, y, words: topk_overlap(x, y, words, 3),
    "rbo": rbo,
    "kendall_top_k": lambda x, y, words: kendall_top_k(x, y, words, 3),
}
LOWEST = {"pearson": -1, "spearman": -1, "topk_overlap": 0, "rbo": 0, "kendall_top_k": -1}
every_measure = pytest.mark.parametrize("name", MEASURES)
seeds = st.integers(0, 2**32 - 1)


def lists(seed, rows, length, levels):
    """Two tables of scores, many tied if there are few levels, and which places are words."""
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(0, levels, (rows, length)) / 7 for _ in range(2))
    return first, second, rng.random((rows, length)) < 0.8


def scipy_loop(function, first, second, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        rows = zip(first, second, words, strict=True)
        return [function(x[w], y[w]).statistic if w.sum() >= 2 else np.nan for x, y, w in rows]


@given(seeds, st.integers(1, 40), st.integers(2, 50))
def test_pearson_and_spearman_equal_scipy(seed, length, levels):
    first, second, words = lists(seed, 4, length, levels)
    first[2:] += np.random.default_rng(seed).random((2, length))
    for ours, theirs in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        expected = scipy_loop(theirs, first, second, words)
        np.testing.assert_allclose(ours(first, second, words), expected, atol=1e-12, equal_nan=True)


def orders(scores):
    """All orders of the words from the highest score down: one for each way to break the ties."""
    return [o for o in permutations(range(len(scores))) if all(scores[a] >= scores[b] for a, b in pairwise(o))]


def mean_over_orders(value, first, second):
    return np.mean([value(a, b) for a in orders(first) for b in orders(second)])


def share_in_common(a, b, k):
    return len(set(a[:k]) & set(b[:k])) / k


def webber(a, b, p):
    n = len(a)
    return share_in_common(a, b, n) * p**n + (1 - p) / p * sum(share_in_common(a, b, d) * p**d for d in range(1, n + 1))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 5), st.integers(2, 6), st.integers(1, 7), st.sampled_from([0.5, 0.9, 0.98]))
def test_overlap_and_rbo_are_means_over_all_ways_to_break_the_ties(seed, length, levels, k, p):
    first, second, _ = lists(seed, 1, length, levels)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        first[0, 0], second[0, 0] = 9, 9
    words = np.ones(first.shape, bool)
    expected = mean_over_orders(lambda a, b: share_in_common(a, b, min(k, length)), first[0], second[0])
    assert topk_overlap(first, second, words, k)[0] == pytest.approx(expected)
    expected = mean_over_orders(lambda a, b: webber(a, b, p), first[0], second[0])
    assert rbo(first, second, words, p)[0] == pytest.approx(expected)


def paper_5_loop(first, second, k):
    """Pair by pair: cost 1 if the two are in opposite order, ½ if tied in one list only."""
    tops = [{i for i, s in enumerate(scores) if s in sorted(set(scores))[-k:]} for scores in (first, second)]
    costs = []
    for i, j in combinations(range(len(first)), 2):
        if (i in tops[0] and j in tops[1]) or (j in tops[0] and i in tops[1]):
            tied = (first[i] == first[j], second[i] == second[j])
            opposite = (first[i] < first[j]) != (second[i] < second[j])
            costs.append(0 if all(tied) else 0.5 if any(tied) else float(opposite))
    return 1 - 2 * np.mean(costs) if costs else 1.0


@given(seeds, st.integers(2, 12), st.integers(2, 20), st.integers(1, 14))
def test_kendall_top_k_is_paper_5s(seed, length, levels, k):
    first, second, words = lists(seed, 5, length, levels)
    ours = kendall_top_k(first, second, words, k)
    for row, value in enumerate(ours):
        x, y = first[row, words[row]].tolist(), second[row, words[row]].tolist()
        undefined = min(len(set(x)), len(set(y))) < 2
        assert np.isnan(value) if undefined else value == pytest.approx(paper_5_loop(x, y, k))


def test_kendall_top_k_of_all_words_without_ties_is_kendalls_tau():
    rng = np.random.default_rng(0)
    first, second = rng.random((3, 20)), rng.random((3, 20))
    words = np.ones(first.shape, bool)
    expected = scipy_loop(stats.kendalltau, first, second, words)
    np.testing.assert_allclose(kendall_top_k(first, second, words, 20), expected, atol=1e-12)


def test_each_row_may_have_its_own_k():
    first, second, words = lists(0, 3, 12, 30)
    for measure in (topk_overlap, kendall_top_k):
        together = measure(first, second, words, np.array([1, 4, 9]))
        alone = [measure(first[[r]], second[[r]], words[[r]], k)[0] for r, k in enumerate((1, 4, 9))]
        np.testing.assert_array_equal(together, alone)


def test_chunks_do_not_change_the_result(monkeypatch):
    first, second, words = lists(0, 9, 12, 30)
    whole = kendall_top_k(first, second, words, 4)
    monkeypatch.setattr(agreement, "PAIRS", 300)
    np.testing.assert_array_equal(kendall_top_k(first, second, words, 4), whole)


@every_measure
@given(seed=seeds, length=st.integers(2, 15), levels=st.integers(2, 30))
def test_symmetric_within_its_range_and_independent_of_padding(name, seed, length, levels):
    first, second, words = lists(seed, 3, length, levels)
    values = MEASURES[name](first, second, words)
    np.testing.assert_allclose(values, MEASURES[name](second, first, words), atol=1e-12, equal_nan=True)
    assert (np.isnan(values) | ((values >= LOWEST[name] - 1e-12) & (values <= 1 + 1e-12))).all()
    noise = np.random.default_rng(seed).normal(size=(3, 4)) * 100
    noise[:, :2] = np.nan, -np.inf
    padded = (np.hstack([noise, scores]) for scores in (first, second))
    padded_words = np.hstack([np.zeros((3, 4), bool), words])
    np.testing.assert_allclose(MEASURES[name](*padded, padded_words), values, atol=1e-12, equal_nan=True)


@every_measure
@given(seed=seeds, length=st.integers(2, 15))
def test_one_for_the_same_ranking_without_ties(name, seed, length):
    scores = np.random.default_rng(seed).permutation(length)[None].astype(float)
    other = scores * 3 + 1 if name == "pearson" else np.exp(scores)
    assert MEASURES[name](scores, other, np.ones(scores.shape, bool))[0] == pytest.approx(1)


@pytest.mark.parametrize("measure", [pearson, spearman])
def test_minus_one_for_the_opposite(measure):
    scores = np.array([[1.0, 5, 2, 8]])
    assert measure(scores, -scores, np.ones(scores.shape, bool))[0] == pytest.approx(-1)


@every_measure
def test_does_not_exist_below_two_words_or_for_a_constant_list(name):
    first = np.array([[1.0, 2, 3], [5, 5, 5], [1, 2, 3], [0.1, 0.1, 7]])
    words = np.array([[True, False, False], [True, True, True], [False, False, False], [True, True, False]])
    second = np.array([[3.0, 1, 2]] * 4)
    assert np.isnan(MEASURES[name](first, second, words)).all()
    assert np.isnan(MEASURES[name](second, first, words)).all()
    assert MEASURES[name](first[:0], second[:0], words[:0]).shape == (0,)
