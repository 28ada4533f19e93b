"""Gradients at the word embeddings."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.models.protocols import AttentiveClassifier, Classifier


def gradient(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """|Σ_d ∂y/∂e_d · e_d|, attention held fixed (Jain & Wallace 2019, algorithm 1 and appendix B).

    With one-hot words x and embeddings e = xE, this is the |∂y/∂x| of the word that stands there. The attention of a
    transformer is not held fixed.
    """

    def logits(embeddings: Float[Tensor, "B T E"]) -> Float[Tensor, "B C"]:
        if not isinstance(model, AttentiveClassifier):
            return model.logits(embeddings, batch)
        encoded = model.encode(embeddings, batch)
        return model.classify(encoded, model.attend(encoded, batch).detach(), batch)

    return Explanation(_times_input(model, logits, batch, scalar).abs(), signed=False)


def gradient_x_input(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """Σ_d ∂y/∂e_d · e_d with its sign, through the whole model, attention included."""
    return Explanation(_times_input(model, lambda e: model.logits(e, batch), batch, scalar), signed=True)


def _times_input(
    model: Classifier, logits: Callable[[Tensor], Tensor], batch: Batch, scalar: Scalar
) -> Float[Tensor, "B T"]:
    embeddings = model.embed(batch).detach().requires_grad_()
    # cuDNN cannot go backwards through an RNN in eval mode; PyTorch's own kernels can.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        (slope,) = torch.autograd.grad(scalar(model, logits(embeddings), batch).sum(), embeddings)
    return ((slope * embeddings).sum(-1) * batch.mask).detach()
