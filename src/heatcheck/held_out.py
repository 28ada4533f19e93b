"""Which texts are tested, and what is to be said of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heatcheck.batch import PAIR, TEXT, Example
from heatcheck.data.dataset import Dataset, text_fingerprint
from heatcheck.data.files import ALL_TRAIN, places
from heatcheck.data.reading import Column
from heatcheck.data.sources import is_named
from heatcheck.data.vocabulary import UNKNOWN, Vocabulary
from heatcheck.errors import InputError
from heatcheck.models.subject import Subject
from heatcheck.request import Request

MANY_UNKNOWN = 0.2  # of the words: a verdict on more than that is one on words that the model cannot tell apart


def texts_under_test(request: Request, data: Dataset, subject: Subject[Any]) -> tuple[Sequence[Example], list[str]]:
    """The asked split, or a random `limit` of it in its own order, with labels as the model numbers them; and notes.

    Of data without splits of its own, all texts are held out from a given model but those it was trained on.
    """
    notes = [*data.notes, *subject.notes]
    guessed = request.columns.pair is None and not is_named(request.data)
    if data.task == "pair" and subject.spec.task == "any" and guessed:
        notes.append(
            "Each row has two texts, which the model reads as one pair. If it was trained on single texts, leave the "
            "second column out with --pair none."
        )
    examples = data.splits[request.split] if request.model is None else held_out(request, data, subject, notes)
    if not examples:
        raise InputError(f"{data.name}: the model was trained on every text in it. Give other texts.")
    if request.limit is not None and request.limit < len(examples):
        chosen = sorted(random.Random(request.seed).sample(range(len(examples)), request.limit))
        notes.append(
            f"{request.limit:,} of {len(examples):,} texts were drawn at random (--limit, seed {request.seed})."
        )
        examples = [examples[i] for i in chosen]
    examples = readable(request, data, subject, examples, notes)
    return with_model_labels(examples, data, subject), [*notes, *_misread(subject, examples)]


def held_out(request: Request, data: Dataset, subject: Subject[Any], notes: list[str]) -> Sequence[Example]:
    """What a given model can be tested on: the asked split if the data has its own, else all that it did not see."""
    pool = data.splits[request.split] if data.own_splits else [e for split in data.splits.values() for e in split]
    fresh = [e for e in pool if text_fingerprint(e) not in subject.seen]
    known = len(pool) - len(fresh)
    if data.own_splits:
        notes += [f"The model was trained on {known:,} of these texts."] if known else []
        return pool
    left_out = f", {known:,} are not: the model was trained on them, or chosen by them" if known else ""
    notes[:] = [n for n in notes if not n.startswith("Split by us")]
    notes.append(f"{len(fresh):,} of {len(pool):,} rows can be tested{left_out}.")
    if not subject.seen and any(n.startswith(ALL_TRAIN) for n in notes):
        notes.append("If the model was trained on these rows, it is tested on what it knows: give other rows.")
    return fresh


def readable(
    request: Request, data: Dataset, subject: Subject[Any], examples: Sequence[Example], notes: list[str]
) -> Sequence[Example]:
    """Without the texts of which the model's tokenizer leaves nothing, if bad rows may be skipped."""
    blank = [e.id for e in examples if not _has_words(subject, e)] if subject.spec.task == "any" else []
    if not blank:
        return examples
    if len(blank) == len(examples):
        raise InputError(
            f"{data.name}: none of the {len(blank):,} texts has a word that the model's tokenizer knows. "
            "Give other texts, or a model that reads such texts."
        )
    have, them = ("has", "it") if len(blank) == 1 else ("have", "them")
    what = (
        f"{len(blank):,} of {len(examples):,} texts {have} no word that the model's tokenizer knows ({places(blank)})"
    )
    if not request.skip_bad_rows:
        raise InputError(f"{data.name}: {what}. Remove {them}, or leave {them} out with --skip-bad-rows.")
    notes.append(f"{what}: left out.")
    gone = set(blank)
    return [e for e in examples if e.id not in gone]


def _misread(subject: Subject[Any], examples: Sequence[Example]) -> Iterator[str]:
    """What the model does not get to see of the texts."""
    rows = [subject.reader.row(e) for e in examples]
    cut = sum(row.cut for row in rows)
    if cut:
        whole = " --windows reads them whole." if subject.spec.task == "any" else ""
        yield f"{cut:,} of {len(rows):,} texts have more words, or a longer one, than the model takes: cut.{whole}"
    if isinstance(subject.reader, Vocabulary):
        ids = np.concatenate([row.columns[Column.ID, row.columns[Column.SPECIAL] == 0] for row in rows])
        unknown = int((ids == UNKNOWN).sum())
        if unknown > MANY_UNKNOWN * len(ids):
            counts = f"{unknown / len(ids):.0%} of the words under test ({unknown:,} of {len(ids):,})"
            yield f"{counts} are unknown to the model, which sees them all as one."


def _has_words(subject: Subject[Any], example: Example) -> bool:
    columns = subject.reader.row(example).columns
    words = columns[Column.SPECIAL] == 0
    texts = (TEXT,) if example.pair is None else (TEXT, PAIR)
    return all(bool((words & (columns[Column.SEGMENT] == segment)).any()) for segment in texts)


def with_model_labels(examples: Sequence[Example], data: Dataset, subject: Subject[Any]) -> Sequence[Example]:
    if data.labels == subject.labels:
        return examples
    index = {i: subject.labels.index(label) for i, label in enumerate(data.labels)}

    def renumbered(e: Example) -> Example:
        candidates = None if e.candidates is None else tuple(sorted(index[c] for c in e.candidates))
        return replace(e, label=index[e.label], candidates=candidates)

    return [renumbered(e) for e in examples]
