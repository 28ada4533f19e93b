"""Scores of methods beside marked words: what plausibility and ground_truth share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from heatcheck.batch import Batch, Example, Span
from heatcheck.experiments.erasing.words import Words, word_scores
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.rows import predicted_names
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.results import CHANCE, RANDOM, Score

Spans = Mapping[str, Sequence[Span]]  # by example id
Measure = Callable[[Float[ndarray, "U"], Bool[ndarray, "U"]], float]


@dataclass(frozen=True)
class MarkedText:
    """The words of a text: which are marked, and what each method says of them."""

    id: str
    group: str  # the predicted class
    right: bool  # it is the text's own
    marked: Bool[ndarray, "U"]
    scores: Mapping[str, Float[ndarray, "U"]]


def marked_texts(
    subject: Subject[Predictor],
    examples: Sequence[Example],
    spans: Spans,
    explained: Explained,
    *,
    methods: Sequence[str],
    batch_size: int,
) -> Iterator[MarkedText]:
    """Words that were cut off with a long text's end are not among them."""
    for batch in subject.batches(examples, batch_size):
        with torch.no_grad():
            probs = subject.model.probs(subject.model.predict(batch))
        groups, right = predicted_names(subject, probs), (probs.argmax(-1) == batch.labels).tolist()
        words = Words.of(batch)
        marked = marked_words(batch, words, spans)
        scores = {name: word_scores(explained, batch, name, words) for name in methods}
        for row, text in enumerate(batch.example_ids):
            real = words.real[row]
            here = {name: values[row, real] for name, values in scores.items()}
            yield MarkedText(text, groups[row], right[row], marked[row, real], here)


def marked_words(batch: Batch, words: Words, spans: Spans) -> Bool[ndarray, "B U"]:
    """Which words share a character with a span of their text."""
    marked = np.zeros(words.real.shape, bool)
    offsets, segments = batch.offsets.cpu().numpy(), batch.segments.cpu().numpy()
    for row, name in enumerate(batch.example_ids):
        inside = words.place[row] >= 0
        for span in spans.get(name, ()):
            here = inside & (segments[row] == span.segment) & _overlap(offsets[row], span)
            marked[row, words.place[row, here]] = True
    return marked


def _overlap(offsets: ndarray, span: Span) -> Bool[ndarray, "T"]:
    return np.asarray(np.maximum(offsets[:, 0], span.start) < np.minimum(offsets[:, 1], span.end))


def comparisons(
    text: MarkedText,
    measures: Mapping[str, Measure],
    reference: str,
    *,
    reason: str | None,
    setting: str | None = None,
) -> Iterator[Score]:
    """Every method against the marks, then chance: what a random order gives on average, exactly. With a `reason` for
    it, none of them has a value."""
    equal = np.zeros(len(text.marked))
    rows = [(name, reference, scores) for name, scores in text.scores.items()] + [(RANDOM, CHANCE, equal)]
    for name, against, scores in rows:
        for measure, function in measures.items():
            value = None if reason else function(scores, text.marked)
            yield Score(measure, value, name, against, text.id, text.group, setting=setting, reason=reason)
