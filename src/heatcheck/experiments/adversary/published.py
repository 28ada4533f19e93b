"""The published adversary: k attentions by gradient ascent (Jain & Wallace 2019, section 4.2.2, algorithm 3).

Maximises Σ_i JSD(α_i, α̂) + Σ_{i<j} JSD(α_i, α_j) / (k(k−1)) − λ/k · Σ_i max(0, TVD_i − ε) (the paper prints the penalty
with a plus, a slip). Adam with AMSGrad on the logits of α, from log-uniform plus noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.experiments.adversary.types import Adversary
from heatcheck.experiments.alternatives import decider
from heatcheck.measure.distributions import jsd, tvd
from heatcheck.models.attention import masked_softmax
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.randomness import normal_noise


@dataclass(frozen=True)
class PublishedSettings:
    attentions: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    penalty: float = 500.0
    noise: float = 3.0
    keep_within: float | None = None  # None: ε. The authors' code keeps what is within 0.05


def published_adversary(
    model: AttentiveClassifier,
    encoded: Float[Tensor, "B T H"],
    attention: Float[Tensor, "B T"],
    batch: Batch,
    epsilon: float,
    settings: PublishedSettings,
    generator: torch.Generator,
) -> Adversary:
    """The best of k attentions whose TVD is within ε; the model's own (JSD 0) where none is."""
    with torch.no_grad():
        decide = decider(model, encoded, batch)
        base = decide(attention[None])[0]
    noise = normal_noise(batch, generator, settings.attentions)
    start = -batch.attended.sum(1).clamp(min=1).log()[None, :, None] + settings.noise * noise
    scores = start.detach().requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=settings.learning_rate, amsgrad=True)
    for _ in range(settings.steps):
        optimizer.zero_grad()
        found = masked_softmax(scores, batch.attended)
        moved = tvd(decide(found), base)
        loss = settings.penalty * (moved - epsilon).clamp(min=0).mean(0) - _spread(found, attention)
        (scores.grad,) = torch.autograd.grad(loss.sum(), scores)
        optimizer.step()
    with torch.no_grad():
        found = masked_softmax(scores, batch.attended)
        moved = tvd(decide(found), base)
    return best_within(found, moved, attention, settings.keep_within or epsilon)


def _spread(found: Float[Tensor, "K B T"], attention: Float[Tensor, "B T"]) -> Float[Tensor, "B"]:
    """Far from the model's attention and far from each other."""
    k = len(found)
    away = jsd(found, attention).sum(0)
    if k == 1:
        return away
    first, second = zip(*combinations(range(k), 2), strict=True)
    return away + jsd(found[list(first)], found[list(second)]).sum(0) / (k * (k - 1))


def best_within(
    found: Float[Tensor, "K B T"], moved: Float[Tensor, "K B"], attention: Float[Tensor, "B T"], epsilon: float
) -> Adversary:
    """ε-max JSD: the farthest of those that keep the output, 0 if none does."""
    away = torch.where(moved <= epsilon, jsd(found, attention), -1.0)
    best = away.argmax(0)
    column = torch.arange(len(best), device=best.device)
    value = away[best, column]
    kept = value >= 0
    return Adversary(
        torch.where(kept[:, None], found[best, column], attention),
        value.clamp(min=0),
        torch.where(kept, moved[best, column], 0.0),
    )
