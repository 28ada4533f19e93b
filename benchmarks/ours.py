"""heatcheck's side of each comparison: to a value per text, or per word of a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.company import BATTERY
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.adversary.exact import exact_adversary
from heatcheck.experiments.permutation import change_when_shuffled, medians
from heatcheck.explain.types import Explainer, predicted_probability
from heatcheck.models.attentive import SingleText
from heatcheck.models.fit import Recipe, fit
from heatcheck.models.subject import Subject
from heatcheck.models.training import classification_loss
from heatcheck.randomness import text_seeds
from heatcheck.results import Score

Values = dict[str, float]  # by text
Scores = dict[str, np.ndarray]  # by text: the scores of its words


@dataclass(frozen=True)
class Encoded:
    """A batch behind the encoder, where paper 1's section 4.2 starts."""

    batch: Batch
    hidden: Tensor
    attention: Tensor


@torch.no_grad()
def encoded(model: SingleText, batches: Sequence[Batch]) -> list[Encoded]:
    hidden = [model.read(batch) for batch in batches]
    return [Encoded(b, h, model.attend(h, b)) for b, h in zip(batches, hidden, strict=True)]


def adversary(model: SingleText, texts: Sequence[Encoded], epsilon: float) -> Values:
    return _per_text(texts, lambda text: _exact(model, text, epsilon))


@torch.no_grad()
def _exact(model: SingleText, text: Encoded, epsilon: float) -> Tensor:
    token_logits = model.token_logits(text.hidden)[..., 0]
    return exact_adversary(text.attention[:, 0], token_logits, text.batch.attended, epsilon).jsd


def permutation(model: SingleText, texts: Sequence[Encoded], permutations: int, seed: int) -> Values:
    generator = torch.Generator().manual_seed(seed)
    return _per_text(texts, lambda text: _shuffled(model, text, permutations, generator))


def _shuffled(model: SingleText, text: Encoded, permutations: int, generator: torch.Generator) -> np.ndarray:
    seeds = text_seeds(generator, text.batch.example_ids)
    change = change_when_shuffled(model, text.hidden, text.attention, text.batch, permutations, seeds)[1]
    return medians(change)


def explanations(model: SingleText, batches: Sequence[Batch], explainer: Explainer) -> Scores:
    found: Scores = {}
    for batch in batches:
        scores = explainer(model, batch, predicted_probability).scores
        rows = zip(batch.example_ids, scores.double(), batch.attended, strict=True)
        found |= {name: row[words].numpy() for name, row, words in rows}
    return found


def train_epoch(model: SingleText, batches: Sequence[Batch], examples: Sequence[Example]) -> list[float]:
    """The loss of each batch, before its step."""
    loss = classification_loss(model, examples)
    losses: list[Tensor] = []

    def recorded(batch: Batch) -> Tensor:
        value = loss(batch)
        losses.append(value.detach())
        return value

    generator = torch.Generator().manual_seed(0)
    fit(model, recorded, lambda _: batches, select=lambda: 0.0, recipe=Recipe(epochs=1), generator=generator)
    return [float(value) for value in losses]


def battery(subject: Subject, examples: Sequence[Example]) -> dict[str, Values]:
    """The experiments themselves, from texts to the rows of the result tables; what the peer has too is picked out."""
    found: dict[str, Values] = {}
    for name in BATTERY:
        experiment = EXPERIMENTS[name]
        generator = torch.Generator().manual_seed(0)
        for row in experiment.measure(subject, examples, experiment.config(), generator=generator):
            if isinstance(row, Score) and row.statistic == "value" and row.setting != "top_k":
                value = float("nan") if row.value is None else row.value
                found.setdefault(row.measure, {})[str(row.example_id)] = value
    return found


def _per_text(texts: Sequence[Encoded], measure: Callable[[Encoded], Tensor | np.ndarray]) -> Values:
    rows = ((text.batch.example_ids, measure(text).tolist()) for text in texts)
    return {name: value for names, values in rows for name, value in zip(names, values, strict=True)}
