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
from torch import Tensor, nn

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
        hook.remove()
        del attention.self.forward


def _reads_first(network: Any) -> bool:
    """And is its last layer the plain one: all tokens seen, by a softmax, nothing changed, wrapped or used twice?"""
    config = network.config
    if (
        f"{type(network).__module__}.{type(network).__qualname__}" not in READ_FIRST
        or network.training
        or config.is_decoder
        or config._attn_implementation not in ("sdpa", "eager")
        or not config.num_hidden_layers
    ):
        return False
    *before, last = network.base_model.encoder.layer
    used_before = {module for layer in before for module in layer.modules()}
    own = list(last.modules())
    attention = last.attention.self
    return (
        used_before.isdisjoint(own)
        and all(map(is_untouched, own))
        and all(is_plain_linear(part) and part.bias is not None for part in (attention.key, attention.value))
        and not attention.is_causal
    )


def is_untouched(module: nn.Module) -> bool:
    """Without hooks, and without a `forward` other than its class's."""
    return not ("forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks)


def is_plain_linear(module: nn.Module) -> bool:
    """Its weight and its bias and nothing else? Adapters, norms of weights and quantisation wrap or replace those."""
    return type(module) is nn.Linear and type(module.weight) is nn.Parameter and module.weight.layout == torch.strided


def asked_by_first(attention: Any) -> Callable[..., tuple[Float[Tensor, "B 1 H"], None]]:
    """What self-attention gives to the first position."""
    heads, all_of_it = attention.num_attention_heads, type(attention).forward

    def forward(
        hidden_states: Float[Tensor, "B T H"], attention_mask: Tensor | None = None, **more: Any
    ) -> tuple[Float[Tensor, "B 1 H"], None]:
        seen = None if attention_mask is None else attention_mask[:, :, 0]
        if seen is not None and seen.dtype == torch.bool and not bool(seen.any(-1).all()):
            # Of a text without any token each implementation makes something else.
            return all_of_it(attention, hidden_states, attention_mask, **more)[0][:, :1], None
        keys, values = (part.weight.unflatten(0, (heads, -1)) for part in (attention.key, attention.value))
        query = attention.query(hidden_states[:, 0]).unflatten(-1, (heads, -1)).transpose(0, 1)
        # The keys' bias adds the same to all scores of a text, which softmax does not see.
        scores = attention.scaling * (query @ keys).transpose(0, 1) @ hidden_states.transpose(1, 2)
        weights = (scores if seen is None else _hide(scores, seen)).softmax(-1)
        mixed = (weights @ hidden_states).transpose(0, 1) @ values.transpose(1, 2)
        return (mixed.transpose(0, 1).flatten(1) + attention.value.bias)[:, None], None

    return forward


def _hide(scores: Float[Tensor, "B K T"], seen: Tensor) -> Float[Tensor, "B K T"]:
    """A mask says which tokens are seen, or what to add to their scores."""
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min) if seen.dtype == torch.bool else scores + seen
