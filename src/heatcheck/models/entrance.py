"""Where a network is entered: at its word embeddings, of which an encoder-decoder has two ways in.

Encoder-decoders (BART, T5 ...) read a text twice: the encoder as it is, the decoder shifted by one token, behind a
first one that the network chooses. The class is read at the last <eos>. They refuse embeddings in place of ids, for
where <eos> stands is read from the ids; so they get ids that say this and no more, and both of their halves get the
embeddings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from heatcheck.models.inputs import Inputs


def is_encoder_decoder(network: Any) -> bool:
    return bool(getattr(network.config, "is_encoder_decoder", False))


@contextlib.contextmanager
def entered(network: Any, inputs: Inputs) -> Iterator[dict[str, Tensor]]:
    """Inside, the network reads these embeddings if it is called with what is given here."""
    if not is_encoder_decoder(network):
        yield {"inputs_embeds": inputs.embeddings}
        return

    def encoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        return args, {**given, "input_ids": None, "inputs_embeds": inputs.embeddings}

    def decoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        first = network.get_input_embeddings()(given["input_ids"][:, :1])
        shifted = torch.cat([first, inputs.embeddings[:, :-1]], dim=1)
        return args, {**given, "input_ids": None, "inputs_embeds": shifted}

    halves = ((network.get_encoder(), encoder), (network.get_decoder(), decoder))
    hooks = [half.register_forward_pre_hook(enter, with_kwargs=True) for half, enter in halves]
    try:
        yield {"input_ids": where_to_read(network.config, inputs)}
    finally:
        for hook in hooks:
            hook.remove()


def where_to_read(config: Any, inputs: Inputs) -> Int[Tensor, "B T"]:
    """Ids with one <eos>, for networks want equally many in each text, and with the last token, for some (mBART) begin
    their decoder with it. All others are a word that is neither <eos> nor padding."""
    word = next(i for i in range(3) if i not in (config.eos_token_id, config.pad_token_id))
    last = (inputs.mask.sum(1, keepdim=True) - 1).clamp(min=0)
    ids = torch.full_like(inputs.token_ids, word).scatter(1, last, inputs.token_ids.gather(1, last))
    ids = ids.scatter(1, last_end(config, inputs)[:, None], config.eos_token_id)
    return ids.masked_fill(~inputs.mask, config.pad_token_id)


def last_end(config: Any, inputs: Inputs) -> Int[Tensor, "B"]:
    """Where the last <eos> of each text stands."""
    ends: Tensor = inputs.mask & (inputs.token_ids == config.eos_token_id)
    return (ends * torch.arange(1, 1 + ends.shape[1], device=ends.device)).argmax(1)
