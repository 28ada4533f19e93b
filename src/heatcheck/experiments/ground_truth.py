"""Does an explanation find the words that were planted? (the question that paper 3's mock data can answer)

People's rationales say what convinces people. In mock data (data/mock.py, after Amini & Kosseim 2022, section 4.1) we
wrote the words that decide the label ourselves, so a method that does not find them is wrong, if the model found them.

1. Lay the planted characters (Example.evidence) over the model's words.  2. precision_at_k: the share of planted words
   among the k with the highest scores, k the number of planted ones.  3. auprc: average precision of the whole
   ranking.  4. Chance: what a random order gives on average, exactly (reference "chance"). Words of equal score count
   as the mean over all their orders, in both measures (measure/marked.py).  5. Texts whose class the model got wrong
   stand apart (setting "model wrong"): there it did not use the planted words as it should have, so a faithful
   explanation need not find them. Only "model right" tells good methods from bad.

Signed scores count with their sign: the planted words speak for the text's class, which is the explained one where the
model is right; a method that gives them the opposite sign is as wrong as one that does not see them. Words strewn as
noise are not planted. Where the second text is only the query of attention to the first, methods that read attention
cannot find what was planted in the second; it counts all the same, and their note tells why they miss it. Texts in
which every word is planted (mock-4q) have no value: any order finds them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.marked import MarkedText, Spans, comparisons, marked_texts
from heatcheck.measure.marked import average_precision, precision_at_k
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.results import MODEL_RIGHT, MODEL_WRONG, PLANTED, Row

UNKNOWN = "it is not known which words decide this text"
NOTHING_PLANTED = "no planted word is among those that the model sees"
ALL_PLANTED = "every word was planted: any order finds them"
MEASURES = {"auprc": average_precision, "precision_at_k": precision_at_k}


@dataclass(frozen=True)
class GroundTruthConfig:
    methods: tuple[str, ...] = ()  # none: all that were explained
    batch_size: int = 64


def check_ground_truth(config: GroundTruthConfig, examples: Sequence[Example]) -> None:
    if all(e.evidence is None for e in examples):
        raise InputError(
            "ground_truth needs texts whose deciding words are known, and these are not. "
            "Use mock data, for example --data mock-5."
        )


def ground_truth(
    subject: Subject[Predictor],
    examples: Sequence[Example],
    config: GroundTruthConfig,
    *,
    generator: torch.Generator,
    explained: Explained,
) -> Iterator[Row]:
    names = explained.chosen(config.methods)
    planted = {e.id: e.evidence for e in examples if e.evidence is not None}
    for text in marked_texts(subject, examples, planted, explained, methods=names, batch_size=config.batch_size):
        setting = MODEL_RIGHT if text.right else MODEL_WRONG
        yield from comparisons(text, MEASURES, PLANTED, reason=_why_not(text, planted), setting=setting)


def _why_not(text: MarkedText, planted: Spans) -> str | None:
    if text.id not in planted:
        return UNKNOWN
    return NOTHING_PLANTED if not text.marked.any() else ALL_PLANTED if text.marked.all() else None
