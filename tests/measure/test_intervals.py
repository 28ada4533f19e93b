"""The bootstrap: known limits."""

import numpy as np
import pytest

from heatcheck.measure.intervals import bootstrap, bootstrap_columns


def test_interval_of_a_mean_has_the_width_of_the_normal_theory():
    values = np.random.default_rng(0).normal(3, 2, 4000)
    value, low, high = bootstrap(values, np.mean, seed=1)
    assert value == pytest.approx(values.mean())
    assert (high - low) == pytest.approx(2 * 1.96 * 2 / np.sqrt(4000), rel=0.1)
    assert low < 3 < high


def test_one_value_has_no_interval_and_the_seed_decides():
    assert bootstrap(np.array([2.0]), np.mean, seed=0) == (2.0, None, None)
    values = np.arange(50.0)
    assert bootstrap(values, np.median, seed=3) == bootstrap(values, np.median, seed=3)
    assert bootstrap(values, np.median, seed=3) != bootstrap(values, np.median, seed=4)


def test_many_columns_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 3)) * [1, 5, 0.1] + [0, 100, -7]
    values[rng.random(values.shape) < 0.3] = np.nan
    found = bootstrap_columns(values, seed=1)
    for column in range(3):
        known = values[~np.isnan(values[:, column]), column]
        for rows, statistic in ((found.mean, np.mean), (found.std, np.std)):
            expected = bootstrap(known, statistic, seed=2)
            assert rows[0, column] == pytest.approx(expected.value)
            width = expected.high - expected.low
            assert rows[1:, column] == pytest.approx([expected.low, expected.high], abs=0.15 * width)
        assert found.n[column] == len(known)


def test_columns_without_values_or_with_one():
    found = bootstrap_columns(np.array([[np.nan, 2.0], [np.nan, np.nan]]), seed=0)
    assert np.isnan(found.mean[:, 0]).all()
    assert found.mean[0, 1] == 2
    assert np.isnan(found.mean[1:, 1]).all()
