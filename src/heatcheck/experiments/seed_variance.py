"""How much does attention vary by seed alone? (Wiegreffe & Pinter 2019, section 3.3, Figure 3)

1. Train the model again with other seeds.  2. For each text the distance (JSD) between its attention and theirs.
3. That is what chance alone does: an adversary is impressive only if it goes farther. Paper 1's adversary is run
   beside, for the same axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from heatcheck.batch import Example
from heatcheck.experiments.rows import predicted_names
from heatcheck.experiments.trained.base import Base, check_moves, check_not_own, on_own_seed
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.jobs import Training, recipe_of, twin
from heatcheck.experiments.trained.models import Trained, distance, per_text, predictions, says
from heatcheck.experiments.trained.seeds import PAPER_2, around, check_seeds
from heatcheck.measure.distributions import LN2, tvd
from heatcheck.measure.resampling import means, over_models
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_SEEDS, Row, Score


@dataclass(frozen=True)
class SeedConfig:
    seeds: tuple[int, ...] = PAPER_2
    batch_size: int = 128

    def __post_init__(self) -> None:
        check_seeds(self.seeds, "seed_variance", at_least=2)


def check_seed_base(config: SeedConfig, base: Base) -> None:
    check_moves(base, "seed_variance")
    check_not_own(around(config.seeds, base.seed), base, "seed_variance")


def seed_notes(config: SeedConfig, base: Base) -> list[str]:
    return on_own_seed(config.seeds, base, "seed_variance")


def seed_models(subject: Subject[Any], config: SeedConfig, done: Mapping[str, Path]) -> Iterator[Training]:
    for seed in around(config.seeds, subject.seed):
        yield Training(f"seed {seed}", twin(subject), recipe_of(subject), seed)


def seed_variance(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: SeedConfig,
    *,
    generator: torch.Generator,
    trained: Trained,
) -> Iterator[Row]:
    for batch in subject.batches(examples, config.batch_size):
        probs, attention = says(subject, batch)
        groups = predicted_names(subject, probs)
        for seed in around(config.seeds, subject.seed):
            name = f"seed {seed}"
            theirs, weights = trained[name].says(batch)
            yield from predictions(name, theirs, batch)
            yield from per_text("seed_jsd", distance(attention, weights), batch, groups, reference=name)
            yield from per_text("seed_tvd", tvd(probs, theirs), batch, groups, reference=name)


def over_all_seeds(texts: Texts, config: SeedConfig) -> Iterator[Score]:
    yield from texts.f1_rows("seed_f1")
    for measure, most in (("seed_jsd", LN2), ("seed_tvd", 1.0)):
        by_model = means(texts.drawn, texts.values(measure, ["reference"]).values)
        mean = over_models(by_model, seed=texts.other_seed(measure), most=most)
        yield texts.score(measure, mean, "attention", ALL_SEEDS)
