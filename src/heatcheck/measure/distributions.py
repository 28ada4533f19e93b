"""How far apart two distributions are. All work on the last axis and broadcast over the others."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

LN2 = math.log(2)


def tvd(p: Float[Tensor, "*N C"], q: Float[Tensor, "*N C"]) -> Float[Tensor, "*N"]:
    """Total variation distance, ½ Σ|p − q|, between 0 and 1. For a Bernoulli it is |p − q|.

    >>> tvd(torch.tensor([0.9, 0.1]), torch.tensor([0.6, 0.4]))
    tensor(0.3000)
    """
    return (p - q).abs().sum(-1) / 2


def jsd(p: Float[Tensor, "*N T"], q: Float[Tensor, "*N T"]) -> Float[Tensor, "*N"]:
    """Jensen-Shannon divergence in nats, between 0 and ln 2; zeros are allowed.

    >>> jsd(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    tiny = torch.finfo(p.dtype).tiny  # 0·log 0 = 0, with a finite gradient, unlike xlogy's
    log_m = ((p + q) / 2).clamp(min=tiny).log()
    both = p * (p.clamp(min=tiny).log() - log_m) + q * (q.clamp(min=tiny).log() - log_m)
    return (both.sum(-1) / 2).clamp(0, LN2)


def kl(p: Float[Tensor, "*N T"], q: Float[Tensor, "*N T"], *, eps: float = 1e-10) -> Float[Tensor, "*N"]:
    """KL(p ‖ q) in nats with `eps` inside both logarithms, so that zeros are allowed (paper 3, equation 3)."""
    return (p * (torch.log(p + eps) - torch.log(q + eps))).sum(-1)


def nearest_constant(outputs: Float[Tensor, "N C"]) -> Float[Tensor, "C"]:
    """The one distribution with the least mean TVD to all outputs: the best answer of one who has read nothing. Each
    probability is a quantile of its column, of the same level for all, which is where they sum to 1; of two classes the
    medians.

    >>> nearest_constant(torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]))
    tensor([0.8000, 0.2000])
    """
    low, high = 0.0, 1.0
    ordered = outputs.double().sort(0).values
    for _ in range(50):
        level = (low + high) / 2
        low, high = (level, high) if _quantile(ordered, level).sum() < 1 else (low, level)
    return _quantile(ordered, high).to(outputs.dtype)


def _quantile(ordered: Float[Tensor, "N C"], level: float) -> Float[Tensor, "C"]:
    place = level * (len(ordered) - 1)
    below = int(place)
    return torch.lerp(ordered[below], ordered[min(below + 1, len(ordered) - 1)], place - below)
