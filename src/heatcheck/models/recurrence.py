"""A bidirectional LSTM on the CPU that reads a batch by its distinct words, and no padding.

What the gates take from a word is computed once for each distinct word of the batch, not once for each place, and on
the way back the slopes of all its places are summed before they go through the weights. Both directions step together;
the second reads each text from its end. At each step only the texts that reach so far are read, whatever their order.
The same states and slopes as `nn.LSTM`, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heatcheck.models.protocols import Entered


class Schedule(NamedTuple):
    """What is read when: a step reads the next word of the texts that have one, the longest text first. Its R readings,
    step by step, are rows of everything that is computed; B rows of zeros stand before them where states begin."""

    texts: list[int]  # at each step
    row: Int[Tensor, "2 B T"]  # of each direction and place among the states; padding is a row of zeros
    place: Int[Tensor, "2 R"]  # of each reading in (text, place)
    before: Int[Tensor, "R"]  # the row of the state that a reading starts from

    @staticmethod
    def of(mask: Bool[Tensor, "B T"]) -> Schedule:
        lengths, place = mask.sum(1), torch.arange(mask.shape[1])
        rank = lengths.argsort(descending=True, stable=True).argsort()
        texts = mask.sum(0)
        starts = texts.cumsum(0) - texts + len(mask)
        step = torch.stack([place.expand_as(mask), lengths[:, None] - 1 - place]) * mask
        row = (starts[step] + rank[:, None]) * mask
        real = mask.flatten().nonzero().squeeze(1)
        readings = row.flatten(1)[:, real] - len(mask)
        by_step = torch.empty_like(readings).scatter_(1, readings, real.expand_as(readings))
        earlier = torch.cat([torch.zeros_like(starts[:1]), starts[:-1]])  # where the rows of the step before begin
        before = (earlier - starts).repeat_interleave(texts) + torch.arange(len(mask), len(mask) + len(real))
        return Schedule([n for n in texts.tolist() if n], row, by_step, before)

    @property
    def with_start(self) -> list[int]:
        return [self.row.shape[1], *self.texts]

    def steps(self, values: Float[Tensor, "2 R *W"]) -> tuple[Float[Tensor, "2 n *W"], ...]:
        return torch.split(values, self.texts, dim=1)


class Steps(NamedTuple):
    """What every step computed. Gates are sigmoids: keep new, keep old, new (doubled, see `tanh_doubled`), show."""

    gates: Float[Tensor, "2 R 4h"]
    states: Float[Tensor, "2 B+R h"]
    cells: Float[Tensor, "2 B+R h"]
    shown: Float[Tensor, "2 R h"]  # σ(2·cell)


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
    """`vectors` are those of the distinct words, `places` says which of them stands where. At padding it is zero."""
    gates = Gates.of(forwards, backwards, vectors, places, mask)
    found: Tensor = _Reading.apply(gates.table, gates.hidden, gates.words, gates.schedule)  # type: ignore[no-untyped-call]
    return found


def entered_at_gates(
    forwards: nn.LSTM,
    backwards: nn.LSTM,
    vectors: Float[Tensor, "V E"],
    places: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
) -> Entered:
    """The same, with slopes at what the gates take from each place: they need not go through the weights back to the
    embeddings, for gates take what is linear in those."""
    with torch.no_grad():
        gates = Gates.of(forwards, backwards, vectors, places, mask)
        taken = gates.table.index_select(0, gates.words.flatten())
    taken.requires_grad_()
    numbers = torch.arange(len(taken)).view_as(gates.words)
    encoded: Tensor = _Reading.apply(taken, gates.hidden, numbers, gates.schedule)  # type: ignore[no-untyped-call]

    def times_input(slopes: Sequence[Tensor]) -> Float[Tensor, "B T"]:
        by_reading = (
            slopes[0] * (taken.detach().view(2, -1, gates.bias.shape[1]) - gates.bias[:, None]).flatten(0, 1)
        ).sum(-1)
        found = by_reading.new_zeros(mask.numel()).index_add_(0, gates.schedule.place.flatten(), by_reading)
        return found.view(mask.shape)

    return Entered(encoded, (taken,), times_input)


class Gates(NamedTuple):
    """What the gates of both directions take from each distinct word, and from the state before."""

    table: Float[Tensor, "V2 4h"]  # a row: word, direction
    bias: Float[Tensor, "2 4h"]  # a part of each row
    hidden: Float[Tensor, "2 4h h"]
    words: Int[Tensor, "2 R"]  # the row of the table for each reading
    schedule: Schedule

    @staticmethod
    def of(forwards: nn.LSTM, backwards: nn.LSTM, vectors: Tensor, places: Tensor, mask: Tensor) -> Gates:
        factors, schedule = tanh_doubled(forwards), Schedule.of(mask)
        on_inputs, on_states, of_inputs, of_states = zip(forwards.parameters(), backwards.parameters(), strict=True)
        weights = torch.cat(on_inputs) * factors.repeat(2, 1)
        bias = (torch.cat(of_inputs) + torch.cat(of_states)) * factors.repeat(2, 1)[:, 0]
        table = nn.functional.linear(vectors, weights, bias).view(-1, 4 * forwards.hidden_size)
        words = places.flatten()[schedule.place] * 2 + torch.arange(2)[:, None]
        return Gates(table, bias.view(2, -1), torch.stack(on_states) * factors, words, schedule)


class _Reading(torch.autograd.Function):
    """From what the gates take from each word to the states of both directions at each place."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Float[Tensor, "V2 4h"],
        hidden: Float[Tensor, "2 4h h"],
        words: Int[Tensor, "2 R"],
        schedule: Schedule,
    ) -> Float[Tensor, "B T 2h"]:
        steps = _read(table, hidden, words, schedule, keep=any(ctx.needs_input_grad))
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(hidden, words, *steps)
            ctx.schedule, ctx.table_rows = schedule, len(table)
            ctx.each_once = torch.equal(words.flatten(), torch.arange(len(table)))
        states, (texts, length) = steps.states, schedule.row.shape[1:]
        rows = schedule.row.permute(1, 2, 0) + torch.arange(2) * states.shape[1]
        return states.flatten(0, 1).index_select(0, rows.flatten()).view(texts, length, 2 * states.shape[2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Float[Tensor, "B T 2h"]) -> tuple[Tensor | None, Tensor | None, None, None]:
        hidden, words, *saved = ctx.saved_tensors
        steps, schedule = Steps(*saved), ctx.schedule
        places = schedule.place * 2 + torch.arange(2)[:, None]
        by_step = slope.reshape(-1, hidden.shape[2]).index_select(0, places.flatten())
        on_gates = _unread(by_step.view(*words.shape, hidden.shape[2]), hidden, steps, schedule)
        for_table, for_hidden = ctx.needs_input_grad[:2]
        on_table = on_hidden = None
        if for_table and ctx.each_once:
            on_table = on_gates.flatten(0, 1)
        elif for_table:
            sums = on_gates.new_zeros(ctx.table_rows, on_gates.shape[-1])
            on_table = sums.index_add_(0, words.flatten(), on_gates.flatten(0, 1))
        if for_hidden:
            on_hidden = on_gates.transpose(1, 2) @ steps.states.index_select(1, schedule.before)
        return on_table, on_hidden, None, None


def _read(
    table: Float[Tensor, "V2 4h"],
    hidden: Float[Tensor, "2 4h h"],
    words: Int[Tensor, "2 R"],
    schedule: Schedule,
    *,
    keep: bool,
) -> Steps:
    """All steps. Without `keep` one place in memory serves for every step's gates and cells."""
    texts, width = schedule.row.shape[1], hidden.shape[2]

    def room(steps: list[int], size: int, *, keep: bool = keep) -> tuple[Tensor, Sequence[Tensor]]:
        all_steps = table.new_empty(2, sum(steps) if keep else texts, size)
        return all_steps, torch.split(all_steps, steps, dim=1) if keep else [all_steps[:, :n] for n in steps]

    (gates, gate), (sigmoids, sigmoid) = room(schedule.texts, 4 * width), room(schedule.texts, width)
    (states, state), (cells, cell) = room(schedule.with_start, width, keep=True), room(schedule.with_start, width)
    for start in (state[0], cell[0]):
        start.zero_()
    recall = hidden.transpose(1, 2)
    for t, word in enumerate(schedule.steps(words)):
        for direction, row in zip(gate[t], word, strict=True):
            torch.index_select(table, 0, row, out=direction)
        here = slice(word.shape[1])
        keep_new, keep_old, new, show = gate[t].baddbmm_(state[t][:, here], recall).sigmoid_().chunk(4, dim=-1)
        torch.mul(keep_old, cell[t][:, here], out=cell[t + 1]).addcmul_(keep_new, new, value=2).sub_(keep_new)
        torch.mul(cell[t + 1], 2, out=sigmoid[t]).sigmoid_()
        torch.mul(show, sigmoid[t], out=state[t + 1]).mul_(2).sub_(show)
    return Steps(gates, states, cells, sigmoids)


def _unread(
    slope: Float[Tensor, "2 R h"], hidden: Float[Tensor, "2 4h h"], steps: Steps, schedule: Schedule
) -> Float[Tensor, "2 R 4h"]:
    """From the slopes of all states to those of what goes into the gates, last step first. Writes into `slope`."""
    gates, _, cells, sigmoids = steps
    keep_new, keep_old, new, show = gates.chunk(4, dim=-1)
    shown = (sigmoids * 2).sub_(1)  # tanh of the cell
    found = torch.addcmul(gates, gates, gates, value=-1)  # σ′, then what a slope of cell or state is multiplied by
    of_keep_new, of_keep_old, of_new, of_show = found.chunk(4, dim=-1)
    of_keep_new.mul_((new * 2).sub_(1))
    of_new.mul_(keep_new).mul_(2)
    of_show.mul_(shown)
    through_cell = (1 - shown * shown).mul_(show)
    of_cell = found.view(*slope.shape[:2], 4, slope.shape[2])[..., :3, :]
    values = (found, of_cell, of_keep_old, of_show, slope, through_cell, keep_old)
    steps_of = zip(*map(schedule.steps, values), torch.split(cells, schedule.with_start, dim=1)[:-1], strict=True)
    on_cell, later = slope.new_zeros(2, schedule.row.shape[1], slope.shape[2]), None
    for gate, by_cell, by_old, by_state, state, through, keep, before in reversed(list(steps_of)):
        here = slice(gate.shape[1])
        if later is not None:
            state[:, : later.shape[1]].baddbmm_(later, hidden)
        cell = on_cell[:, here].addcmul_(state, through)
        by_old.mul_(before[:, here])
        by_cell.mul_(cell[..., None, :])
        by_state.mul_(state)
        cell *= keep
        later = gate
    return found
