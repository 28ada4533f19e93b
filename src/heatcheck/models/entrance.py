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


def of_texts(config: Any) -> Any:
    """What a config says of texts: networks that can see images too (Gemma 3) keep it in a part of its own. The two
    halves of an encoder-decoder have no part in common."""
    return config if getattr(config, "is_encoder_decoder", False) else config.get_text_config()


def halves(network: Any) -> tuple[Any, ...]:
    """Encoder and decoder; a network of one kind is one whole."""
    return (network.get_encoder(), network.get_decoder()) if is_encoder_decoder(network) else (network,)


def tables(network: Any) -> list[nn.Embedding]:
    """Of word embeddings, each once."""
    return list({table.weight: table for table in (half.get_input_embeddings() for half in halves(network))}.values())


def embedded(network: Any, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
    found = [table(token_ids) for table in tables(network)]
    return found[0] if len(found) == 1 else torch.cat(found, dim=-1)  # `cat` copies even one


@contextlib.contextmanager
def entered(network: Any, inputs: Inputs) -> Iterator[dict[str, Tensor]]:
    """Inside, the network reads these embeddings if it is called with what is given here."""
    if not is_encoder_decoder(network):
        yield {"inputs_embeds": inputs.embeddings}
        return

    first, *_, last = 2 * tables(network)  # the encoder's and the decoder's

    def encoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        entering = inputs.embeddings[..., : first.embedding_dim] * scale(module)
        return args, {**given, "input_ids": None, "inputs_embeds": entering}

    def decoder(module: Any, args: Any, given: dict[str, Any]) -> Any:
        before = inputs.embeddings[:, :-1, -last.embedding_dim :]
        shifted = torch.cat([last(given["input_ids"][:, :1]), before], dim=1)
        return args, {**given, "input_ids": None, "inputs_embeds": shifted * scale(module)}

    entries = zip(halves(network), (encoder, decoder), strict=True)
    hooks = [half.register_forward_pre_hook(enter, with_kwargs=True) for half, enter in entries]
    try:
        yield {"input_ids": where_to_read(network.config, inputs)}
    finally:
        for hook in hooks:
            hook.remove()


def scale(half: Any) -> float:
    """What MVP multiplies the embeddings of ids by, behind its table; all others do so in the table, if at all."""
    return float(getattr(half, "embed_scale", 1.0))


def where_to_read(config: Any, inputs: Inputs) -> Int[Tensor, "B T"]:
    """Ids with one <eos>, for networks want equally many in each text, and with the last token, for some (mBART) begin
    their decoder with it. All others are a word that is neither <eos> nor padding. A text without any token has an
    <eos> all the same, for there is no class without one."""
    ends = end_ids(config)
    word = next(i for i in range(len(ends) + 2) if i not in (*ends, config.pad_token_id))
    last = (inputs.mask.sum(1, keepdim=True) - 1).clamp(min=0)
    ids = torch.full_like(inputs.token_ids, word).scatter(1, last, inputs.token_ids.gather(1, last))
    ids = ids.masked_fill(~inputs.mask, config.pad_token_id)
    return ids.scatter(1, last_end(config, inputs)[:, None], ends[0]) if ends else ids


def end_ids(config: Any) -> list[int]:
    """A config may name one <eos>, several or none."""
    named = config.eos_token_id
    return [] if named is None else [named] if isinstance(named, int) else list(named)


def last_end(config: Any, inputs: Inputs) -> Int[Tensor, "B"]:
    """Where the last <eos> of each text stands; of a text without one, its last token, which T5Gemma reads."""
    place = torch.arange(1, 1 + inputs.mask.shape[1], device=inputs.mask.device)
    ends = torch.isin(inputs.token_ids, place.new_tensor(end_ids(config)))
    return ((place + ends * len(place)) * inputs.mask).argmax(1)


def check_end(source: str, network: Any, tokenizer: Any) -> None:
    """Refuse a tokenizer without the token that the class is read at."""
    ends = end_ids(network.config) if is_encoder_decoder(network) else []
    if not ends or {*ends} & {*tokenizer("a", verbose=False)["input_ids"]}:
        return
    word = next(i for i in range(len(ends) + 1) if i not in ends)
    try:
        with torch.no_grad():
            network(input_ids=torch.full((1, 3), word, device=tables(network)[0].weight.device))
    except ValueError as error:
        raise InputError(
            f"{source}: {type(network).__name__} reads its class at the token {ends[0]} behind a text, "
            "which its tokenizer does not set. Save the tokenizer that it was trained with beside the model."
        ) from error
