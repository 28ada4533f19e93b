"""Leave-one-out without starting over: what a model computes when each word in turn is deleted.

Deleting word t leaves a forward RNN's states before t and a backward one's states after t as they were.
So each direction restarts at the deleted word only, all restarts run side by side as one growing batch, the
input projections are those of the whole text, and in every position one of the two halves is unchanged.
Attention scores and decoder are linear in the halves up to their last step and are summed the same way.
Equal to deleting and running again up to rounding; how much faster is measured in benchmarks/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.batch import TEXT, Batch, rows
from heatcheck.models.encoders import RecurrentEncoder, TokenwiseEncoder

if TYPE_CHECKING:
    from heatcheck.models.attentive import Attentive

BUDGET = 1 << 25  # numbers held at once; longer texts are taken fewer at a time


@torch.no_grad()
def logits_without_each(
    model: Attentive, embeddings: Float[Tensor, "B T E"], batch: Batch
) -> Float[Tensor, "B T C"] | None:
    """Logits after deleting each word of the first text; other positions hold no meaning.

    None where the encoder offers no shortcut: delete and run again. The first text has to stand
    at the left of each row.
    """
    per_row = embeddings.shape[1] ** 2 * (model.project.out_features + 1)
    size = max(BUDGET // per_row, 1)
    parts = []
    for start in range(0, len(batch), size):
        index = torch.arange(start, min(start + size, len(batch)), device=embeddings.device)
        part = _logits_without_each(model, embeddings[index], rows(batch, index))
        if part is None:
            return None
        parts.append(part)
    return torch.cat(parts)


def _logits_without_each(model: Attentive, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Tensor | None:
    encoded = model.encode(embeddings, batch)
    query = model.query(encoded, batch)
    width = int((batch.mask & (batch.segments == TEXT)).sum(1).max())
    text = (batch.mask & (batch.segments == TEXT))[:, :width]
    match model.encoder, model.attention.project:
        case TokenwiseEncoder(), _:
            scores, values = _tokenwise(model, encoded[:, :width], query)
        case RecurrentEncoder(rnn=rnn), nn.Linear() as score_map:
            scores, values = _recurrent(model, rnn, score_map, embeddings[:, :width], encoded[:, :width], text, query)
        case _:
            return None
    stays = (
        batch.attended[:, :width].t()[:, None, :] & ~torch.eye(width, dtype=torch.bool, device=text.device)[..., None]
    )
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax((scores / model.temperature).masked_fill(~stays, lowest), dim=0) * stays  # S T B
    mixed = (weights[..., None] * values).sum(0)  # T B D
    logits = model.finish(mixed, query, batch).transpose(0, 1)
    missing = embeddings.shape[1] - width
    return nn.functional.pad(logits, (0, 0, 0, missing))


def _tokenwise(model: Attentive, encoded: Float[Tensor, "B S H"], query: Tensor | None) -> tuple[Tensor, Tensor]:
    """No token sees another: only the softmax changes."""
    by_position = encoded.transpose(0, 1)
    scores = model.attention.score(model.attention.project(by_position), query)
    return scores[:, None], model.project(by_position)[:, None]


def _recurrent(
    model: Attentive,
    rnn: nn.LSTM | nn.GRU,
    score_map: nn.Linear,
    embeddings: Float[Tensor, "B S E"],
    encoded: Float[Tensor, "B S H"],
    mask: Bool[Tensor, "B S"],
    query: Tensor | None,
) -> tuple[Float[Tensor, "S T B"], Float[Tensor, "S T B D"]]:
    """Score and value of position s after the deletion of t, for all s and t."""
    batch_size, length, _ = encoded.shape
    scores = embeddings.new_zeros(length, length, batch_size)
    values = embeddings.new_zeros(length, length, batch_size, model.project.out_features)
    directions = encoded.transpose(0, 1).chunk(2, dim=-1)  # S B h each
    for backward in (False, True):
        unchanged = directions[not backward]
        score_part, score_rest = _halves(score_map, unchanged, backward)
        value_part, value_rest = _halves(model.project, unchanged, backward)
        for s, deleted, hidden in _restarts(rnn, embeddings, mask.t(), backward=backward):
            scores[s, deleted] = model.attention.score((hidden @ score_part).add_(score_rest[s]), query)
            values[s, deleted] = (hidden @ value_part).add_(value_rest[s])
    return scores, values


def _halves(layer: nn.Linear, unchanged: Float[Tensor, "S B h"], backward: bool) -> tuple[Tensor, Tensor]:
    """A linear layer on [forward; backward]: its weight for the half that changes, its output for the other."""
    weights = layer.weight.chunk(2, dim=1)
    return weights[backward].t(), nn.functional.linear(unchanged, weights[not backward], layer.bias)


def _restarts(
    rnn: nn.LSTM | nn.GRU, embeddings: Float[Tensor, "B S E"], mask: Bool[Tensor, "S B"], *, backward: bool
) -> Iterator[tuple[int, Tensor, Float[Tensor, "N B h"]]]:
    """One direction of the RNN, once for each deletion: (position, words deleted before it, hidden states there).

    Row k of `states` is the run that skips the k-th position in reading order. The row behind them is the run
    that skips nothing: whatever it holds when position k comes is where run k starts.
    """
    weights = Weights.of(rnn, backward=backward)
    inputs = nn.functional.linear(embeddings.transpose(0, 1), weights.inputs, weights.input_bias)  # S B G
    length, batch_size = mask.shape
    states = [inputs.new_zeros(length + 1, batch_size, rnn.hidden_size) for _ in weights.state_names]
    order = torch.arange(length, device=mask.device)
    order = order.flip(0) if backward else order
    padded = not bool(mask.all())
    step = STEPS[type(rnn)]
    for k, s in enumerate(order.tolist()):
        before = [state[k].clone() for state in states]
        step([state[: k + 1] for state in states], inputs[s], weights)
        for state, unread in zip(states, before, strict=True):
            if backward and padded:  # reading from the right, a short text's padding comes first
                state[: k + 1] *= mask[s][:, None]
            state[k + 1] = state[k]
            state[k] = unread
        yield s, order[:k], states[0][:k]


class Weights(NamedTuple):
    """One direction of an RNN, arranged for its step."""

    inputs: Float[Tensor, "G E"]
    input_bias: Float[Tensor, "G"]
    hidden: Float[Tensor, "h G"]
    hidden_bias: Float[Tensor, "G"]
    state_names: tuple[str, ...]

    @classmethod
    def of(cls, rnn: nn.LSTM | nn.GRU, *, backward: bool) -> Weights:
        suffix = "_reverse" if backward else ""
        w_ih, w_hh, b_ih, b_hh = (
            getattr(rnn, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if isinstance(rnn, nn.GRU):
            return cls(w_ih, b_ih, w_hh.t(), b_hh, ("hidden",))
        doubled = torch.ones_like(b_ih)
        doubled[2 * rnn.hidden_size : 3 * rnn.hidden_size] = 2  # the gate with a tanh, see _lstm_step
        hidden = (w_hh * doubled[:, None]).t().contiguous()
        bias = (b_ih + b_hh) * doubled
        return cls(w_ih * doubled[:, None], bias, hidden, b_hh.new_zeros(()), ("hidden", "cell"))


def _lstm_step(states: list[Tensor], inputs: Float[Tensor, "B G"], weights: Weights) -> None:
    """One sigmoid for all gates: tanh(x) = 2σ(2x) − 1, and PyTorch's tanh takes several times as long."""
    hidden, cell = states
    keep_new, keep_old, new, show = (hidden @ weights.hidden).add_(inputs).sigmoid_().chunk(4, dim=-1)
    cell.mul_(keep_old).addcmul_(keep_new, new.mul_(2).sub_(1))
    torch.mul(show, (2 * cell).sigmoid_().mul_(2).sub_(1), out=hidden)


def _gru_step(states: list[Tensor], inputs: Float[Tensor, "B G"], weights: Weights) -> None:
    (hidden,) = states
    size = hidden.shape[-1]
    recalled = (hidden @ weights.hidden).add_(weights.hidden_bias)
    reset, keep_old = (recalled[..., : 2 * size] + inputs[:, : 2 * size]).sigmoid_().chunk(2, dim=-1)
    new = (recalled[..., 2 * size :] * reset).add_(inputs[:, 2 * size :]).tanh_()
    hidden.copy_(torch.lerp(new, hidden, keep_old))


STEPS: dict[type[nn.Module], Callable[[list[Tensor], Tensor, Weights], None]] = {
    nn.LSTM: _lstm_step,
    nn.GRU: _gru_step,
}
