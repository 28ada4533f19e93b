"""Do attention, gradients and leave-one-out rank the words alike? (Jain & Wallace 2019, section 4.1)

1. For each text: attention weights, gradients with attention held fixed, and the change in output when each word is
   deleted.  2. Kendall τ-b between each two of them over the words of the text, with its p-value.  3. The same for the
   top of the lists alone, as a distance, since many irrelevant words may drown τ in noise (appendix C).
Deviations: start and end marks take no part. The size of the top is a tenth of the text's own length and at least 10;
the authors' code takes a tenth of the data set's mean length. The paper's models attend to the first text of a pair;
of a model that compares two texts and attends to both, the words of both are ranked as one list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Example
from heatcheck.experiments.rows import (
    attended_words,
    by_id,
    predicted_names,
    to_numpy,
    token_scores,
    value_or_reason,
    why_undefined,
)
from heatcheck.explain.attention import over_heads
from heatcheck.explain.gradient import gradient_and_attention
from heatcheck.explain.removal import change_without_each
from heatcheck.explain.types import predicted_probability
from heatcheck.measure.ranks import kendall, top_k_distance
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

METHODS = ("attention", "gradient", "leave_one_out")
MEASURES = {
    ("attention", "gradient"): "tau_gradient",
    ("attention", "leave_one_out"): "tau_loo",
    ("gradient", "leave_one_out"): "tau_gradient_loo",
}


@dataclass(frozen=True)
class CorrelationConfig:
    top_share: float = 0.1
    top_least: int = 10
    batch_size: int = 64


def correlation(
    subject: Subject[AttentiveClassifier],
    examples: Sequence[Example],
    config: CorrelationConfig,
    *,
    generator: torch.Generator,
) -> Iterator[Row]:
    lookup = by_id(examples)
    for batch in subject.batches(examples, config.batch_size):
        slope, attention, logits = gradient_and_attention(subject.model, batch, predicted_probability)
        groups = predicted_names(subject, subject.model.probs(logits))
        words = attended_words(attention, batch)
        removal = change_without_each(subject.model, batch, words)
        weights = over_heads(attention, attention, batch)
        scores = dict(zip(METHODS, (weights, slope, removal), strict=True))
        yield from _agreement(batch.example_ids, words.cpu().numpy(), scores, groups, config)
        for name in METHODS:
            yield from token_scores(batch, scores[name], words, lookup, method=name, targets=groups)


def _agreement(
    texts: Sequence[str],
    words: Bool[ndarray, "B T"],
    found: Mapping[str, Float[Tensor, "B T"]],
    groups: Sequence[str],
    config: CorrelationConfig,
) -> Iterator[Score]:
    scores = {name: to_numpy(values) for name, values in found.items()}
    top = np.maximum(config.top_least, (config.top_share * words.sum(1)).astype(int))
    for first, second in combinations(METHODS, 2):
        tau, p_value = kendall(scores[first], scores[second], words)
        distance = top_k_distance(scores[first], scores[second], words, top)
        reasons = why_undefined({first: scores[first], second: scores[second]}, words)
        columns = (("kendall", "value", tau), ("kendall", "p_value", p_value), ("top_k", "value", distance))
        for setting, statistic, values in columns:
            for name, group, number, why in zip(texts, groups, values, reasons, strict=True):
                value, reason = value_or_reason(number, why)
                yield Score(
                    MEASURES[first, second], value, first, second, name, group, statistic, setting, reason=reason
                )
