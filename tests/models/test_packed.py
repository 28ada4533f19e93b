"""Weights in another layout change no output, and nothing of it stays behind."""

import pytest
import torch
from torch import nn

from heatcheck.explain.surrogate import Lime
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models.packed import WORTHWHILE, packed_weights
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import random_examples


def changed(model):
    return [module for module in model.modules() if "forward" in vars(module)]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_output_is_the_same(tmp_path, family):
    subject = tiny_subject(tmp_path, family, ("a", "b", "c"))
    (batch,) = subject.batches(random_examples(5, labels=3), 8)
    with torch.no_grad():
        expected = subject.model.predict(batch)
        with packed_weights(subject.model, WORTHWHILE):
            assert changed(subject.model)
            torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)
    assert not changed(subject.model)


def test_a_linear_layer_and_its_gelu_are_one_pass_and_another_activation_is_not(tmp_path):
    subject = tiny_subject(tmp_path)
    first, second = (layer.intermediate for layer in subject.model.network.base_model.encoder.layer)
    second.intermediate_act_fn = nn.GELU(approximate="tanh")
    with torch.no_grad(), packed_weights(subject.model, WORTHWHILE):
        assert first in changed(subject.model)
        assert first.dense not in changed(subject.model)
        assert second not in changed(subject.model)
        assert second.dense in changed(subject.model)


def test_few_tokens_double_precision_and_slopes_are_left_alone(tmp_path):
    model = tiny_subject(tmp_path).model
    with torch.no_grad(), packed_weights(model, WORTHWHILE - 1):
        assert not changed(model)
    with packed_weights(model, WORTHWHILE):
        assert not changed(model)
    with torch.no_grad(), packed_weights(model.double(), WORTHWHILE):
        assert not changed(model)


def test_weights_are_read_anew_each_time(tmp_path):
    """They may have been randomised or trained in between."""
    subject = tiny_subject(tmp_path)
    (batch,) = subject.batches(random_examples(5), 8)
    with torch.no_grad():
        for _ in range(2):
            for weights in subject.model.parameters():
                weights.add_(torch.randn_like(weights) * 0.1)
            expected = subject.model.predict(batch)
            with packed_weights(subject.model, WORTHWHILE):
                torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)


def test_they_are_back_after_an_error_and_after_lime(tmp_path):
    subject = tiny_subject(tmp_path)
    with pytest.raises(KeyError), torch.no_grad(), packed_weights(subject.model, WORTHWHILE):
        raise KeyError
    assert not changed(subject.model)
    (batch,) = subject.batches(random_examples(2), 2)
    Lime(500)(subject.model, batch, probability_of_prediction(subject.model, batch))
    assert not changed(subject.model)
