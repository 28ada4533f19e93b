"""What the recipes share: finding files below the data folder, reading them, and the papers' length limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.readers import Table, read_table
from heatcheck.data.words import WordRules
from heatcheck.errors import InputError

SPACY = WordRules(tokenizer="spacy")
SPACY_QQQ = WordRules(tokenizer="spacy", digits_as="qqq")


def first_existing(data_dir: Path, candidates: Iterable[str]) -> Path | None:
    return next((data_dir / name for name in candidates if (data_dir / name).exists()), None)


def missing(recipe: str, data_dir: Path, advice: str) -> InputError:
    return InputError(f"{recipe}: its files are not in {data_dir}. {advice}")


def column(table: Table, name: str) -> list[str]:
    """One column as text; the recipe's file may be an unexpected version without it."""
    if name not in table.values:
        found = ", ".join(repr(n) for n in table.values)
        raise InputError(f"{table.name}: the recipe expects a column {name!r}. Columns found: {found}.")
    return [str(value) for value in table.values[name]]


def read_columns(path: Path, *names: str) -> list[tuple[str, ...]]:
    """The rows of a file, reduced to these columns."""
    table = read_table(path)
    return list(zip(*(column(table, name) for name in names), strict=True))


def class_number(path: Path, row: int, value: str, classes: Sequence[str]) -> int:
    if value not in classes:
        raise InputError(f"{path}, row {row}: label {value!r} is not one of {', '.join(classes)}.")
    return classes.index(value)


def within_length(examples: Sequence[Example], rules: WordRules, *, more_than: int, less_than: int) -> list[Example]:
    """The examples whose text has more words than the one and fewer than the other: both limits are strict."""
    return [e for e in examples if _is_within(e.text, rules, more_than, less_than)]


def _is_within(text: str, rules: WordRules, more_than: int, less_than: int) -> bool:
    # Every piece between spaces is a word or more, and no word is shorter than a letter: often that settles it.
    pieces, letters = len(text.split()), len(text)
    if pieces > more_than and letters < less_than:
        return True
    if letters <= more_than or pieces >= less_than:
        return False
    return more_than < len(rules.split(text)) < less_than


def left_out(before: int, after: int, why: str) -> str:
    return f"{before - after:,} of {before:,} texts were left out: {why}."
