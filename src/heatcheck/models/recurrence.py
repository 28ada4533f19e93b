"""A bidirectional LSTM on the CPU that reads a batch by its distinct words.

What the gates take from a word is computed once for each distinct word of the batch, not once for each place, and on
the way back the slopes of all its places are summed before they go through the weights. Both directions step together;
the second reads each text mirrored within its own length. The same states and slopes as `nn.LSTM`, up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Steps(NamedTuple):
    """What every step computed. Gates are sigmoids: keep new, keep old, new (doubled, see `tanh_doubled`), show."""

    gates: Float[Tensor, "T 2 B 4h"]
    states: Float[Tensor, "T+1 2 B h"]
    cells: Float[Tensor, "T+1 2 B h"]
    shown: Float[Tensor, "T 2 B h"]  # σ(2·cell)


def mirrored(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Each text's places from its last to its first; padding, which is behind the text, stays where it is."""
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)


def tanh_doubled(rnn: nn.LSTM) -> Float[Tensor, "4h 1"]:
    """Factors of the gates' weights so that one sigmoid serves all four: tanh(x) = 2σ(2x) − 1, and PyTorch's tanh takes
    several times as long as its sigmoid."""
    factors = next(rnn.parameters()).new_ones(4 * rnn.hidden_size, 1)
    factors[2 * rnn.hidden_size : 3 * rnn.hidden_size] = 2
    return factors


def bidirectional(
    forwards: nn.LSTM,
    backwards: nn.LSTM,
    vectors: Float[Tensor, "V E"],
    places: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
) -> Float[Tensor, "B T 2h"]:
    """`vectors` are those of the distinct words, `places` says which of them stands where."""
    factors, mirror = tanh_doubled(forwards), mirrored(mask)
    on_inputs, on_states, of_inputs, of_states = zip(forwards.parameters(), backwards.parameters(), strict=True)
    weights = torch.cat(on_inputs) * factors.repeat(2, 1)
    bias = (torch.cat(of_inputs) + torch.cat(of_states)) * factors.repeat(2, 1)[:, 0]
    table = nn.functional.linear(vectors, weights, bias).view(-1, 4 * forwards.hidden_size)  # a row: word, direction
    rows = torch.stack([places.t() * 2, places.gather(1, mirror).t() * 2 + 1], dim=1)
    found: Tensor = _Reading.apply(table, torch.stack(on_states) * factors, rows, mirror)  # type: ignore[no-untyped-call]
    return found


class _Reading(torch.autograd.Function):
    """From what the gates take from each word to the states of both directions at each place."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Float[Tensor, "V2 4h"],
        hidden: Float[Tensor, "2 4h h"],
        rows: Int[Tensor, "T 2 B"],
        mirror: Int[Tensor, "B T"],
    ) -> Float[Tensor, "B T 2h"]:
        steps = _read(table, hidden, rows, keep=any(ctx.needs_input_grad))
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(hidden, rows, mirror, *steps)
            ctx.table_rows = len(table)
        return steps.states[1:].flatten(0, 2).index_select(0, _by_text(mirror).flatten()).view(*mirror.shape, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Float[Tensor, "B T 2h"]) -> tuple[Tensor | None, Tensor | None, None, None]:
        hidden, rows, mirror, *saved = ctx.saved_tensors
        steps = Steps(*saved)
        by_step = slope.reshape(-1, hidden.shape[2]).index_select(0, _by_step(mirror).flatten())
        on_gates = _unread(by_step.view(*rows.shape, -1), hidden, steps)
        for_table, for_hidden = ctx.needs_input_grad[:2]
        on_table = on_hidden = None
        if for_table:
            sums = on_gates.new_zeros(ctx.table_rows, on_gates.shape[-1])
            on_table = sums.index_add_(0, rows.flatten(), on_gates.flatten(0, 2))
        if for_hidden:
            pairs = zip(on_gates.unbind(1), steps.states[:-1].unbind(1), strict=True)
            on_hidden = torch.stack([gate.flatten(0, 1).t() @ before.flatten(0, 1) for gate, before in pairs])
        return on_table, on_hidden, None, None


def _by_text(mirror: Int[Tensor, "B T"]) -> Int[Tensor, "B T 2"]:
    """Where in (step, direction, text) the two states of each place stand."""
    texts, steps = mirror.shape
    step = torch.stack([torch.arange(steps).expand(texts, -1), mirror], dim=-1)
    return (step * 2 + torch.arange(2)) * texts + torch.arange(texts)[:, None, None]


def _by_step(mirror: Int[Tensor, "B T"]) -> Int[Tensor, "T 2 B"]:
    """Where in (text, place, direction) the state of each step stands. Mirroring twice is not to mirror."""
    texts, steps = mirror.shape
    place = torch.stack([torch.arange(steps)[:, None].expand(-1, texts), mirror.t()], dim=1)
    return (torch.arange(texts) * steps + place) * 2 + torch.arange(2)[:, None]


def _read(
    table: Float[Tensor, "V2 4h"], hidden: Float[Tensor, "2 4h h"], rows: Int[Tensor, "T 2 B"], *, keep: bool
) -> Steps:
    """All steps. Without `keep` one place in memory serves for every step's gates and cells."""
    steps, directions, texts = rows.shape
    width = hidden.shape[2]

    def room(count: int, size: int) -> Tensor:
        one = table.new_empty(count if keep else 1, directions, texts, size)
        return one if keep else one.expand(count, -1, -1, -1)

    gates, sigmoids, cells = room(steps, 4 * width), room(steps, width), room(steps + 1, width)
    states = table.new_empty(steps + 1, directions, texts, width)
    states[0], cells[0] = 0, 0
    recall, state, cell = hidden.transpose(1, 2), states.unbind(0), cells.unbind(0)
    keep_new, keep_old, new, show = (gate.unbind(0) for gate in gates.chunk(4, dim=-1))
    for t, (row, gate, sigmoid) in enumerate(zip(rows.flatten(1), gates, sigmoids, strict=True)):
        torch.index_select(table, 0, row, out=gate.view(-1, 4 * width))
        gate.baddbmm_(state[t], recall).sigmoid_()
        torch.mul(keep_old[t], cell[t], out=cell[t + 1]).addcmul_(keep_new[t], new[t], value=2).sub_(keep_new[t])
        torch.mul(cell[t + 1], 2, out=sigmoid).sigmoid_()
        torch.mul(show[t], sigmoid, out=state[t + 1]).mul_(2).sub_(show[t])
    return Steps(gates, states, cells, sigmoids)


def _unread(slope: Float[Tensor, "T 2 B h"], hidden: Float[Tensor, "2 4h h"], steps: Steps) -> Tensor:
    """From the slopes of all states to those of what goes into the gates, last step first."""
    gates, _, cells, sigmoids = steps
    keep_new, keep_old, new, show = gates.chunk(4, dim=-1)
    shown = (sigmoids * 2).sub_(1)  # tanh of the cell
    found = gates - gates * gates  # σ′, then what a slope of cell or state is multiplied by
    for part, factor in zip(found.chunk(4, dim=-1), (2 * new - 1, cells[:-1], 2 * keep_new, shown), strict=True):
        part.mul_(factor)
    through_cell = (1 - shown * shown).mul_(show)
    four = found.view(*found.shape[:-1], 4, -1)
    of_cell, of_show = four[..., :3, :], four[..., 3, :]
    state, cell = torch.zeros_like(slope[0]), torch.zeros_like(slope[0])
    for t in range(len(slope) - 1, -1, -1):
        state += slope[t]
        cell.addcmul_(state, through_cell[t])
        of_cell[t].mul_(cell[..., None, :])
        of_show[t].mul_(state)
        cell *= keep_old[t]
        torch.bmm(found[t], hidden, out=state)
    return found
