"""Human rationales: which characters of a text people marked as the reason for its label.

eraser   ERASER's JSONL (DeYoung et al. 2020): annotation_id and evidences with docid, start_token, end_token. Documents
         are files in the folder docs beside it, or rows (docid, text) of docs.jsonl; tokens are divided by whitespace.
mask     any table (JSONL, CSV, …) with an id or the text, and `mask`, a 0 or 1 for each word between whitespace, or
         `spans`, a list of [start, end] in characters; `pair_mask` and `pair_spans` for the second text.
sst      the Stanford Sentiment Treebank's trees, one file or a folder of train.txt, dev.txt and test.txt: words whose
         own label is not neutral and of the sentence's polarity. Neutral sentences have no rationale.

A rationale belongs to the example with its id, else to those with its text (whitespace does not count).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.batch import PAIR, TEXT, Example, Span
from heatcheck.data.readers import Table, read_table, read_text
from heatcheck.data.recipes.sst import clean_leaves
from heatcheck.errors import InputError

Rationales = Mapping[str, Sequence[Span]]  # by example id; an empty list: nobody marked a word


@dataclass(frozen=True)
class Note:
    """One annotation, not yet matched with an example. `spans` are found in the example's own text."""

    where: str  # file and row, for messages
    id: str | None
    texts: tuple[str, ...]  # any of these may be the example's text
    spans: Callable[[Example], list[Span]]
    pair: str | None = None  # if the pair tells annotations of one text apart


def read_rationales(path: Path, kind: str, examples: Sequence[Example]) -> Rationales:
    """Rationales of those examples that have one."""
    if kind not in KINDS:
        raise InputError(f"There is no format of rationales {kind!r}. There are: {', '.join(KINDS)}.")
    return dict(_matched(KINDS[kind](path), examples))


def check_rationales(path: Path, kind: str, examples: Sequence[Example]) -> Rationales:
    """Those of the examples, for a run: a file that does not fit the texts at all is refused."""
    found = read_rationales(path, kind, examples)
    if not found:
        raise InputError(
            f"{path}: none of its rationales belongs to a text under test, neither by id nor by text. "
            "Give the file that belongs to this data set and split."
        )
    return found


def _matched(notes: Iterable[Note], examples: Sequence[Example]) -> Iterator[tuple[str, list[Span]]]:
    by_id: dict[str, Note] = {}
    by_text: dict[str, list[Note]] = {}
    for note in notes:
        if note.id is not None:
            by_id.setdefault(note.id, note)
        for text in note.texts:
            by_text.setdefault(_plain(text), []).append(note)
    for example in examples:
        same = (note for note in by_text.get(_plain(example.text), ()) if _fits(note, example))
        found = by_id[example.id] if example.id in by_id else next(same, None)
        if found is not None:
            yield example.id, found.spans(example)


def _fits(note: Note, example: Example) -> bool:
    """Several annotations of one text differ in the pair: a question, or a second document."""
    if example.pair is None or note.pair is None:
        return True
    return _plain(example.pair) in (_plain(text) for text in (note.pair, *note.texts))


def _plain(text: str) -> str:
    return " ".join(text.split())


def word_spans(text: str) -> list[tuple[int, int]]:
    """The characters of each word between whitespace.

    >>> word_spans("so  good")
    [(0, 2), (4, 8)]
    """
    return [match.span() for match in re.finditer(r"\S+", text)]


# ERASER


def eraser_notes(path: Path) -> Iterator[Note]:
    table = read_table(path)
    ids, evidences = (_column(table, name) for name in ("annotation_id", "evidences"))
    queries = table.values.get("query", [None] * len(table))
    documents = Documents(path)
    for number, id_, groups, query in zip(table.row_numbers, ids, evidences, queries, strict=True):
        where = f"{path}, row {number}"
        pieces = [Evidence.of(where, piece) for group in _list(where, groups) for piece in _list(where, group)]
        texts = {piece.docid: documents.text(where, piece.docid) for piece in pieces}
        for piece in pieces:
            piece.check(where, texts[piece.docid])
        yield Note(
            where,
            str(id_),
            tuple(texts.values()),
            _evidence_spans(pieces, texts),
            None if query is None else str(query),
        )


class Evidence(NamedTuple):
    docid: str
    start: int
    end: int
    text: str | None

    @staticmethod
    def of(where: str, piece: Any) -> Evidence:
        try:
            found = Evidence(str(piece["docid"]), int(piece["start_token"]), int(piece["end_token"]), piece.get("text"))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise InputError(
                f"{where}: an evidence needs docid, start_token and end_token; found {piece!r}."
            ) from error
        return found

    def check(self, where: str, document: str) -> None:
        words = document.split()
        if not 0 <= self.start <= self.end <= len(words):  # ERASER's movie reviews have evidences of no word
            raise InputError(
                f"{where}: tokens {self.start} to {self.end} are not in document {self.docid}, which has {len(words)}."
            )
        there = " ".join(words[self.start : self.end])
        if self.text is not None and _plain(self.text) != there:
            raise InputError(
                f"{where}: tokens {self.start} to {self.end} of document {self.docid} are {there!r}, "
                f"but the evidence says {self.text!r}. The documents are of another version."
            )


def _evidence_spans(pieces: Sequence[Evidence], texts: Mapping[str, str]) -> Callable[[Example], list[Span]]:
    def spans(example: Example) -> list[Span]:
        found = []
        for piece in pieces:
            for segment, text in _segments(example):
                if _plain(text) == _plain(texts[piece.docid]):
                    found += [Span(segment, *place) for place in word_spans(text)[piece.start : piece.end]]
                    break
        return found

    return spans


class Documents:
    """A folder of files, or one file of rows with docid and text."""

    def __init__(self, annotations: Path) -> None:
        self._folder = annotations.with_name("docs")
        tables = [annotations.with_name(f"docs.jsonl{end}") for end in ("", ".gz")]
        self._rows: dict[str, str] = {}
        table = next((t for t in tables if t.is_file()), None)
        if table is not None:
            rows = read_table(table)
            pairs = zip(
                _column(rows, "docid"), _column(rows, "text" if "text" in rows.values else "document"), strict=True
            )
            self._rows = {str(docid): str(text) for docid, text in pairs}
        elif not self._folder.is_dir():
            raise InputError(
                f"{annotations}: its documents are missing. Put the folder docs, or docs.jsonl, beside it."
            )

    def text(self, where: str, docid: str) -> str:
        if docid in self._rows:
            return self._rows[docid]
        file = self._folder / docid
        if not file.resolve().is_relative_to(self._folder.resolve()) or not file.is_file():
            raise InputError(f"{where}: there is no document {docid!r} in {self._folder} or docs.jsonl.")
        self._rows[docid] = read_text(file)
        return self._rows[docid]


# Masks and spans


def mask_notes(path: Path) -> Iterator[Note]:
    table = read_table(path)
    marks = ("mask", "spans", "pair_mask", "pair_spans")
    if not any(name in table.values for name in marks) or not any(name in table.values for name in ("id", "text")):
        raise InputError(
            f"{path}: a column mask (a 0 or 1 for each word) or spans ([start, end] in characters) is needed, and "
            f"id or text. Columns found: {', '.join(repr(name) for name in table.values)}."
        )
    for place, number in enumerate(table.row_numbers):
        row = {name: column[place] for name, column in table.values.items()}
        where = f"{path}, row {number}"
        id_ = None if row.get("id") is None else str(row["id"])
        texts = () if row.get("text") is None else (str(row["text"]),)
        pair = None if row.get("pair") is None else str(row["pair"])
        yield Note(where, id_, texts, _marked_spans(where, row), pair)


def _marked_spans(where: str, row: Mapping[str, object]) -> Callable[[Example], list[Span]]:
    def spans(example: Example) -> list[Span]:
        found = []
        for segment, text in _segments(example):
            for kind, read in (("mask", _from_mask), ("spans", _from_spans)):
                column = f"pair_{kind}" if segment == PAIR else kind
                found += [Span(segment, *p) for p in read(f"{where}, column {column}", row.get(column), text)]
        return found

    return spans


def _from_mask(where: str, value: object, text: str) -> list[tuple[int, int]]:
    if value is None or value == "":
        return []
    if isinstance(value, str) and re.fullmatch(r"[01](\s+[01])*", value.strip()):
        value = [int(bit) for bit in value.split()]
    mask, words = _list(where, value), word_spans(text)
    if any(bit not in (0, 1) for bit in mask):
        raise InputError(f"{where}: a mask is a list of 0 and 1; found {mask!r}.")
    if len(mask) != len(words):
        raise InputError(
            f"{where}: the mask has {len(mask)} values, its text {len(words)} words between whitespace. "
            "Give a 0 or 1 for each word."
        )
    return [place for place, bit in zip(words, mask, strict=True) if bit]


def _from_spans(where: str, value: object, text: str) -> list[tuple[int, int]]:
    if value is None or value == "":
        return []
    found = []
    for span in _list(where, value):
        if not (isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)):
            raise InputError(f"{where}: a span is [start, end] in characters; found {span!r}.")
        start, end = span
        if not 0 <= start < end <= len(text):
            raise InputError(f"{where}: the span {span} is not inside its text of {len(text)} characters.")
        found.append((start, end))
    return found


# SST's trees

_LEAF = re.compile(r"\(([0-4]) ([^()]+)\)")
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def tree_notes(path: Path) -> Iterator[Note]:
    files = [path / f"{split}.txt" for split in ("train", "dev", "test")] if path.is_dir() else [path]
    there = [file for file in files if file.is_file()]
    if not there:
        raise InputError(f"{path}: there are no trees. Give one of train.txt, dev.txt, test.txt, or their folder.")
    for file in there:
        for number, line in enumerate(read_text(file).split("\n"), start=1):
            if line.strip():
                yield from tree_note(f"{file}, line {number}", line.strip())


def tree_note(where: str, tree: str) -> Iterator[Note]:
    """For the sentence as paper 1 cleans it, and for the words of the tree as they are, or in lower case."""
    leaves = _LEAF.findall(tree)
    if not re.match(r"\([0-4] ", tree) or not leaves:
        raise InputError(f"{where}: expected a tree such as (3 (2 A) (3 gem)).")
    polarity = _sign(tree[1])
    for written in (lambda leaf: clean_leaves([leaf]), str, _unescaped):
        words = [(word, _sign(label)) for label, leaf in leaves for word in written(leaf).split()]
        mask = [int(polarity != 0 and sign == polarity) for _, sign in words]
        text = " ".join(word for word, _ in words)
        yield Note(where, None, tuple(dict.fromkeys((text, text.lower()))), _marked_spans(where, {"mask": mask}))


def _unescaped(leaf: str) -> str:
    """
    >>> _unescaped("-LRB-"), _unescaped("1\\\\/2")
    ('(', '1/2')
    """
    return _ESCAPED.get(leaf, leaf.replace("\\/", "/"))


def _sign(label: str) -> int:
    return (label > "2") - (label < "2")


# Shared


def _segments(example: Example) -> list[tuple[int, str]]:
    return [(TEXT, example.text)] if example.pair is None else [(TEXT, example.text), (PAIR, example.pair)]


def _column(table: Table, name: str) -> Sequence[object]:
    if name not in table.values:
        found = ", ".join(repr(n) for n in table.values)
        raise InputError(
            f"{table.name}: there is no column {name!r}, which ERASER's files have. Columns found: {found}. "
            "For other files there is --rationale-format."
        )
    return table.values[name]


def _list(where: str, value: object) -> list[Any]:
    """A list, or its text in JSON, as a CSV file holds it."""
    if isinstance(value, str):
        with contextlib.suppress(json.JSONDecodeError):
            value = json.loads(value)
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list, found {value!r}.")
    return value


KINDS: dict[str, Callable[[Path], Iterator[Note]]] = {"eraser": eraser_notes, "mask": mask_notes, "sst": tree_notes}
