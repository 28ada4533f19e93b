"""Does an explanation mark the words that people marked? (DeYoung et al. 2020, section 4.1)

1. Lay the human rationale, characters of the text (data/rationales.py), over the model's words: a word that shares a
   character with it belongs to it.  2. token_f1: the words with the highest scores, as many as people marked, against
   theirs; with equal numbers on both sides precision, recall and F1 are one number. Words of equal score at the cut
   count in equal part.  3. auprc: average precision of the scores, scikit-learn's.  4. Chance: what a random order
   gives on average, exactly, for this many words and marks (reference "chance").
A high value says that an explanation looks right to people, not that it is faithful to the model.
Deviations: the paper's AUPRC is the area under the curve by trapezoids, which is too high for few words; average
precision is not. Its token F1 takes rationales that a model marked itself; scores have none, so the number of marked
words is given. Signed scores count with their sign, as evidence for the predicted class, for which people may not have
looked where the model is wrong. Words that were cut off with a long text's end do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy import stats
from sklearn.metrics import average_precision_score

from heatcheck.batch import Batch, Example
from heatcheck.data.rationales import KINDS, Rationales, Span, check_rationales, read_rationales
from heatcheck.errors import InputError
from heatcheck.experiments.erasing.words import Words, chosen_methods, word_scores
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.rows import predicted_names
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

PEOPLE, CHANCE, RANDOM = "people", "chance", "random"
NO_RATIONALE = "no rationale for this text"
NOTHING_MARKED = "people marked no word that the model sees"
ALL_MARKED = "people marked every word"


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
    check_rationales(Path(config.rationales), config.format, examples)


def rationale_files(config: PlausibilityConfig) -> tuple[Path, ...]:
    path = Path(config.rationales)
    return (path,) if path.is_file() else tuple(sorted(p for p in path.glob("*") if p.is_file()))


def plausibility(
    subject: Subject[Predictor],
    examples: Sequence[Example],
    config: PlausibilityConfig,
    *,
    generator: torch.Generator,
    explained: Explained,
) -> Iterator[Row]:
    names = chosen_methods(config.methods, sorted(explained.found))
    rationales = read_rationales(Path(config.rationales), config.format, examples)
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            groups = predicted_names(subject, subject.model.probs(subject.model.predict(batch)))
        words = Words.of(batch)
        marked = marked_words(batch, words, rationales)
        scores = {name: word_scores(explained, batch, name, words) for name in names}
        for row, (text, group) in enumerate(zip(batch.example_ids, groups, strict=True)):
            real = words.real[row]
            reason = _why_not(text, marked[row, real], rationales)
            for name in names:
                yield from _scores(name, scores[name][row, real], marked[row, real], text, group, reason)
            yield from _chance(marked[row, real], text, group, reason)


def marked_words(batch: Batch, words: Words, rationales: Rationales) -> Bool[ndarray, "B U"]:
    """Which words share a character with their text's rationale."""
    marked = np.zeros(words.real.shape, bool)
    offsets, segments = batch.offsets.cpu().numpy(), batch.segments.cpu().numpy()
    for row, name in enumerate(batch.example_ids):
        inside = words.place[row] >= 0
        for span in rationales.get(name, ()):
            here = inside & (segments[row] == span.segment) & _overlap(offsets[row], span)
            marked[row, words.place[row, here]] = True
    return marked


def _overlap(offsets: ndarray, span: Span) -> Bool[ndarray, "T"]:
    return np.asarray(np.maximum(offsets[:, 0], span.start) < np.minimum(offsets[:, 1], span.end))


def _why_not(text: str, marked: Bool[ndarray, "U"], rationales: Rationales) -> str | None:
    if text not in rationales:
        return NO_RATIONALE
    return NOTHING_MARKED if not marked.any() else ALL_MARKED if marked.all() else None


def _scores(
    name: str,
    scores: Float[ndarray, "U"],
    marked: Bool[ndarray, "U"],
    text: str,
    group: str,
    reason: str | None,
) -> Iterator[Score]:
    for measure, function in (("token_f1", token_f1), ("auprc", average_precision_score)):
        value = None
        if reason is None:
            value = token_f1(scores, marked) if function is token_f1 else float(function(marked, scores))
        yield Score(measure, value, name, PEOPLE, text, group, reason=reason)


def _chance(marked: Bool[ndarray, "U"], text: str, group: str, reason: str | None) -> Iterator[Score]:
    n, k = len(marked), int(marked.sum())
    for measure, level in (("token_f1", chance_f1), ("auprc", chance_precision)):
        yield Score(measure, None if reason else level(n, k), RANDOM, CHANCE, text, group, reason=reason)


def token_f1(scores: Float[ndarray, "U"], marked: Bool[ndarray, "U"]) -> float:
    """F1 of the top k words, k the number of marked ones; the mean over all ways to break ties at the cut.

    >>> token_f1(np.array([3.0, 2, 1, 0]), np.array([True, False, True, False]))
    0.5
    """
    k = int(marked.sum())
    above = stats.rankdata(-scores, "min") - 1
    tied = stats.rankdata(-scores, "max") - above
    inside = ((k - above) / tied).clip(0, 1)
    return float(inside[marked].sum() / k)


def chance_f1(n: int, k: int) -> float:
    """Of k words drawn from n, the share that is among k others."""
    return k / n


def chance_precision(n: int, k: int) -> float:
    """Expected average precision of a random order: a marked word at place i has on average (i−1)(k−1)/(n−1) before it.

    >>> chance_precision(2, 1)
    0.75
    """
    place = np.arange(1, n + 1)
    before = (place - 1) * (k - 1) / max(n - 1, 1)
    return float(((1 + before) / place).mean())
