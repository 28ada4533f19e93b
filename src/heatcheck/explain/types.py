"""What an explainer is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.models.protocols import Classifier

# What is explained: one number per row, from the model's logits.
Scalar = Callable[[Classifier, Float[Tensor, "B C"], Batch], Float[Tensor, "B"]]


@dataclass(frozen=True)
class Explanation:
    """`scores` are 0 outside the words. `signed`: a negative score speaks against the prediction.
    `delta`: how far the scores miss the sum they promise, for methods that promise one."""

    scores: Float[Tensor, "B T"]
    signed: bool
    delta: Float[Tensor, "B"] | None = None
    notes: tuple[str, ...] = ()


class Explainer(Protocol):
    """`model` is typed by each explainer with the protocol that it needs."""

    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation: ...


def predicted_probability(model: Classifier, logits: Float[Tensor, "B C"], batch: Batch) -> Float[Tensor, "B"]:
    """The probability of the predicted class: what paper 1 explains."""
    return model.probs(logits).max(-1).values
