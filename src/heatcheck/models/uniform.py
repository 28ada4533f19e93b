"""Uniform self-attention inside a transformer (Neely et al. 2022, table 3): every token looks at all alike."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.errors import InputError
from heatcheck.models.entrance import is_encoder_decoder

NAME = "heatcheck_uniform"


def impose_uniform_attention(network: Any) -> None:
    """From here on the network weighs all tokens that it may see the same, in every layer and head."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    check_replaceable(network)
    AttentionInterface.register(NAME, uniform_attention)
    AttentionMaskInterface.register(NAME, eager_mask)
    network.set_attn_implementation(NAME)


def is_replaceable(network: Any) -> bool:
    """Encoder-decoders have three attentions, and which of them would be uniform is not clear."""
    return bool(getattr(network, "_supports_attention_backend", False)) and not is_encoder_decoder(network)


def check_replaceable(network: Any) -> None:
    if not is_replaceable(network):
        raise InputError(
            f"{type(network).__name__} has an attention of its own that cannot be replaced. "
            "Uniform attention works for BERT, DistilBERT, RoBERTa, ELECTRA, ALBERT, GPT-2 and Llama."
        )


def uniform_attention(
    module: Any,
    query: Float[Tensor, "B H T D"],
    key: Float[Tensor, "B G T D"],
    value: Float[Tensor, "B G T D"],
    attention_mask: Float[Tensor, "B 1 T T"] | None,
    **settings: Any,
) -> tuple[Float[Tensor, "B T H D"], Float[Tensor, "B H T T"]]:
    """transformers' attention signature. The mask is 0 where a token may look, and very negative elsewhere."""
    if attention_mask is None:
        attention_mask = query.new_zeros(len(query), 1, query.shape[2], key.shape[2])
        if getattr(module, "is_causal", False):
            attention_mask = attention_mask + torch.full_like(attention_mask, -1e30).triu(1)
    # Methods that differentiate by the weights need a matrix for each head; in training one for all of them will do.
    heads, matrices = query.shape[1], 1 if module.training else query.shape[1]
    weights = torch.softmax(attention_mask.expand(-1, matrices, -1, -1), dim=-1).to(value.dtype)
    value = value.repeat_interleave(heads // value.shape[1], dim=1)
    together = value.reshape(len(value), matrices, heads // matrices, *value.shape[2:]).transpose(2, 3)
    mixed = (weights @ together.flatten(3)).transpose(1, 2)
    return mixed.reshape(len(value), -1, heads, value.shape[-1]), weights.expand(-1, heads, -1, -1)
