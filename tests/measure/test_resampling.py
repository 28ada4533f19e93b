"""Resampled numbers: row 0 is the sample itself, the others are what a loop over drawn texts gives."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from heatcheck.measure.resampling import (
    balanced_accuracies,
    drawn_texts,
    f1_scores,
    interval,
    means,
    over_groups,
    over_models,
)


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


def test_a_sample_without_the_class_has_no_f1():
    truth, predicted = np.array([0, 1]), np.array([[0, 1], [1, 0]])
    found = f1_scores(np.array([[1.0, 1.0], [2.0, 0.0]]), truth, predicted, 2)
    np.testing.assert_allclose(found, [[1.0, 0.0], [np.nan, 0.0]])


def test_balanced_accuracy_is_that_of_the_drawn_texts():
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, (60, 2))
    drawn = drawn_texts(60, seed=1)[:4]
    found = balanced_accuracies(drawn, truth, predicted)
    for row, counts in enumerate(drawn.astype(int)):
        texts = np.repeat(np.arange(60), counts)
        for model in range(2):
            assert found[row, model] == pytest.approx(balanced_accuracy_score(truth[texts], predicted[texts, model]))
    assert balanced_accuracies(drawn[:1], truth, np.zeros((60, 1), dtype=int)) == pytest.approx(1 / 3)


def test_a_class_that_is_not_drawn_does_not_count_as_wrong():
    truth = np.arange(50)
    assert interval(balanced_accuracies(drawn_texts(50, seed=0), truth, truth[:, None])[:, 0]) == (1, 1, 1)


def test_one_who_always_says_the_same_is_at_chance_in_every_resample():
    truth = np.array([0] * 81 + list(range(1, 20)))  # most resamples lack a third of the classes
    found = interval(balanced_accuracies(drawn_texts(100, seed=0), truth, np.zeros((100, 1), dtype=int))[:, 0])
    assert found == pytest.approx((1 / 20, 1 / 20, 1 / 20))
    assert found.low <= 1 / 20


def test_means_know_texts_and_models():
    values = np.random.default_rng(0).uniform(0.4, 0.5, size=(30, 4))
    drawn = drawn_texts(30, seed=0)
    by_model = means(drawn, values)
    assert by_model[0] == pytest.approx(values.mean(0))
    one, many = by_model[:, :1], over_models(by_model, seed=0)
    assert many[0] == pytest.approx(values.mean())
    assert over_models(one, seed=0) == pytest.approx(one[:, 0])
    far = by_model + np.array([0.0, 0.1, 0.2, 0.3])  # models that differ much: the interval must know
    assert np.ptp(interval(over_models(far, seed=0))[1:]) > 5 * np.ptp(interval(far.mean(1))[1:])


@pytest.mark.parametrize("models", [2, 3, 8])
@pytest.mark.parametrize("text_noise", [0.0, 0.1])
def test_95_of_100_intervals_hold_the_truth(models, text_noise):
    """Models around 0.5, measured on 40 texts."""
    rng, held = np.random.default_rng(models), 0
    drawn = drawn_texts(40, seed=0)
    for trial in range(400):
        by_text = 0.5 + rng.normal(0, 0.02, models) + rng.normal(0, text_noise, (40, 1)) * np.ones(models)
        found = interval(over_models(means(drawn, by_text), seed=trial))
        held += found.low <= 0.5 <= found.high
    assert 0.92 <= held / 400 <= 0.99


def test_models_of_a_group_are_not_independent():
    """Two bases with fifty adversaries each are two, not a hundred."""
    values = np.full((2001, 2, 50), 0.4)
    values[:, 1] = 0.6
    assert np.ptp(interval(over_groups(values, seed=0))[1:]) > 4 * np.ptp(
        interval(over_models(values.reshape(2001, -1), seed=0))[1:]
    )


def test_an_interval_holds_95_of_100():
    values = np.concatenate([[3.0], np.arange(1000.0)])
    assert interval(values) == pytest.approx((3.0, 24.975, 974.025))
