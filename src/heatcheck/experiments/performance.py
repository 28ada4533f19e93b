"""How well the model does on the texts under test: an explanation of a poor model explains little.

1. Predict every text.  2. F1, accuracy and ROC-AUC over all of them, with intervals (paper 1, table 1: F1 of the
   positive class for two classes, micro-F1, which is accuracy, for more).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.experiments.rows import attended_words, by_id, predicted_names
from heatcheck.models.protocols import AttentiveClassifier, Predictor, encoded_tokens, finite
from heatcheck.models.subject import Subject
from heatcheck.results import ExampleRow, Row
from heatcheck.verdict.findings import FEWEST


@dataclass(frozen=True)
class PerformanceConfig:
    batch_size: int = 128


def performance(
    subject: Subject[Predictor], examples: Sequence[Example], config: PerformanceConfig, *, generator: torch.Generator
) -> Iterator[Row]:
    lookup = by_id(examples)
    for batch in subject.batches(examples, config.batch_size):
        logits, attention = logits_and_attention(subject.model, batch)
        probs = finite(subject.model.probs(logits), batch)
        columns = (
            batch.example_ids,
            predicted_names(subject, probs),
            probs.amax(-1).tolist(),
            log_odds(subject.model, logits),
            (batch.words if attention is None else attended_words(attention, batch)).sum(1).tolist(),
            [None] * len(batch) if attention is None else attention.amax((1, 2)).tolist(),
        )
        for name, *rest in zip(*columns, strict=True):
            example = lookup[name]
            yield ExampleRow(name, example.text, example.pair, subject.labels[example.label], *rest)


def one_class_for_all(examples: pd.DataFrame) -> str | None:
    """A note, if the model makes no difference between texts of several classes."""
    if len(examples) < FEWEST or examples["label"].nunique() < 2 or examples["predicted"].nunique() != 1:
        return None
    return (
        f"The model gives the class {examples['predicted'].iloc[0]!r} to all {len(examples):,} texts, and they are of "
        f"{examples['label'].nunique()} classes: a heatmap of an answer that is always the same explains little."
    )


@torch.no_grad()
def logits_and_attention(model: Predictor, batch: Batch) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B K T"] | None]:
    if not isinstance(model, AttentiveClassifier):
        return model.predict(batch), None
    encoded = encoded_tokens(model, batch)
    attention = model.attend(encoded, batch)
    return model.classify(encoded, attention, batch), attention


def log_odds(model: Predictor, logits: Float[Tensor, "B C"]) -> list[float] | list[None]:
    """Of the second of two classes."""
    if model.kind == "binary":
        return logits[:, 0].tolist()
    return (logits[:, 1] - logits[:, 0]).tolist() if logits.shape[1] == 2 else [None] * len(logits)
