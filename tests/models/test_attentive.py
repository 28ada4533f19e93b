"""Our models: attention is a distribution, and neither padding nor company nor order changes an output."""

import pytest
import torch

from heatcheck.batch import Example, rows, trim
from heatcheck.errors import InputError
from heatcheck.models.attention import weigh
from heatcheck.models.protocols import AttentiveClassifier, Entered, LinearDecoder
from heatcheck.models.spec import ATTENTIONS, ENCODERS, WEIGHTINGS, ModelSpec
from tests.edits import join
from tests.toys import random_examples, small_model, vocabulary_of

TASKS = [("single", 2), ("single", 4), ("pair", 3), ("qa", 5)]
EVERY = [(e, a, t, n) for e in ENCODERS for a in ATTENTIONS for t, n in TASKS]


@pytest.mark.parametrize(("encoder", "attention", "task", "labels"), EVERY)
def test_padding_company_and_order_change_nothing(encoder, attention, task, labels):
    examples = random_examples(7, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, attention, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        together = model.predict(batch)
        alone = torch.cat([model.predict(trim(rows(batch, torch.tensor([i])))) for i in range(7)])
        backwards = model.predict(rows(batch, torch.arange(6, -1, -1))).flip(0)
        long = random_examples(1, task, labels=labels, longest=60, seed=3)
        wider = model.predict(join([batch, vocabulary.batch(long)]))[:7]
    for other in (alone, backwards, wider):
        torch.testing.assert_close(other, together, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("encoder", "attention", "task", "labels"), EVERY)
def test_attention_is_a_distribution_over_the_words_of_the_first_text(encoder, attention, task, labels):
    examples = random_examples(6, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, attention, labels=labels)
    batch = vocabulary.batch(examples)
    encoded = model.encode(model.embed(batch), batch)
    weights = model.attend(encoded, batch)
    assert weights.shape == (6, 1, batch.mask.shape[1])
    torch.testing.assert_close(weights.sum(-1), torch.ones(6, 1))
    assert (weights[:, 0][~batch.attended] == 0).all()
    torch.testing.assert_close(model.classify(encoded, weights, batch), model.predict(batch))
    torch.testing.assert_close(model.probs(model.predict(batch)).sum(-1), torch.ones(6))


WITH_PAIRING = [(*one, "question") for one in EVERY] + [(*one, "comparison") for one in EVERY if one[2] == "pair"]


@pytest.mark.parametrize(("encoder", "attention", "task", "labels", "pairing"), WITH_PAIRING)
def test_slopes_behind_the_entrance_are_those_at_the_embeddings(encoder, attention, task, labels, pairing):
    """Times the input; what stands at padding takes no part."""
    examples = random_examples(7, task, labels=labels)
    vocabulary = vocabulary_of(examples, labels)
    spec = ModelSpec(encoder, attention, task, labels, len(vocabulary), embedding_width=12, hidden=8, pairing=pairing)
    model, batch = spec.build(1).double().eval(), vocabulary.batch(examples)
    found = []
    for entered in (model.enter(batch), Entered.at(model.embed(batch), lambda e: model.encode(e, batch))):
        attended = model.attend(entered.encoded, batch)
        logits = model.classify(entered.encoded, attended, batch)
        slopes = torch.autograd.grad(model.probs(logits).max(-1).values.log().sum(), entered.taken)
        found.append(entered.times_input(slopes) * batch.mask)
    assert found[0].abs().max() > 1e-4
    torch.testing.assert_close(found[0], found[1], atol=1e-12, rtol=1e-9)


def test_only_candidates_can_be_predicted():
    examples = random_examples(20, "qa", labels=5)
    model, vocabulary = small_model(examples, labels=5)
    batch = vocabulary.batch(examples)
    probs = model.probs(model.predict(batch))
    assert (probs[~batch.candidates] == 0).all()


def test_protocols_tell_what_a_model_offers():
    single, _ = small_model(random_examples(3))
    pair, _ = small_model(random_examples(3, "pair", labels=3), labels=3)
    assert isinstance(single, AttentiveClassifier)
    assert isinstance(pair, AttentiveClassifier)
    assert isinstance(single, LinearDecoder)
    assert not isinstance(pair, LinearDecoder)


def test_token_logits_are_the_logits_under_all_attention_on_one_token():
    examples = random_examples(4, labels=3)
    model, vocabulary = small_model(examples, labels=3)
    batch = vocabulary.batch(examples)
    encoded = model.encode(model.embed(batch), batch)
    one_hot = torch.zeros(4, 1, batch.mask.shape[1])
    one_hot[:, :, 1] = 1
    torch.testing.assert_close(model.classify(encoded, one_hot, batch), model.token_logits(encoded)[:, 1])


def test_low_temperature_sharpens_attention():
    examples = random_examples(4)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    encoded = model.encode(model.embed(batch), batch)
    soft = model.attend(encoded, batch).amax(-1)
    model.temperature = 0.1
    assert (model.attend(encoded, batch).amax(-1) >= soft).all()


def test_same_seed_same_weights_and_unknown_parts_are_refused():
    first, second = (ModelSpec(vocabulary_size=9).build(3).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    with pytest.raises(InputError, match="encoder 'lstmm' is not one of bilstm, gru, cnn, average, mlp, transformer"):
        ModelSpec(encoder="lstmm")
    with pytest.raises(InputError, match="temperature 0 is not a number above 0"):
        ModelSpec(temperature=0)


@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize(
    ("encoder", "least", "refused"),
    [
        ("bilstm", 1, {0: "needs 1 or more"}),
        ("gru", 1, {0: "needs 1 or more"}),
        ("average", 1, {0: "needs 1 or more"}),
        ("mlp", 2, {1: "encoder 'mlp' needs 2 or more", -3: "hidden -3 is too few units"}),
        ("cnn", 2, {1: "encoder 'cnn' needs 2 or more"}),
        ("transformer", 2, {1: "needs 2 or more", 3: "hidden 3 is odd"}),
    ],
)
def test_widths_that_leave_a_layer_empty_are_refused(encoder, attention, least, refused):
    for task in ("single", "pair"):
        model = ModelSpec(encoder, attention, task, vocabulary_size=9, embedding_width=1, hidden=least).build(0)
        assert all(weights.numel() for weights in model.parameters())
    for hidden, sentence in refused.items():
        with pytest.raises(InputError, match=sentence):
            ModelSpec(encoder, attention, hidden=hidden)
    with pytest.raises(InputError, match="embedding_width 0 is too narrow"):
        ModelSpec(encoder, attention, embedding_width=0)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_compared_texts_attend_to_both_and_padding_changes_nothing(encoder, weighting):
    examples = random_examples(7, "pair", labels=3)
    vocabulary = vocabulary_of(examples, 3)
    spec = ModelSpec(
        encoder, task="pair", n_labels=3, vocabulary_size=len(vocabulary), embedding_width=8, hidden=6,
        weighting=weighting, pairing="comparison",
    )  # fmt: skip
    model, batch = spec.build(0).eval(), vocabulary.batch(examples)
    assert isinstance(model, AttentiveClassifier)
    with torch.no_grad():
        weights = model.attend(model.encode(model.embed(batch), batch), batch)
        alone = torch.cat([model.predict(trim(rows(batch, torch.tensor([i])))) for i in range(7)])
        torch.testing.assert_close(model.predict(batch), alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(7, 2))
    for segment in (0, 1):
        assert (weights[:, segment][~(batch.words & (batch.segments == segment))] == 0).all()


def test_comparing_by_hand():
    examples = [Example("x", "w1", 0, "w2")]
    vocabulary = vocabulary_of(examples, 2)
    spec = ModelSpec(
        "mlp", task="pair", vocabulary_size=len(vocabulary), embedding_width=4, hidden=2, pairing="comparison"
    )
    model, batch = spec.build(0).eval(), vocabulary.batch(examples)
    encoded = model.encode(model.embed(batch), batch)
    first, second = encoded[0, 1], encoded[0, 4]  # <start> w1 <end> <start> w2 <end>
    features = torch.cat([first, second, (first - second).abs(), first * second])
    torch.testing.assert_close(model.predict(batch)[0], model.compare(features))


def test_uniform_weights_ignore_scores_and_entmax_is_sparse():
    scores, mask = torch.randn(5, 9) * 5, torch.ones(5, 9, dtype=torch.bool)
    mask[:, 6:] = False
    torch.testing.assert_close(weigh(scores, mask, "uniform"), mask / 6)
    sparse = weigh(scores, mask, "entmax")
    assert (sparse[mask] == 0).any()
    torch.testing.assert_close(sparse.sum(-1), torch.ones(5))
    assert (weigh(scores, torch.zeros_like(mask), "entmax") == 0).all()
