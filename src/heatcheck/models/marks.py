"""Which tokens stand for padding, for no word, and for a hidden word."""

from __future__ import annotations

from typing import Any

from torch import nn

from heatcheck.models.entrance import halves, of_texts


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
    pad, tables = padding(tokenizer), [only for half in halves(network) if (only := _only_table(half)) is not None]

    def is_read(token: int) -> bool:
        return all(bool(table.weight[token].any()) for table in tables)

    if is_read(pad):
        return pad, ()
    others = {"end token": tokenizer.eos_token_id, "token for unknown words": tokenizer.unk_token_id}
    for what, other in others.items():
        if other is not None and is_read(other):
            named = f"its {what} ({tokenizer.convert_ids_to_tokens(other)!r})"
            return other, (f"The model's padding is all zeros: where texts are emptied, {named} stands for no word.",)
    return pad, ()


def _only_table(half: Any) -> nn.Embedding | None:
    """The word embeddings, if nothing is added to them: what reads texts has no other table, of positions or types.
    (What reads images, beside it, may have.)"""
    texts = of_texts(half.config)
    body = next((module for module in half.modules() if getattr(module, "config", None) is texts), half)
    tables = [module for module in body.modules() if isinstance(module, nn.Embedding)]
    return tables[0] if len(tables) == 1 else None


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
