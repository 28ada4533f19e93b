"""Permuted attention: real permutations, the paper's loop, and a text's result is its own."""

import sys

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from heatcheck.batch import Example, packing_order
from heatcheck.experiments.permutation import (
    ONE_WORD,
    PermutationConfig,
    change_when_shuffled,
    medians,
    permutation,
    shuffles,
)
from heatcheck.measure.distributions import tvd
from tests.toys import random_examples, small_model, small_subject

SEEDS = np.arange(10, 18, dtype=np.uint64)


def drawn_orders(lengths, width, rounds, seeds=SEEDS):
    """P B S: which place each place's weight came from."""
    places = torch.arange(width).expand(len(lengths), -1)
    shuffled = shuffles(places.double(), torch.tensor(lengths), range(rounds), seeds[: len(lengths)])
    return shuffled.long().numpy()


def test_shuffles_reach_every_order_equally_often():
    drawn = drawn_orders([3, 1, 0], 5, 6000)
    assert (drawn[..., 3:] == [3, 4]).all()  # what is not in the text stays
    assert (drawn[:, 1:] == np.arange(5)).all()
    orders, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(orders) == 6
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("length", [17, 64, 65, 150])
def test_every_word_comes_to_every_place_equally_often(length):
    drawn = drawn_orders([length], length, 4000)[:, 0]
    assert (np.sort(drawn) == np.arange(length)).all()
    for place in (0, length // 2, length - 1):
        assert chisquare(np.bincount(drawn[:, place], minlength=length)).pvalue > 1e-4
    ahead = drawn.argsort(1)[:, 3] < drawn.argsort(1)[:, 4]
    assert abs(ahead.mean() - 0.5) < 4 * 0.5 / 4000**0.5


def test_texts_and_rounds_are_shuffled_independently():
    drawn = drawn_orders([40] * 8, 40, 50)
    flat = drawn.reshape(-1, 40)
    assert len(np.unique(flat, axis=0)) == len(flat)
    same_place = (flat[:, None] == flat[None, :]).sum(-1)[~np.eye(len(flat), dtype=bool)]
    assert abs(same_place.mean() - 1) < 0.02  # two random orders agree in one place on average


@pytest.mark.parametrize("width", [40, 64, 65, 300])
def test_a_texts_shuffles_are_the_same_beside_longer_texts(width):
    alone = drawn_orders([30], 30, 21)
    assert (drawn_orders([30, width], width, 21)[:, :1, :30] == alone).all()
    assert (drawn_orders([30, width], width, 8)[:, :1, :30] == alone[:8]).all()


@pytest.mark.parametrize("rounds", [1, 2, 5, 100])
def test_medians(rounds):
    values = torch.rand(rounds, 7, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(medians(values), np.median(values.numpy(), axis=0), rtol=1e-6)


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("single", 3), ("pair", 3), ("qa", 4)])
def test_change_is_the_papers_loop(task, labels):
    examples = random_examples(8, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        attention = model.attend(encoded, batch)
        base, change = change_when_shuffled(model, encoded, attention, batch, 20, SEEDS)
        torch.testing.assert_close(base, model.probs(model.classify(encoded, attention, batch)))
        places = packing_order(batch.attended)
        drawn = shuffles(attention[:, 0].gather(1, places), batch.attended.sum(1), range(20), SEEDS)
        for p in range(20):
            permuted = torch.zeros_like(attention[:, 0]).scatter(1, places, drawn[p])
            assert (permuted[~batch.attended] == 0).all()
            probs = model.probs(model.classify(encoded, permuted[:, None], batch))
            torch.testing.assert_close(change[p], tvd(probs, base), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("task", ["single", "qa"])
def test_long_texts_are_shuffled_fewer_times_at_once(task, monkeypatch):
    examples = random_examples(8, task, labels=4)
    model, vocabulary = small_model(examples, labels=4)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        attention = model.attend(encoded, batch)
    whole = change_when_shuffled(model, encoded, attention, batch, 21, SEEDS)[1]
    for numbers in (1, 5 * batch.attended.numel()):
        monkeypatch.setattr(sys.modules[shuffles.__module__], "AT_ONCE", numbers)
        torch.testing.assert_close(change_when_shuffled(model, encoded, attention, batch, 21, SEEDS)[1], whole)


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
    examples = [*random_examples(4, longest=1), Example("two", "w1 w2", 0)]
    subject = small_subject(examples)
    *ones, two = permutation(subject, examples, PermutationConfig(), generator=torch.Generator())
    assert [(row.value, row.reason) for row in ones] == [(None, ONE_WORD)] * 4
    assert ONE_WORD == "undefined: the text has fewer than two words to shuffle"
    assert (two.value is not None, two.reason) == (True, None)
