"""Weights in another layout change no output, and nothing of it stays behind."""

import pytest
import torch
from torch import nn

from heatcheck.batch import rows
from heatcheck.explain.hiding import hidden
from heatcheck.explain.surrogate import Lime, coin_masks
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models import packed
from heatcheck.models.packed import WORTHWHILE, Repeats, distinct, packed_weights
from heatcheck.models.readout import readout_only
from tests.models.test_readout import batch_of, left_behind, subject_of
from tests.tiny import FAMILIES
from tests.toys import random_examples, small_model


def changed(model):
    return [module for module in model.modules() if "forward" in vars(module)]


def edits_of(subject, hide="mask"):
    """Many of one text: the first layer sees the same words again and again."""
    batch = batch_of(subject)
    row = int(batch.words.sum(1).argmax())
    many = rows(batch, torch.tensor([row] * 30))
    keep = many.mask.clone()
    keep[:, many.words[0]] = coin_masks(3, 30, int(many.words[0].sum()))
    return hidden(subject.model, many, keep, hide)

    return rows(batch, torch.tensor(index))


@pytest.mark.parametrize("family", [*FAMILIES, "t5", "fnet"])
def test_the_output_is_the_same(tmp_path, family, monkeypatch):
    subject = subject_of(tmp_path, family)
    shared = []
    monkeypatch.setattr(packed, "distinct", lambda vectors: shared.append(distinct(vectors)) or shared[-1])
    for batch in (batch_of(subject), edits_of(subject), edits_of(subject, "delete")):
        with torch.no_grad():
            expected = subject.model.predict(batch)
            with readout_only(subject.model), packed_weights(subject.model, WORTHWHILE):
                assert changed(subject.model) or family == "gpt2"
                torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)
        assert left_behind(subject.model) == 0
    if family in ("bert", "roberta", "electra"):
        assert any(found is not None and len(found.rows) <= found.where.numel() / 2 for found in shared)


def test_a_linear_layer_and_its_gelu_are_one_pass_and_another_activation_is_not(tmp_path):
    subject = subject_of(tmp_path)
    first, second = (layer.intermediate for layer in subject.model.network.base_model.encoder.layer)
    second.intermediate_act_fn = nn.GELU(approximate="tanh")
    with torch.no_grad(), packed_weights(subject.model, WORTHWHILE):
        assert first in changed(subject.model)
        assert first.dense not in changed(subject.model)
        assert second not in changed(subject.model)
        assert second.dense in changed(subject.model)


def test_what_is_hooked_or_normed_is_left_alone(tmp_path):
    subject = subject_of(tmp_path)
    first, second = subject.model.network.base_model.encoder.layer
    first.intermediate.dense.register_forward_hook(lambda module, inputs, output: 2 * output)
    with pytest.warns(FutureWarning):  # old, and still met
        nn.utils.weight_norm(second.output.dense)
    batch = edits_of(subject)
    with torch.no_grad():
        second.output.dense.weight_g.mul_(3)
        expected = subject.model.predict(batch)
        with packed_weights(subject.model, WORTHWHILE):
            assert first.intermediate not in changed(subject.model)
            assert second.output.dense not in changed(subject.model)
            torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)


def test_few_tokens_double_precision_slopes_and_our_own_models_are_left_alone(tmp_path):
    model = subject_of(tmp_path).model
    with torch.no_grad(), packed_weights(model, WORTHWHILE - 1):
        assert not changed(model)
    with packed_weights(model, WORTHWHILE):
        assert not changed(model)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16), packed_weights(model, WORTHWHILE):
        assert not changed(model)
    with torch.no_grad(), packed_weights(model.double(), WORTHWHILE):
        assert not changed(model)
    ours, _ = small_model(random_examples(3))
    with torch.no_grad(), packed_weights(ours, WORTHWHILE):
        assert not changed(ours)


def test_weights_are_read_anew_each_time(tmp_path):
    """They may have been randomised or trained in between."""
    subject = subject_of(tmp_path)
    batch = batch_of(subject)
    with torch.no_grad():
        for _ in range(2):
            for weights in subject.model.parameters():
                weights.add_(torch.randn_like(weights) * 0.1)
            expected = subject.model.predict(batch)
            with packed_weights(subject.model, WORTHWHILE):
                torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)


def test_distinct_vectors_and_where_they_stand():
    few = torch.randn(4, 6)
    vectors = few[torch.randint(4, (5, 7), generator=torch.Generator().manual_seed(0))]
    found = distinct(vectors)
    assert 4 <= len(found.rows) < 12  # rounding may tell equal ones apart, which costs little
    assert torch.equal(found.rows[found.where], vectors)
    assert distinct(torch.randn(5, 7, 6)) is None  # nothing to save
    same_key = torch.zeros(4, 7, 6)
    same_key[0, 0, 0], same_key[0, 1, 0] = float("nan"), float("nan")
    assert distinct(same_key) is None  # not equal to themselves


def test_vectors_that_were_changed_in_place_are_looked_at_again():
    repeats, vectors = Repeats(), torch.ones(3, 4, 5)
    assert torch.equal(repeats(vectors).rows, torch.ones(1, 5))
    vectors.mul_(2)
    assert torch.equal(repeats(vectors).rows, torch.full((1, 5), 2.0))
    assert repeats(torch.randn(3, 4, 5)) is None  # their last vectors differ
    assert repeats(torch.ones(3, 0, 5)) is None


def test_they_are_back_after_an_error_and_after_lime(tmp_path):
    subject = subject_of(tmp_path)
    with pytest.raises(KeyError), torch.no_grad(), packed_weights(subject.model, WORTHWHILE):
        raise KeyError
    assert left_behind(subject.model) == 0
    batch = batch_of(subject)
    Lime(500)(subject.model, batch, probability_of_prediction(subject.model, batch))
    assert left_behind(subject.model) == 0
