"""Which column of a table is the text, the second text, the label and the split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from heatcheck.data.dataset import DEV, TEST, TRAIN
from heatcheck.errors import InputError


@dataclass(frozen=True)
class Columns:
    """Names of columns; None = guess it if it is obvious."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    split: str | None = None


# Tried in this order, without regard to case. Text comes first, so that a lone "question" is a text and not a pair.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "text": (
        *("text", "sentence", "review", "premise", "sentence1", "s1", "question1", "paragraph", "passage", "context"),
        *("document", "content", "body", "tweet", "comment", "message", "question", "query"),
    ),
    "label": ("label", "labels", "class", "category", "sentiment", "target", "gold_label", "polarity", "answer", "y"),
    "pair": ("pair", "hypothesis", "sentence2", "s2", "question2", "question", "query"),
    "split": ("split", "exp_split", "set", "partition", "fold"),
}
REQUIRED = ("text", "label")
NO_COLUMN = "none"  # what --pair or --split says where a column only looks like one

SPLIT_NAMES: dict[str, str] = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("dev", "development", "validation", "valid", "val"), DEV),
    **dict.fromkeys(("test", "testing"), TEST),
}


def split_name(value: object) -> str | None:
    """
    >>> split_name(" Validation"), split_name("unsupervised")
    ('dev', None)
    """
    return SPLIT_NAMES.get(str(value).strip().lower())


def find_columns(where: str, names: Iterable[str], given: Columns) -> tuple[Columns, str | None]:
    """All four roles settled, and a sentence about what was guessed (None if nothing was, or only exact names)."""
    names = list(names)
    found: dict[str, str | None] = {}
    for role, usual in USUAL_NAMES.items():
        asked = getattr(given, role)
        if asked == NO_COLUMN and role not in REQUIRED and asked not in names:
            found[role] = None
            continue
        if asked is not None and asked not in names:
            raise InputError(f"{where}: there is no column {asked!r} (--{role}). Columns found: {_listed(names)}.")
        free = [name for name in names if name not in found.values()]
        found[role] = asked if asked is not None else _first_usual(free, usual)
    for role in REQUIRED:
        if found[role] is None:
            raise InputError(
                f"{where}: it is not obvious which column is the {role}. Name it with --{role}. "
                f"Columns found: {_listed(names)}."
            )
    return Columns(**found), " ".join(filter(None, [_guesses(found, given), _unused(names, found)])) or None


def _unused(names: Iterable[str], found: Mapping[str, str | None]) -> str | None:
    left = [name for name in names if name not in found.values() and name != "id"]
    return f"Columns that were not used: {_listed(left)}." if left else None


def _first_usual(names: Iterable[str], usual: tuple[str, ...]) -> str | None:
    by_lower = {name.strip().lower(): name for name in names}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def _guesses(found: Mapping[str, str | None], given: Columns) -> str | None:
    guessed = [
        f"{role} from {name!r}"
        for role, name in found.items()
        if name is not None and getattr(given, role) is None and name != role
    ]
    return f"Columns guessed by their names: {', '.join(guessed)}." if guessed else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
