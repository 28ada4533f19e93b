"""Examples to batches, whatever splits texts into tokens: our vocabulary or a pretrained tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example


class Column(IntEnum):
    """What is known of a token, in the order of a row's columns."""

    ID, SPECIAL, SEGMENT, START, END, WORD = range(6)


Columns = Int[ndarray, "6 T"]


@dataclass(frozen=True)
class Row:
    """A tokenised example. `cut`: it was longer than the model takes."""

    example: Example
    columns: Columns
    cut: bool

    def __len__(self) -> int:
        return int(self.columns.shape[1])


class Reader(Protocol):
    """Splits one example into the tokens that its model sees."""

    @property
    def n_labels(self) -> int: ...

    def row(self, example: Example) -> Row: ...


def collate(rows: Sequence[Row], n_labels: int) -> Batch:
    """Rows of different lengths as one batch, padded on the right."""
    lengths = torch.tensor([len(r) for r in rows])
    padded = np.zeros((len(rows), len(Column), int(lengths.max())), np.int32)
    padded[:, Column.WORD] = -1
    for place, row in zip(padded, rows, strict=True):
        place[:, : len(row)] = row.columns
    columns = torch.from_numpy(padded).long().unbind(1)
    return Batch(
        token_ids=columns[Column.ID],
        mask=torch.arange(padded.shape[2])[None, :] < lengths[:, None],
        special=columns[Column.SPECIAL].bool(),
        segments=columns[Column.SEGMENT],
        offsets=torch.stack([columns[Column.START], columns[Column.END]], dim=-1),
        word_ids=columns[Column.WORD],
        example_ids=tuple(r.example.id for r in rows),
        labels=torch.tensor([r.example.label for r in rows]),
        candidates=_candidates([r.example for r in rows], n_labels),
    )


def _candidates(examples: Sequence[Example], n_labels: int) -> Tensor | None:
    if all(e.candidates is None for e in examples):
        return None
    allowed = torch.zeros(len(examples), n_labels, dtype=torch.bool)
    for row, example in enumerate(examples):
        allowed[row, list(range(n_labels) if example.candidates is None else example.candidates)] = True
    return allowed


def by_length(rows: Sequence[Row], size: int) -> list[list[Row]]:
    """Batches of rows of similar length, so that little is padded; the order is fixed by the rows alone."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    return [[rows[i] for i in order[start : start + size]] for start in range(0, len(order), size)]


def batches(rows: Sequence[Row], n_labels: int, size: int) -> Iterator[Batch]:
    """The rows as batches of similar length; every row once."""
    for group in by_length(rows, size):
        yield collate(group, n_labels)
