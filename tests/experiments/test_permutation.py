"""Permuted attention: real permutations, and the fast path equals the paper's loop."""

import numpy as np
import pytest
import torch

from heatcheck.experiments.permutation import PermutationConfig, permutation, permuted_change, shuffles
from heatcheck.measure.distributions import tvd
from tests.toys import random_examples, small_model, small_subject


def test_shuffles_keep_each_rows_weights_and_reach_every_order():
    rng = np.random.default_rng(0)
    words = np.array([[False, True, True, False, True], [True, False, False, False, False]])
    weights = np.array([[0, 0.5, 0.3, 0, 0.2], [1, 0, 0, 0, 0]])
    drawn = shuffles(weights, words, 600, rng)
    assert (np.sort(drawn, -1) == np.sort(weights, -1)).all()
    assert (drawn[:, ~words] == 0).all()
    orders, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(orders) == 6
    assert counts.min() > 60  # 100 expected of each


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("single", 3), ("pair", 3), ("qa", 4)])
def test_change_is_the_papers_loop(task, labels):
    examples = random_examples(8, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch = vocabulary.batch(examples)
    base, change = permuted_change(model, batch, 20, np.random.default_rng(5))
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        attention = model.attend(encoded, batch)
        drawn = shuffles(attention[:, 0].numpy(), batch.attended.numpy(), 20, np.random.default_rng(5))
        for p in range(20):
            probs = model.probs(model.classify(encoded, torch.from_numpy(drawn[p])[:, None], batch))
            torch.testing.assert_close(change[p], tvd(probs, base), atol=1e-6, rtol=1e-5)


def test_a_text_of_one_word_cannot_be_shuffled():
    examples = random_examples(4, longest=1)
    rows = permutation(small_subject(examples), examples, PermutationConfig(), generator=torch.Generator())
    assert [row.value for row in rows] == [0, 0, 0, 0]
