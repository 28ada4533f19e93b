"""Our models: attention is a distribution, and neither padding nor company nor order changes an output."""

import pytest
import torch

from heatcheck.batch import join, rows, trim
from heatcheck.errors import InputError
from heatcheck.models.protocols import AttentiveClassifier, LinearDecoder
from heatcheck.models.spec import ATTENTIONS, ENCODERS, ModelSpec
from tests.toys import random_examples, small_model

TASKS = [("single", 2), ("single", 4), ("pair", 3), ("qa", 5)]
EVERY = [(e, a, t, n) for e in ENCODERS for a in ATTENTIONS for t, n in TASKS]


@pytest.mark.parametrize(("encoder", "attention", "task", "labels"), EVERY)
def test_padding_company_and_order_change_nothing(encoder, attention, task, labels):
    examples = random_examples(7, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, attention, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        together = model.predict(batch)
        alone = torch.cat([model(trim(rows(batch, torch.tensor([i])))) for i in range(7)])
        backwards = model(rows(batch, torch.arange(6, -1, -1))).flip(0)
        long = random_examples(1, task, labels=labels, longest=60, seed=3)
        wider = model(join([batch, vocabulary.batch(long)]))[:7]
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
    with pytest.raises(InputError, match="temperature 0 is not above 0"):
        ModelSpec(temperature=0)
