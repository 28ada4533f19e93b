"""How well the model does on the texts under test: an explanation of a poor model explains little.

1. Predict every text.  2. F1, accuracy and ROC-AUC over all of them, with intervals (paper 1, table 1: F1 of the
   positive class for two classes, micro-F1, which is accuracy, for more).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from heatcheck.batch import Example
from heatcheck.experiments.rows import by_id, predicted_names
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.models.subject import Subject
from heatcheck.results import ExampleRow, Row


@dataclass(frozen=True)
class PerformanceConfig:
    batch_size: int = 128


def performance(
    subject: Subject[AttentiveClassifier],
    examples: Sequence[Example],
    config: PerformanceConfig,
    *,
    generator: torch.Generator,
) -> Iterator[Row]:
    lookup = by_id(examples)
    model: AttentiveClassifier = subject.model
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            encoded = model.encode(model.embed(batch), batch)
            attention = model.attend(encoded, batch)
            logits = model.classify(encoded, attention, batch)
            probs = model.probs(logits)
        columns = (
            batch.example_ids,
            predicted_names(subject, probs),
            probs.amax(-1).tolist(),
            logits[:, 0].tolist() if model.kind == "binary" else [None] * len(batch),
            batch.attended.sum(1).tolist(),
            attention.amax((1, 2)).tolist(),
        )
        for name, *rest in zip(*columns, strict=True):
            example = lookup[name]
            yield ExampleRow(name, example.text, example.pair, subject.labels[example.label], *rest)
