"""What the model says under other attentions than its own."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.models.protocols import AttentiveClassifier, LinearDecoder


def classify_alternatives(
    model: AttentiveClassifier, encoded: Float[Tensor, "B T H"], attentions: Float[Tensor, "N B T"], batch: Batch
) -> Float[Tensor, "N B C"]:
    """Logits under each of N attentions. A linear decoder needs only its per-token logits."""
    if isinstance(model, LinearDecoder):
        return (attentions.transpose(0, 1) @ model.token_logits(encoded)).transpose(0, 1)
    return torch.stack([model.classify(encoded, attention[:, None], batch) for attention in attentions])
