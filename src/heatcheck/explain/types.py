"""What an explainer is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.models.protocols import Predictor, finite

# What is explained: one number per row, from the model's logits.
Scalar = Callable[[Predictor, Float[Tensor, "B C"], Batch], Float[Tensor, "B"]]


NOT_FINITE = "its numbers are not finite for some texts, which have no explanation by it"


@dataclass(frozen=True)
class Explanation:
    """`scores` are 0 outside the real tokens. `signed`: a negative score speaks against what is explained.
    `delta`: how far the scores miss the sum they promise, as a share of it, for methods that promise one. Where a
    score is not finite the text has no explanation: all its scores are 0, and a note says so."""

    scores: Float[Tensor, "B T"]
    signed: bool
    delta: Float[Tensor, "B"] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lost = ~torch.isfinite(self.scores).all(-1)
        if not lost.any():
            return
        object.__setattr__(self, "scores", self.scores.masked_fill(lost[:, None], 0.0))
        object.__setattr__(self, "notes", tuple(dict.fromkeys((*self.notes, NOT_FINITE))))
        if self.delta is not None:
            object.__setattr__(self, "delta", self.delta.masked_fill(lost, 1.0))


class Explainer(Protocol):
    """`model` is typed by each explainer with the protocol that it needs."""

    def __call__(
        self, model: Any, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation: ...


@dataclass(frozen=True)
class ProbabilityOf:
    """The probability of one class per text, which stays the same class however the text is changed."""

    classes: Mapping[str, int]  # by example id

    def __call__(self, model: Predictor, logits: Float[Tensor, "B C"], batch: Batch) -> Float[Tensor, "B"]:
        chosen = torch.tensor([self.classes[name] for name in batch.example_ids], device=logits.device)
        return model.probs(logits).gather(-1, chosen[:, None]).squeeze(-1)


def predicted_probability(model: Predictor, logits: Float[Tensor, "B C"], batch: Batch) -> Float[Tensor, "B"]:
    """The probability of the predicted class: what paper 1 explains."""
    return model.probs(logits).max(-1).values


@torch.no_grad()
def probability_of_prediction(model: Predictor, batch: Batch) -> ProbabilityOf:
    """Of the class predicted for the unchanged text: what every method explains when none is named."""
    predicted = finite(model.probs(model.predict(batch)), batch).argmax(-1).tolist()
    return ProbabilityOf(dict(zip(batch.example_ids, predicted, strict=True)))


def held(scalar: Scalar, model: Predictor, batch: Batch) -> Scalar:
    """The predicted class is that of the whole text, whatever is done to it."""
    return probability_of_prediction(model, batch) if scalar is predicted_probability else scalar


LEAST_CHANGE = 0.01  # of the output: a miss is not measured as a share of less


def missed(scores: Float[Tensor, "B T"], promised: Float[Tensor, "B"]) -> Float[Tensor, "B"]:
    """How far the scores' sum is from what was promised, as a share of that: a `delta`."""
    return (scores.sum(-1) - promised).abs() / promised.abs().clamp(min=LEAST_CHANGE)
