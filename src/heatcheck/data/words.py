"""Texts to words with their place in the original text.

The papers tokenise with spaCy's English rules; our own splitter needs no extra package and is the
default for users' data.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from heatcheck.errors import InputError
from heatcheck.scripts import UNSPACED, ZERO_WIDTH_SPACE, clings

LONGEST_WORD = 1000  # characters; what is longer is noise (a base64 blob, a row of dashes) and is cut


class Word(NamedTuple):
    form: str  # as the vocabulary knows it
    start: int
    end: int


@dataclass(frozen=True)
class WordRules:
    """How a text becomes words: `tokenizer` is "unicode" (ours), "spacy", "spacy without punctuation" or
    "whitespace"."""

    tokenizer: str = "unicode"
    lowercase: bool = True
    digits_as: str | None = None  # every word with a digit becomes this, as paper 1 does with "qqq"

    def split(self, text: str) -> list[Word]:
        """
        >>> WordRules(digits_as="qqq").split("It's a 10/10")
        [Word(form="it's", start=0, end=4), Word(form='a', start=5, end=6), Word(form='qqq', start=7, end=12)]
        """
        return [Word(self._form(text[s:e]), s, e) for s, e in _spans(self.tokenizer, text)]

    def _form(self, word: str) -> str:
        word = word[:LONGEST_WORD]
        if self.tokenizer == "unicode" and not word.isascii():  # the papers' rules leave words as they are
            word = _WITHOUT_MEANING.sub("", word)
        if self.digits_as and any(c.isdigit() for c in word):
            return self.digits_as
        return word.lower() if self.lowercase else word


Spans = list[tuple[int, int]]
# Soft hyphens and marks of direction: nobody sees them, and a word with one is the same word. Joiners spell a word.
_WITHOUT_MEANING = re.compile("[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")

_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"  # of the same kind, and seen


@functools.cache
def _unicode() -> Callable[[str], Spans]:
    """A letter takes what clings to it along, accents, vowel signs, joiners; Python's \\w leaves them out. What has no
    shape is no word by itself."""
    clinging = "".join(re.escape(c) for c in map(chr, range(0x80, 0x1E900)) if clings(c, 0))
    shapeless = "".join(
        c for c in map(chr, range(0x80, 0x1E900)) if unicodedata.category(c) == "Cf" and c not in _SIGNS
    )
    letter = rf"(?:[^\W{UNSPACED}][{clinging}]*)"
    word = re.compile(
        rf"[{UNSPACED}][{clinging}]*"  # one letter of a script without spaces: else a text would be one token
        rf"|{letter}+(?:['’./,:-]{letter}+)*"  # it's, 10/10, e.g, well-made
        rf"|[^\w\s{shapeless}][^\w\s{ZERO_WIDTH_SPACE}]*"  # a run of punctuation or emoji
    )
    return lambda text: [m.span() for m in word.finditer(text)]


def _whitespace() -> Callable[[str], Spans]:
    return lambda text: [m.span() for m in re.finditer(r"\S+", text)]


@functools.cache
def _spacy() -> Callable[[str], Spans]:
    try:
        import spacy
    except ModuleNotFoundError as error:
        if error.name != "spacy":
            raise
        raise InputError(
            "This data set is split into words by spaCy, which is not installed. Run: pip install 'heatcheck[spacy]'"
        ) from error
    tokenizer = spacy.blank("en").tokenizer
    return lambda text: [(t.idx, t.idx + len(t)) for t in tokenizer(text) if not t.is_space]


# What Keras' tokenizer drops, and the line breaks of the reviews that paper 1 took from it.
_PUNCTUATION = re.compile(r'<br\s*/?>|[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]')


def without_punctuation(text: str) -> str:
    """As long as `text`, so that offsets stay true.

    >>> without_punctuation("Dull.<br />It isn't!")
    "Dull       It isn't "
    """
    return _PUNCTUATION.sub(lambda match: " " * len(match.group()), text)


def _spacy_without_punctuation() -> Callable[[str], Spans]:
    spans = _spacy()
    return lambda text: spans(without_punctuation(text))


@functools.lru_cache(maxsize=2048)
def _spans(tokenizer: str, text: str) -> Spans:
    """Remembered for a while: the experiments of a run read the same texts one after another."""
    return TOKENIZERS[tokenizer]()(text)


TOKENIZERS: dict[str, Callable[[], Callable[[str], Spans]]] = {
    "unicode": _unicode,
    "spacy": _spacy,
    "spacy without punctuation": _spacy_without_punctuation,
    "whitespace": _whitespace,
}
