"""One text with one method's scores, as viewers see it: plain values, no torch.

Scores belong to tokens. A reader sees words: the pieces of a word are one, and its score is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

FAINT = 0.05  # share of the largest score: less is not shown


@dataclass(frozen=True)
class Token:
    """`start` and `end` count characters of the segment's own text. A mark ([CLS]) has no `word` and no characters;
    `token` is its name then."""

    segment: int
    word: int | None
    start: int
    end: int
    token: str
    score: float


class Part(NamedTuple):
    """A stretch of a text; `share` of the largest score, -1 to 1, None between the words. `unread`: beyond what the
    model takes."""

    text: str
    share: float | None = None
    mark: bool = False
    unread: bool = False


@dataclass(frozen=True)
class Heatmap:
    """`probability` is the predicted class's, `target` the class whose probability is explained. `delta`: by how much
    the scores miss the sum that the method promises, as a share of it. `cut`: the model does not read all of it."""

    text: str
    pair: str | None
    model: str
    method: str
    predicted: str
    probability: float
    target: str
    target_probability: float
    signed: bool
    tokens: tuple[Token, ...]
    delta: float | None = None
    notes: tuple[str, ...] = ()
    cut: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @cached_property
    def words(self) -> tuple[Token, ...]:
        found: list[Token] = []
        for token in self.tokens:
            if found and _same_word(found[-1], token):
                found[-1] = _joined(found[-1], token, self.texts)
            else:
                found.append(token)
        return tuple(found)

    @cached_property
    def largest(self) -> float:
        return max((abs(word.score) for word in self.words), default=0.0)

    def parts(self, segment: int) -> Iterator[Part]:
        """One of the texts, whole and in its order; marks stand where the model reads them."""
        text, at = self.texts[segment], 0
        for word in self.words:
            share = word.score / self.largest if self.largest else 0.0
            if word.segment != segment:
                continue
            if word.word is None:
                yield Part(word.token, share, mark=True)
            elif word.start < word.end:
                yield Part(text[at : word.start])
                yield Part(text[word.start : word.end], share)
                at = word.end
        yield Part(text[at:], unread=self.cut and not text[at:].isspace())

    @property
    def unread(self) -> int:
        """How many words, as spaces part them."""
        last = (list(self.parts(segment))[-1] for segment in range(len(self.texts)))
        return sum(len(part.text.split()) for part in last if part.unread)

    def strongest(self, most: int = 3) -> list[Token]:
        ordered = sorted(self.words, key=lambda word: -abs(word.score))
        return [word for word in ordered[:most] if word.score]


def _same_word(last: Token, token: Token) -> bool:
    return last.word is not None and (last.segment, last.word) == (token.segment, token.word)


def _joined(one: Token, other: Token, texts: tuple[str, ...]) -> Token:
    start, end = min(one.start, other.start), max(one.end, other.end)
    return replace(one, start=start, end=end, token=texts[one.segment][start:end], score=one.score + other.score)
