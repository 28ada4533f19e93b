"""Where a network is entered: at its word embeddings, which an encoder-decoder reads twice.

The encoder of BART, T5 and their kin reads the text as it is; the decoder shifted by one token, behind a first one
that the network chooses. The class is read at the last <eos>. They refuse embeddings in place of ids, for where <eos>
stands is read from the ids; so they get ids that say this and no more, and both of their halves get the embeddings. If
each half has a table of its own (T5Gemma), a token's embedding is that of the encoder and that of the decoder in a row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.errors import InputError
from heatcheck.models.inputs import Inputs


def is_encoder_decoder(network: Any) -> bool:
    return bool(getattr(network.config, "is_encoder_decoder", False))


def tables(network: Any) -> list[nn.Embedding]:
    """Of word embeddings, each once."""
    halves = (network.get_encoder(), network.get_decoder()) if is_encoder_decoder(network) else (network,)
    return list({table.weight: table for table in (half.get_input_embeddings() for half in halves)}.values())


def embedded(network: Any, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
    return torch.cat([table(token_ids) for table in tables(network)], dim=-1)


@contextlib.contextmanager
def entered(network: Any, inputs: Inputs) -> Iterator[dict[str, Tensor]]:
    """Inside, the network reads these embeddings if it is called with what is given here."""
    if not is_encoder_decoder(network):
        yield {"inputs_embeds": inputs.embeddings}
        return

    first, *_, last = 2 * tables(network)  # the encoder's and the decoder's

    def encoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        return args, {**given, "input_ids": None, "inputs_embeds": inputs.embeddings[..., : first.embedding_dim]}

    def decoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        before = inputs.embeddings[:, :-1, -last.embedding_dim :]
        shifted = torch.cat([last(given["input_ids"][:, :1]), before], dim=1)
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


def check_end(source: str, network: Any, tokenizer: Any) -> None:
    """Refuse a tokenizer without the token that the class is read at."""
    config = network.config
    if not is_encoder_decoder(network) or tokenizer("a", verbose=False)["input_ids"].count(config.eos_token_id):
        return
    word = next(i for i in range(2) if i != config.eos_token_id)
    try:
        network(input_ids=torch.full((1, 3), word, device=tables(network)[0].weight.device))
    except ValueError as error:
        raise InputError(
            f"{source}: {type(network).__name__} reads its class at the token {config.eos_token_id} behind a text, "
            "which its tokenizer does not set. Save the tokenizer that it was trained with beside the model."
        ) from error
