"""Only what is read out: a shortcut for models that classify the first token's last state.

Where nothing but the output is asked for, the last layer is asked by the first position alone. What it makes of all
others is never read, and a single query needs no keys and no values: q·(W h) = (qW)·h, and Σ α (W h) = W (Σ α h). That
is a sixth of a six-layer model's work. The same logits, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.protocols import Predictor

# Their last layer is attention, then feed-forward, and their head takes position 0. Subclasses may do otherwise.
READ_FIRST = frozenset(
    f"transformers.models.{family}.modeling_{family}.{name}ForSequenceClassification"
    for family, name in (("bert", "Bert"), ("roberta", "Roberta"), ("electra", "Electra"))
)


@contextmanager
def readout_only(model: Predictor) -> Iterator[None]:
    """Inside, `predict` leaves out what nobody reads; other models run as ever."""
    network: Any = model.network if isinstance(model, HuggingFaceClassifier) else None
    if network is None or not _reads_first(network):
        yield
        return
    attention = network.base_model.encoder.layer[-1].attention
    hook = attention.output.register_forward_pre_hook(lambda module, inputs: (inputs[0], inputs[1][:, :1]))
    attention.self.forward = asked_by_first(attention.self)  # of this one module: it hides the method of its class
    try:
        yield
    finally:
        del attention.self.forward
        hook.remove()


def _reads_first(network: Any) -> bool:
    """And is attention a softmax over all tokens, neither causal nor imposed?"""
    known = f"{type(network).__module__}.{type(network).__qualname__}" in READ_FIRST
    return known and not network.config.is_decoder and network.config._attn_implementation in ("sdpa", "eager")


def asked_by_first(attention: Any) -> Callable[..., tuple[Float[Tensor, "B 1 H"], None]]:
    """What self-attention gives to the first position."""
    heads = attention.num_attention_heads

    def forward(
        states: Float[Tensor, "B T H"], attention_mask: Tensor | None = None, **_: Any
    ) -> tuple[Float[Tensor, "B 1 H"], None]:
        keys, values = (part.weight.unflatten(0, (heads, -1)) for part in (attention.key, attention.value))
        query = attention.query(states[:, 0]).unflatten(-1, (heads, -1)).transpose(0, 1)
        # The keys' bias adds the same to all scores of a text, which softmax does not see.
        scores = attention.scaling * (query @ keys).transpose(0, 1) @ states.transpose(1, 2)
        if attention_mask is not None:
            scores = _hide(scores, attention_mask[:, :, 0])
        mixed = (scores.softmax(-1) @ states).transpose(0, 1) @ values.transpose(1, 2)
        return (mixed.transpose(0, 1).flatten(1) + attention.value.bias)[:, None], None

    return forward


def _hide(scores: Float[Tensor, "B K T"], mask: Tensor) -> Float[Tensor, "B K T"]:
    """A mask says which tokens are seen, or what to add to their scores."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores + mask
