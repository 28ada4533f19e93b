"""A pretrained tokenizer as a Reader: subword tokens with the characters they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import PAIR, TEXT, Batch, Example
from heatcheck.data.reading import Column, Row
from heatcheck.errors import InputError, first_line
from heatcheck.scripts import JOINER, clings, unspaced


@dataclass(frozen=True)
class PretrainedTokens:
    """Texts are cut to `max_length` tokens, marks included; None: never, the model reads them in windows."""

    tokenizer: Any
    n_labels: int
    max_length: int | None

    def row(self, example: Example) -> Row:
        texts = (example.text,) if example.pair is None else (example.text, example.pair)
        whole = self.tokenizer(*texts, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
        cut = self.max_length is not None and len(whole["input_ids"]) > self.max_length
        if cut:
            whole = self.tokenizer(
                *texts,
                truncation=True,
                max_length=self.max_length,
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
            )
        return Row(example, _columns(whole, texts), cut)


def check_plain(source: str, tokenizer: Any) -> None:
    """Refuse one that wants more than texts: LayoutLM's, from the second version on, words and their places."""
    try:
        tokenizer("a", "b", verbose=False)
    except Exception as error:  # tokenizers fail in ways of their own
        why = first_line(error).rstrip(".")
        raise InputError(
            f"{source}: its tokenizer ({type(tokenizer).__name__}) does not read plain texts ({why}). "
            "Save one that does beside the model, or audit it as a black box: --model python:module:function."
        ) from error


def _columns(tokens: Any, texts: tuple[str, ...]) -> np.ndarray:
    """Which text a token is from is not its token type: some tokenizers give both texts the same, XLNet's <cls> has
    one of its own. Marks belong to the text in front of them."""
    columns = np.zeros((len(Column), len(tokens["input_ids"])), np.int32)
    sequence = tokens.sequence_ids()
    columns[Column.ID] = tokens["input_ids"]
    columns[Column.SPECIAL] = tokens["special_tokens_mask"]
    columns[Column.SEGMENT] = _filled(sequence)
    for place, (segment, (start, end)) in enumerate(zip(sequence, tokens["offset_mapping"], strict=True)):
        if segment is not None:
            columns[Column.START, place], columns[Column.END, place] = _trimmed(texts[segment], start, end)
    for segment, text in enumerate(texts):
        if not text.isascii():
            _with_marks(columns, [place for place, other in enumerate(sequence) if other == segment], text)
    columns[Column.WORD] = _words(tokens.word_ids(), sequence, columns[Column.START], columns[Column.END], texts)
    return columns


def _words(
    named: list[int | None],
    sequence: list[int | None],
    starts: Int[ndarray, "T"],
    ends: Int[ndarray, "T"],
    texts: tuple[str, ...],
) -> list[int]:
    """Which word of its text each token belongs to; −1 for marks. Some tokenizers call a whole text one word (Llama 2),
    or a whole line of a script without spaces; so where characters lie between two tokens, at a space, and at a letter
    of such a script, a word begins too. Byte-level pieces of one character are never apart."""
    found: list[int] = []
    before: int | None = None  # the token in front, if it is no mark
    for place, (name, segment) in enumerate(zip(named, sequence, strict=True)):
        if name is None or segment is None:
            before = None
            found.append(-1)
            continue
        if before is None or sequence[before] != segment:
            there = (word for word, other in zip(found, sequence, strict=False) if other == segment)
            found.append(max(there, default=-1) + 1)
        else:
            apart = _apart(texts[segment], ends[before], starts[place], ends[place], known=name != named[before])
            found.append(found[before] + apart)
        before = place
    return found


def _apart(text: str, last_end: int, start: int, end: int, *, known: bool) -> bool:
    """Does a word begin here? `known`: the tokenizer says so. An accent or vowel sign goes with its letter, and the
    letter behind it with the word, which some tokenizers end at the sign."""
    if start < last_end or (start == last_end and clings(text, start)):
        return False
    joined = clings(text, start - 1) and (text[start - 1] == JOINER or text[start : start + 1].isalpha())
    if start == last_end and joined:
        return unspaced(text, start)
    return known or start > last_end or unspaced(text, start) or text[start:end].isspace()


def _with_marks(columns: Int[ndarray, "C T"], places: list[int], text: str) -> None:
    """Accents that the tokenizer drops belong to the letter in front of them."""
    starts, ends = columns[Column.START], columns[Column.END]
    read = {character for place in places for character in range(starts[place], ends[place])}
    for place in places:
        while starts[place] < ends[place] and clings(text, ends[place]) and ends[place] not in read:
            ends[place] += 1


def _filled(sequence: list[int | None]) -> list[int]:
    found, last = [], TEXT
    for segment in sequence:
        last = last if segment is None else (PAIR if segment else TEXT)
        found.append(last)
    return found


@dataclass(frozen=True)
class TokenTypes:
    """What a tokenizer gives as `token_type_ids`: to each of two texts with the marks behind it, and to the marks that
    it counts otherwise."""

    texts: tuple[int, int]
    marks: Mapping[int, int]  # by token id

    @staticmethod
    def of(tokenizer: Any) -> TokenTypes | None:
        """By asking for two texts; None if it gives none."""
        tokens = tokenizer("a", "b", verbose=False)
        types = tokens.get("token_type_ids") if "token_type_ids" in tokenizer.model_input_names else None
        sequence = tokens.sequence_ids()
        if types is None or TEXT not in sequence or PAIR not in sequence:
            return None
        texts = (types[sequence.index(TEXT)], types[sequence.index(PAIR)])
        expected = [texts[text] for text in _filled(sequence)]
        triples = zip(tokens["input_ids"], types, expected, strict=True)
        return TokenTypes(texts, {token: given for token, given, usual in triples if given != usual})

    @property
    def highest(self) -> int:
        return max(*self.texts, *self.marks.values())

    def __call__(self, batch: Batch) -> Int[Tensor, "B T"]:
        types = torch.where(batch.segments == PAIR, self.texts[1], self.texts[0])
        for token, own in self.marks.items():
            types = torch.where(batch.special & (batch.token_ids == token), own, types)
        return types


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Some tokenizers count the space in front of a word as part of it; readers of a heatmap do not."""
    piece = text[start:end]
    if piece.isspace():
        return start, end
    return end - len(piece.lstrip()), start + len(piece.rstrip())
