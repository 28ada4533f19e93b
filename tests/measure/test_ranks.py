"""Kendall against scipy, and the top-k distance against its definition as a plain loop."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heatcheck.measure import ranks
from heatcheck.measure.ranks import kendall, top_k_distance


def scipy_loop(x, y, valid):
    pairs = [stats.kendalltau(a[v], b[v]) for a, b, v in zip(x, y, valid, strict=True)]
    return np.array([p.statistic for p in pairs]), np.array([p.pvalue for p in pairs])


@given(st.integers(0, 2**32 - 1), st.integers(2, 45), st.integers(2, 60))
def test_kendall_equals_scipy_with_and_without_ties(seed, length, levels):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, levels, (4, length)).astype(float)
    y = rng.integers(0, levels, (4, length)).astype(float)
    y[3] = x[3] if seed % 2 else -x[3]
    x[2], y[2] = rng.random(length), rng.random(length)
    valid = rng.random((4, length)) < 0.9
    valid[:, :2] = True
    tau, p_value = kendall(x, y, valid)
    expected_tau, expected_p = scipy_loop(x, y, valid)
    np.testing.assert_allclose(tau, expected_tau, atol=1e-12, equal_nan=True)
    np.testing.assert_allclose(p_value, expected_p, atol=1e-12, rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize("length", [34, 100, 180, 399, 401, 900])
def test_kendall_equals_scipy_on_long_texts(length):
    rng = np.random.default_rng(length)
    x, y = rng.random((3, length)), rng.random((3, length))
    y[1], y[2] = x[1], x[2]
    y[2, :2] = y[2, 1::-1]
    valid = np.ones(x.shape, bool)
    for ours, theirs in zip(kendall(x, y, valid), scipy_loop(x, y, valid), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=1e-9)


def test_kendall_does_not_exist_for_one_token_or_a_constant_list():
    x = np.array([[1.0, 2, 3], [5, 5, 5], [1, 2, 3]])
    valid = np.array([[True, False, False], [True, True, True], [False, False, False]])
    tau, p_value = kendall(x, x, valid)
    assert np.isnan(tau).all()
    assert np.isnan(p_value).all()


def test_chunks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    x, y, valid = rng.random((40, 30)), rng.random((40, 30)), rng.random((40, 30)) < 0.7
    whole = kendall(x, y, valid)
    monkeypatch.setattr(ranks, "CHUNK", 700)
    np.testing.assert_array_equal(kendall(x, y, valid).tau, whole.tau)


def fagin_loop(x, y, k):
    """Fagin, Kumar & Sivakumar's K with penalty ½, case by case over pairs of the union of both tops."""
    top_x, top_y = (sorted(range(len(s)), key=lambda i, s=s: (-s[i], i))[:k] for s in (x, y))
    total = 0.0
    for i, j in combinations(sorted(set(top_x) | set(top_y)), 2):
        in_x, in_y = [t for t in (i, j) if t in top_x], [t for t in (i, j) if t in top_y]
        if len(in_x) == 2 and len(in_y) == 2:
            total += (top_x.index(i) < top_x.index(j)) != (top_y.index(i) < top_y.index(j))
        elif len(in_x) == 2 and len(in_y) == 1:
            other = j if in_y[0] == i else i
            total += top_x.index(other) < top_x.index(in_y[0])
        elif len(in_y) == 2 and len(in_x) == 1:
            other = j if in_x[0] == i else i
            total += top_y.index(other) < top_y.index(in_x[0])
        elif len(in_x) == 1 and len(in_y) == 1:
            total += 1
        else:
            total += 0.5
    return total


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 12))
def test_top_k_distance_is_fagins_over_that_of_the_reversed_list(seed, length, k):
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(length).astype(float), rng.permutation(length).astype(float)
    ours = top_k_distance(x[None], y[None], np.ones((1, length), bool), np.array([k]))[0]
    assert ours == pytest.approx(fagin_loop(x, y, k) / fagin_loop(x, -x, k))
    assert 0 <= ours <= 1
    assert top_k_distance(x[None], x[None], np.ones((1, length), bool), np.array([k]))[0] == 0


def test_top_k_distance_of_many_rows_is_that_of_each(monkeypatch):
    rng = np.random.default_rng(1)
    x, y, valid = rng.random((30, 25)), rng.random((30, 25)).round(1), rng.random((30, 25)) < 0.7
    x[0], y[1], valid[2], valid[3, 1:] = 0.5, 0.5, False, False
    k = rng.integers(1, 12, 30)
    monkeypatch.setattr(ranks, "CHUNK", 900)
    ours = top_k_distance(x, y, valid, k)
    assert np.isnan(ours[:4]).all()
    for row in range(4, 30):
        a, b = x[row, valid[row]], y[row, valid[row]]
        assert ours[row] == pytest.approx(fagin_loop(a, b, k[row]) / fagin_loop(a, -a, k[row]))
