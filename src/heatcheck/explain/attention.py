"""Attention weights as an explanation."""

from __future__ import annotations

import torch

from heatcheck.batch import Batch
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.models.protocols import AttentiveClassifier


@torch.no_grad()
def attention_weights(
    model: AttentiveClassifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """The weights themselves, averaged over heads. They are the same whatever is explained."""
    encoded = model.encode(model.embed(batch), batch)
    return Explanation(model.attend(encoded, batch).mean(1), signed=False)
