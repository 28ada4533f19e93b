"""What every source of data returns: named splits of examples, and how their words are to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heatcheck.batch import Example
from heatcheck.data.words import WordRules

TRAIN, DEV, TEST = "train", "dev", "test"


@dataclass(frozen=True)
class Dataset:
    """Examples by split, with the word rules and vocabulary threshold that the source asks for.

    `task` is "single" (one text), "pair" (text and hypothesis) or "qa" (paragraph and question with
    candidate answers). `notes` are sentences for the reader of the report, such as rows left out.
    """

    name: str
    task: str
    labels: tuple[str, ...]
    splits: Mapping[str, Sequence[Example]]
    rules: WordRules = field(default_factory=WordRules)
    min_frequency: int = 1
    own_splits: bool = True  # False: the source had none, and we cut them
    notes: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Changes with any text, label, order or split; names of files and notes do not matter."""
        digest = hashlib.sha256(repr((self.task, self.labels, self.rules, self.min_frequency)).encode())
        for split in sorted(self.splits):
            digest.update(f"\x1e{split}".encode())
            digest.update(examples_fingerprint(self.splits[split]).encode())
        return digest.hexdigest()[:16]


def text_fingerprint(example: Example) -> str:
    """Equal for equal texts, whatever their id or label."""
    return hashlib.sha256(f"{example.text}\x1f{example.pair}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def examples_fingerprint(examples: Sequence[Example]) -> str:
    """Evidence counts where there is some: most data has none, and keeps the fingerprint it always had."""
    digest = hashlib.sha256()
    for e in examples:
        evidence = () if e.evidence is None else (tuple(map(tuple, e.evidence)),)
        digest.update(repr((e.id, e.text, e.pair, e.label, e.candidates, *evidence)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
