"""Lists of words, one per class: what mock data is made of (data/mock.py).

`packaged_lexicon`: VADER's word list (Hutto & Gilbert 2014; the package vaderSentiment 3.3.2), in which ten people
    rated each word from −4 to 4; its mean rating here is its valence. Two classes: negative and positive words. More:
    all words in the order of their valence (equal ones by the alphabet), cut into as many bands of equal size, from
    the most negative to the most positive. Of two classes the strong words alone are those with a valence of ±1.9 or
    beyond, the weak those within ±1.2: in either polarity about the outer and the inner third. Slurs are left out.
`read_lexicon`: files of the user, one per class, in the order of the classes: of two the first is negative, the second
    positive. One word per line; lines that start with ";" are comments, as in Hu & Liu's lists. UTF-8 or Latin-1.

Words are in lower case. An entry that is not one word under `RULES` (emoticons, "fed up", "f**k") is left out, a word
in two lists dropped from both; notes say how many. More than 1% in two lists is an error: it is the wrong file.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heatcheck.data.installed import installed_file
from heatcheck.data.words import Word, WordRules
from heatcheck.errors import InputError

PACKAGE, FILE = "vaderSentiment", "vader_lexicon.txt"
RULES = WordRules()
POLARITIES: tuple[str, ...] = ("negative", "positive")
STRENGTHS = ("any", "strong", "weak")
STRONG, WEAK = 1.9, 1.2
MOST_IN_TWO = 0.01
# Slurs against groups of people in VADER's list, by the beginnings of their SHA-256: reports that show a text's words
# are passed on.
SLURS = frozenset({"120f6e5b", "158869a9", "1e02eec4", "341d5638", "8f5083e3", "9915ba2d", "bd331fb1"})
_LETTERS = re.compile(r"[^\W\d_]{2}")  # tells a word from an emoticon such as o_o


@dataclass(frozen=True)
class Lexicon:
    """`words[i]` are those of class `labels[i]`; no word is in two classes. `notes`: what was left out."""

    source: str
    labels: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def packaged_lexicon(classes: int = 2, strength: str = "any") -> Lexicon:
    """VADER's words in two polarities or more bands."""
    valence, note = _rated(_vader())
    if classes == 2:
        strong = [word for word, value in valence.items() if _has(strength, abs(value))]
        split = [[word for word in strong if sign * valence[word] > 0] for sign in (-1, 1)]
        labels = POLARITIES
    else:
        ordered = sorted(valence, key=lambda word: (valence[word], word))
        split = [list(part) for part in np.array_split(np.array(ordered, dtype=object), classes)]
        labels = tuple(f"band {i}" for i in range(1, classes + 1))
    source = f"VADER's {'' if strength == 'any' else f'{strength} '}words"
    return _checked(source, labels, split, note)


@functools.cache  # data is made often in one process, and the word rules take a moment for 7,500 entries
def _rated(path: Path) -> tuple[Mapping[str, float], list[str]]:
    """VADER's single words with their valence; and a note on the other entries."""
    valence: dict[str, float] = {}
    for word, value, *_ in (line.split("\t") for line in _lines(path)):
        valence.setdefault(word.lower(), float(value))  # of two spellings the first counts
    words, note = _single(valence)
    return {word: valence[word] for word in words if not is_slur(word)}, note


def is_slur(word: str) -> bool:
    return hashlib.sha256(word.encode()).hexdigest()[:8] in SLURS


def _has(strength: str, valence: float) -> bool:
    """
    >>> _has("weak", 0.4), _has("strong", 0.4)
    (True, False)
    """
    return {"any": True, "strong": valence >= STRONG, "weak": valence <= WEAK}[strength]


def read_lexicon(paths: Sequence[Path]) -> Lexicon:
    """The user's own lists, a file for each class."""
    if len(paths) < 2:
        raise InputError(
            f"{paths[0]}: one list of words is one class, and the other is missing. Give a file for each class, "
            "in their order: of two the negative words first, then the positive."
        )
    found = [_single([line.lower() for line in _lines(path) if not line.startswith(";")]) for path in paths]
    for path, (words, _) in zip(paths, found, strict=True):
        if not words:
            raise InputError(f"{path}: there is no word in it. Give a text file (UTF-8) with one word per line.")
    labels = POLARITIES if len(paths) == 2 else tuple(path.stem for path in paths)
    if len(set(labels)) < len(labels):
        raise InputError(f"Two of the lists of words are called {Counter(labels).most_common(1)[0][0]!r}. Rename one.")
    notes = [f"{path.name}: {note}" for path, (_, said) in zip(paths, found, strict=True) for note in said]
    return _checked(", ".join(path.name for path in paths), labels, [words for words, _ in found], notes)


def _checked(source: str, labels: Sequence[str], split: Sequence[Sequence[str]], notes: Sequence[str]) -> Lexicon:
    """Without the words that stand in two lists, if they are few."""
    counts = Counter(word for words in split for word in words)
    twice = sorted(word for word, n in counts.items() if n > 1)
    first = ", ".join(twice[:5]) + (", …" if len(twice) > 5 else "")
    if len(twice) > MOST_IN_TWO * len(counts):
        raise InputError(
            f"{source}: {len(twice):,} of {len(counts):,} words are in more than one list ({first}), where 1% may be. "
            "Give lists that tell the classes apart."
        )
    kept = tuple(tuple(word for word in words if counts[word] == 1) for words in split)
    for label, words in zip(labels, kept, strict=True):
        if not words:
            raise InputError(f"{source}: no word is left for the class {label!r}. Give more words, or fewer classes.")
    what = "1 word in more than one list was" if len(twice) == 1 else f"{len(twice)} words in more than one list were"
    dropped = [f"{what} dropped: {first}."] if twice else []
    return Lexicon(source, tuple(labels), kept, (*notes, *dropped))


def _single(entries: Iterable[str]) -> tuple[list[str], list[str]]:
    """The entries that the word rules take for one word, each once; and a note on the others."""
    distinct = list(dict.fromkeys(entries))
    single = [is_one_word(entry) for entry in distinct]
    words, others = ([e for e, one in zip(distinct, single, strict=True) if one == wanted] for wanted in (True, False))
    said = f"{len(others):,} of {len(distinct):,} entries were left out, since they are not one word each"
    return words, [f"{said} (first: {', '.join(others[:3])})."] if others else []


def is_one_word(entry: str) -> bool:
    """
    >>> is_one_word("short-sighted"), is_one_word("fed up"), is_one_word("o_o")
    (True, False, False)
    """
    return RULES.split(entry) == [Word(entry, 0, len(entry))] and _LETTERS.search(entry) is not None


def _lines(path: Path) -> list[str]:
    """Lines that are not blank. Every file is Latin-1; one that is UTF-8 is hardly ever meant as Latin-1."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of words. Check the path.")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return [line.strip() for line in text.split("\n") if line.strip()]


def _vader() -> Path:
    what = "VADER's list of words is"
    return installed_file(PACKAGE, FILE, what=what, otherwise="give your own lists with --words")
