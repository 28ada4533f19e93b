"""LIME and Kernel-SHAP against closed forms, sklearn, Captum and the permutation formula of Shapley values."""

import dataclasses
import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from benchmarks.cases_lime import captums
from captum.attr import KernelShap as CaptumKernelShap
from sklearn.linear_model import Ridge
from torch import Tensor

from heatcheck.batch import Batch, Example, replace_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain.surrogate import (
    KernelShap,
    Lime,
    coin_masks,
    drawn_coalitions,
    ridge,
    shapley_kernel,
    similarity,
)
from heatcheck.explain.types import predicted_probability, probability_of_prediction
from heatcheck.models import blackbox, pieces
from heatcheck.models.protocols import Kind
from tests.edits import join
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import linear_toy, random_examples, vocabulary_of


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@dataclass
class WordValues:
    """What is explained is Σ value(word), plus `bonus` if two words are there together: linear in the mask."""

    values: Tensor  # V
    bonus: float = 0.0
    pair: tuple[int, int] = (5, 6)
    kind: Kind = "categorical"
    pad_id: int = 0
    mask_id: int = 1
    rows_that_fit: int = 10**9
    largest: int = 0
    calls: int = 0

    def predict(self, batch: Batch) -> Tensor:
        if len(batch) > self.rows_that_fit:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes.")
        self.largest, self.calls = max(self.largest, len(batch)), self.calls + len(batch)
        both = [((batch.token_ids == word) & batch.mask).any(1) for word in self.pair]
        score = (self.values[batch.token_ids] * batch.mask).sum(1) + self.bonus * (both[0] & both[1])
        return torch.stack([-score, score], dim=1)

    def probs(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)


def score(model, logits, batch):
    return logits[:, 1]


def word_values(size: int, **more) -> WordValues:
    values = torch.randn(size, generator=seeded(), dtype=torch.float64)
    values[:4] = 0  # hidden words and marks count nothing
    return WordValues(values, **more)


@pytest.fixture
def toy():
    examples = random_examples(6, longest=9)
    vocabulary = vocabulary_of(examples, 2)
    return word_values(len(vocabulary)), vocabulary.batch(examples)


@pytest.mark.parametrize("hide", ["mask", "pad", "delete"])
def test_lime_finds_the_weights_of_a_linear_model(toy, hide):
    model, batch = toy
    scores = Lime(300, alpha=1e-9, hide=hide)(model, batch, score, generator=seeded()).scores
    expected = model.values[batch.token_ids] * batch.words
    torch.testing.assert_close(scores.double(), expected, atol=1e-5, rtol=1e-5)


def test_ridge_is_sklearns():
    masks = coin_masks(3, 200, 12)
    values = torch.randn(200, generator=seeded(), dtype=torch.float64)
    weights = similarity(masks, 0.4)
    theirs = Ridge(alpha=2.5).fit(masks.numpy(), values.numpy(), sample_weight=weights.numpy()).coef_
    np.testing.assert_allclose(ridge(masks, values, weights, 2.5).numpy(), theirs, atol=1e-10)


def test_the_kernel_is_that_of_the_cosine_distance():
    masks = torch.tensor([[True, True, True, True], [True, False, False, False], [False] * 4])
    ones = torch.ones(4)
    distance = [1 - torch.cosine_similarity(m.float(), ones, dim=0).item() for m in masks]
    expected = torch.tensor([math.exp(-(d**2) / (2 * 0.3**2)) for d in distance]).double()
    torch.testing.assert_close(similarity(masks, 0.3), expected, atol=1e-6, rtol=1e-6)


def test_coins_are_fair_and_differ_between_texts():
    masks = torch.stack([coin_masks(seed, 1000, 20) for seed in range(20)]).double()
    assert abs(float(masks.mean()) - 0.5) < 4 * 0.5 / math.sqrt(masks.numel())
    flat = masks.reshape(20, -1)
    agreement = torch.corrcoef(flat) - torch.eye(20)
    assert float(agreement.abs().max()) < 5 / math.sqrt(flat.shape[1])
    within = torch.corrcoef(masks[0].T) - torch.eye(20)
    assert float(within.abs().max()) < 5 / math.sqrt(1000)


@pytest.mark.parametrize("hide", ["mask", "delete"])
def test_lime_equals_captums_given_the_same_masks(tmp_path, hide):
    subject = tiny_subject(tmp_path)
    (batch,) = subject.batches(random_examples(3, longest=8), 4)
    scalar = probability_of_prediction(subject.model, batch)
    settings = Lime(samples=120, alpha=0.5, width=0.7, hide=hide)
    ours = settings(subject.model, batch, scalar, generator=seeded()).scores[batch.words]
    theirs = captums(subject.model, batch, scalar, settings)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    assert float(theirs.abs().max()) > 1e-2


def shapley(worth, n):
    """The mean, over all orders of the words, of what a word adds when it comes."""
    found, worth = np.zeros(n), functools.cache(worth)
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        there = [False] * n
        for word in order:
            before = worth(tuple(there))
            there[word] = True
            found[word] += worth(tuple(there)) - before
    return found / len(orders)


def test_kernel_shap_of_a_short_text_is_its_shapley_values():
    examples = [Example("x", "w0 w1 w2 w3 w4 w1", 0), Example("y", "w3", 0), Example("z", "w5 w2", 0)]
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = KernelShap()(model, batch, scalar, generator=seeded())
    for row in range(3):
        text = trim(rows(batch, torch.tensor([row])))
        places = text.words[0].nonzero().squeeze(1)

        def worth(there, text=text, places=places):
            gone = torch.zeros_like(text.mask)
            gone[0, places] = ~torch.tensor(there)
            edited = replace_tokens(text, gone, model.mask_id)
            return float(scalar(model, model.predict(edited), edited))

        np.testing.assert_allclose(ours.scores[row, places].numpy(), shapley(worth, len(places)), atol=1e-6)
    assert float(ours.delta.max()) < 1e-5
    assert float(ours.scores.abs().max()) > 0.01


def test_kernel_shap_shares_a_bonus_between_the_two_words_that_earn_it():
    """In closed form, also for a text too long to run every coalition, as the fit sees it without noise."""
    examples = [Example("x", " ".join(f"w{i}" for i in range(16)), 0)]
    vocabulary = vocabulary_of(examples, 2)
    batch = vocabulary.batch(examples)
    model = word_values(len(vocabulary), bonus=3.0, pair=(5, 6))
    ours = KernelShap(samples=4000)(model, batch, score, generator=seeded())
    expected = model.values[batch.token_ids] * batch.words
    expected[(batch.token_ids == 5) | (batch.token_ids == 6)] += 1.5
    torch.testing.assert_close(ours.scores.double(), expected, atol=0.15, rtol=0)
    assert float(ours.delta[0]) < 1e-6
    linear = KernelShap(samples=400)(word_values(len(vocabulary)), batch, score, generator=seeded()).scores
    torch.testing.assert_close(linear.double(), model.values[batch.token_ids] * batch.words, atol=1e-5, rtol=0)


@pytest.mark.filterwarnings("ignore")
def test_kernel_shap_agrees_with_captums_up_to_its_draws():
    examples = [Example("x", " ".join(f"w{i}" for i in range(13)), 0)]
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    words = batch.words[0]

    def probability(ids: Tensor) -> Tensor:
        text = rows(batch, torch.zeros(len(ids), dtype=torch.long))
        where = torch.zeros_like(text.mask)
        where[:, words] = True
        there = text.token_ids.clone()
        there[:, words] = ids
        edited = replace_tokens(text, where, there)
        return scalar(model, model.predict(edited), edited)

    torch.manual_seed(0)
    runs = [
        CaptumKernelShap(probability).attribute(
            batch.token_ids[0, words][None], baselines=model.mask_id, n_samples=800, perturbations_per_eval=800
        )[0]
        for _ in range(8)
    ]
    theirs, noise = torch.stack(runs).mean(0), torch.stack(runs).std(0)
    ours = KernelShap(samples=4000)(model, batch, scalar, generator=seeded()).scores[0, words]
    exact = KernelShap(exact=13)(model, batch, scalar).scores[0, words]
    assert bool(((exact - theirs).abs() < 5 * noise / math.sqrt(8) + 1e-4).all())
    assert bool(((ours - exact).abs() < 4 * noise).all())
    assert float(exact.abs().max()) > 20 * float(noise.max())


def test_coalitions_are_drawn_by_the_kernel_and_come_with_their_complements():
    masks = drawn_coalitions(5, 20000, 14)
    sizes = torch.bincount(masks.sum(1), minlength=15).double() / len(masks)
    kernel = shapley_kernel(14) * torch.tensor([math.comb(14, k) for k in range(15)])
    torch.testing.assert_close(sizes, kernel / kernel.sum(), atol=0.01, rtol=0)
    half = len(masks) // 2
    assert bool((masks[:half] == ~masks[half:]).all())
    assert float((masks.double().mean(0) - 0.5).abs().max()) < 1e-12


def test_more_words_than_coalitions_is_said_and_still_sums_up():
    examples = [Example("x", " ".join(f"w{i}" for i in range(30)), 0)]
    vocabulary = vocabulary_of(examples, 2)
    ours = KernelShap(samples=10)(word_values(len(vocabulary)), vocabulary.batch(examples), score, generator=seeded())
    assert ours.notes == ("a text has more words than coalitions were drawn: raise samples",)
    assert float(ours.delta[0]) < 1e-5
    assert torch.isfinite(ours.scores).all()


@pytest.mark.parametrize("explainer", [Lime(60), Lime(60, hide="delete"), KernelShap(60, exact=3)])
@pytest.mark.parametrize("family", ["bert", "xlnet", "gpt2"])
def test_company_order_padding_and_batch_size_do_not_change_the_scores(tmp_path, monkeypatch, explainer, family):
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches(random_examples(4, "pair", longest=8), 8)
    longer = dataclasses.replace(*random_examples(1, "pair", longest=30, seed=7), id="another")
    (other,) = subject.batches([longer], 1)

    def explain(some):
        return explainer(subject.model, some, predicted_probability, generator=seeded(3)).scores

    together = explain(batch)
    close = {"atol": 1e-4, "rtol": 1e-3}
    torch.testing.assert_close(explain(rows(batch, torch.arange(3, -1, -1))).flip(0), together, **close)
    torch.testing.assert_close(explain(join([batch, other]))[:4, : batch.mask.shape[1]], together, **close)
    one = trim(rows(batch, torch.tensor([2])))
    torch.testing.assert_close(explain(one)[0], together[2, : one.mask.shape[1]], **close)
    monkeypatch.setattr(pieces, "TOKENS_ON_CPU", 50)
    torch.testing.assert_close(explain(batch), together, **close)
    assert (
        float(
            (explainer(subject.model, batch, predicted_probability, generator=seeded(4)).scores - together).abs().max()
        )
        > 1e-3
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_explained(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches(random_examples(3, longest=5), 4)
    for explainer in (Lime(20), Lime(20, hide="delete"), Lime(20, hide="pad"), KernelShap(20, exact=3)):
        ours = explainer(subject.model, batch, predicted_probability)
        assert torch.isfinite(ours.scores).all()
        assert bool((ours.scores[~batch.words] == 0).all())
        assert ours.signed


def test_memory_that_runs_out_halves_the_pieces_and_changes_nothing(toy):
    model, batch = toy
    expected = Lime(200)(model, batch, score, generator=seeded()).scores
    assert model.largest > 7
    small = WordValues(model.values, rows_that_fit=7)
    torch.testing.assert_close(Lime(200)(small, batch, score, generator=seeded()).scores, expected)
    assert small.largest <= 7


def test_equal_masks_run_once(toy):
    model, _ = toy
    vocabulary = vocabulary_of([Example("x", "w1 w2 w3", 0)], 2)
    Lime(1000)(model, vocabulary.batch([Example("x", "w1 w2 w3", 0)]), score, generator=seeded())
    assert model.calls == 8


def test_a_black_box_is_explained():
    def predict(texts):
        share = [("good" in t) * 0.6 + ("bad" not in t) * 0.3 for t in texts]
        return np.array([[1 - p, p] for p in share])

    subject = blackbox.as_subject(predict, ("no", "yes"))
    (batch,) = subject.batches([Example("x", "a good film, not bad", 1)], 1)
    ours = KernelShap(hide="delete")(subject.model, batch, probability_of_prediction(subject.model, batch))
    expected = [0, 0.6, 0, 0, 0, -0.3, 0]  # a | good | film | , | not | bad | what is behind
    np.testing.assert_allclose(ours.scores[0].numpy(), expected, atol=1e-6)


def test_a_text_without_words_has_no_scores():
    subject = blackbox.as_subject(lambda texts: [[0.5, 0.5]] * len(texts), ("no", "yes"))
    (batch,) = subject.batches([Example("x", "  ", 1), Example("y", "a", 1)], 2)
    for explainer in (Lime(10), KernelShap()):
        scores = explainer(subject.model, batch, predicted_probability).scores
        assert scores.shape == batch.mask.shape
        assert float(scores.abs().max()) < 1e-9


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Lime(0), "lime: samples=0 is not above 0."),
        (lambda: Lime(width=-1), "lime: width=-1 is not above 0."),
        (lambda: Lime(alpha=0), "lime: alpha=0 is not above 0."),
        (lambda: Lime(hide="x"), "hide='x' is not one of mask, pad, delete."),
        (lambda: KernelShap(1), "kernel_shap: samples=1 is below 2, a coalition and its complement."),
        (lambda: KernelShap(exact=40), "kernel_shap: exact=40 words is not 1 to 20 (2^20 is a million coalitions)."),
    ],
)
def test_settings_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(InputError) as found:
        make()
    assert str(found.value) == sentence
