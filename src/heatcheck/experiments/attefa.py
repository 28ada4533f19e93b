"""AtteFa: one number for the faithfulness of attention (Amini & Kosseim 2022)

1. Train a twin of the model with the one-shot loss TVD − JSD/ln 2: the same outputs, other attention, no λ.
2. AtteFa = min(mean TVD / (mean JSD / ln 2), 1): 1 means that attention cannot move without the output, 0 that it is
   free. A ratio of means over texts, so it is the ratio that is resampled.  3. Repeated with other seeds of the
   adversary, and of the model itself: both are sources of variance (`over_groups`).

Beyond the paper: any number of classes, pairs and questions, every encoder; several heads, compared after the best
one-to-one matching; a pretrained transformer's last [CLS] rows. And two variants beside the published number:
- `relative`: TVD is divided by that of one who has read nothing and always gives the same output, the nearest to the
  base's (on dev). A base that is unsure can be imitated by anybody; here 1 means "no closer than that". (The paper's
  section 6.2 asks for a variant that accounts for the base model's own performance.)
- `right`: only the texts that the base model gets right.
Deviations: TVD is the true one (the paper's, divided by its bound ½, is the same); the best epoch is chosen on dev; no
value where the JSD is below 1e-6.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from heatcheck.batch import Example
from heatcheck.experiments.rows import attended_words, by_id, predicted_names, token_scores
from heatcheck.experiments.trained.base import Base, check_moves, check_not_own, on_one_seed, on_same_start
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.jobs import Training, check_selection, recipe_of, twin
from heatcheck.experiments.trained.models import PREDICTED, Trained, distance, per_text, predictions, says
from heatcheck.experiments.trained.seeds import PAPER_2, check_seeds
from heatcheck.experiments.trained_adversary import adversary_recipe
from heatcheck.measure.distributions import LN2, tvd
from heatcheck.measure.resampling import means, over_groups
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_SEEDS, Row, Score

BASE = "base"
SAME = 1e-6  # below this JSD attention did not move, and the ratio means nothing
VARIANTS = ("published", "relative", "right")


@dataclass(frozen=True)
class AtteFaConfig:
    """`seeds` of the adversary; `bases`: seeds of further models to attack beside the one under test."""

    seeds: tuple[int, ...] = PAPER_2[:3]
    bases: tuple[int, ...] = ()
    epochs: int | None = None  # None: 80, as in the paper; 10 for transformers
    patience: int = 10
    selected_on: str = "dev"
    one_seed: bool = False  # a single adversary is what is wanted
    batch_size: int = 128

    def __post_init__(self) -> None:
        check_seeds(self.seeds, "attefa", at_least=1 if self.bases else 2, one_seed=self.one_seed)
        check_seeds(self.bases, "attefa", at_least=0)
        check_selection(self.selected_on)


def check_attefa_base(config: AtteFaConfig, base: Base) -> None:
    check_moves(base, "attefa")
    check_not_own(config.bases, base, "attefa", "--bases")


def attefa_notes(config: AtteFaConfig, base: Base) -> list[str]:
    return on_same_start(config.seeds, base, "attefa") + on_one_seed(config.seeds, "attefa")


def attefa_models(subject: Subject[Any], config: AtteFaConfig, done: Mapping[str, Path]) -> Iterator[Training]:
    recipe = adversary_recipe(subject, config.epochs, config.patience, usual=80)
    for base in bases(config):
        if base != BASE:
            yield Training(base, twin(subject), recipe_of(subject), int(base.removeprefix("seed ")))
        for seed in config.seeds:
            yield Training(
                liar(base, seed), twin(subject), recipe, seed, Imitation("jsd"),
                base=None if base == BASE else base, selected_on=config.selected_on,
            )  # fmt: skip


def bases(config: AtteFaConfig) -> list[str]:
    return [BASE, *(f"seed {seed}" for seed in config.bases)]


def liar(base: str, seed: int) -> str:
    return f"adversary of {base}, seed {seed}"


def attefa(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: AtteFaConfig,
    *,
    generator: torch.Generator,
    trained: Trained,
) -> Iterator[Row]:
    lookup = by_id(examples)
    for batch in subject.batches(examples, config.batch_size):
        for base in bases(config):
            probs, attention = says(subject if base == BASE else trained[base].subject, batch)
            groups = predicted_names(subject, probs)
            yield from predictions(base, probs, batch)
            for seed in config.seeds:
                twin_model = trained[liar(base, seed)]
                theirs, weights = twin_model.says(batch)
                name = f"seed {seed}"
                yield from predictions(liar(base, seed), theirs, batch)
                for measure, values in (
                    ("attefa_tvd", tvd(probs, theirs)),
                    ("attefa_jsd", distance(attention, weights)),
                    ("attefa_uninformed_tvd", tvd(probs, twin_model.constant.to(probs))),
                ):
                    yield from per_text(measure, values, batch, groups, subject=base, reference=name)
                if base == BASE and seed == config.seeds[0]:
                    for method, kept in (("attention", attention), ("attefa_adversary", weights)):
                        yield from token_scores(
                            batch, kept.mean(1), attended_words(kept, batch), lookup, method=method, targets=groups
                        )


def faithfulness(texts: Texts, config: AtteFaConfig) -> Iterator[Score]:
    """AtteFa of every base and adversary; over all of them the mean, and the standard deviation by its source. `n` is
    the number of texts that count: those that the base gets right, or all."""
    yield from texts.f1_rows("attefa_f1")
    for base, seed in itertools.product(bases(config), config.seeds):
        yield from texts.dev_rows(liar(base, seed), "attefa", base, f"seed {seed}")
    moved, apart, uninformed = (
        texts.values(measure, ["subject", "reference"])
        for measure in ("attefa_tvd", "attefa_jsd", "attefa_uninformed_tvd")
    )
    right = np.stack([_right(texts, base) for base, _ in moved.columns], axis=1)
    for variant in VARIANTS:
        counted = right if variant == "right" else np.ones_like(right)
        tvds, jsds, most = (_means(texts.drawn, t.values, counted) for t in (moved, apart, uninformed))
        with np.errstate(invalid="ignore", divide="ignore"):  # a base that says one thing is imitated by anybody
            found = ratio(tvds / most if variant == "relative" else tvds, jsds)
        for place, (base, seed) in enumerate(moved.columns):
            n = int(counted[:, place].sum())
            yield texts.score("attefa", found[:, place], str(base), str(seed), setting=variant, n=n)
        by_base = {base: [i for i, (b, _) in enumerate(moved.columns) if b == base] for base, _ in moved.columns}
        grouped = np.stack([found[:, places] for places in by_base.values()], axis=1)
        yield from _over_seeds(texts, grouped, variant, n=int(counted.any(1).sum()))


def _over_seeds(texts: Texts, found: Float[ndarray, "R G M"], variant: str, *, n: int) -> Iterator[Score]:
    """Of G bases with M adversaries each, `n` texts that count for one of them at least."""
    mean = over_groups(found, seed=texts.other_seed("attefa", variant))
    yield texts.score("attefa", mean, "all", ALL_SEEDS, setting=variant, n=n)
    for source, values in deviations(found).items():  # no interval: texts say nothing of it, and seeds are few
        value = None if np.isnan(values[0]) else float(values[0])
        yield Score(
            "attefa",
            value,
            "all",
            source,
            statistic="std",
            setting=variant,
            n=n,
            reason="0/0" if value is None else None,
        )


def deviations(found: Float[ndarray, "R G M"]) -> dict[str, Float[ndarray, "R"]]:
    """Standard deviations (n − 1) over seeds of the adversary, and over seeds of the base. From the latter's variance
    goes what the chance of M adversaries each adds to the bases' means, if M > 1; 0 if that is all of it.

    >>> found = deviations(np.array([[[0.1, 0.2], [0.5, 0.6]]]))
    >>> {source: values.round(4).item() for source, values in found.items()}
    {'adversary seed': 0.0707, 'base seed': 0.2784}
    """
    _, bases, adversaries = found.shape
    within = found.var(2, ddof=1).mean(1) if adversaries > 1 else np.zeros(len(found))
    by_source = {"adversary seed": np.sqrt(within)} if adversaries > 1 else {}
    if bases > 1:
        between = found.mean(2).var(1, ddof=1) - within / adversaries
        by_source["base seed"] = np.sqrt(np.maximum(between, 0))
    return by_source


def ratio(tvds: Float[ndarray, "R M"], jsds: Float[ndarray, "R M"]) -> Float[ndarray, "R M"]:
    """min(TVD / (JSD / ln 2), 1); NaN where attention did not move.

    >>> ratio(np.array([[0.1, 0.9, 0.1]]), np.array([[LN2, LN2 / 2, 0.0]]))
    array([[0.1, 1. , nan]])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(jsds < SAME, np.nan, np.minimum(tvds / (jsds / LN2), 1.0))


def _right(texts: Texts, base: str) -> Float[ndarray, "N"]:
    predicted = texts.values(PREDICTED, ["subject"])
    place = predicted.columns.index((base,))
    return np.asarray((predicted.values[:, place] == texts.classes).astype(float))


def _means(
    drawn: Float[ndarray, "R N"], values: Float[ndarray, "N M"], counted: Float[ndarray, "N M"]
) -> Float[ndarray, "R M"]:
    if counted.all():
        return means(drawn, values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((drawn @ (values * counted)) / (drawn @ counted))
