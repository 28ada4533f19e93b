"""Do attention's weights help a model that sees no context? (Wiegreffe & Pinter 2019, section 3.4, Table 3)

1. A token-wise network (affine, tanh) is trained whose attention is imposed, text by text, in training and test.
2. Guides: `uniform` (equal weights), `mlp` (it learns its own), `base` (attention of the model under test), `adversary`
   (attention of a trained adversary, paper 2's λ = 0.001), and beyond the paper any explainer's scores of the model
   under test, as shares, or `file:weights.jsonl`.  3. F1: weights that say which words matter help a model that must
   read every word alone. An adversary whose weights are no help is no alternative explanation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck.batch import Batch, Example
from heatcheck.data.reading import Reader
from heatcheck.errors import InputError
from heatcheck.experiments.rows import predicted_names
from heatcheck.experiments.trained.base import Base, check_moves, on_one_seed
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.guides import guide_file, guide_weights, guided_logits, read_weights
from heatcheck.experiments.trained.jobs import Guide, Job, Training, recipe_of
from heatcheck.experiments.trained.models import Trained, Twin, distance, per_text, predictions, says
from heatcheck.experiments.trained.seeds import PAPER_2, check_seeds
from heatcheck.experiments.trained_adversary import AdversaryConfig, adversary, one_adversary
from heatcheck.explain import method
from heatcheck.measure.resampling import over_models
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_SEEDS, Row, Score

OWN = {"uniform": "uniform", "mlp": "softmax"}  # guides that need no weights from elsewhere: what the MLP does itself
ATTENTION = ("base", "adversary")  # guides that are somebody's attention
ADVERSARY = "adversary for guided_mlp"


@dataclass(frozen=True)
class GuidedConfig:
    guides: tuple[str, ...] = ("uniform", "mlp", "base", "adversary")
    seeds: tuple[int, ...] = PAPER_2[:3]
    adversary: AdversaryConfig = field(default_factory=lambda: one_adversary(0.001))
    one_seed: bool = False  # a single network for each guide is what is wanted
    hidden: int = 128
    batch_size: int = 128

    def __post_init__(self) -> None:
        check_seeds(self.seeds, "guided_mlp", at_least=2, one_seed=self.one_seed)
        if not self.guides:
            raise InputError("guided_mlp: no guide is named. Give --guides uniform,base for example.")
        if twice := [name for place, name in enumerate(self.guides) if name in self.guides[:place]]:
            raise InputError(f"guided_mlp: the guide {twice[0]} is named twice.")
        for name in self.guides:
            if name not in OWN and name not in ATTENTION and guide_file(name) is None:
                method(name)  # a misspelt one is found before the training


def check_guided_base(config: GuidedConfig, base: Base) -> None:
    """Only guides that are somebody's attention ask for one that can move."""
    if any(guide in config.guides for guide in ATTENTION):
        check_moves(base, "guided_mlp")


def guided_notes(config: GuidedConfig, base: Base) -> list[str]:
    alone = "guided_mlp: nothing to compare, so there is no verdict. Give --guides uniform and another one."
    compares = "uniform" in config.guides and len(config.guides) > 1
    return [*([] if compares else [alone]), *on_one_seed(config.seeds, "guided_mlp")]


def guide_files(config: GuidedConfig) -> tuple[Path, ...]:
    return tuple(path for path in map(guide_file, config.guides) if path is not None)


def check_guide_files(config: GuidedConfig, reader: Reader, examples: Sequence[Example]) -> None:
    for path in guide_files(config):
        read_weights(path, reader, examples)


def guided_models(subject: Subject[Any], config: GuidedConfig, done: Mapping[str, Path]) -> Iterator[Job]:
    if "adversary" in config.guides:
        weight, seed = config.adversary.lambdas[0], config.adversary.seeds[0]
        yield dataclasses.replace(adversary(subject, config.adversary, weight, seed), name=ADVERSARY)
    for name in config.guides:
        if name not in OWN:
            yield Guide(f"guide {name}", _method(name), _whose(name))
        for seed in config.seeds:
            yield _guided(subject, config, name, seed)


def _guided(subject: Subject[Any], config: GuidedConfig, guide: str, seed: int) -> Training:
    if not isinstance(subject.spec, ModelSpec):
        raise InputError(f"guided_mlp needs one of our own attention models, which {subject.name} is not.")
    spec = dataclasses.replace(
        subject.spec, encoder="mlp", attention="additive", hidden=config.hidden, weighting=OWN.get(guide, "softmax"),
        heads=1,
    )  # fmt: skip
    return Training(
        job_name(guide, seed), spec, recipe_of(subject), seed, guide=None if guide in OWN else f"guide {guide}"
    )


def _method(guide: str) -> str:
    return "attention" if guide in ATTENTION else guide


def _whose(guide: str) -> str | None:
    return ADVERSARY if guide == "adversary" else None


def job_name(guide: str, seed: int) -> str:
    return f"MLP guided by {guide}, seed {seed}"


def guided_mlp(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: GuidedConfig,
    *,
    generator: torch.Generator,
    trained: Trained,
) -> Iterator[Row]:
    if "adversary" in config.guides:
        yield from _how_far(subject, examples, config, trained[ADVERSARY])
    for guide in config.guides:
        whose = _whose(guide)
        source = subject if whose is None else trained[whose].subject
        weights = None if guide in OWN else guide_weights(source, examples, _method(guide), generator=generator)
        for batch in subject.batches(examples, config.batch_size):
            for seed in config.seeds:
                probs = _probs(trained[job_name(guide, seed)].subject, batch, weights)
                yield from predictions(f"{guide}, seed {seed}", probs, batch)


def _how_far(
    subject: Subject[Any], examples: Sequence[Example], config: GuidedConfig, adversary: Twin
) -> Iterator[Score]:
    """A guide that looks where the model under test looks is no other story."""
    for batch in subject.batches(examples, config.batch_size):
        probs, attention = says(subject, batch)
        far = distance(attention, adversary.says(batch)[1])
        groups = predicted_names(subject, probs)
        weight = config.adversary.lambdas[0]
        yield from per_text("guided_adversary_jsd", far, batch, groups, reference="adversary", at=weight)


@torch.no_grad()
def _probs(subject: Subject[Any], batch: Batch, weights: dict[str, torch.Tensor] | None) -> torch.Tensor:
    model = subject.model
    logits = model.predict(batch) if weights is None else guided_logits(model, batch, weights)
    probs: torch.Tensor = model.probs(logits)
    return probs


def which_guides_help(texts: Texts, config: GuidedConfig) -> Iterator[Score]:
    """F1 of each guide over its seeds, and how much more than without one."""
    found = {}
    for guide in config.guides:
        by_seed = np.stack([texts.f1[f"{guide}, seed {seed}", None] for seed in config.seeds], axis=1)
        found[guide] = over_models(by_seed, seed=texts.other_seed(guide))
        yield texts.score("guided_f1", found[guide], guide, ALL_SEEDS, setting=texts.averaging)
    for guide in config.guides:
        if "uniform" in config.guides and guide != "uniform":
            yield texts.score("guided_f1_difference", found[guide] - found["uniform"], guide, "uniform")
    yield from texts.f1_rows("guided_f1")
    yield texts.balanced_accuracy("guided_balanced_accuracy", [name for name, _ in texts.f1])
