"""Example and Batch: one token axis for every task, and its edits as pure functions.

A pair (premise and hypothesis, paragraph and question) is one row whose `segments` say which
token belongs to which text, so that no task needs a second set of tensors.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

TEXT, PAIR = 0, 1


class Span(NamedTuple):
    """Characters `start` to `end` of the text (segment 0) or its pair (1)."""

    segment: int
    start: int
    end: int


@dataclass(frozen=True)
class Example:
    """One instance as the user wrote it. `candidates`: the labels that may answer it (QA), if not all. `evidence`: the
    words that decide its label, where that is known because they were planted (mock data)."""

    id: str
    text: str
    label: int
    pair: str | None = None
    candidates: tuple[int, ...] | None = None
    evidence: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Batch:
    """Tokenised examples. Never changed in place: every edit returns a new Batch."""

    token_ids: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]  # True = a real token
    special: Bool[Tensor, "B T"]  # start and end marks, [CLS] and kin
    segments: Int[Tensor, "B T"]  # 0 text, 1 pair
    offsets: Int[Tensor, "B T 2"]  # characters of the segment's own text: start, end
    word_ids: Int[Tensor, "B T"]  # which word of its segment; -1 = none
    example_ids: tuple[str, ...]
    labels: Int[Tensor, "B"]
    candidates: Bool[Tensor, "B C"] | None = None  # None = every class may answer

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def words(self) -> Bool[Tensor, "B T"]:
        """Real tokens that stand for something in a text."""
        return self.mask & ~self.special

    @property
    def attended(self) -> Bool[Tensor, "B T"]:
        """What single-sequence attention distributes over: the words of the first text."""
        return self.words & (self.segments == TEXT)

    @property
    def words_by_text(self) -> Bool[Tensor, "B 2 T"]:
        """What two heads distribute over, each over the words of one text."""
        return torch.stack([self.words & (self.segments == segment) for segment in (TEXT, PAIR)], dim=1)

    def to(self, device: torch.device | str) -> Batch:
        moved: dict[str, Any] = {name: value.to(device) for name, value in _tensors(self).items()}
        return dataclasses.replace(self, **moved)


TOKEN_FIELDS = ("token_ids", "mask", "special", "segments", "offsets", "word_ids")


def _tensors(batch: Batch) -> dict[str, Tensor]:
    values = {f.name: getattr(batch, f.name) for f in dataclasses.fields(batch)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def rows(batch: Batch, index: Int[Tensor, "N"]) -> Batch:
    """The rows of `index`, which may repeat."""
    chosen: dict[str, Any] = {name: value[index] for name, value in _tensors(batch).items()}
    names = tuple(batch.example_ids[i] for i in index.tolist())
    return dataclasses.replace(batch, example_ids=names, **chosen)


def packing_order(keep: Bool[Tensor, "B T"]) -> Int[Tensor, "B S"]:
    """Each row's kept positions in order, as many as the longest row has; shorter rows end in dropped positions."""
    longest = max(int(keep.sum(1).max()), 1) if len(keep) else 1
    order = torch.sort((~keep).to(torch.uint8), dim=1, stable=True).indices
    return order[:, :longest]


def keep_tokens(batch: Batch, keep: Bool[Tensor, "B T"]) -> Batch:
    """Delete every token outside `keep`; what stays closes up to the left."""
    keep = keep & batch.mask
    order = packing_order(keep)
    packed: dict[str, Any] = {name: _take(getattr(batch, name), order) for name in TOKEN_FIELDS}
    packed["mask"] = keep.gather(1, order)
    return dataclasses.replace(batch, **packed)


def replace_tokens(batch: Batch, where: Bool[Tensor, "B T"], ids: Int[Tensor, "B T"] | int) -> Batch:
    """Put other token ids in the places of `where`; everything else, offsets too, stays."""
    there = torch.full_like(batch.token_ids, ids) if isinstance(ids, int) else ids
    return dataclasses.replace(batch, token_ids=torch.where(where, there, batch.token_ids))


def trim(batch: Batch) -> Batch:
    """Drop columns that are padding in every row."""
    return keep_tokens(batch, batch.mask)


def _take(field: Tensor, order: Int[Tensor, "B S"]) -> Tensor:
    index = order if field.dim() == 2 else order[..., None].expand(-1, -1, field.shape[-1])
    return field.gather(1, index)
