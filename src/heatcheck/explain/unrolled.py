"""Layers that PyTorch runs in one piece, unrolled into operations that DeepLIFT has rules for (differences.py).

Each takes what the function of PyTorch takes that it stands for, and gives the same output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from heatcheck.errors import InputError


class NoRuleError(InputError):
    """The model does something that DeepLIFT has no rule for. Says it in half a sentence, which goes on."""


def layer_norm(x: Tensor, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dims, keepdim=True)
    normed = centred * ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    scaled = normed if weight is None else normed * weight
    return scaled if bias is None else scaled + bias


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Of F.scaled_dot_product_attention, without dropout. `enable_gqa`: groups of query heads share a key and value."""
    if enable_gqa:
        key, value = (_for_each_head(shared, query.shape[-3]) for shared in (key, value))
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    elif attn_mask is not None:
        scores = scores + attn_mask.clamp(min=torch.finfo(scores.dtype).min / 2)  # −∞ has no difference
    return scores.softmax(-1) @ value


def _for_each_head(shared: Float[Tensor, "*B G T D"], heads: int) -> Float[Tensor, "*B H T D"]:
    """Not by repeat_interleave, which has no rule."""
    *rows, groups, tokens, width = shared.shape
    return shared.unsqueeze(-3).expand(*rows, groups, heads // groups, tokens, width).flatten(-4, -3)


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    width: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    *rest: Any,
    **also: Any,
) -> tuple[Tensor, None]:
    """Of nn.MultiheadAttention as encoders use it: one sequence attends to itself, with a padding mask."""
    if also.get("attn_mask") is not None or also.get("use_separate_proj_weight") or also.get("need_weights"):
        raise NoRuleError("the rule for nn.MultiheadAttention is for self-attention with a padding mask only")
    hidden = also["key_padding_mask"]  # B T, 0 or −∞
    length, size = query.shape[:2]
    parts = F.linear(query, weight, bias).chunk(3, dim=-1)
    split = [part.reshape(length, size, heads, -1).permute(1, 2, 0, 3) for part in parts]
    mixed = attention(split[0], split[1], split[2], None if hidden is None else hidden[:, None, None, :])
    return F.linear(mixed.permute(2, 0, 1, 3).reshape(length, size, width), *rest[4:6]), None


def recurrent(
    step: Callable[..., tuple[Tensor, ...]],
    inputs: Tensor,
    start: Any,
    weights: Sequence[Tensor],
    has_bias: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Of the functions behind nn.LSTM and nn.GRU, one step at a time."""
    if layers > 1 or bidirectional or not has_bias:
        raise NoRuleError("the rule for RNNs is for one layer, one direction, with biases")
    states = tuple(state[0] for state in (start if isinstance(start, tuple) else (start,)))
    w_in, w_hidden, b_in, b_hidden = weights
    outputs = []
    for projected in F.linear(inputs, w_in, b_in).unbind(1 if batch_first else 0):
        states = step(projected, F.linear(states[0], w_hidden, b_hidden), *states)
        outputs.append(states[0])
    return torch.stack(outputs, 1 if batch_first else 0), *(state[None] for state in states)


def lstm_step(projected: Tensor, recalled: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    keep_new, keep_old, new, show = (projected + recalled).chunk(4, dim=-1)
    cell = keep_old.sigmoid() * cell + keep_new.sigmoid() * new.tanh()
    return show.sigmoid() * cell.tanh(), cell


def gru_step(projected: Tensor, recalled: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    reset, keep_old, new = projected.chunk(3, dim=-1)
    recalled_reset, recalled_keep, recalled_new = recalled.chunk(3, dim=-1)
    new = (new + (reset + recalled_reset).sigmoid() * recalled_new).tanh()
    return (new + (keep_old + recalled_keep).sigmoid() * (hidden - new),)
