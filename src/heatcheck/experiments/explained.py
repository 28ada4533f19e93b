"""The explanations that experiments compare: made once per text and method, kept, and handed to each experiment.

1. For each batch find the predicted class.  2. Let each method explain its probability.  3. Scores go to the `tokens`
   table; how far a method misses its own sum goes to `scores` (completeness_delta); what it says of itself goes to
   notes.json beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.rows import by_id, token_scores
from heatcheck.explain import method
from heatcheck.explain.method import Method
from heatcheck.explain.types import probability_of_prediction
from heatcheck.method_names import method_name
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score, TokenScores, write_json

BATCH_SIZE = 16
NOTES = "notes.json"


@dataclass(frozen=True)
class Explained:
    """Token scores by method and text: positions in the text's row, and the scores there."""

    found: Mapping[str, Mapping[str, tuple[Sequence[int], Sequence[float]]]]

    @staticmethod
    def of(rows: Iterable[TokenScores]) -> Explained:
        found: dict[str, dict[str, tuple[Sequence[int], Sequence[float]]]] = {}
        for row in rows:
            found.setdefault(row.method, {})[row.example_id] = (row.positions, row.scores)
        return Explained(found)

    @staticmethod
    def from_tables(tables: Iterable[pa.Table]) -> Explained:
        """From `tokens` tables; a text's tokens stand together in them."""
        found: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
        for table in tables:
            columns = (table[name].to_pylist() for name in ("method", "example_id", "position", "score"))
            for name, text, position, score in zip(*columns, strict=True):
                positions, scores = found.setdefault(name, {}).setdefault(text, ([], []))
                positions.append(position)
                scores.append(score)
        return Explained(found)

    def scores(self, batch: Batch, name: str) -> Float[Tensor, "B T"]:
        """One method's scores for the tokens of a batch; 0 where it has none."""
        laid_out = torch.zeros(batch.token_ids.shape, dtype=torch.float64)
        for row, text in enumerate(batch.example_ids):
            positions, scores = self.found[name][text]
            laid_out[row, torch.as_tensor(positions, dtype=torch.long)] = torch.as_tensor(scores, dtype=torch.float64)
        return laid_out

    def scores_of(self, batch: Batch, name: str, scored: Bool[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """`scores` as an array; every token of `scored` must have one."""
        for text, needed in zip(batch.example_ids, scored.sum(1), strict=True):
            if len(self.found[name][text][0]) < needed:
                raise ValueError(
                    f"{name} has no scores for the marks of text {text!r}: explain with special_tokens too."
                )
        return self.scores(batch, name).numpy()

    def chosen(self, asked: Sequence[str]) -> tuple[str, ...]:
        """The asked methods; if none is asked for all, in one order for all parts of a run: a pair is named once."""
        there = sorted(self.found)
        for name in asked:
            if name not in there:
                raise InputError(
                    f"There are no scores of {name!r} here. There are: {', '.join(there) or 'none'}. "
                    "Add it to --methods."
                )
        return tuple(asked or there)


def explain_texts(
    subject: Subject[Any],
    examples: Sequence[Example],
    name: str,
    *,
    generator: torch.Generator,
    special_tokens: bool = False,
    notes: list[str] | None = None,
) -> Iterator[Row]:
    """One method's scores for all texts. Marks like [CLS] are left out unless asked for. What the method says of
    itself, such as what it fell back to, is added to `notes`."""
    chosen = usable(subject, name)
    lookup = by_id(examples)
    for batch in subject.batches(examples, BATCH_SIZE):
        scalar = probability_of_prediction(subject.model, batch)
        explanation = chosen.explain(subject.model, batch, scalar, generator=generator)
        if notes is not None:
            notes += [note for note in explanation.notes if note not in notes]
        targets = [subject.labels[scalar.classes[text]] for text in batch.example_ids]
        scored = batch.mask if special_tokens else batch.words
        yield from token_scores(batch, explanation.scores, scored, lookup, method=name, targets=targets)
        if explanation.delta is not None:
            for text, delta in zip(batch.example_ids, explanation.delta.tolist(), strict=True):
                yield Score("completeness_delta", delta, name, example_id=text)


def write_notes(folder: Path, notes: Sequence[str]) -> None:
    """Into a step's folder, beside its tables."""
    write_json(folder / NOTES, {"notes": list(notes)})


def read_notes(explained: Mapping[str, Iterable[Path]]) -> list[str]:
    """What the methods said of themselves, each sentence once, from the folders of their steps."""
    found: dict[str, None] = {}
    for name, folders in explained.items():
        for file in (folder / NOTES for folder in folders):
            if file.exists():
                said = json.loads(file.read_text(encoding="utf-8"))["notes"]
                found |= dict.fromkeys(f"{method_name(name)}: {note}." for note in said)
    return list(found)


def usable(subject: Subject[Any], name: str) -> Method:
    """The method, if this model can serve it."""
    chosen = method(name)
    if not chosen.serves(subject.model):
        raise InputError(f"{name} needs {chosen.needed}, which {subject.name} is not. Leave it out.")
    return chosen


def left_out(refused: Mapping[str, str]) -> list[str]:
    """A note for each reason, from the reasons by method.

    >>> left_out({"attention": "It has none.", "rollout": "It has none.", "lime": "It is slow."})
    ['attention, rollout were left out: It has none.', 'lime was left out: It is slow.']
    """
    names = {why: [name for name in refused if refused[name] == why] for why in refused.values()}
    return [f"{', '.join(ms)} {'was' if len(ms) == 1 else 'were'} left out: {why}" for why, ms in names.items()]
