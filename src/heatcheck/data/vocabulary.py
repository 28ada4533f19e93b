"""Words to ids, and examples to batches. Built from training texts only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import PAIR, TEXT, Batch, Example
from heatcheck.data.words import LONGEST_WORD, WordRules

PAD, UNKNOWN, START, END = range(4)
MARKS = ("<pad>", "<unk>", "<start>", "<end>")


@dataclass(frozen=True)
class Vocabulary:
    """`words[i]` is the word with id i; ids 0 to 3 are the marks. Texts are cut after `max_length` words."""

    words: tuple[str, ...]
    rules: WordRules
    n_labels: int
    max_length: int = 1000
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {word: i for i, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def row(self, example: Example) -> Row:
        """One example as numbers: <start> text <end>, then <start> pair <end> if there is one."""
        texts = [(TEXT, example.text)] if example.pair is None else [(TEXT, example.text), (PAIR, example.pair)]
        parts = [self._columns(segment, text) for segment, text in texts]
        return Row(example, np.concatenate([columns for columns, _ in parts], axis=1), any(cut for _, cut in parts))

    def _columns(self, segment: int, text: str) -> tuple[Columns, bool]:
        words = self.rules.split(text)
        cut = len(words) > self.max_length or any(w.end - w.start > LONGEST_WORD for w in words)
        words = words[: self.max_length]
        columns = np.zeros((len(Column), len(words) + 2), np.int32)
        columns[Column.ID] = [START, *(self._ids.get(w.form, UNKNOWN) for w in words), END]
        columns[Column.SPECIAL, [0, -1]] = True
        columns[Column.SEGMENT] = segment
        columns[Column.START, 1:-1] = [w.start for w in words]
        columns[Column.END, 1:-1] = [w.end for w in words]
        columns[Column.WORD] = [-1, *range(len(words)), -1]
        return columns, cut

    def batch(self, examples: Sequence[Example]) -> Batch:
        return collate([self.row(e) for e in examples], self.n_labels)


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


def build(
    examples: Sequence[Example], rules: WordRules, n_labels: int, *, min_frequency: int = 1, max_length: int = 1000
) -> Vocabulary:
    """All words of at least `min_frequency` training texts, most frequent first, ties in order of appearance."""
    texts_with: Counter[str] = Counter()
    for example in examples:
        parts = (example.text, example.pair or "")
        texts_with.update(list(dict.fromkeys(w.form for part in parts for w in rules.split(part))))
    words = [word for word, count in texts_with.most_common() if count >= min_frequency]
    return Vocabulary((*MARKS, *words), rules, n_labels, max_length)


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
        window=torch.zeros(len(rows), dtype=torch.long),
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


def batches(examples: Sequence[Example], vocabulary: Vocabulary, size: int) -> Iterator[Batch]:
    """The examples as batches of similar length; every example once."""
    for group in by_length([vocabulary.row(e) for e in examples], size):
        yield collate(group, vocabulary.n_labels)
