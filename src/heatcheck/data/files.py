"""A table that a user brings, as a Dataset: columns found, rows checked, labels named, splits made.

Rows that cannot be used are never dropped in silence: they are all counted in one error, or, with
`skip_bad_rows`, in one note.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.columns import Columns, find_columns, split_name
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import Table, read_table
from heatcheck.data.splits import TENTH, Parts, cut, three_way
from heatcheck.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can spell half a character, which no file can then store
ALL_TRAIN = "Every row is called train"  # how a note begins
NOT_A_CLASS = "a label that is no class"  # how a problem begins
LABEL_SHOWN = 40  # characters: a wrong column may hold whole texts
ROWS_NAMED = 5  # how many bad rows of a kind an error names
CLASSES_NAMED = 20
Labels = Mapping[str, str]  # value in the file -> class name; the classes stand in this order


@dataclass(frozen=True)
class Row:
    """One row of a table, read but not yet checked. A None is a value that is missing."""

    number: int
    id: str
    text: object
    pair: object
    label: str | None
    split: str | None  # "?" = there is a split column and its value is not understood


def load_file(
    path: Path, columns: Columns, *, labels: Labels | None = None, skip_bad_rows: bool = False, seed: int = 0
) -> Dataset:
    return table_to_dataset(
        read_table(path), columns, name=path.name, labels=labels, skip_bad_rows=skip_bad_rows, seed=seed
    )


def table_to_dataset(
    table: Table,
    columns: Columns,
    *,
    name: str,
    labels: Labels | None = None,
    skip_bad_rows: bool = False,
    seed: int = 0,
) -> Dataset:
    found, guessed = find_columns(table.name, table.values, columns)
    found, ignored = _usable_split(table, found, columns)
    rows, skipped = _good_rows(table, found, labels, skip_bad_rows)
    names = _class_names(table, rows, found, labels)
    examples = _examples(rows, names, labels)
    splits, split_notes = arrange(examples, seed)
    learned = f"{ALL_TRAIN} (column {found.split!r}), so that was not used." if _all_train(examples) else None
    notes = [note for note in (guessed, ignored, skipped, learned, *split_notes) if note]
    task = "single" if found.pair is None else "pair"
    own = any(split in (DEV, TEST) for _, split in examples)  # else `arrange` cut them
    return Dataset(name, task, names, splits, own_splits=own, notes=tuple(notes))


def parse_labels(text: str) -> dict[str, str]:
    """What --labels says, in the order of the classes: values, or values and names for them.

    >>> parse_labels("0=negative, 1=positive"), parse_labels("no,yes")
    ({'0': 'negative', '1': 'positive'}, {'no': 'no', 'yes': 'yes'})
    """
    pairs = [part.partition("=") for part in text.split(",")]
    labels = {value.strip(): (name if equals else value).strip() for value, equals, name in pairs}
    if len(labels) < len(pairs) or "" in labels or "" in labels.values() or len(set(labels.values())) < 2:
        raise InputError(
            f"--labels {text!r}: expected at least two classes, each value once, "
            "such as 'no,yes' or '0=negative,1=positive'."
        )
    return labels


# Reading and checking rows.


def _rows(table: Table, columns: Columns) -> Iterator[Row]:
    nothing = [None] * len(table)
    ids = table.values.get("id", nothing)
    pairs = nothing if columns.pair is None else table.values[columns.pair]
    splits = nothing if columns.split is None else table.values[columns.split]
    texts, labels = (table.values[str(name)] for name in (columns.text, columns.label))
    for number, id_, text, pair, label, split in zip(table.row_numbers, ids, texts, pairs, labels, splits, strict=True):
        part = None if columns.split is None else split_name(split) or "?"
        yield Row(
            number,
            label_text(id_) or (f"row-{number}" if "id" in table.values else str(number)),
            text,
            pair,
            label_text(label),
            part,
        )


def label_text(value: object) -> str | None:
    """A label as a word, the same for 1, 1.0 and "1"; None if there is none.

    >>> [label_text(v) for v in (True, 2, 2.0, " pos ", "", None, float("nan"))]
    ['True', '2', '2', 'pos', None, None, None]
    """
    if isinstance(value, float):
        if value != value:
            return None
        value = int(value) if value.is_integer() else value
    return (str(value).strip() or None) if isinstance(value, str | int | float) else None


def class_of(label: str, labels: Labels) -> str | None:
    """The class that a label stands for. A whole number may end in .0, as pandas writes a column with gaps.

    >>> [class_of(label, {"0": "no", "1": "yes"}) for label in ("1", "1.0", "1.5")]
    ['yes', 'yes', None]
    """
    return labels.get(label) or labels.get(re.sub(r"\.0+$", "", label))


def _good_rows(
    table: Table, columns: Columns, labels: Labels | None, skip_bad_rows: bool
) -> tuple[list[Row], str | None]:
    """The rows that can be used and, if others are skipped, a sentence about those."""
    good: list[Row] = []
    bad: dict[str, list[Row]] = defaultdict(list)
    seen: set[str] = set()
    for row in _rows(table, columns):
        problem = _problem(row, columns, labels, seen)
        if problem is None:
            good.append(row)
            seen.add(row.id)
        else:
            bad[problem].append(row)
    if not bad:
        return good, None
    found = _counted(bad, labels)
    if not skip_bad_rows or not good:
        them = "it" if sum(map(len, bad.values())) == 1 else "them"
        advice = f"Correct {them}, or leave {them} out with --skip-bad-rows." if good else "No row is left."
        classes = _classes(labels) if labels and any(kind.startswith(NOT_A_CLASS) for kind in bad) else ""
        raise InputError(f"{table.name}: {found}. {advice}{classes}")
    return good, f"Left out: {found}."


def _problem(row: Row, columns: Columns, labels: Labels | None, seen: set[str]) -> str | None:
    wrong_text = _text_problem(row.text, columns.text)
    if wrong_text is None and columns.pair is not None:
        wrong_text = _text_problem(row.pair, columns.pair)
    if wrong_text is not None:
        return wrong_text
    if row.label is None:
        return f"no label (column {columns.label!r})"
    if _SURROGATE.search(row.label):
        return _half_a_character(columns.label)
    if _SURROGATE.search(row.id):
        return _half_a_character("id")
    if labels is not None and class_of(row.label, labels) is None:
        return f"{NOT_A_CLASS} (column {columns.label!r})"
    if row.split == "?":
        return f"a split that is not train, dev or test (column {columns.split!r})"
    return "an id that an earlier row has" if row.id in seen else None


def _text_problem(text: object, column: str | None) -> str | None:
    if text is None or (isinstance(text, str) and not text.strip()):
        return f"no text (column {column!r})"
    if not isinstance(text, str):
        return f"something else than text (column {column!r})"
    if _SURROGATE.search(text):
        return _half_a_character(column)
    return None


def _half_a_character(column: str | None) -> str:
    return f"half a character, a lone surrogate (column {column!r})"


def _counted(bad: Mapping[str, Sequence[Row]], labels: Labels | None) -> str:
    total = sum(len(rows) for rows in bad.values())
    kinds = [
        f"{len(rows)} with {kind} ({places([row.number for row in rows])}"
        f"{_first_label(rows, labels or {}) if kind.startswith(NOT_A_CLASS) else ''})"
        for kind, rows in bad.items()
    ]
    return f"{total} {'row' if total == 1 else 'rows'} cannot be used: {'; '.join(kinds)}"


def _classes(labels: Labels) -> str:
    """A sentence. Of a model's class the number may stand in a file, too."""
    known = [value for value, name in labels.items() if value == name or name not in labels]
    more = f" and {len(known) - CLASSES_NAMED:,} more" if len(known) > CLASSES_NAMED else ""
    numbers = ", or their numbers from 0" if len(known) < len(labels) else ""
    named = f" Classes are: {', '.join(known[:CLASSES_NAMED])}{more}{numbers}."
    return f"{named} Rename labels with --labels, each as YOURS={labels[known[0]]}."


def _first_label(rows: Sequence[Row], labels: Labels) -> str:
    found = [str(row.label) for row in rows]
    first = found[0] if len(found[0]) <= LABEL_SHOWN else found[0][:LABEL_SHOWN] + "…"
    near = {label.casefold() for label in labels} & {label.casefold() for label in found}
    hint = "; upper and lower case count" if near else ""
    if "0" in labels and str(len(set(labels.values()))) in found:
        hint = "; numbers of classes count from 0"
    return f": {'first ' if len(rows) > 1 else ''}{first!r}{hint}"


def places(numbers: Sequence[int | str]) -> str:
    first = ", ".join(str(n) for n in numbers[:ROWS_NAMED])
    return f"row{'s' if len(numbers) > 1 else ''} {first}{', ...' if len(numbers) > ROWS_NAMED else ''}"


# Labels and splits.


def _class_names(table: Table, rows: Sequence[Row], columns: Columns, labels: Labels | None) -> tuple[str, ...]:
    values = {str(row.label) for row in rows}
    if len(values) == 1:
        raise InputError(
            f"{table.name}: every row has the same label, {values.pop()!r} (column {columns.label!r}). "
            "Two classes or more are needed; is it the right column?"
        )
    if len(rows) >= 20 and len(values) * 2 > len(rows):
        raise InputError(
            f"{table.name}: column {columns.label!r} has {len(values)} different values in {len(rows)} rows, "
            "so it is not a class. Name the right column with --label."
        )
    return tuple(dict.fromkeys(labels.values())) if labels is not None else sorted_labels(values)


def sorted_labels(values: set[str]) -> tuple[str, ...]:
    """By number if all are whole numbers, else by letters.

    >>> sorted_labels({"10", "9"}), sorted_labels({"pos", "neg"})
    (('9', '10'), ('neg', 'pos'))
    """
    if all(re.fullmatch(r"[+-]?[0-9]+", value) for value in values):
        return tuple(sorted(values, key=lambda value: (int(value), value)))
    return tuple(sorted(values))


def _examples(rows: Sequence[Row], names: tuple[str, ...], labels: Labels | None) -> list[tuple[Example, str | None]]:
    number_of = {name: i for i, name in enumerate(names)}
    return [
        (
            Example(
                row.id,
                str(row.text),
                number_of[str(row.label if labels is None else class_of(str(row.label), labels))],
                None if row.pair is None else str(row.pair),
            ),
            row.split,
        )
        for row in rows
    ]


def _usable_split(table: Table, found: Columns, given: Columns) -> tuple[Columns, str | None]:
    """A column that is only called like a split, and holds something else, is not one."""
    if found.split is None or any(split_name(value) for value in table.values[found.split]):
        return found, None
    values = sorted({str(value) for value in table.values[found.split]})[:5]
    if given.split is not None:
        raise InputError(
            f"{table.name}: column {found.split!r} (--split) has no train, dev or test in it, but {', '.join(values)}."
        )
    return replace(found, split=None), f"Column {found.split!r} holds no train, dev or test and was not used as split."


def _all_train(examples: Sequence[tuple[Example, str | None]]) -> bool:
    return all(split == TRAIN for _, split in examples)


def arrange(examples: Sequence[tuple[Example, str | None]], seed: int) -> tuple[Parts, list[str]]:
    """Splits as the data has them, and what is missing cut from what is there."""
    parts: Parts = {name: [e for e, split in examples if split == name] for name in (TRAIN, DEV, TEST)}
    notes = []
    if not any(parts.values()) or not (parts[DEV] or parts[TEST]):
        parts = three_way([e for e, _ in examples], seed)
        enough = f"Split by us into train, dev and test (80/10/10, stratified, seed {seed})."
        few = f"{len(examples)} rows are too few to cut train and dev from: all can be tested, none trained on."
        return parts, [enough if parts[TRAIN] else few]
    why = "There is no dev split"
    if not parts[TEST]:
        parts[TEST], parts[DEV] = parts[DEV], []
        notes.append("There is no test split: the dev split is tested on.")
        why = "In the place of that dev split"
    if not parts[TRAIN]:
        notes.append("There is no train split: a model can be tested on this data, not trained.")
    elif not parts[DEV]:
        parts[TRAIN], parts[DEV] = cut(parts[TRAIN], TENTH, seed)
        notes.append(f"{why}: {len(parts[DEV])} rows were cut from train (stratified, seed {seed}).")
    return parts, notes
