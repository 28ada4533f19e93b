"""Leave-one-out with shared work equals deleting the word and running again."""

import pytest
import torch

from heatcheck.models import deletion
from tests.edits import without_token
from tests.toys import random_examples, small_model

SHARING = ("bilstm", "gru", "average", "mlp")


def rerun(model, batch):
    """The definition, word by word."""
    columns = [model.predict(without_token(batch, torch.full((len(batch),), t))) for t in range(batch.mask.shape[1])]
    return torch.stack(columns, 1)


@pytest.mark.parametrize("encoder", SHARING)
@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("single", 4), ("pair", 3), ("qa", 5)])
def test_equals_deleting_and_running_again(encoder, attention, task, labels):
    examples = random_examples(9, task, labels=labels, longest=14)
    model, vocabulary = small_model(examples, encoder, attention, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        shared = model.logits_without_each(batch)
        if attention == "dot" and task != "single" and encoder in ("bilstm", "gru"):  # a question's dot has no halves
            assert shared is None
            return
        expected = rerun(model, batch)
        torch.testing.assert_close(shared.whole, model.predict(batch), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(shared.without[batch.attended], expected[batch.attended], atol=1e-5, rtol=1e-5)


def test_equal_lengths_take_the_same_path_to_the_same_numbers():
    examples = [e for e in random_examples(60, longest=6) if len(e.text.split()) == 5]
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    assert batch.mask.all()
    with torch.no_grad():
        shared = model.logits_without_each(batch)
        torch.testing.assert_close(
            shared.without[batch.attended], rerun(model, batch)[batch.attended], atol=1e-5, rtol=1e-5
        )


def test_long_texts_are_taken_fewer_at_a_time(monkeypatch):
    examples = random_examples(9)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    whole = model.logits_without_each(batch)
    monkeypatch.setattr(deletion, "BUDGET", 1)
    one_by_one = model.logits_without_each(batch)
    torch.testing.assert_close(one_by_one.without[batch.attended], whole.without[batch.attended])


def test_encoders_that_mix_neighbours_offer_no_shortcut():
    for encoder in ("cnn", "transformer"):
        examples = random_examples(3)
        model, vocabulary = small_model(examples, encoder)
        batch = vocabulary.batch(examples)
        assert model.logits_without_each(batch) is None
