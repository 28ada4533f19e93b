"""Mock data: texts made so that the words which decide their label are known (Amini & Kosseim 2022, sections 4.1, 7).

As published: texts of 50 to 100 words (uniformly), half of them positive, 8,000 to train and 1,000 to test. Mock-1, 2,
5 and 10 have so many informative words each, drawn evenly and with repetition from the list of the label's class, at
random places; in Mock-1q, 2q, 3q and 4q they are 25, 50, 75 and 100% of the text (the nearest whole number). The rest
is the word "something". Words: VADER's by default (data/lexicon.py), or lists of the user; the paper's are Hu & Liu's.
Deviation: the paper chooses its models on the test texts; 1,000 dev texts of ours are there for that.

What was planted stands in `Example.evidence`. Further settings, such as `mock-5(place="start", noise=1)`:
place     where the informative words stand: "scattered" (random places), or next to each other at the "start", in the
          "middle" or at the "end".
strength  "strong" or "weak" words of VADER only.
filler    size of the vocabulary of the rest, drawn evenly: "something", everyday words, made words (data/fillers.py).
classes   more than two: bands of VADER's valence, or one list of words for each. (Lists alone set it, too.)
noise     for each planted word, so many words of every other class (rounded down in sum), strewn at random over the
          places that are not planted. With noise=1 all classes have equally many words in every text: who counts words
          knows nothing, and the label is to be had from the place alone. So at scattered places noise is below 1; the
          class with the most words is then the label.
pair      True: two texts, each made as above with a class of its own; the label is whether the classes are the same.
          Neither text alone tells anything, and evidence stands in both; attention to both is that of
          `--pairing comparison`.
shortest, longest, train, dev, test   words of a text, and numbers of texts.

Labels take turns, so that every part of the data is balanced to within a text. Texts depend on the seed and their split
only, not on how many there are; equal texts may occur in two splits. The random numbers are those of numpy's
RandomState, which never change with its version.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from numpy.random import RandomState

from heatcheck.batch import PAIR, TEXT, Example, Span
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.fillers import fillers
from heatcheck.data.lexicon import RULES, STRENGTHS, Lexicon, packaged_lexicon, read_lexicon
from heatcheck.errors import InputError
from heatcheck.named import check_settings, name_and_settings

SCATTERED = "scattered"
PLACES = (SCATTERED, "start", "middle", "end")
FILLER = -1  # beside the classes 0, 1, …
SAME = ("different", "same")
MOST_FILLERS = 100_000
LONGEST = 1000  # words: as far as our models read
INFORMATIVE: dict[str, int | float] = {  # words of a text, or their share of it
    **{f"mock-{n}": n for n in (1, 2, 5, 10)},
    **{f"mock-{n}q": n / 4 for n in (1, 2, 3, 4)},
}


@dataclass(frozen=True)
class Mock:
    """What the texts are like. `informative`: how many words of each, or, as a fraction, which share."""

    informative: int | float
    place: str = SCATTERED
    strength: str = "any"
    filler: int = 1
    classes: int = 2
    noise: float = 0.0
    pair: bool = False
    shortest: int = 50
    longest: int = 100
    train: int = 8000
    dev: int = 1000
    test: int = 1000

    def planted(self, length: int) -> int:
        if isinstance(self.informative, int):
            return self.informative
        return math.floor(self.informative * length + 0.5)

    def strewn(self, length: int) -> int:
        """Words of each other class."""
        return math.floor(self.noise * self.planted(length) + 1e-9)


SETTINGS = {  # for lists: every field of Mock but how many words decide
    "place": "where the deciding words stand: scattered (default), start, middle or end",
    "strength": "words of VADER's list: any (default), strong or weak",
    "filler": f"how many different words the rest is drawn from: 1 (default) to {MOST_FILLERS:,}",
    "classes": "bands of VADER's valence, or one list of --words for each: 2 by default",
    "noise": "for each deciding word so many of every other class: 0 by default, below 1 where place is scattered",
    "pair": "True: two texts, and the label says whether they are of one class",
    "shortest, longest": "words of a text: 50 and 100 by default",
    "train, dev, test": "numbers of texts: 8000, 1000 and 1000 by default",
}


def about(name: str) -> str:
    """For lists of data.

    >>> about("mock-3q")
    'paper 3: made texts of 50 to 100 words, deciding words: 75%'
    """
    return f"paper 3: made texts of 50 to 100 words, deciding words: {said(INFORMATIVE[name])}"


def said(informative: int | float) -> str:
    return str(informative) if isinstance(informative, int) else f"{informative:.0%}"


def is_mock(source: str) -> bool:
    """
    >>> is_mock("mock-5(place='end')"), is_mock("mock-3")
    (True, False)
    """
    return source.partition("(")[0].strip() in INFORMATIVE


def load_mock(source: str, *, words: Sequence[Path] = (), seed: int = 0) -> Dataset:
    """`source`: a name, or a name with settings; `words`: a file for each class, instead of VADER's words."""
    mock, lexicon = understood(source, words)
    maker = Maker(mock, _arrays(lexicon.words), np.array(fillers(mock.filler, set(chain(*lexicon.words))), object))
    splits = {name: list(_examples(maker, name, size, seed)) for name, size in _sizes(mock).items()}
    task, labels = ("pair", SAME) if mock.pair else ("single", lexicon.labels)
    return Dataset(source, task, labels, splits, rules=RULES, notes=(_note(mock, lexicon, seed), *lexicon.notes))


def understood(source: str, words: Sequence[Path] = ()) -> tuple[Mock, Lexicon]:
    """The settings and their words, checked."""
    what = f"Data {source!r}"
    name, changes = name_and_settings(source, what)
    mock = Mock(INFORMATIVE[name])
    known = asdict(mock)
    del known["informative"]
    check_settings(changes, known, what)
    if words:
        changes = {"classes": len(words)} | changes
    lexicon = read_lexicon(words) if words else None
    mock = replace(mock, **changes)
    for wrong, sentence in _problems(mock, len(words)):
        if wrong:
            raise InputError(f"{what}: {sentence}.")
    _check_room(mock, what)
    return mock, lexicon or packaged_lexicon(mock.classes, mock.strength)


def _problems(mock: Mock, lists: int) -> Iterator[tuple[bool, str]]:
    for name, value, known in (("place", mock.place, PLACES), ("strength", mock.strength, STRENGTHS)):
        yield value not in known, f"{name} is {value!r}, which is not one of {', '.join(known)}"
    for name in (*_sizes(mock), "shortest"):
        yield getattr(mock, name) < 1, f"{name} is {getattr(mock, name)}, where 1 is the least"
    lengths = f"longest is {mock.longest}, not between shortest, {mock.shortest}, and {LONGEST:,}"
    yield not mock.shortest <= mock.longest <= LONGEST, lengths
    yield not 1 <= mock.filler <= MOST_FILLERS, f"filler is {mock.filler}, not between 1 and {MOST_FILLERS:,}"
    yield mock.classes < 2, f"classes is {mock.classes}, where 2 is the least"
    yield lists > 1 and mock.classes != lists, f"classes is {mock.classes}, but {lists} lists of words are given"
    yield not 0 <= mock.noise < math.inf, f"noise is {mock.noise}, where 0 is the least"
    rated = mock.classes == 2 and not lists
    yield mock.strength != "any" and not rated, "strength is for two classes of VADER's words, which alone are rated"
    unclear = mock.noise >= 1 and mock.place == SCATTERED
    yield unclear, "noise of 1 or more at scattered places leaves the label unknown; choose another place, or less"


def _check_room(mock: Mock, what: str) -> None:
    """Every length must leave room for what is planted and strewn, and be long enough for there to be any."""
    for length in range(mock.shortest, mock.longest + 1):
        planted, strewn = mock.planted(length), mock.strewn(length) * (mock.classes - 1)
        if planted + strewn > length:
            more = f" and {strewn} strewn" if strewn else ""
            raise InputError(
                f"{what}: a text of {length} words has no room for {planted} informative{more} ones. "
                "Make texts longer with shortest, or choose data with fewer."
            )
        if not planted or (mock.noise and not strewn):
            missing = "informative" if not planted else "strewn"
            raise InputError(
                f"{what}: a text of {length} words with {planted} informative ones would have no {missing} word. "
                "Make texts longer with shortest, or choose data or noise with more."
            )


@dataclass(frozen=True)
class Maker:
    """Makes texts of a class."""

    mock: Mock
    words: Sequence[ndarray]  # of each class
    fillers: ndarray

    def text(self, label: int, segment: int, rng: RandomState) -> tuple[str, tuple[Span, ...]]:
        """A text, and the characters of its planted words."""
        length = rng.randint(self.mock.shortest, self.mock.longest + 1)
        planted = self._places(length, rng)
        tokens = self._tokens(self._classes(length, label, planted, rng), rng)
        ends = np.cumsum([len(token) + 1 for token in tokens]) - 1
        spans = (Span(segment, int(ends[i]) - len(tokens[i]), int(ends[i])) for i in planted)
        return " ".join(tokens), tuple(spans)

    def _places(self, length: int, rng: RandomState) -> Int[ndarray, "k"]:
        """Where the planted words stand, in the order of the text."""
        k = self.mock.planted(length)
        if self.mock.place == SCATTERED:
            return np.sort(rng.permutation(length)[:k])
        first = {"start": 0, "middle": (length - k) // 2, "end": length - k}[self.mock.place]
        return np.arange(first, first + k)

    def _classes(self, length: int, label: int, planted: Int[ndarray, "k"], rng: RandomState) -> Int[ndarray, "length"]:
        """Of which class the word at each place is: planted ones of the label, strewn ones of the others."""
        found = np.full(length, FILLER)
        found[planted] = label
        n, others = self.mock.strewn(length), [c for c in range(len(self.words)) if c != label]
        if n:
            free = rng.permutation(np.flatnonzero(found == FILLER))
            found[free[: n * len(others)]] = np.repeat(others, n)
        return found

    def _tokens(self, classes: Int[ndarray, "length"], rng: RandomState) -> ndarray:
        found = np.empty(len(classes), object)
        for kind, words in ((FILLER, self.fillers), *enumerate(self.words)):
            here = classes == kind
            found[here] = words[rng.randint(len(words), size=here.sum())]
        return found


def _examples(maker: Maker, split: str, size: int, seed: int) -> Iterator[Example]:
    digest = hashlib.sha256(f"{seed}/{split}".encode()).digest()
    rng = RandomState(np.frombuffer(digest, dtype="<u4"))
    classes = len(maker.words)
    for number in range(size):
        name = f"{split}/{number + 1}"
        if maker.mock.pair:
            yield _pair(maker, name, number % 2, number // 2 % classes, rng)
        else:
            text, planted = maker.text(number % classes, TEXT, rng)
            yield Example(name, text, number % classes, evidence=planted)


def _pair(maker: Maker, name: str, same: int, first: int, rng: RandomState) -> Example:
    classes = len(maker.words)
    second = first if same else (first + 1 + rng.randint(classes - 1)) % classes
    (text, here), (pair, there) = maker.text(first, TEXT, rng), maker.text(second, PAIR, rng)
    return Example(name, text, same, pair, evidence=here + there)


def _arrays(lists: Sequence[Sequence[str]]) -> list[ndarray]:
    return [np.array(words, object) for words in lists]


def _sizes(mock: Mock) -> dict[str, int]:
    return {TRAIN: mock.train, DEV: mock.dev, TEST: mock.test}


def _note(mock: Mock, lexicon: Lexicon, seed: int) -> str:
    counted = ", ".join(f"{len(words):,} {label}" for label, words in zip(lexicon.labels, lexicon.words, strict=True))
    return (
        f"Made by heatcheck (seed {seed}): in each text {said(mock.informative)} of {mock.shortest} to {mock.longest} "
        f"words were planted, from {lexicon.source} ({counted})."
    )
