"""Words to ids. Built from training texts only."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from heatcheck.batch import PAIR, TEXT, Batch, Example
from heatcheck.data.reading import Column, Columns, Row, collate
from heatcheck.data.words import LONGEST_WORD, WordRules

PAD, UNKNOWN, START, END = range(4)
REMEMBERED = 2048  # texts, which one experiment after another reads
MARKS = ("<pad>", "<unk>", "<start>", "<end>")


@dataclass(frozen=True)
class Vocabulary:
    """`words[i]` is the word with id i; ids 0 to 3 are the marks. Texts are cut after `max_length` words."""

    words: tuple[str, ...]
    rules: WordRules
    n_labels: int
    max_length: int = 1000
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _remembered: Callable[[Example], Row] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {word: i for i, word in enumerate(self.words)})
        object.__setattr__(self, "_remembered", functools.lru_cache(REMEMBERED)(self._row))

    def __len__(self) -> int:
        return len(self.words)

    def row(self, example: Example) -> Row:
        """One example as numbers: <start> text <end>, then <start> pair <end> if there is one."""
        return self._remembered(example)

    def _row(self, example: Example) -> Row:
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
