"""The bootstrap: known limits."""

import numpy as np
import pytest

from heatcheck.measure.intervals import bootstrap


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
