"""Leave-one-out without starting over: what a model computes when each word in turn is deleted.

Deleting word t leaves a forward RNN's states before t and a backward one's states after t as they were.
So each direction restarts at the deleted word only, all restarts run side by side as one growing batch, the
input projections are those of the batch's distinct words, and in every position one of the two halves is unchanged.
Attention scores and decoder are linear in the halves up to their last step and are summed the same way.
Equal to deleting and running again up to rounding; how much faster is measured in benchmarks/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.batch import TEXT, Batch, rows
from heatcheck.models.encoders import RecurrentEncoder, TokenwiseEncoder
from heatcheck.models.protocols import Deletions
from heatcheck.models.recurrence import tanh_doubled

if TYPE_CHECKING:
    from heatcheck.models.attentive import Attentive

Rnn = nn.LSTM | nn.GRU
BUDGET = 1 << 25  # numbers held at once; longer texts are taken fewer at a time


@torch.no_grad()
def logits_without_each(model: Attentive, batch: Batch) -> Deletions | None:
    """Logits of the whole text and after deleting each word of the first text.

    None where the encoder offers no shortcut: delete and run again. The first text has to stand
    at the left of each row.
    """
    per_row = batch.token_ids.shape[1] ** 2 * (model.project.out_features + 1)
    size = max(BUDGET // per_row, 1)
    parts = []
    for start in range(0, len(batch), size):
        index = torch.arange(start, min(start + size, len(batch)), device=batch.token_ids.device)
        part = _delete_each(model, rows(batch, index))
        if part is None:
            return None
        parts.append(part)
    return Deletions(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))


class Tokens(NamedTuple):
    """Attention score and decoder value of every position s, for each of T variants of the text."""

    scores: Float[Tensor, "S T B"]
    values: Float[Tensor, "S T B D"]


def _delete_each(model: Attentive, batch: Batch) -> Deletions | None:
    text = batch.mask & (batch.segments == TEXT)
    width = int(text.sum(1).max())
    text, words = text[:, :width], batch.attended[:, :width]
    query = None
    if bool((batch.segments != TEXT).any()):  # only a second text asks something
        query = model.query(model.read(batch), batch)
    match model.encoder, model.attention.project:
        case TokenwiseEncoder(), _:  # no token sees another: only the softmax changes
            whole = without = _tokens(model, model.read(batch)[:, :width].transpose(0, 1), query)
        case RecurrentEncoder(forwards=forwards, backwards=backwards), nn.Linear() as score_map:
            ids = batch.token_ids[:, :width]
            whole, without = _recurrent(model, (forwards, backwards), score_map, ids, text, words, query)
        case _:
            return None
    here = words.t()[:, None, :]  # S 1 B
    others = ~torch.eye(width, dtype=torch.bool, device=text.device)[..., None]  # S T 1
    base = model.finish(_mix(model, whole, here)[0], query, batch)
    logits = model.finish(_mix(model, without, here & others), query, batch).transpose(0, 1)
    return Deletions(base, nn.functional.pad(logits, (0, 0, 0, batch.token_ids.shape[1] - width)))


def _tokens(model: Attentive, encoded: Float[Tensor, "S B H"], query: Tensor | None) -> Tokens:
    """Of the text as it is."""
    scores = model.attention.score(model.attention.project(encoded), query)
    return Tokens(scores[:, None], model.project(encoded)[:, None])


def _mix(model: Attentive, tokens: Tokens, stays: Bool[Tensor, "S T B"]) -> Float[Tensor, "T B D"]:
    """The attention-weighted mean of the values, over the words that stay."""
    lowest = torch.finfo(tokens.scores.dtype).min
    scores = (tokens.scores / model.temperature).masked_fill(~stays, lowest)
    weights = torch.softmax(scores, dim=0) * stays
    if tokens.values.shape[1] == 1:  # the same values whatever is deleted
        return torch.einsum("stb,sbd->tbd", weights, tokens.values[:, 0])
    return (weights[..., None] * tokens.values).sum(0)


def _recurrent(
    model: Attentive,
    rnns: tuple[Rnn, Rnn],
    score_map: nn.Linear,
    token_ids: Int[Tensor, "B S"],
    text: Bool[Tensor, "B S"],
    words: Bool[Tensor, "B S"],
    query: Tensor | None,
) -> tuple[Tokens, Tokens]:
    """The tokens of the whole text, and of the text without its t-th token for each t."""
    batch_size, length = text.shape
    scores = model.project.weight.new_zeros(length, length, batch_size)
    values = model.project.weight.new_zeros(length, length, batch_size, model.project.out_features)
    distinct, places = torch.unique(token_ids.t(), return_inverse=True)
    vectors = model.embedding(distinct)
    directions = [Direction.of(rnns[back], vectors, places, text.t(), backward=back) for back in (False, True)]
    histories = [direction.read() for direction in directions]
    states = [
        direction.by_position(history.states[0][1:]) for direction, history in zip(directions, histories, strict=True)
    ]
    for backward, (direction, history) in enumerate(zip(directions, histories, strict=True)):
        unchanged = states[not backward]
        score_part, score_rest = _halves(score_map, unchanged, bool(backward))
        value_part, value_rest = _halves(model.project, unchanged, bool(backward))
        for s, deleted, hidden in direction.restarts(history, words.any(0)):
            scores[s, deleted] = model.attention.score((hidden @ score_part).add_(score_rest[s]), query)
            values[s, deleted] = (hidden @ value_part).add_(value_rest[s])
    return _tokens(model, torch.cat(states, dim=-1), query), Tokens(scores, values)


def _halves(layer: nn.Linear, unchanged: Float[Tensor, "S B h"], backward: bool) -> tuple[Tensor, Tensor]:
    """A linear layer on [forward; backward]: its weight for the half that changes, its output for the other."""
    weights = layer.weight.chunk(2, dim=1)
    return weights[backward].t(), nn.functional.linear(unchanged, weights[not backward], layer.bias)


class Direction(NamedTuple):
    """One direction of an RNN over one batch: `order` are the positions as it reads them."""

    rnn: Rnn
    weights: Weights
    inputs: Float[Tensor, "S B G"]
    text: Bool[Tensor, "S B"]
    order: Int[Tensor, "S"]
    clears: list[bool]  # positions where padding may be read before a text, from the right; it must leave no trace

    @classmethod
    def of(
        cls,
        rnn: Rnn,
        vectors: Float[Tensor, "V E"],
        places: Int[Tensor, "S B"],
        text: Bool[Tensor, "S B"],
        *,
        backward: bool,
    ) -> Direction:
        """`vectors` are those of the distinct words, `places` says which of them stands where."""
        weights = Weights.of(rnn)
        inputs = nn.functional.embedding(places, nn.functional.linear(vectors, weights.inputs, weights.input_bias))
        order = torch.arange(len(text), device=text.device)
        clears = (~text.all(1)).tolist() if backward else [False] * len(order)
        return cls(rnn, weights, inputs, text, order.flip(0) if backward else order, clears)

    def read(self) -> History:
        """The whole text."""
        shape = (len(self.order) + 1, self.inputs.shape[1], self.rnn.hidden_size)
        states = [self.inputs.new_zeros(shape) for _ in self.weights.state_names]
        recalled = torch.empty_like(self.inputs, memory_format=torch.contiguous_format)
        for k, s in enumerate(self.order.tolist()):
            for state in states:
                state[k + 1] = state[k]
            torch.mm(states[0][k], self.weights.hidden, out=recalled[k])
            self.step([state[k + 1] for state in states], recalled[k].clone(), s)
        return History(states, recalled)

    def restarts(
        self, history: History, deletable: Bool[Tensor, "S"]
    ) -> Iterator[tuple[int, Tensor, Float[Tensor, "N B h"]]]:
        """All deletions at once: (position, positions deleted before it, hidden states there).

        Run k skips the k-th position in reading order, so it starts from what was read before that. What its first
        step recalls is known from there too.
        """
        runs = [states[:-1].clone() for states in history.states]
        recalled = history.recalled.clone()
        wanted = deletable[self.order].nonzero().squeeze(1).tolist() or [0]  # marks and padding around need no run
        first = wanted[0]
        for k, s in enumerate(self.order.tolist()[: wanted[-1] + 1]):
            if k > first:
                going, product = runs[0][first : k - 1], recalled[first : k - 1]
                torch.mm(going.view(-1, going.shape[-1]), self.weights.hidden, out=product.view(-1, product.shape[-1]))
                self.step([run[first:k] for run in runs], recalled[first:k], s)
                yield s, self.order[first:k], runs[0][first:k]

    def step(self, states: list[Float[Tensor, "*N B h"]], recalled: Float[Tensor, "*N B G"], position: int) -> None:
        """Read one position, in place. `recalled` is the hidden state times its weights; it is used up."""
        STEPS[type(self.rnn)](states, recalled, self.inputs[position], self.weights)
        if self.clears[position]:
            for state in states:
                state *= self.text[position][:, None]

    def by_position(self, states: Float[Tensor, "S B h"]) -> Float[Tensor, "S B h"]:
        return states[self.order]


class History(NamedTuple):
    """Of the whole text, in reading order: each of the RNN's states before every position and behind the last one,
    and the hidden state before every position times the hidden weights."""

    states: list[Float[Tensor, "S+1 B h"]]
    recalled: Float[Tensor, "S B G"]


class Weights(NamedTuple):
    """One direction of an RNN, arranged for its step."""

    inputs: Float[Tensor, "G E"]
    input_bias: Float[Tensor, "G"]
    hidden: Float[Tensor, "h G"]
    hidden_bias: Float[Tensor, "G"]
    state_names: tuple[str, ...]

    @classmethod
    def of(cls, rnn: Rnn) -> Weights:
        w_ih, w_hh, b_ih, b_hh = rnn.parameters()
        if isinstance(rnn, nn.GRU):
            return cls(w_ih, b_ih, w_hh.t(), b_hh, ("hidden",))
        doubled = tanh_doubled(rnn)
        hidden = (w_hh * doubled).t().contiguous()
        bias = (b_ih + b_hh) * doubled[:, 0]
        return cls(w_ih * doubled, bias, hidden, b_hh.new_zeros(()), ("hidden", "cell"))


def _lstm_step(states: list[Tensor], recalled: Tensor, inputs: Float[Tensor, "B G"], weights: Weights) -> None:
    """One sigmoid for all gates (see `tanh_doubled`)."""
    hidden, cell = states
    keep_new, keep_old, new, show = recalled.add_(inputs).sigmoid_().chunk(4, dim=-1)
    cell.mul_(keep_old).addcmul_(keep_new, new, value=2).sub_(keep_new)
    torch.mul(show, (2 * cell).sigmoid_().mul_(2).sub_(1), out=hidden)


def _gru_step(states: list[Tensor], recalled: Tensor, inputs: Float[Tensor, "B G"], weights: Weights) -> None:
    (hidden,) = states
    size = hidden.shape[-1]
    recalled.add_(weights.hidden_bias)
    reset, keep_old = (recalled[..., : 2 * size] + inputs[:, : 2 * size]).sigmoid_().chunk(2, dim=-1)
    new = (recalled[..., 2 * size :] * reset).add_(inputs[:, 2 * size :]).tanh_()
    hidden.copy_(torch.lerp(new, hidden, keep_old))


STEPS: dict[type[nn.Module], Callable[[list[Tensor], Tensor, Tensor, Weights], None]] = {
    nn.LSTM: _lstm_step,
    nn.GRU: _gru_step,
}
