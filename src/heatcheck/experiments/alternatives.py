"""What the model says under other attentions than its own."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.models.protocols import AttentiveClassifier, Decide, SharesDecoding


def decider(model: AttentiveClassifier, encoded: Float[Tensor, "B T H"], batch: Batch) -> Decide:
    """Class distributions under any number of attentions; what does not depend on them is computed once, if it can."""
    if isinstance(model, SharesDecoding):
        decide = model.decoder(encoded, batch)
        return lambda attentions: model.probs(decide(attentions))
    return lambda attentions: torch.stack(
        [model.probs(model.classify(encoded, attention[:, None], batch)) for attention in attentions]
    )
