"""Decoders whose query heads share keys and values in groups (Llama 3, Mistral, Qwen). Their attention takes another
way when no text of the batch is padded."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

from heatcheck.batch import Example, rows, trim
from heatcheck.explain import EXPLAINERS, method
from heatcheck.explain.types import probability_of_prediction
from heatcheck.explain.unrolled import attention
from heatcheck.models.uniform import impose_uniform_attention
from tests.explain.test_families import QUICK
from tests.tiny import tiny_subject

TEXTS = [Example("short", "good film", 0), Example("long", "a sad film , not fun", 0)]


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    subject = tiny_subject(tmp_path_factory.mktemp("grouped"), "llama", num_attention_heads=4, num_key_value_heads=2)
    embeddings = subject.model.network.get_input_embeddings().weight
    with torch.no_grad():
        embeddings[0] = embeddings[1]  # padding without an embedding is too steep for DeepLIFT's sum
    (batch,) = subject.batches(TEXTS, 2)
    return subject.model, batch


@pytest.mark.parametrize("masked", [False, True])
def test_the_rule_is_pytorchs_attention(masked):
    draw = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, heads, 5, 3, generator=draw).double() for heads in (6, 2, 2))
    settings = {"attn_mask": torch.ones(5, 5).tril().bool()} if masked else {"is_causal": True}
    expected = functional.scaled_dot_product_attention(query, key, value, **settings, enable_gqa=True)
    torch.testing.assert_close(attention(query, key, value, **settings, enable_gqa=True), expected)


@pytest.mark.parametrize("name", EXPLAINERS)
def test_a_text_has_the_same_scores_without_padding(name, grouped):
    model, batch = grouped
    chosen = method(QUICK.get(name, name))
    if not chosen.serves(model):
        pytest.skip(f"needs {chosen.needed}")
    scalar, same = probability_of_prediction(model, batch), {"atol": 1e-5, "rtol": 1e-3}
    padded = chosen.explain(model, batch, scalar, generator=torch.Generator().manual_seed(0))
    for row in range(len(batch)):
        one = trim(rows(batch, torch.tensor([row])))
        alone = chosen.explain(model, one, scalar, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(alone.scores[0], padded.scores[row, : one.mask.shape[1]], **same)
        if name in ("deep_lift", "deep_shap"):
            assert alone.delta.max() < 1e-3
            assert alone.notes == ()


@torch.no_grad()
def test_uniform_attention_is_that_of_queries_that_ask_nothing(grouped):
    model, batch = grouped
    uniform, idle = copy.deepcopy(model), copy.deepcopy(model)
    impose_uniform_attention(uniform.network)
    for layer in idle.network.model.layers:
        layer.self_attn.q_proj.weight.zero_()
    for texts in (batch, trim(rows(batch, torch.tensor([0])))):
        torch.testing.assert_close(uniform.predict(texts), idle.predict(texts), atol=1e-5, rtol=1e-4)
        assert (uniform.predict(texts) - model.predict(texts)).abs().max() > 1e-3
