"""Value zeroing (Mohebbi, Zuidema, Chrupała & Alishahi 2023, "Quantifying context mixing in transformers").

1. In each layer, on the layer's own input: set the value vector of token j to zero in all heads and compute the layer's
   output again.  2. The cosine distance of each token i's output from its unchanged output is what j gives to i.
3. Rows normalised; the layers are multiplied as in rollout, and the classified token's row is read. No identity is
   added, as in the paper: a layer's output holds its residual connection already.

A token whose output no value changes has itself as its only source. Our attentive models have one step of mixing,
Σ α·h: there the value of token t is its hidden state h_t, the attention is held fixed, and the distance is the mixed
state's, of two attended texts that of their two mixed states side by side. (The projection behind it may have a single
output, which has no angle.)

A value of zero is the same as a weight of zero after the softmax. So the weights are changed (tap.py), which needs to
know nothing of how a family makes its values. One forward pass holds many copies of a text, each with another zeroed
token, and the text itself, whose states every copy takes up again behind each layer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from heatcheck.batch import Batch, rows
from heatcheck.explain.attention import of_attended
from heatcheck.explain.tap import Tap, check_layers, inside, per_window, refuse, tappable
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.measure.flow import rollout
from heatcheck.models.huggingface import HuggingFaceClassifier, eager_attention
from heatcheck.models.pieces import over_rows
from heatcheck.models.protocols import AttentiveClassifier, encoded_tokens

NAME = "value_zeroing"


@dataclass(frozen=True)
class ValueZeroing:
    """Has no settings. Scores sum to 1; they are the same whatever is explained."""

    @torch.no_grad()
    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        if isinstance(model, AttentiveClassifier):
            return of_attended(of_one_mixture(model, batch), batch, signed=False)
        network = tappable(model, NAME)

        def scores(some: Batch) -> Float[Tensor, "N T"]:
            return rollout(mixing_maps(network, some), network.readout(some))

        return Explanation(per_window(scores, network, batch), signed=False)


def of_one_mixture(model: AttentiveClassifier, batch: Batch) -> Float[Tensor, "B T"]:
    encoded = encoded_tokens(model, batch)
    attention = model.attend(encoded, batch)
    parts = attention[..., None] * encoded[:, None]  # B K T H
    mixed = parts.sum(2, keepdim=True)
    whole, without = (x.transpose(1, 2).flatten(2) for x in (mixed, mixed - parts))  # B 1 KH, B T KH
    distances = cosine_distance(without, whole) * (attention > 0).any(1)
    return distances / distances.sum(-1, keepdim=True).clamp(min=torch.finfo(distances.dtype).tiny)


def cosine_distance(a: Float[Tensor, "*N D"], b: Float[Tensor, "*N D"]) -> Float[Tensor, "*N"]:
    """1 − cos, as ½|a/|a| − b/|b||², which keeps its digits when it is small. A zero vector is at distance 1 of any.

    >>> cosine_distance(torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    tensor([0., 1., 1.])
    """
    distance = (functional.normalize(a, dim=-1) - functional.normalize(b, dim=-1)).square().sum(-1) / 2
    return torch.where((a == 0).all(-1) | (b == 0).all(-1), 1, distance)


def mixing_maps(model: HuggingFaceClassifier, batch: Batch) -> Float[Tensor, "B L T T"]:
    """How much of each token's new state comes from each token, layer by layer; padding is all zero."""
    text, token = batch.mask.nonzero(as_tuple=True)
    copies = rows(batch, text)
    changes = over_rows(lambda index: _changes(model, batch, text[index], token[index]), copies)
    maps = changes.new_zeros(len(batch), changes.shape[1], *batch.mask.shape[1:] * 2)
    maps[text, :, :, token] = changes
    total = maps.sum(-1, keepdim=True)
    itself = torch.diag_embed(batch.mask.to(maps))[:, None]
    return torch.where(total > 0, maps / total.clamp(min=torch.finfo(maps.dtype).tiny), itself)


def _changes(
    model: HuggingFaceClassifier, batch: Batch, text: Int[Tensor, "N"], token: Int[Tensor, "N"]
) -> Float[Tensor, "N L T"]:
    """How far each token's state moves when `token` of `text` has no value."""
    sources, source = torch.unique(text, return_inverse=True)
    if len(text) + len(sources) == batch.mask.shape[1]:
        sources = torch.cat([sources, sources[:1]])  # so that rows and tokens can be told apart by their number
    run = rows(batch, torch.cat([text, sources]))
    places, copy = inside(model, run), torch.arange(len(text), device=text.device)
    counts = torch.ones_like(run.mask)
    counts[copy, places[copy, token]] = False
    watch = Watch(counts, source, model.network)
    with eager_attention(model.network), watch.hooks(), Tap(run.mask.shape[1], watch.at_weights):
        model.predict(run)
    check_layers(model.network, NAME, len(watch.changes))
    changes = torch.stack(watch.changes, 1)
    own = places[: len(text), None].expand_as(changes)
    return changes.gather(2, own) * run.mask[: len(text), None]


@final
class Watch:
    """Follows a network through its layers. A layer is the innermost entry of a module list that holds an attention."""

    def __init__(self, counts: Tensor, source: Int[Tensor, "N"], network: Any) -> None:
        self.counts = counts  # whether a token has a value, in each row
        self.source = source  # which of the rows behind the copies a copy is of
        self.network = network
        self.entered: list[bool] = []  # the entries that run just now, innermost last: has an attention been seen?
        self.changes: list[Float[Tensor, "N T"]] = []

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        handles = []
        try:
            for entry in {e: None for m in self.network.modules() if isinstance(m, nn.ModuleList) for e in m}:
                handles += [entry.register_forward_pre_hook(self.enter), entry.register_forward_hook(self.leave)]
            yield
        finally:
            for handle in handles:
                handle.remove()

    def enter(self, module: nn.Module, inputs: Any) -> None:
        self.entered.append(False)

    def at_weights(self, weights: Float[Tensor, "N H T T"]) -> Float[Tensor, "N H T T"]:
        if not self.entered or len(weights) != len(self.counts):
            refuse(self.network, NAME)
        self.entered[-1] = True
        return weights * self.counts[:, None, None]

    def leave(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        if not self.entered.pop():
            return output
        if isinstance(output, tuple | list):  # OpenAI GPT's is a list
            return (self._restored(output[0]), *output[1:])
        return self._restored(output)

    def _restored(self, states: Any) -> Tensor:
        """Notes the copies' changes and undoes them."""
        if not isinstance(states, Tensor):
            refuse(self.network, NAME)
        if states.shape[:2] == self.counts.T.shape:  # XLNet counts tokens first
            return self._restored(states.transpose(0, 1)).transpose(0, 1)
        if states.shape[:2] != self.counts.shape:
            refuse(self.network, NAME)
        copies, texts = states[: len(self.source)], states[len(self.source) :]
        unchanged = texts[self.source]
        self.changes.append(cosine_distance(copies, unchanged))
        return torch.cat([unchanged, texts])
