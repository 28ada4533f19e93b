"""Attention rollout and attention flow (Abnar & Zuidema 2020, as paper 5 used them: section 3.2 and appendix B).

Both read the stack of attention maps as a layered graph whose edges lead from a token of one layer to the tokens of the
layer below. Rollout multiplies the weights along paths; flow takes them as capacities and asks how much can be sent
from the read-out token ([CLS], a decoder's last token) at the top down to each input token.

A flow as large as a cut is a maximum flow. So a graph thinned to its heaviest edges is solved first: mostly it carries
as much as a simple cut around one of the ends lets through. Where it does not, the edges of the whole graph that cross
its own smallest cut are added, until that cut holds in the whole graph (measured in benchmarks/).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow
from torch import Tensor

UNITS = (1 << 30) - 1  # scipy's flows are whole 32-bit numbers, and an edge with its reverse has to fit into one
TOLERANCE = 1e-6  # a flow this near to a cut is maximal; rounding to units loses about 1e-7 at 240 tokens
HEAVIEST = 8  # edges of each row and of each column that the thinned graph keeps


def residual_graph(maps: Float[Tensor, "B L H T T"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B L T T"]:
    """Mean over heads, plus the identity for the residual connection, rows normalised; padding is all zero.

    >>> residual_graph(torch.full((1, 1, 2, 2, 2), 0.5), torch.tensor([[True, True]]))
    tensor([[[[0.7500, 0.2500],
              [0.2500, 0.7500]]]])
    """
    both = real[:, None, :, None] & real[:, None, None, :]
    joined = (maps.mean(2) + torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)) * both
    tiny = torch.finfo(maps.dtype).tiny  # only padding has a row of zeros
    return joined / joined.sum(-1, keepdim=True).clamp(min=tiny)


def rollout(graph: Float[Tensor, "B L T T"], readout: Int[Tensor, "B"]) -> Float[Tensor, "B T"]:
    """The read-out token's row of the product of all layers, the last on the left.

    >>> rollout(torch.tensor([[[[0.75, 0.25], [0.25, 0.75]]] * 2]), torch.tensor([0]))
    tensor([[0.6250, 0.3750]])
    """
    row = graph[torch.arange(len(graph), device=graph.device), -1, readout]
    for layer in reversed(range(graph.shape[1] - 1)):
        row = torch.einsum("bi,bij->bj", row, graph[:, layer])
    return row


def flow(graph: Float[Tensor, "L T T"], readout: int) -> Float[Tensor, "T"]:
    """The maximum flow from `readout` in the last layer to each input token, within 1e-5 of the exact one.

    >>> flow(torch.tensor([[[0.75, 0.25], [0.25, 0.75]]] * 2), readout=0)
    tensor([1.0000, 0.5000])
    """
    steps = graph.detach().double().cpu().numpy()[::-1].copy()  # from here on the top layer comes first
    steps[0, np.arange(len(steps[0])) != readout] = 0  # nothing else leaves the top
    network, cuts = _network(steps, readout), _smallest_end_cuts(steps, readout)
    flows = [_flow_to(network, token, cut) for token, cut in enumerate(cuts.tolist())]
    return torch.tensor(flows, dtype=graph.dtype, device=graph.device)


def _smallest_end_cuts(steps: Float[ndarray, "L T T"], readout: int) -> Float[ndarray, "T"]:
    """For each input token the smallest cut that parts its column, or the read-out's, from all that is beside it.

    A cut around the token's column from the input up to some layer is crossed by what enters the column from its side
    and from its top; around the read-out's column down to some layer, by what leaves it. Weights to where no path
    leads on to the token do not count: in a decoder those to earlier tokens.
    """
    into = steps[::-1].sum(1)  # L T, the input's layer first
    into_aside = into - np.diagonal(steps[::-1], axis1=1, axis2=2)
    leads = _leads_to(steps)
    out = np.einsum("lj,ljt->lt", steps[:, readout], leads)
    out_aside = out - steps[:, readout, readout, None] * leads[:, readout]
    return np.asarray(np.minimum(_least(into, into_aside), _least(out, out_aside)))


def _least(through_end: Float[ndarray, "L T"], aside: Float[ndarray, "L T"]) -> Float[ndarray, "T"]:
    """A column cut at each layer: what passes at its end and, in the layers before, what passes its side."""
    return np.asarray((through_end + np.cumsum(aside, 0) - aside).min(0))


def _leads_to(steps: Float[ndarray, "L T T"]) -> Float[ndarray, "L T T"]:
    """For each step, top first: 1 where a path leads from the node it ends in (row) to the input token (column)."""
    leads = [np.eye(steps.shape[1])]
    for step in steps[:0:-1]:
        leads.append(((step > 0) @ leads[-1] > 0).astype(float))
    return np.stack(leads[::-1])


class Network(NamedTuple):
    """The edges, layer by layer; node number `layer · tokens + token`, the top layer first."""

    tails: Int[ndarray, "E"]
    heads: Int[ndarray, "E"]
    heavy: Bool[ndarray, "E"]
    weights: csr_array  # the same edges in the same order
    layers: int
    tokens: int
    source: int

    def part(self, kept: Bool[ndarray, "E"]) -> csr_array:
        edges = np.flatnonzero(kept)
        return csr_array((self.weights.data[edges], (self.tails[edges], self.heads[edges])), shape=self.weights.shape)


def _network(steps: Float[ndarray, "L T T"], readout: int) -> Network:
    layers, tokens, _ = steps.shape
    step, tail, head = np.nonzero(steps)
    heavy = (_heaviest(steps, axis=1) | _heaviest(steps, axis=2))[step, tail, head]
    heavy |= (tail == head) | (tail == readout)
    tails, heads = step * tokens + tail, (step + 1) * tokens + head
    nodes = (layers + 1) * tokens
    weights = csr_array((steps[step, tail, head], (tails, heads)), shape=(nodes, nodes))
    return Network(tails, heads, heavy, weights, layers, tokens, readout)


def _heaviest(steps: Float[ndarray, "L T T"], axis: int) -> Bool[ndarray, "L T T"]:
    kept = min(HEAVIEST, steps.shape[axis])
    places = np.argpartition(-steps, kept - 1, axis).take(range(kept), axis)
    heaviest = np.zeros(steps.shape, bool)
    np.put_along_axis(heaviest, places, True, axis)
    return heaviest


def _flow_to(network: Network, token: int, cut: float) -> float:
    """No flow exceeds `cut`: a flow that reaches it needs no further search."""
    ends = network.source, network.layers * network.tokens + token
    kept = network.heavy | (network.heads % network.tokens == token)
    while cut > TOLERANCE:
        found = _whole_flow(network.part(kept), *ends, cut)
        if cut - found.value <= TOLERANCE:
            break
        crossing = _crossing(network, _reached(found, network.source))
        cut = min(cut, float(network.weights.data[crossing].sum()))
        if cut - found.value <= TOLERANCE:
            break
        if kept[crossing].all():
            return _finer_flow(network.weights, *ends, cut)
        kept[crossing] = True
    return cut


def _crossing(network: Network, reached: Bool[ndarray, "N"]) -> Int[ndarray, "C"]:
    return np.flatnonzero(reached[network.tails] & ~reached[network.heads])


def _finer_flow(weights: csr_array, source: int, sink: int, cut: float) -> float:
    """Rounding down loses at most a unit an edge: a second search, in units so much finer, finds what was lost."""
    found = _whole_flow(weights, source, sink, cut)
    lost = min(cut, cut * weights.nnz / UNITS)
    return found.value + _whole_flow(weights - found.edges * (cut / UNITS), source, sink, lost).value


class Flow(NamedTuple):
    value: float
    weights: csr_array  # in whole units
    edges: csr_array  # in units; positive along an edge, negative against it: weights − edges is what can still be sent


def _whole_flow(weights: csr_array, source: int, sink: int, most: float) -> Flow:
    """The maximum flow, known to be at most `most`, with weights rounded down to units of `most` / UNITS."""
    units = np.floor(weights.data.clip(0, most) * (UNITS / most)).astype(np.int32)
    whole = csr_array((units, weights.indices, weights.indptr), shape=weights.shape)
    found = maximum_flow(whole, source, sink)
    return Flow(found.flow_value * (most / UNITS), whole, found.flow)


def _reached(found: Flow, source: int) -> Bool[ndarray, "N"]:
    """The nodes to which more could be sent. All edges out of them are full: a smallest cut."""
    left = found.weights - found.edges
    left.eliminate_zeros()
    reached = np.zeros(left.shape[0], bool)
    reached[breadth_first_order(left, source, return_predecessors=False)] = True
    return reached
