"""Resampled numbers: row 0 is the sample itself, the others are what a loop over drawn texts gives."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from heatcheck.measure.resampling import drawn_texts, f1_scores, interval, means, over_models


@pytest.mark.parametrize("labels", [2, 4])
def test_f1_is_that_of_the_drawn_texts(labels):
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, labels, 40), rng.integers(0, labels, (40, 3))
    drawn = drawn_texts(40, seed=1)[:5]
    found = f1_scores(drawn, truth, predicted, labels)
    for row, counts in enumerate(drawn.astype(int)):
        texts = np.repeat(np.arange(40), counts)
        for model in range(3):
            plain = f1_score if labels == 2 else accuracy_score
            assert found[row, model] == pytest.approx(plain(truth[texts], predicted[texts, model]))


def test_means_and_models_are_resampled():
    values = np.random.default_rng(0).normal(size=(30, 4))
    drawn = drawn_texts(30, seed=0)
    by_model = means(drawn, values)
    assert by_model[0] == pytest.approx(values.mean(0))
    one, many = by_model[:, :1], over_models(by_model, seed=0)
    assert many[0] == pytest.approx(values.mean())
    assert over_models(one, seed=0) == pytest.approx(one[:, 0])
    far = by_model + np.array([0.0, 5.0, 10.0, 15.0])  # models that differ much: the interval must know
    assert np.ptp(interval(over_models(far, seed=0))[1:]) > 5 * np.ptp(interval(far.mean(1))[1:])


def test_an_interval_holds_95_of_100():
    values = np.concatenate([[3.0], np.arange(1000.0)])
    assert interval(values) == pytest.approx((3.0, 24.975, 974.025))
