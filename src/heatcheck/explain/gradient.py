"""Gradients at the word embeddings: of the text as it is, and summed over many points near it (for path.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.batch import TOKEN_FIELDS, Batch, rows
from heatcheck.explain.captums import FromEmbeddings, attributed, plain_kernels
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.models.pieces import in_pieces, over_rows
from heatcheck.models.protocols import AttentiveClassifier, Classifier, entered_tokens
from heatcheck.models.readout import readout_only

# Padded tokens of one pass. Fewer than forwards alone: the way back needs every layer's values, and from about 2,000
# tokens on MiniLM is slower per token.
TOKENS_AT_ONCE = 1024


def gradient(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """|Σ_d ∂y/∂e_d · e_d|, attention held fixed (Jain & Wallace 2019, algorithm 1 and appendix B).

    With one-hot words x and embeddings e = xE, this is the |∂y/∂x| of the word that stands there. The attention of a
    transformer is not held fixed: there it is the size of `gradient_x_input`.
    """

    if isinstance(model, AttentiveClassifier):
        scores = in_pieces(lambda some: gradient_and_attention(model, some, scalar)[0], batch, TOKENS_AT_ONCE)
        return Explanation(scores, signed=False)
    return Explanation(_times_input(model, batch, scalar).abs(), signed=False)


def gradient_and_attention(
    model: AttentiveClassifier, batch: Batch, scalar: Scalar
) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B K T"], Float[Tensor, "B C"]]:
    """`gradient` of an attention model, and the attention and logits that its pass computes on the way."""
    with torch.enable_grad(), plain_kernels():
        encoded, taken, times_input = entered_tokens(model, batch)
        with torch.no_grad():
            attention = model.attend(encoded, batch)
        logits = model.classify(encoded, attention, batch)
        slopes = torch.autograd.grad(scalar(model, logits, batch).sum(), taken)
    return times_input(slopes).abs() * batch.mask, attention, logits.detach()


def gradient_x_input(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """Σ_d ∂y/∂e_d · e_d with its sign, through the whole model, attention included."""
    return Explanation(_times_input(model, batch, scalar), signed=True)


def saliency(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """‖∂y/∂e‖₂, through the whole model (Li et al. 2016): how fast the output moves with the word's embedding."""
    return Explanation(_in_batches("Saliency", lambda found: found.norm(dim=-1), model, batch, scalar), signed=False)


def _times_input(model: Classifier, batch: Batch, scalar: Scalar) -> Float[Tensor, "B T"]:
    return _in_batches("InputXGradient", lambda found: found.sum(-1), model, batch, scalar)


def _in_batches(
    method: str,
    score: Callable[[Float[Tensor, "N T E"]], Float[Tensor, "N T"]],
    model: Classifier,
    batch: Batch,
    scalar: Scalar,
) -> Float[Tensor, "B T"]:
    """`score` of what Captum's method says of the embeddings of the texts as they are."""

    def scored(some: Batch) -> Float[Tensor, "N T"]:
        return score(attributed(method, FromEmbeddings(model, some, scalar), model.embed(some)))

    with readout_only(model):
        return in_pieces(scored, batch, TOKENS_AT_ONCE) * batch.mask


@dataclass(frozen=True)
class Points:
    """Where slopes are taken: the same number of points K for each text of a batch.

    `at(texts, numbers)` makes some of them, so that they need not be in memory all at once; `direction` says how much
    of a slope counts, `weights` how much of a point.
    """

    at: Callable[[Int[Tensor, "N"], Int[Tensor, "N"]], Float[Tensor, "N T E"]]
    direction: Float[Tensor, "B T E"]
    weights: Float[Tensor, "B K"]


def sum_of_slopes(model: Classifier, batch: Batch, scalar: Scalar, points: Points) -> Float[Tensor, "B T"]:
    """Σ_k w_k Σ_d ∂y/∂e_d · direction_d, the slope taken at the text's k-th point."""
    n, count = points.weights.shape
    texts = batch.mask.sum(1).argsort().repeat_interleave(count)  # texts of one length run together, without padding
    numbers = torch.arange(count, device=texts.device).repeat(n)

    def at_points(index: Int[Tensor, "N"]) -> Float[Tensor, "N T"]:
        here = (texts[index], numbers[index])
        narrow = without_padding(rows(batch, texts[index]))
        width = narrow.mask.shape[1]
        explained = FromEmbeddings(model, narrow, scalar)
        slopes = attributed("Saliency", explained, points.at(*here)[:, :width], abs=False)
        along = (slopes * points.direction[here[0], :width]).sum(-1) * points.weights[here][:, None]
        return nn.functional.pad(along, (0, batch.mask.shape[1] - width))

    with readout_only(model):
        each = over_rows(at_points, rows(batch, texts), TOKENS_AT_ONCE)
    return each.new_zeros(batch.mask.shape).index_add(0, texts, each) * batch.mask


def without_padding(batch: Batch) -> Batch:
    """Without the last columns, as far as no row has a token there."""
    width = max(int(batch.mask.any(0).nonzero().max()) + 1, 1) if bool(batch.mask.any()) else 1
    columns: dict[str, Any] = {name: getattr(batch, name)[:, :width] for name in TOKEN_FIELDS}
    return replace(batch, **columns)
