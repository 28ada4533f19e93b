"""Leaving out what nobody reads changes no output, and nothing of it stays behind."""

import importlib
from typing import Any

import pytest
import torch
from torch import nn

from heatcheck.models.readout import READ_FIRST, readout_only
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import random_examples, small_model

SHORT = ("bert", "roberta", "electra")


def left_behind(model: nn.Module) -> int:
    """Hooks, and methods of single modules."""
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) + ("forward" in vars(module))
        for module in model.modules()
    )


def subject_of(folder: Any, family: str = "bert", **settings: Any) -> Any:
    """With biases, which a fresh model has none of."""
    subject = tiny_subject(folder, family, ("a", "b", "c"), **settings)
    with torch.no_grad():
        for parameter in subject.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.2)
    return subject


def batch_of(subject: Any, **settings: Any) -> Any:
    (batch,) = subject.batches(random_examples(5, labels=3, longest=24, **settings), 8)
    return batch


def difference(subject: Any, batch: Any) -> float:
    """Between the outputs inside and outside, as a share of the largest."""
    with torch.no_grad():
        expected = subject.model.predict(batch)
        with readout_only(subject.model):
            return float((subject.model.predict(batch) - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_output_is_the_same(tmp_path, family, windows, implementation):
    subject = subject_of(tmp_path, family, max_length=12 if windows else None, windows=windows)
    if family in SHORT:
        subject.model.network.set_attn_implementation(implementation)
    with readout_only(subject.model):
        assert bool(left_behind(subject.model)) == (family in SHORT)
    assert difference(subject, batch_of(subject)) < 1e-5
    assert left_behind(subject.model) == 0


@pytest.mark.parametrize("family", SHORT)
def test_pairs_and_slopes_are_the_same(tmp_path, family):
    subject = subject_of(tmp_path, family)
    batch = batch_of(subject, task="pair")
    found = []
    for shortcut in (False, True):
        embeddings = subject.model.embed(batch).detach().requires_grad_()
        if shortcut:
            with readout_only(subject.model):
                logits = subject.model.logits(embeddings, batch)
        else:
            logits = subject.model.logits(embeddings, batch)
        found.append(torch.autograd.grad(logits[:, 0].sum(), embeddings)[0])
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-4)


def test_the_last_feed_forward_sees_the_first_position_alone(tmp_path):
    subject = subject_of(tmp_path)
    batch = batch_of(subject)
    layers, seen = subject.model.network.base_model.encoder.layer, []

    def look(module: nn.Module, inputs: Any, output: Any) -> None:
        if any(module is layer.intermediate for layer in layers):
            seen.append(inputs[0].shape[1])

    hook = nn.modules.module.register_module_forward_hook(look)
    try:
        with torch.no_grad(), readout_only(subject.model):
            subject.model.predict(batch)
    finally:
        hook.remove()
    assert seen == [batch.mask.shape[1], 1]


class Adapter(nn.Module):
    """A low-rank addition beside a layer, which it shows the weight of."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer, self.added = layer, nn.Linear(layer.in_features, layer.out_features)
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs) + self.added(inputs)


def adapt(network: Any) -> None:
    attention = network.base_model.encoder.layer[-1].attention.self
    attention.value = Adapter(attention.value)


def hook(network: Any) -> None:
    value = network.base_model.encoder.layer[-1].attention.self.value
    value.register_forward_hook(lambda module, inputs, output: 2 * output)


def own_forward(network: Any) -> None:
    attention = network.base_model.encoder.layer[-1].attention.self
    usual = attention.forward
    attention.forward = lambda *a, **k: (usual(*a, **k)[0] * 2, None)


def share(network: Any) -> None:
    first, last = network.base_model.encoder.layer
    first.attention.self = last.attention.self


def causal(network: Any) -> None:
    network.base_model.encoder.layer[-1].attention.self.is_causal = True


@pytest.mark.parametrize("change", [adapt, hook, own_forward, share, causal])
def test_a_layer_that_is_not_the_plain_one_runs_as_ever(tmp_path, change):
    subject = subject_of(tmp_path)
    change(subject.model.network)
    before = left_behind(subject.model)
    assert difference(subject, batch_of(subject)) == 0
    assert left_behind(subject.model) == before


def test_in_training_it_runs_as_ever(tmp_path):
    subject = subject_of(tmp_path)
    subject.model.train()
    with readout_only(subject.model):
        assert left_behind(subject.model) == 0


def test_a_causal_model_runs_as_ever(tmp_path):
    subject = subject_of(tmp_path)
    subject.model.network.config.is_decoder = True
    with readout_only(subject.model):
        assert left_behind(subject.model) == 0


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_a_row_without_any_token_is_read_as_ever(tmp_path, implementation):
    subject = subject_of(tmp_path)
    subject.model.network.set_attn_implementation(implementation)
    batch = batch_of(subject)
    batch.mask[2] = False
    assert difference(subject, batch) < 1e-5


def test_one_inside_the_other_changes_nothing_more(tmp_path):
    subject = subject_of(tmp_path)
    with readout_only(subject.model):
        inside = left_behind(subject.model)
        with readout_only(subject.model):
            assert left_behind(subject.model) == inside
    assert left_behind(subject.model) == 0


def test_nothing_stays_after_an_error(tmp_path):
    subject = subject_of(tmp_path)
    with pytest.raises(KeyError), readout_only(subject.model):
        raise KeyError
    assert left_behind(subject.model) == 0


def test_every_name_in_the_table_is_a_class_that_exists():
    for name in READ_FIRST:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), cls), type)


def test_other_models_run_as_ever():
    model, _ = small_model(random_examples(3))
    with readout_only(model):
        assert left_behind(model) == 0
