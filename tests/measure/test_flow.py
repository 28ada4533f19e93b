"""Rollout against matrix products, flow against networkx."""

import numpy as np
import pytest
import torch
from benchmarks.plain.flow import attention_flow
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.measure import flow as module
from heatcheck.measure.flow import flow, residual_graph, rollout


def attention(seed, layers, tokens, *, sharpness=2.0, favourite=0.0, causal=False, heads=2):
    """Softmax attention; `favourite` draws all tokens to the first, as special tokens do."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(1, layers, heads, tokens, tokens))
    logits[..., 0] += favourite
    if causal:
        logits[..., ~np.tri(tokens, dtype=bool)] = -np.inf
    return torch.from_numpy(logits).softmax(-1)


def graph_of(*args, **settings):
    maps = attention(*args, **settings)
    return residual_graph(maps, torch.ones(1, maps.shape[-1], dtype=torch.bool))[0]


def assert_equals_networkx(graph, readout, heaviest=module.HEAVIEST):
    """With few heaviest edges the thinned graph has to grow, even of these short texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEAVIEST", heaviest)
        ours = flow(graph, readout)
    np.testing.assert_allclose(ours, attention_flow(graph.numpy(), readout), atol=1e-5, rtol=0)


def test_the_graph_is_the_mean_head_and_the_identity_with_rows_that_sum_to_one():
    maps = attention(0, 3, 4)
    graph = residual_graph(maps, torch.ones(1, 4, dtype=torch.bool))
    torch.testing.assert_close(graph, maps.mean(2) / 2 + torch.eye(4, dtype=torch.float64) / 2)


def test_padding_has_no_edges_and_changes_nothing():
    maps = attention(0, 3, 4)
    padded = torch.rand(1, 3, 2, 6, 6, dtype=torch.float64)
    padded[..., :4, :4] = maps
    real = torch.tensor([[True, True, True, True, False, False]])
    graph = residual_graph(padded, real)
    alone = residual_graph(maps, real[:, :4])
    torch.testing.assert_close(graph[..., :4, :4], alone)
    assert graph[..., 4:, :].count_nonzero() == graph[..., 4:].count_nonzero() == 0
    torch.testing.assert_close(rollout(graph, torch.tensor([1]))[:, :4], rollout(alone, torch.tensor([1])))
    np.testing.assert_allclose(flow(graph[0], 1), [*flow(alone[0], 1), 0, 0], atol=1e-6)


def test_rollout_is_the_readouts_row_of_the_product_of_all_layers():
    graph = torch.stack([graph_of(seed, 4, 5) for seed in range(3)])
    product = torch.stack([torch.linalg.multi_dot(list(g.flip(0))) for g in graph])
    readout = torch.tensor([0, 4, 2])
    torch.testing.assert_close(rollout(graph, readout), product[torch.arange(3), readout])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    layers=st.integers(1, 4),
    tokens=st.integers(1, 7),
    sharpness=st.sampled_from([0.0, 1.0, 4.0, 30.0]),
    favourite=st.sampled_from([0.0, 3.0, 8.0]),
    causal=st.booleans(),
    heaviest=st.sampled_from([1, 2, 8]),
)
def test_flow_equals_networkx_and_is_at_least_rollout(seed, layers, tokens, sharpness, favourite, causal, heaviest):
    graph = graph_of(seed, layers, tokens, sharpness=sharpness, favourite=favourite, causal=causal)
    readout = tokens - 1 if causal else seed % tokens
    assert_equals_networkx(graph, readout, heaviest)
    assert (flow(graph, readout) >= rollout(graph[None], torch.tensor([readout]))[0] - 1e-6).all()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 7), st.floats(0, 0.9))
def test_flow_equals_networkx_on_sparse_graphs_without_residual_connections(seed, layers, tokens, share_of_zeros):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(tokens, 0.3), (layers, tokens)) * (rng.random((layers, tokens, 1)) < 0.9)
    weights *= rng.random(weights.shape) >= share_of_zeros
    assert_equals_networkx(torch.from_numpy(weights), seed % tokens, heaviest=1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("favourite", [0.0, 6.0])
def test_flow_equals_networkx_on_a_longer_text(favourite, causal):
    graph = graph_of(3, 4, 20, sharpness=3.0, favourite=favourite, causal=causal)
    assert_equals_networkx(graph, 19 if causal else 0, heaviest=2)


def test_a_thinned_graph_grows_until_its_cut_holds_in_the_whole(monkeypatch):
    searches = []
    search = module._whole_flow
    monkeypatch.setattr(module, "_whole_flow", lambda *args: searches.append(args) or search(*args))
    assert_equals_networkx(graph_of(3, 4, 12, sharpness=3.0, favourite=6.0), 0, heaviest=1)
    assert len(searches) > 12


def test_what_coarse_units_lose_is_found_by_a_finer_search(monkeypatch):
    """Whole numbers up to 2¹⁴ are off by more than the tolerance."""
    finer = []
    monkeypatch.setattr(module, "_finer_flow", lambda *args, f=module._finer_flow: finer.append(f(*args)) or finer[-1])
    monkeypatch.setattr(module, "UNITS", 1 << 14)
    for seed in range(5):
        assert_equals_networkx(graph_of(seed, 3, 6, sharpness=3.0, favourite=6.0, causal=True), 5)
    assert finer


def test_flow_of_uniform_attention_is_one_everywhere():
    assert flow(graph_of(0, 6, 40, sharpness=0.0), 0).tolist() == pytest.approx([1] * 40, abs=1e-12)


def test_flow_of_one_layer_is_the_readouts_row():
    graph = graph_of(0, 1, 9)
    np.testing.assert_allclose(flow(graph, 2), graph[0, 2], atol=1e-6)
