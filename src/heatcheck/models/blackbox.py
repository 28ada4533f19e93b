"""Any function `predict(texts) -> probabilities` as a model: LIME, Kernel-SHAP, leave-one-out and erasure need no more.

Edits are made on token ids here as for every model. A token is a word with the white space in front of it, so that
ids turn back into text by joining: unedited to the very string that was read, and a deleted word takes its white
space along. Each text ends in a mark that holds what stands behind its last word, mostly nothing.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import PAIR, TEXT, Batch, Example
from heatcheck.data.reading import Column, Columns, Row
from heatcheck.data.words import WordRules
from heatcheck.errors import InputError
from heatcheck.machine import is_out_of_memory
from heatcheck.models.protocols import Kind
from heatcheck.models.subject import Subject

Predict = Callable[[Any], Any]  # list of str, or of (text, pair), to class probabilities, a row for each

PAD, MASK = 0, 1
LEAST_PROBABILITY = 1e-12  # a probability of 0 has no logarithm
SUM_TOLERANCE = 1e-3  # half precision sums to 1 within this
STEADY = 1e-6  # answers to the same texts that differ by less are the same
SHOWN = 60  # characters of a text in a message


@dataclass(frozen=True)
class Pieces:
    """The pieces of all texts read so far. Id 0 is nothing, id 1 what stands in the place of a hidden word."""

    mask: str = "[MASK]"
    texts: list[str] = field(default_factory=list)
    pairs: set[str] = field(default_factory=set)  # ids of the examples that were read as two texts
    _ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.texts.extend(["", self.mask])

    def id(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self.texts)
            self.texts.append(piece)
        return self._ids[piece]

    def exchanged(self, own: int, length: int, drawn: int) -> int:
        """The drawn word behind the white space of the own one, whose word has `length` characters."""
        whole = self.texts[own]
        return self.id(whole[: len(whole) - length] + self.texts[drawn].lstrip())


@dataclass(frozen=True)
class BlackBoxReader:
    """Words by our own rules, with all that stands between them."""

    pieces: Pieces
    n_labels: int
    rules: WordRules

    def row(self, example: Example) -> Row:
        parts = [self._columns(TEXT, example.text)]
        if example.pair is None:
            self.pieces.pairs.discard(example.id)
        else:
            self.pieces.pairs.add(example.id)
            parts.append(self._columns(PAIR, example.pair))
        return Row(example, np.concatenate(parts, axis=1), cut=False)

    def _columns(self, segment: int, text: str) -> Columns:
        words = self.rules.split(text)
        ends = [0, *(w.end for w in words)]
        found = [text[before : w.end] for before, w in zip(ends, words, strict=False)]
        columns = np.zeros((len(Column), len(words) + 1), np.int32)
        columns[Column.ID] = [self.pieces.id(piece) for piece in (*found, text[ends[-1] :])]
        columns[Column.SPECIAL, -1] = True
        columns[Column.SEGMENT] = segment
        columns[Column.START] = [*(w.start for w in words), len(text)]
        columns[Column.END] = [*(w.end for w in words), len(text)]
        columns[Column.WORD] = [*range(len(words)), -1]
        return columns


@final
class BlackBox:
    """Satisfies `Predictor`; its logits are log-probabilities."""

    kind: Kind = "categorical"
    pad_id, mask_id = PAD, MASK

    def __init__(self, function: Predict, labels: Sequence[str], pieces: Pieces) -> None:
        self.function, self.labels, self.pieces = function, tuple(labels), pieces
        self.name = name_of(function)

    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        """Equal texts are asked for once."""
        texts = texts_of(batch, self.pieces)
        distinct = list(dict.fromkeys(texts))
        probabilities = dict(zip(distinct, self._ask(distinct), strict=True))
        found = np.stack([probabilities[text] for text in texts]) if texts else np.zeros((0, len(self.labels)))
        return torch.from_numpy(found).clamp(min=LEAST_PROBABILITY).log().to(batch.token_ids.device)

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return torch.softmax(logits, dim=-1)

    def in_place(self, batch: Batch, drawn: Int[Tensor, "D B T"]) -> Int[Tensor, "D B T"]:
        """Drawn tokens, each behind the white space of the place that it is to take. Marks hold no word: they stay."""
        lengths = batch.offsets[..., 1] - batch.offsets[..., 0]
        own = torch.stack([batch.token_ids, lengths], dim=-1).expand(*drawn.shape, 2)
        there = torch.cat([own, drawn[..., None]], dim=-1).reshape(-1, 3).tolist()
        ids = torch.tensor([self.pieces.exchanged(*one) for one in there]).reshape(drawn.shape).to(drawn)
        return torch.where(batch.words, ids, batch.token_ids)

    def _ask(self, texts: list[Any]) -> Float[ndarray, "B C"]:
        if not texts:
            return np.zeros((0, len(self.labels)))
        try:
            answer = self.function(texts)
        except Exception as error:  # a stranger's code raises what it likes
            if is_out_of_memory(error):
                raise  # whoever asks for many texts asks for fewer then
            raise InputError(self._failed(texts, error)) from error
        return self._checked(answer, texts)

    def _failed(self, texts: list[Any], error: Exception) -> str:
        culprit = failing(self.function, texts)
        where = f"a call with {len(texts)} texts, though not with each alone" if culprit is None else shown(culprit)
        said = " ".join(str(error).split())  # in one line, whatever it looked like
        return f"{self.name} fails on {where}: {type(error).__name__}: {said}"

    def _checked(self, answer: Any, texts: list[Any]) -> Float[ndarray, "B C"]:
        shape = (len(texts), len(self.labels))
        try:
            found = np.asarray(answer.detach().cpu() if isinstance(answer, Tensor) else answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self.name} gives a {type(answer).__name__} that is not a table of numbers. "
                f"Give {shape[0]} rows of {shape[1]} probabilities for {shape[0]} texts."
            ) from error
        if found.shape != shape:
            hint = " Of two classes give both: 1 − p and p." if found.size == len(texts) and shape[1] == 2 else ""
            raise InputError(
                f"{self.name} gives numbers of shape {found.shape} for {shape[0]} texts and the labels "
                f"{', '.join(self.labels)}. Give a row of {shape[1]} probabilities for each text.{hint}"
            )
        for wrong, what in _rules(found):
            if wrong.any():
                row = int(wrong.argmax())
                numbers = ", ".join(f"{p:.4g}" for p in found[row])
                raise InputError(f"{self.name} gives {numbers} for {shown(texts[row])}: {what}")
        return found


def _rules(found: Float[ndarray, "B C"]) -> list[tuple[ndarray, str]]:
    """What must not be, and what to say then."""
    softmax = "If these are scores, let the function return their softmax."
    return [
        (~np.isfinite(found).all(1), "a probability is a finite number."),
        ((found < 0).any(1), f"a probability is not negative. {softmax}"),
        (np.abs(found.sum(1) - 1) > SUM_TOLERANCE, f"probabilities sum to 1. {softmax}"),
    ]


def texts_of(batch: Batch, pieces: Pieces) -> list[Any]:
    """Ids back to text: a string for each row, or a pair of strings if the example is one, whatever is left of it."""
    batch = batch.to("cpu")
    columns = (batch.token_ids, batch.segments, batch.word_ids, batch.offsets[..., 0], batch.offsets[..., 1])
    table = torch.stack(columns, dim=-1)
    parts = [_parts(table[row, batch.mask[row]].tolist(), pieces) for row in range(len(batch))]
    return [
        (part.get(TEXT, ""), part.get(PAIR, "")) if PAIR in part or name in pieces.pairs else part.get(TEXT, "")
        for name, part in zip(batch.example_ids, parts, strict=True)
    ]


def _parts(tokens: list[list[int]], pieces: Pieces) -> dict[int, str]:
    """The text of each segment. `tokens` are [id, segment, word, start, end]."""
    parts: dict[int, str] = {}
    before: dict[int, int] = {}  # where the last token of the segment ended in the original
    for token, segment, word, start, end in tokens:
        piece = pieces.texts[token]
        if token == MASK and start > before.get(segment, 0):
            piece = " " + piece  # the id that held the white space is gone
        if segment not in parts and word > 0:
            piece = piece.lstrip()  # the text's first word is gone, and a text does not start with white space
        parts[segment] = parts.get(segment, "") + piece
        before[segment] = end
    return parts


def failing(function: Predict, texts: list[Any]) -> Any | None:
    """A text that the function fails on, found by halving; None if it takes each that is left alone."""
    while len(texts) > 1:
        half = texts[: len(texts) // 2]
        texts = half if _fails(function, half) else texts[len(half) :]
    return texts[0] if _fails(function, texts) else None


def _fails(function: Predict, texts: list[Any]) -> bool:
    try:
        function(texts)
    except Exception:
        return True
    return False


def shown(text: Any) -> str:
    whole = " | ".join(text) if isinstance(text, tuple) else str(text)
    return repr(whole if len(whole) <= SHOWN else whole[:SHOWN] + "…")


def name_of(function: Predict) -> str:
    """
    >>> name_of(len)
    'builtins.len'
    """
    code = _code(function)
    return f"{code.__module__}.{code.__qualname__}"


def _code(function: Predict) -> Any:
    """What was written: the function behind decorators and `partial`, or the class of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if inspect.isroutine(function) else type(function)


@dataclass(frozen=True)
class BlackBoxSpec:
    """A function has no weights of its own that we know of: `function` is its name."""

    function: str
    labels: tuple[str, ...]
    mask: str = "[MASK]"
    task: str = "any"

    def describe(self) -> str:
        return f"{self.function} (black box)"


def fingerprint(function: Predict) -> str:
    """Of name and source. What the function calls, and weights that it loads, are not in it."""
    try:
        source = inspect.getsource(_code(function))
    except (OSError, TypeError):  # typed into a console, or not Python
        source = ""
    return hashlib.sha256(f"{name_of(function)}\n{source}".encode()).hexdigest()


def as_subject(function: Predict, labels: Sequence[str], name: str = "", *, mask: str = "[MASK]") -> Subject[BlackBox]:
    """A function as the subject of an audit. `mask` stands for a hidden word in what the function is given."""
    if len(labels) < 2:
        raise InputError(f"{name_of(function)}: {len(labels)} labels. Name each class that it gives a probability of.")
    pieces = Pieces(mask)
    return Subject(
        name=name or name_of(function).rpartition(".")[2],
        model=BlackBox(function, labels, pieces),
        reader=BlackBoxReader(pieces, len(labels), WordRules()),
        labels=tuple(labels),
        seed=0,
        spec=BlackBoxSpec(name_of(function), tuple(labels), mask),
        fingerprint=fingerprint(function),
    )


def tried(subject: Subject[BlackBox], examples: Sequence[Example]) -> Subject[BlackBox]:
    """The subject after it was asked twice about these texts: known by its answers too, as two functions of one name
    may be two models; or, if it gives others the second time, with a note."""
    if not examples:
        return subject
    (batch,) = subject.batches(examples, len(examples))
    answers, apart = asked_twice(subject.model, batch)
    if apart > STEADY:
        return replace(subject, notes=(*subject.notes, unsteady(subject.model, apart)))
    said = hashlib.sha256((np.round(answers, 6) + 0.0).tobytes()).hexdigest()[:16]
    return replace(subject, fingerprint=f"{subject.fingerprint}-{said}")


def is_known_by_answers(subject: Subject[BlackBox]) -> bool:
    """Are its answers part of its fingerprint (see `tried`)?"""
    return subject.fingerprint != fingerprint(subject.model.function)


def asked_twice(model: BlackBox, batch: Batch) -> tuple[Float[ndarray, "B L"], float]:
    """The probabilities of the texts, and by how much they differ the second time at most."""
    once, again = (model.probs(model.predict(batch)).cpu().numpy() for _ in range(2))
    return once, float(np.abs(once - again).max(initial=0.0))


def unsteady(model: BlackBox, apart: float) -> str:
    return (
        f"{model.name} gives other answers when it is asked again about the same texts (by up to {apart:.2g} in "
        "probability): part of every score is chance, and repeating gives other numbers."
    )
