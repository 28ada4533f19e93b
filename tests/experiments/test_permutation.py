"""Permuted attention: real permutations, the paper's loop, and a text's result is its own."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from heatcheck.experiments.permutation import PermutationConfig, change_when_shuffled, permutation, shuffles
from heatcheck.measure.distributions import tvd
from tests.toys import random_examples, small_model, small_subject

SEEDS = np.arange(10, 18, dtype=np.uint64)


def test_shuffles_keep_each_rows_weights_and_reach_every_order():
    words = np.array([[False, True, True, False, True], [True, False, False, False, False]])
    weights = np.array([[0, 0.5, 0.3, 0, 0.2], [1, 0, 0, 0, 0]])
    drawn = shuffles(weights, words, 6000, SEEDS[:2])
    assert (np.sort(drawn, -1) == np.sort(weights, -1)).all()
    assert (drawn[:, ~words] == 0).all()
    orders, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(orders) == 6
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("single", 3), ("pair", 3), ("qa", 4)])
def test_change_is_the_papers_loop(task, labels):
    examples = random_examples(8, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        attention = model.attend(encoded, batch)
        base, change = change_when_shuffled(model, encoded, attention, batch, 20, SEEDS)
        drawn = shuffles(attention[:, 0].numpy(), batch.attended.numpy(), 20, SEEDS)
        for p in range(20):
            probs = model.probs(model.classify(encoded, torch.from_numpy(drawn[p])[:, None], batch))
            torch.testing.assert_close(change[p], tvd(probs, base), atol=1e-6, rtol=1e-5)


def test_a_texts_result_does_not_depend_on_its_company():
    examples = random_examples(20)
    subject = small_subject(examples)

    def results(some):
        generator = torch.Generator().manual_seed(4)
        return {r.example_id: r.value for r in permutation(subject, some, PermutationConfig(), generator=generator)}

    together = results(examples)
    for some in (examples[::-1], examples[3:9], examples[:1]):
        assert results(some) == pytest.approx({e.id: together[e.id] for e in some}, abs=1e-6)


def test_a_text_of_one_word_cannot_be_shuffled():
    examples = random_examples(4, longest=1)
    rows = permutation(small_subject(examples), examples, PermutationConfig(), generator=torch.Generator())
    assert [row.value for row in rows] == [0, 0, 0, 0]
