"""Is attention needed at all? (Wiegreffe & Pinter 2019, section 3.2, Table 2)

1. Train the model again with other seeds, and with attention frozen to equal weights.  2. F1 of both kinds on the same
   texts.  3. The difference, with an interval over texts and seeds, against a margin: attention that adds less than the
   margin is not needed, and explains nothing.

Also kept: how far each uniform model is from the one under test (TVD, JSD), the square in the paper's Figure 5.
Deviation: the best epoch is chosen on dev; the authors' code chooses on test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.rows import predicted_names
from heatcheck.experiments.trained.base import Base, check_moves, check_not_own, on_own_seed
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.jobs import Training, recipe_of, twin
from heatcheck.experiments.trained.models import Trained, distance, per_text, predictions, says
from heatcheck.experiments.trained.seeds import PAPER_2, around, check_seeds
from heatcheck.measure.distributions import tvd
from heatcheck.measure.resampling import over_models
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_SEEDS, Row, Score

BASE = "base"


@dataclass(frozen=True)
class UniformConfig:
    seeds: tuple[int, ...] = PAPER_2[:3]
    margin: float = 0.01
    batch_size: int = 128

    def __post_init__(self) -> None:
        check_seeds(self.seeds, "uniform_attention", at_least=3)
        if not 0 <= self.margin < 1:
            raise InputError(
                f"uniform_attention: the margin {self.margin:g} is not between 0 and 1. 0.01 is one point."
            )


def check_uniform_base(config: UniformConfig, base: Base) -> None:
    check_moves(base, "uniform_attention")
    check_not_own(around(config.seeds, base.seed), base, "uniform_attention")


def uniform_notes(config: UniformConfig, base: Base) -> list[str]:
    return on_own_seed(config.seeds, base, "uniform_attention")


def uniform_models(subject: Subject[Any], config: UniformConfig, done: Mapping[str, Path]) -> Iterator[Training]:
    for seed in around(config.seeds, subject.seed):
        yield Training(f"seed {seed}", twin(subject), recipe_of(subject), seed)
        yield Training(f"uniform, seed {seed}", twin(subject, uniform=True), recipe_of(subject), seed)


def uniform_attention(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: UniformConfig,
    *,
    generator: torch.Generator,
    trained: Trained,
) -> Iterator[Row]:
    for batch in subject.batches(examples, config.batch_size):
        probs, attention = says(subject, batch)
        groups = predicted_names(subject, probs)
        yield from predictions(BASE, probs, batch)
        for seed in around(config.seeds, subject.seed):
            yield from predictions(f"seed {seed}", trained[f"seed {seed}"].says(batch)[0], batch)
            name = f"uniform, seed {seed}"
            theirs, weights = trained[name].says(batch)
            yield from predictions(name, theirs, batch)
            yield from per_text("uniform_tvd", tvd(probs, theirs), batch, groups, reference=name)
            yield from per_text("uniform_jsd", distance(attention, weights), batch, groups, reference=name)


def is_attention_needed(texts: Texts, config: UniformConfig) -> Iterator[Score]:
    yield from texts.f1_rows("uniform_f1")
    own = np.stack([f1 for (name, _), f1 in texts.f1.items() if not name.startswith("uniform")], axis=1)
    uniform = np.stack([f1 for (name, _), f1 in texts.f1.items() if name.startswith("uniform")], axis=1)
    with_attention = over_models(own, seed=texts.other_seed("own"))
    without = over_models(uniform, seed=texts.other_seed("uniform"))
    yield texts.score("uniform_f1", with_attention, "attention", ALL_SEEDS, setting=texts.averaging)
    yield texts.score("uniform_f1", without, "uniform", ALL_SEEDS, setting=texts.averaging)
    yield texts.score("uniform_f1_difference", with_attention - without, "attention", "uniform", at=config.margin)
    yield texts.balanced_accuracy("uniform_balanced_accuracy", [name for name, _ in texts.f1])
