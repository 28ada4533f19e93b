"""Attention scores and their normalisation.

Both forms are a linear map of the encoded token followed by something small, `score(project(h))`.
Keeping the two apart lets leave-one-out reuse projections (see deletion.py).
"""

from __future__ import annotations

import abc
import math

import torch
from entmax import entmax15
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

LOWEST = -1e9  # entmax squares what it is given: the lowest float would overflow


class Attention(nn.Module, abc.ABC):
    """`score(project(encoded), query)`: one number per token."""

    project: nn.Linear | nn.Identity

    @abc.abstractmethod
    def score(
        self, projected: Float[Tensor, "*N B P"], query: Float[Tensor, "B H"] | None
    ) -> Float[Tensor, "*N B"]: ...


class AdditiveAttention(Attention):
    """v · tanh(W₁h + W₂q) (Bahdanau et al. 2014), inner width half the encoder's, as in paper 1's code."""

    def __init__(self, width: int, query_width: int | None = None) -> None:
        super().__init__()
        self.project = nn.Linear(width, width // 2)
        self.ask = None if query_width is None else nn.Linear(query_width, width // 2, bias=False)
        self.weigh = nn.Linear(width // 2, 1, bias=False)

    def score(self, projected: Float[Tensor, "*N B P"], query: Float[Tensor, "B H"] | None) -> Float[Tensor, "*N B"]:
        if self.ask is not None:
            projected = projected + self.ask(query)
        scores: Tensor = self.weigh(
            2 * torch.sigmoid(2 * projected) - 1
        )  # tanh, in a fraction of PyTorch's time for it
        return scores.squeeze(-1)


class DotAttention(Attention):
    """h · q / √m (Vaswani et al. 2017); without a question q is a learned vector."""

    def __init__(self, width: int, query_width: int | None = None) -> None:
        super().__init__()
        if query_width not in (None, width):
            raise ValueError(f"Dot attention needs a query as wide as the tokens, {width}, not {query_width}.")
        self.project = nn.Linear(width, 1, bias=False) if query_width is None else nn.Identity()
        self.scale = math.sqrt(width)

    def score(self, projected: Float[Tensor, "*N B P"], query: Float[Tensor, "B H"] | None) -> Float[Tensor, "*N B"]:
        if query is not None:
            return (projected * query).sum(-1) / self.scale
        return projected.squeeze(-1) / self.scale


def weigh(
    scores: Float[Tensor, "*N T"], mask: Bool[Tensor, "*N T"], weighting: str, temperature: float = 1.0
) -> Float[Tensor, "*N T"]:
    """Attention weights over the tokens of `mask`: "softmax", "uniform" (scores ignored) or "entmax" (sparse).

    >>> weigh(torch.tensor([[3.0, 0.0, 0.0, 9.0]]), torch.tensor([[True, True, True, False]]), "entmax")
    tensor([[1., 0., 0., 0.]])
    """
    if weighting == "softmax":
        return masked_softmax(scores, mask, temperature)
    if weighting == "uniform":
        return mask / mask.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)
    return _entmax((scores / temperature).masked_fill(~mask, LOWEST)) * mask


def _entmax(scores: Float[Tensor, "*N T"]) -> Float[Tensor, "*N T"]:
    """Offered to tensors that follow what is done to them (DeepLIFT's): they cannot see inside an autograd function."""
    weights: Tensor = (
        handle_torch_function(entmax15, (scores,), scores, dim=-1)
        if has_torch_function_unary(scores)
        else entmax15(scores, dim=-1)
    )
    return weights


def masked_softmax(
    scores: Float[Tensor, "*N T"], mask: Bool[Tensor, "*N T"], temperature: float = 1.0
) -> Float[Tensor, "*N T"]:
    """Softmax over the tokens of `mask`; all zeros where there are none."""
    lowest = torch.finfo(scores.dtype).min  # not -inf, whose gradient is NaN in a row without any token
    weights = torch.softmax((scores / temperature).masked_fill(~mask, lowest), dim=-1)
    return weights * mask
