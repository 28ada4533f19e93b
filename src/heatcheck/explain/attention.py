"""Explanations read from attention weights.

- `AttentionWeights`: the weights themselves; of a transformer the row of the token that is classified, in one layer.
- `AttentionXGradient`: weight × slope of what is explained with respect to the weight (Serrano & Smith 2019, section
  4; Chefer et al. 2021, equation 5, from which it differs in keeping negative products).
- `Rollout`, `Flow`: Abnar & Zuidema 2020 as Neely et al. 2022 use them (section 3.2 and appendix B): mean over heads,
  plus the identity, rows normalised; the product of the layers, or the maximum flow from the token that is classified
  to each input. Marks like [CLS] are part of the graph.

Our attentive models have one layer, so that for them rollout and flow are the weights. Texts that a transformer reads
in windows are explained window by window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import PAIR, TEXT, Batch
from heatcheck.errors import InputError
from heatcheck.explain.tap import Tap, check_layers, inside, per_window, tappable
from heatcheck.explain.types import Explanation, Scalar, held
from heatcheck.measure import flow as graphs
from heatcheck.models.huggingface import HuggingFaceClassifier, eager_attention
from heatcheck.models.protocols import AttentiveClassifier, TransformerClassifier, encoded_tokens

TOKENS_AT_ONCE_BACKWARDS = 2048  # fewer than forwards alone: the way back needs every layer's values kept
FIRST_TEXT = "attention is on the first text alone: no word of the second has a score"
THROUGH_ALL = ("rollout", "flow")  # they need the weights of every layer, which hybrids (Qwen 3.5) do not have
ONE_LAYER = "a model with one layer of attention: these are the attention weights"


@dataclass(frozen=True)
class AttentionWeights:
    """`layer` counts from 0, or back from -1; `head` None: the mean over heads. Both are for transformers; of our own
    models there is one layer. The weights are the same whatever is explained."""

    layer: int = -1
    head: int | None = None

    @torch.no_grad()
    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        if isinstance(model, AttentiveClassifier):
            numbered(self.layer, 1, "layer", model)
            return of_attended(self._own(model, batch), batch, signed=False)
        return Explanation(_from_maps(self._row, model, batch, "attention"), signed=False)

    def _own(self, model: AttentiveClassifier, batch: Batch) -> Float[Tensor, "B T"]:
        weights = model.attend(encoded_tokens(model, batch), batch)
        if self.head is None:
            return over_heads(weights, weights, batch)
        return weights[:, numbered(self.head, weights.shape[1], "head", model)]

    def _row(
        self, maps: Float[Tensor, "N L H T T"], model: TransformerClassifier, batch: Batch
    ) -> Float[Tensor, "N T"]:
        layer = maps[:, numbered(self.layer, maps.shape[1], "layer", model)]
        rows = layer[torch.arange(len(layer), device=layer.device), :, model.readout(batch)]
        return rows.mean(1) if self.head is None else rows[:, numbered(self.head, rows.shape[1], "head", model)]


@dataclass(frozen=True)
class Rollout:
    """Has no settings. Scores are what the classified token's row of the product of all layers holds; they sum to 1."""

    @torch.no_grad()
    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        if isinstance(model, AttentiveClassifier):
            return _of_one_layer(model, batch, scalar)
        return Explanation(_from_maps(self._row, model, batch, "rollout"), signed=False)

    @staticmethod
    def _row(maps: Float[Tensor, "N L H T T"], model: TransformerClassifier, batch: Batch) -> Float[Tensor, "N T"]:
        return graphs.rollout(graphs.residual_graph(maps, batch.mask), model.readout(batch))


@dataclass(frozen=True)
class Flow:
    """Has no settings. Each score is a maximum flow of its own: they do not sum to 1."""

    @torch.no_grad()
    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        if isinstance(model, AttentiveClassifier):
            return _of_one_layer(model, batch, scalar)
        return Explanation(_from_maps(self._flows, model, batch, "flow"), signed=False)

    @staticmethod
    def _flows(maps: Float[Tensor, "N L H T T"], model: TransformerClassifier, batch: Batch) -> Float[Tensor, "N T"]:
        layers, ends = graphs.residual_graph(maps, batch.mask), model.readout(batch).tolist()
        scores = layers.new_zeros(batch.mask.shape)
        for row, length in enumerate(batch.mask.sum(1).tolist()):
            scores[row, :length] = graphs.flow(layers[row, :, :length, :length], ends[row])
        return scores


@dataclass(frozen=True)
class AttentionXGradient:
    """Of a transformer: in one layer, the row of the token that is classified, each head's products, then their mean.
    A negative score: more weight there would speak against what is explained."""

    layer: int = -1

    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        if isinstance(model, AttentiveClassifier):
            numbered(self.layer, 1, "layer", model)
            return of_attended(_own_products(model, batch, scalar), batch, signed=True)
        network = tappable(model, "attention_x_gradient")
        scalar = held(scalar, model, batch)

        def products(some: Batch) -> Float[Tensor, "N T"]:
            return self._products(network, some, scalar)

        return Explanation(per_window(products, network, batch, TOKENS_AT_ONCE_BACKWARDS), signed=True)

    def _products(self, model: HuggingFaceClassifier, batch: Batch, scalar: Scalar) -> Float[Tensor, "N T"]:
        layers: list[Tensor] = []
        with torch.enable_grad(), eager_attention(model.network), Tap(batch.mask.shape[1], _kept_in(layers)):
            # The embeddings are a start for the graph also where all of the network's parameters are frozen.
            embeddings = model.embed(batch).detach().requires_grad_()
            explained = scalar(model, model.logits(embeddings, batch), batch)
        check_layers(model.network, "attention_x_gradient", len(layers))
        weights = layers[numbered(self.layer, len(layers), "layer", model)]
        (slopes,) = torch.autograd.grad(explained.sum(), weights)
        products = (weights * slopes).mean(1).detach()
        places, index = inside(model, batch), torch.arange(len(batch), device=batch.mask.device)
        row = products[index, places[index, model.readout(batch)]]
        return row.gather(1, places) * batch.mask


def _kept_in(layers: list[Tensor]) -> Callable[[Tensor], Tensor]:
    def keep(weights: Tensor) -> Tensor:
        if not weights.requires_grad:  # imposed weights, which depend on nothing
            weights.requires_grad_()
        layers.append(weights)
        return weights

    return keep


def _own_products(model: AttentiveClassifier, batch: Batch, scalar: Scalar) -> Float[Tensor, "B T"]:
    with torch.no_grad():
        encoded = encoded_tokens(model, batch)
        weights = model.attend(encoded, batch)
    with torch.enable_grad():
        start = weights.detach().requires_grad_()
        explained = scalar(model, model.classify(encoded, start, batch), batch)
        (slopes,) = torch.autograd.grad(explained.sum(), start)
    return over_heads(weights * slopes, weights, batch)


def over_heads(values: Float[Tensor, "B K T"], weights: Float[Tensor, "B K T"], batch: Batch) -> Float[Tensor, "B T"]:
    """The mean over the heads that attend to a token's text: where each head has a text of its own, its value."""
    attending = torch.zeros_like(values.sum(1))
    for segment in (TEXT, PAIR):
        here = batch.segments == segment
        heads = ((weights * here[:, None]).sum(-1) > 0).sum(1, keepdim=True)
        attending = attending + here * heads
    return values.sum(1) / attending.clamp(min=1)


def _of_one_layer(model: AttentiveClassifier, batch: Batch, scalar: Scalar) -> Explanation:
    weights = AttentionWeights()(model, batch, scalar)
    return replace(weights, notes=(ONE_LAYER, *weights.notes))


def of_attended(scores: Float[Tensor, "B T"], batch: Batch, *, signed: bool) -> Explanation:
    """Where the second text is the query (paper 1), its words are not attended, and a note says so."""
    second = batch.words & (batch.segments == PAIR)
    unseen = bool(second.any()) and not bool(scores[second].any())
    return Explanation(scores, signed=signed, notes=(FIRST_TEXT,) if unseen else ())


Read = Callable[[Float[Tensor, "N L H T T"], TransformerClassifier, Batch], Float[Tensor, "N T"]]


def _from_maps(read: Read, model: object, batch: Batch, method: str) -> Float[Tensor, "B T"]:
    """What `read` finds in the attention maps of all layers."""
    if not isinstance(model, TransformerClassifier):
        raise InputError(f"{method} needs a model with attention, which {type(model).__name__} is not. Leave it out.")

    def scores(some: Batch) -> Float[Tensor, "N T"]:
        _, maps = model.logits_and_maps(model.embed(some), some)
        if method in THROUGH_ALL and isinstance(model, HuggingFaceClassifier):
            check_layers(model.network, method, maps.shape[1])
        return read(maps, model, some)

    return per_window(scores, model, batch)


def numbered(number: int, many: int, what: str, model: object) -> int:
    """The layer or head of that number, which may count from the end."""
    if isinstance(number, int) and not isinstance(number, bool) and -many <= number < many:
        return number % many
    raise InputError(
        f"There is no attention {what} {number!r}: {type(getattr(model, 'network', model)).__name__} has {many}, "
        f"numbered 0 to {many - 1}, or back from -1."
    )
