"""Does an explanation mark the words that people marked? (DeYoung et al. 2020, section 4.1)

1. Lay the human rationale, characters of the text (data/rationales.py), over the model's words: a word that shares a
   character with it belongs to it.  2. token_f1: the words with the highest scores, as many as people marked, against
   theirs; with equal numbers on both sides precision, recall and F1 are one number.  3. auprc: average precision of
   the scores.  4. Chance: what a random order gives on average, exactly, for this many words and marks (reference
   "chance"). Words of equal score count as the mean over all their orders, in both measures (measure/marked.py).
A high value says that an explanation looks right to people, not that it is faithful to the model.
Deviations: the paper's AUPRC is the area under the curve by trapezoids, which is too high for few words; average
precision is not. Its token F1 takes rationales that a model marked itself; scores have none, so the number of marked
words is given. Signed scores count with their sign, as evidence for the predicted class, for which people may not have
looked where the model is wrong. Words that were cut off with a long text's end do not count.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from heatcheck.batch import Example
from heatcheck.data.rationales import KINDS, Rationales, check_rationales, read_rationales
from heatcheck.errors import InputError
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.marked import MarkedText, comparisons, marked_texts
from heatcheck.measure.marked import average_precision, precision_at_k
from heatcheck.models.checkpoint import fingerprint
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.results import PEOPLE, Row

NO_RATIONALE = "no rationale for this text"
NOTHING_MARKED = "people marked no word that the model sees"
ALL_MARKED = "people marked every word"
MEASURES = {"token_f1": precision_at_k, "auprc": average_precision}


@dataclass(frozen=True)
class PlausibilityConfig:
    rationales: str = ""  # the file; for SST's trees their folder too
    format: str = "eraser"
    methods: tuple[str, ...] = ()  # none: all that were explained
    batch_size: int = 64

    def __post_init__(self) -> None:
        if self.format not in KINDS:
            raise InputError(f"plausibility: format {self.format!r} is not one of {', '.join(KINDS)}.")


def check_plausibility(config: PlausibilityConfig, examples: Sequence[Example]) -> None:
    """Before hours of work: is there a file of rationales, and does it belong to these texts?"""
    if not config.rationales:
        raise InputError("plausibility needs the words that people marked. Name their file with --rationales.")
    _of_texts(config, examples)


def rationale_files(config: PlausibilityConfig) -> tuple[Path, ...]:
    path = Path(config.rationales)
    return (path,) if path.is_file() else tuple(sorted(p for p in path.glob("*") if p.is_file()))


def run_rationales(subject: Subject[Predictor], examples: Sequence[Example], config: PlausibilityConfig) -> Rationales:
    """Of all texts of a run."""
    return _of_texts(config, examples)


def _of_texts(config: PlausibilityConfig, examples: Sequence[Example]) -> Rationales:
    return _read_once(config.rationales, config.format, _fingerprints(config), tuple(examples))


@functools.lru_cache(maxsize=1)
def _read_once(path: str, kind: str, fingerprints: tuple[str, ...], examples: tuple[Example, ...]) -> Rationales:
    """A run asks twice, before its work and in it; a file that changed is read again."""
    return check_rationales(Path(path), kind, examples)


def _fingerprints(config: PlausibilityConfig) -> tuple[str, ...]:
    return tuple(map(fingerprint, rationale_files(config)))


def without_rationale(config: PlausibilityConfig, examples: Sequence[Example]) -> str | None:
    """A file that fits some of the texts may be of another split, or have other ids."""
    missing = len(examples) - len(_of_texts(config, examples))
    if not missing:
        return None
    have = "has" if missing == 1 else "have"
    return (
        f"{missing:,} of {len(examples):,} texts {have} no rationale in {config.rationales}, neither by id nor by "
        "text: plausibility is of the others."
    )


def plausibility(
    subject: Subject[Predictor],
    examples: Sequence[Example],
    config: PlausibilityConfig,
    *,
    generator: torch.Generator,
    explained: Explained,
    prepared: Rationales | None = None,
) -> Iterator[Row]:
    """`prepared` are the rationales of all texts of the run; read for these alone if there are none."""
    names = explained.chosen(config.methods)
    rationales = read_rationales(Path(config.rationales), config.format, examples) if prepared is None else prepared
    for text in marked_texts(subject, examples, rationales, explained, methods=names, batch_size=config.batch_size):
        yield from comparisons(text, MEASURES, PEOPLE, reason=_why_not(text, rationales))


def _why_not(text: MarkedText, rationales: Rationales) -> str | None:
    if text.id not in rationales:
        return NO_RATIONALE
    return NOTHING_MARKED if not text.marked.any() else ALL_MARKED if text.marked.all() else None
