"""Which tokens stand for padding, for no word, and for a hidden word."""

from __future__ import annotations

from typing import Any

from torch import nn

from heatcheck.models.entrance import of_texts


def padding(tokenizer: Any) -> int:
    return next(i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None)


def set_padding(config: Any, tokenizer: Any) -> None:
    """Where the config names no pad id, it is the tokenizer's."""
    for part in (config, of_texts(config)):
        if getattr(part, "pad_token_id", None) is None:
            part.pad_token_id = padding(tokenizer)


def emptying(network: Any, tokenizer: Any) -> tuple[int, tuple[str, ...]]:
    """The token that stands in the place of words where a text is emptied: padding, if there is anything to read of it.
    Where nothing is added to an embedding of zeros, a norm divides by next to nothing, and what is computed from there
    on is rounding. A note if another one stands in."""
    tables = [m for m in network.modules() if isinstance(m, nn.Embedding)]
    pad = padding(tokenizer)
    if len(tables) != 1 or bool(tables[0].weight[pad].any()):  # else there are no positions or types to be added
        return pad, ()
    others = {"end token": tokenizer.eos_token_id, "token for unknown words": tokenizer.unk_token_id}
    for what, other in others.items():
        if other is not None and bool(tables[0].weight[other].any()):
            named = f"its {what} ({tokenizer.convert_ids_to_tokens(other)!r})"
            return other, (f"The model's padding is all zeros: where texts are emptied, {named} stands for no word.",)
    return pad, ()


def masking(tokenizer: Any) -> tuple[int, tuple[str, ...]]:
    """The token that a mask is, and a note if it stands in for one."""
    if tokenizer.mask_token_id is not None:
        return tokenizer.mask_token_id, ()
    others = {
        "token for unknown words": tokenizer.unk_token_id,
        "padding token": tokenizer.pad_token_id,
        "end token": tokenizer.eos_token_id,
        "token 0": 0,
    }
    what, mask = next((what, i) for what, i in others.items() if i is not None)
    named = f"its {what} ({tokenizer.convert_ids_to_tokens(mask)!r})"
    word = ", which the model may read as a word," if what == "token 0" else ""
    start = "The model's tokenizer has no mask token: where words are masked,"
    return mask, (f"{start} {named}{word} stands in their place.",)
