"""The texts that are tried, and the same texts in other company, order and padding."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heatcheck.batch import TOKEN_FIELDS, Batch, Example, replace_tokens, rows, trim
from heatcheck.data.reading import collate
from heatcheck.data.vocabulary import MARKS, Vocabulary
from heatcheck.errors import InputError
from heatcheck.models.blackbox import BlackBox
from heatcheck.models.given import subject_of
from heatcheck.models.protocols import KnowsWords
from heatcheck.models.subject import Subject

TEXTS = (
    "the film was not good",
    "fun",
    "bad acting, and a sad, sad end.",
    "a good story",
    "it was good at first, but the last part of the film is not the best",
)
EXTRA = 3  # columns of padding


def model_and_batch(model: Any, examples: Sequence[Example] | Batch | None) -> tuple[Any, Batch]:
    """A subject, or what `heatcheck.explainer` takes as a model, reads texts itself; a bare model needs a Batch."""
    if isinstance(model, str | Path | tuple | partial) or inspect.isroutine(model):
        model = subject_of(model)
    if isinstance(model, Subject):
        batch = examples if isinstance(examples, Batch) else _read(model, examples or default_examples(model))
        return model.model, batch.to(model.device)
    if isinstance(examples, Batch):
        return model, examples
    if isinstance(model, KnowsWords) and examples is None:
        return model, made_up(model.ordinary_ids)
    raise InputError(
        f"A bare model ({type(model).__name__}) cannot read texts. Give its Subject, or the texts as a Batch."
    )


def default_examples(subject: Subject[Any]) -> list[Example]:
    """Single texts, pairs, or both; of words that the model knows, as unknown ones are all alike to it. A function
    gets single texts: most are written for strings, and are not made wrong by that."""
    texts: tuple[str, ...] = TEXTS
    if isinstance(subject.reader, Vocabulary):
        known = subject.reader.words[len(MARKS) :]
        texts = tuple(" ".join(known[(7 * i + k) % len(known)] for k in range(2 * i + 1)) for i in range(len(TEXTS)))
    second: dict[str, tuple[str | None, ...]] = {"single": (None,) * 5, "pair": texts[::-1], "any": (None, *texts[:4])}
    task = "single" if isinstance(subject.model, BlackBox) else subject.spec.task
    pairs = zip(texts, second[task], strict=True)
    return [Example(f"text {i}", text, 0, pair) for i, (text, pair) in enumerate(pairs)]


def _read(subject: Subject[Any], examples: Sequence[Example]) -> Batch:
    return collate([subject.reader.row(e) for e in examples], subject.reader.n_labels)


def made_up(ids: Tensor) -> Batch:
    """Texts of 1 to 5 arbitrary words."""
    lengths = torch.arange(1, 6)
    mask = torch.arange(5)[None] < lengths[:, None]
    place = torch.arange(25).reshape(5, 5)
    zeros = torch.zeros_like(place)
    return Batch(
        token_ids=torch.where(mask, ids.cpu()[(7 * place) % len(ids)], 0),
        mask=mask,
        special=zeros.bool(),
        segments=zeros,
        offsets=torch.stack([2 * place, 2 * place + 1], dim=-1) * mask[..., None],
        word_ids=torch.where(mask, torch.arange(5).expand(5, 5), -1),
        example_ids=tuple(f"text {i}" for i in range(5)),
        labels=zeros[:, 0],
    ).to(ids.device)


def variants(batch: Batch) -> Iterator[tuple[str, str, Batch, Tensor]]:
    """(rule, how, the changed batch, the row of `batch` that each of its rows is)."""
    order = torch.arange(len(batch), device=batch.token_ids.device)
    yield "order", "with the texts in reverse order", rows(batch, order.flip(0)), order.flip(0)
    for row in order:
        yield "company", "alone", rows(batch, row[None]), row[None]
    for row in order:
        yield "padding", "without padding", trim(rows(batch, row[None])), row[None]
    yield "padding", f"with {EXTRA} more columns of padding", padded(batch), order
    yield "padding", "with other ids where there is padding", refilled(padded(batch)), order


def padded(batch: Batch) -> Batch:
    wide: dict[str, Any] = {}
    for name in TOKEN_FIELDS:
        field = getattr(batch, name)
        wide[name] = torch.cat([field, field.new_zeros(len(batch), EXTRA, *field.shape[2:])], dim=1)
    return dataclasses.replace(batch, **wide)


def refilled(batch: Batch) -> Batch:
    """What stands behind the end of a text must not matter: here it is the text's own first token."""
    return replace_tokens(batch, ~batch.mask, batch.token_ids[:, :1].expand_as(batch.token_ids))
