"""A run folder with the tests that train: made-up models, but distances, aggregates and conclusions as an audit makes
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from heatcheck.experiments.attefa import AtteFaConfig, faithfulness, liar
from heatcheck.experiments.guided_mlp import GuidedConfig, which_guides_help
from heatcheck.experiments.seed_variance import SeedConfig, over_all_seeds
from heatcheck.experiments.summary import SUMMARISED, summarise
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.models import PREDICTED
from heatcheck.experiments.trained_adversary import AdversaryConfig, price_of_lying
from heatcheck.experiments.uniform_attention import UniformConfig, is_attention_needed
from heatcheck.results import Row, Score, tables, write_json, write_tables
from heatcheck.verdict.price import heatmap_name

from .sample import (
    CLASSES,
    ORIGIN,
    Text,
    adversarial,
    attentions,
    divergence,
    example_rows,
    run_json,
    texts,
    token_scores,
)

KEPT = 1e-2  # λ whose heatmaps are kept
LAMBDAS = (0.0, 1e-4, 1e-3, 1e-2, 1.0)
CONFIGS: dict[str, tuple[Any, Any]] = {
    "uniform_attention": (UniformConfig(), is_attention_needed),
    "seed_variance": (SeedConfig(seeds=(50, 257, 500231)), over_all_seeds),
    "guided_mlp": (GuidedConfig(guides=("uniform", "mlp", "base", "adversary", "lime(samples=50)")), which_guides_help),
    "trained_adversary": (AdversaryConfig(lambdas=LAMBDAS, seeds=(50,), one_seed=True, apart=2), price_of_lying),
    "attefa": (AtteFaConfig(seeds=(1, 2), bases=(257,)), faithfulness),
}
GROUND_TRUTH = ("attention", "gradient", "lime(samples=50)")
EXPERIMENTS = (*CONFIGS, "ground_truth")
Weights = Mapping[str, np.ndarray]


class Maker:
    """Made-up models around a base: how far their attention is and how much their output differs is given."""

    def __init__(self, random: np.random.Generator, found: Sequence[Text], base: Weights) -> None:
        self.random, self.found, self.base = random, found, base

    def elsewhere(self, away: float, base: Weights) -> dict[str, np.ndarray]:
        return {name: (1 - away) * weights + away * self.other(len(weights)) for name, weights in base.items()}

    def other(self, n: int) -> np.ndarray:
        """On few words, but nowhere 0."""
        drawn = self.random.gamma(0.05, size=n) + 1e-4
        return np.asarray(drawn / drawn.sum())

    def predictions(self, name: str, right: float, at: float | None = None) -> Iterator[Score]:
        for text in self.found:
            label = CLASSES.index(text.label)
            chosen = label if self.random.random() < right else 1 - label
            yield Score(PREDICTED, float(chosen), name, example_id=text.example_id, at=at)

    def distances(
        self, kind: str, weights: Weights, change: float, base: Weights | None = None, **common: Any
    ) -> Iterator[Score]:
        for text in self.found:
            about = {"example_id": text.example_id, "group": text.predicted, **common}
            apart = divergence((base or self.base)[text.example_id], weights[text.example_id])
            yield Score(f"{kind}_jsd", min(apart, float(np.log(2))), **about)
            yield Score(f"{kind}_tvd", float(np.clip(self.random.gamma(2, change / 2), 0, 1)), **about)

    def heat(self, method: str, weights: Weights) -> Iterator[Row]:
        for text in self.found:
            yield token_scores(text, method, weights[text.example_id])


def uniform_attention(made: Maker) -> Iterator[Row]:
    yield from made.predictions("base", 0.85)
    equal = {name: np.full(len(weights), 1 / len(weights)) for name, weights in made.base.items()}
    for seed in CONFIGS["uniform_attention"][0].seeds:
        yield from made.predictions(f"seed {seed}", 0.85)
        name = f"uniform, seed {seed}"
        yield from made.predictions(name, 0.8)
        yield from made.distances("uniform", equal, 0.1, subject="attention", reference=name)


def seed_variance(made: Maker) -> Iterator[Row]:
    for seed in CONFIGS["seed_variance"][0].seeds:
        name = f"seed {seed}"
        yield from made.predictions(name, 0.85)
        weights = made.elsewhere(0.4, made.base)
        yield from made.distances("seed", weights, 0.08, subject="attention", reference=name)


def guided_mlp(made: Maker) -> Iterator[Row]:
    config = CONFIGS["guided_mlp"][0]
    for guide, right in zip(config.guides, (0.75, 0.8, 0.85, 0.6, 0.8), strict=True):
        for seed in config.seeds:
            yield from made.predictions(f"{guide}, seed {seed}", right)
    near = made.elsewhere(0.1, made.base)
    for text in made.found:
        far = divergence(made.base[text.example_id], near[text.example_id])
        yield Score(
            "guided_adversary_jsd", far, "attention", "adversary", text.example_id, text.predicted, at=0.001
        )  # fmt: skip


def trained_adversary(made: Maker) -> Iterator[Row]:
    for at, away in zip(LAMBDAS, (0.1, 0.15, 0.4, 0.8, 1.0), strict=True):
        models = {name: made.elsewhere(away, made.base) for name in ("seed 50", "seed 50, number 2")}
        for name, weights in models.items():
            yield from made.predictions(name, 0.84, at=at)
            yield from made.distances(
                "trained_adversary", weights, 0.03 + 0.1 * away, subject="attention", reference="trained adversary",
                setting=name, at=at,
            )  # fmt: skip
        one, other = models.values()
        for text in made.found:
            apart = divergence(one[text.example_id], other[text.example_id])
            yield Score(
                "trained_adversary_apart", apart, "number 1", "number 2", text.example_id, text.predicted,
                setting="seed 50", at=at,
            )  # fmt: skip
        if at == KEPT:
            yield from made.heat(heatmap_name("seed 50", at), one)


def attefa(made: Maker) -> Iterator[Row]:
    for base in ("base", "seed 257"):
        yield from made.predictions(base, 0.85)
        own = made.base if base == "base" else made.elsewhere(0.4, made.base)
        for seed in (1, 2):
            yield from made.predictions(liar(base, seed), 0.8)
            weights = made.elsewhere(1.0, own)
            common: dict[str, Any] = {"subject": base, "reference": f"seed {seed}"}
            yield from made.distances("attefa", weights, 0.1, own, **common)
            for text in made.found:
                common |= {"example_id": text.example_id, "group": text.predicted}
                yield Score("attefa_uninformed_tvd", float(0.3 + 0.2 * made.random.random()), **common)
            if base == "base" and seed == 1:
                yield from made.heat("attefa_adversary", weights)


def ground_truth(made: Maker) -> Iterator[Row]:
    for text in made.found:
        setting = "model right" if text.label == text.predicted else "model wrong"
        for number, name in enumerate((*GROUND_TRUTH, "random")):
            for measure in ("auprc", "precision_at_k"):
                value = float(np.clip(0.8 - 0.2 * number + 0.1 * made.random.normal(), 0, 1))
                reference = "chance" if name == "random" else "planted"
                yield Score(measure, value, name, reference, text.example_id, text.predicted, setting=setting)


MAKERS = {
    "uniform_attention": uniform_attention,
    "seed_variance": seed_variance,
    "guided_mlp": guided_mlp,
    "trained_adversary": trained_adversary,
    "attefa": attefa,
    "ground_truth": ground_truth,
}


def aggregated(experiment: str, rows: Sequence[Row], found: Sequence[Text]) -> Iterator[Score]:
    """As tables.py does."""
    scores = pd.DataFrame([{c: getattr(row, c) for c in SUMMARISED} for row in rows if isinstance(row, Score)])
    yield from summarise(scores[scores["measure"] != PREDICTED], seed=0)
    if experiment in CONFIGS:
        config, conclude = CONFIGS[experiment]
        truth = pd.Series({text.example_id: CLASSES.index(text.label) for text in found})
        yield from conclude(Texts(scores, truth, CLASSES, 0), config)


def write_trained_sample(
    folder: Path,
    experiments: Sequence[str] = EXPERIMENTS,
    how_many: int = 40,
    nasty: bool = True,
    beside: bool = True,
) -> Path:
    """`beside`: with paper 1's adversary."""
    random = np.random.default_rng(7)
    found = texts(random, how_many, CLASSES, nasty)
    weights = attentions(random, found)
    peaks = {example: float(values.max()) for example, values in weights.items()}
    shared: list[Row] = list(example_rows(random, found, peaks))
    shared += [token_scores(text, "attention", weights[text.example_id]) for text in found]
    parts = [tables(shared, ORIGIN, "explain")]
    if beside:
        rows = [row for row in adversarial(random, found, weights) if getattr(row, "statistic", "value") == "value"]
        name = "adversarial_attention"
        parts.append(tables([*rows, *aggregated(name, rows, found)], ORIGIN, name))
    for experiment in experiments:
        rows = list(MAKERS[experiment](Maker(random, found, weights)))
        parts.append(tables([*rows, *aggregated(experiment, rows, found)], ORIGIN, experiment))
    write_tables(folder, {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]})
    write_json(folder / "run.json", {**run_json((), CLASSES), "verdict": None})
    return folder
