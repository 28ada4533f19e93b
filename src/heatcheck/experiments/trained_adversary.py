"""Can one trained model lie about attention on every text? (Wiegreffe & Pinter 2019, section 4)

1. Train a twin of the model to give the same outputs with other attention: ½·TVD − λ·KL(α ‖ α_base), for several λ.
2. For each text the distance of outputs (TVD) and of attention (JSD).  3. The curve of mean TVD over mean JSD: flat
   means that attention can be moved at no price; the area under it is one number for that. Marks beside it: other
   seeds, uniform attention, paper 1's adversary.

Beyond the paper: several adversaries that are far from each other too (`apart`), which it names as future work.
Deviations: TVD is the true one, twice the paper's; the best epoch is chosen on dev (`selected_on` "test" is the paper's
text, "train" its code); fresh word vectors and weights as in the paper, vocabulary of the base.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy import ndarray

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.rows import attended_words, by_id, predicted_names, token_scores
from heatcheck.experiments.trained.base import Base, check_moves, on_one_seed, on_same_start
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.imitation import SPARSE, TINY, Imitation
from heatcheck.experiments.trained.jobs import Training, check_selection, recipe_of, twin
from heatcheck.experiments.trained.models import REACHED, Trained, distance, per_text, predictions, says
from heatcheck.experiments.trained.seeds import PAPER_2, check_seeds
from heatcheck.measure.distributions import LN2, tvd
from heatcheck.measure.resampling import means, over_models
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.subject import Subject
from heatcheck.results import ALL_SEEDS, Row, Score
from heatcheck.verdict.price import FAR, Key, as_in_verdict, heatmap_name

FURTHER = 1_000_003  # between the seeds of adversaries of one λ: none is the first one of another seed
HEIGHT, AREA = "trained_adversary_area", "trained_adversary_curve_area"  # the area per JSD reached, and itself
AT_ONCE = 2  # how many λ are tried before looking whether to stop


@dataclass(frozen=True)
class AdversaryConfig:
    """`stop_at`: along growing λ, stop once the mean JSD on dev is above it. `apart`: adversaries for each λ."""

    lambdas: tuple[float, ...] = (0.0, 1e-4, 5e-4, 1e-3, 1e-2, 1.0)
    seeds: tuple[int, ...] = PAPER_2[:2]
    epochs: int | None = None  # None: 40, as in the paper; 10 for transformers, which start pretrained
    patience: int = 10
    selected_on: str = "dev"
    apart: int = 1
    stop_at: float | None = None
    one_seed: bool = False  # a single adversary for each λ is what is wanted
    batch_size: int = 128

    def __post_init__(self) -> None:
        check_seeds(self.seeds, "trained_adversary", at_least=2, one_seed=self.one_seed)
        check_selection(self.selected_on)
        if not self.lambdas:
            raise InputError("trained_adversary: no λ is given. Give --lambdas 0,0.001 for example.")
        for weight in self.lambdas:
            Imitation("kl", weight)
        if len(set(self.lambdas)) < len(self.lambdas):
            raise InputError("trained_adversary: a λ is given twice. Name each once in --lambdas.")
        if self.stop_at is not None and not 0 <= self.stop_at <= LN2:
            raise InputError(
                f"trained_adversary: the sweep cannot stop at a JSD of {self.stop_at:g}. Give --stop-at a number "
                "between 0 and 0.693."
            )
        if self.apart < 1:
            raise InputError(
                f"trained_adversary: {self.apart} adversaries for each λ are too few. Give --apart 1 or more."
            )


def one_adversary(weight: float, epochs: int | None = None) -> AdversaryConfig:
    """A single one of paper 2's, with its first seed."""
    return AdversaryConfig(lambdas=(weight,), seeds=PAPER_2[:1], epochs=epochs, one_seed=True)


def check_adversary_base(config: AdversaryConfig, base: Base) -> None:
    check_moves(base, "trained_adversary")


def adversary_notes(config: AdversaryConfig, base: Base) -> list[str]:
    mark = [] if base.replaceable else [f"trained_adversary: {base.name}'s attention cannot be made uniform: no mark."]
    seeds = config.seeds
    return on_same_start(seeds, base, "trained_adversary") + on_one_seed(seeds, "trained_adversary") + mark


def adversary_models(subject: Subject[Any], config: AdversaryConfig, done: Mapping[str, Path]) -> Iterator[Training]:
    """All λ; or, with `stop_at`, a few at a time in growing order until attention is far enough."""
    lambdas: Sequence[float] = sorted(config.lambdas)
    if config.stop_at is not None:
        lambdas = _until_far(config, config.stop_at, lambdas, done)
    for seed in config.seeds:
        for weight in lambdas:
            for number in range(config.apart):
                yield adversary(subject, config, weight, seed, number)


def _until_far(
    config: AdversaryConfig, far: float, lambdas: Sequence[float], done: Mapping[str, Path]
) -> Sequence[float]:
    """Those that are done, and the next ones until every seed is far: curves of all seeds have the same λ."""
    finished = [w for w in lambdas if all(adversary_name(w, seed) in done for seed in config.seeds)]
    reached = [max((_jsd(done[adversary_name(w, seed)]) for w in finished), default=0.0) for seed in config.seeds]
    return finished if finished and min(reached) >= far else lambdas[: len(finished) + AT_ONCE]


def where_the_sweep_ended(means: pd.DataFrame, config: AdversaryConfig) -> str | None:
    """A sentence on the λ that were not tried."""
    tried = means.loc[means["measure"] == "trained_adversary_jsd", "at"].dropna()
    rest = [weight for weight in sorted(config.lambdas) if weight > max(tried, default=math.inf)]
    if config.stop_at is None or not rest:
        return None
    left = ", ".join(f"{weight:g}" for weight in rest)
    return (
        f"trained_adversary: the sweep ended at λ = {max(tried):g}, where every seed has reached a JSD of "
        f"{config.stop_at:g} on dev texts (λ are tried {AT_ONCE} at a time). Not tried: {left}."
    )


def _jsd(folder: Path) -> float:
    return float(json.loads((folder / REACHED).read_text(encoding="utf-8"))["jsd"])


def adversary_name(weight: float, seed: int, number: int = 0) -> str:
    """
    >>> adversary_name(0.001, 50), adversary_name(0, 50, 1)
    ('adversary λ=0.001, seed 50', 'adversary λ=0, seed 50, number 2')
    """
    return f"adversary λ={weight:g}, seed {seed}" + (f", number {number + 1}" if number else "")


def adversary(subject: Subject[Any], config: AdversaryConfig, weight: float, seed: int, number: int = 0) -> Training:
    """Another one of the same λ and seed starts from other weights, and stays far from those before it."""
    return Training(
        adversary_name(weight, seed, number),
        twin(subject),
        adversary_recipe(subject, config.epochs, config.patience, usual=40),
        seed + number * FURTHER,
        Imitation("kl", weight, SPARSE if getattr(subject.spec, "weighting", "") == "entmax" else TINY),
        far_from=tuple(adversary_name(weight, seed, k) for k in range(number)),
        selected_on=config.selected_on,
    )


def adversary_recipe(subject: Subject[Any], epochs: int | None, patience: int, *, usual: int) -> Any:
    usual = 10 if isinstance(subject.spec, TransformerSpec) else usual
    return dataclasses.replace(recipe_of(subject), epochs=epochs or usual, patience=patience, first_eligible_epoch=1)


def trained_adversary(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: AdversaryConfig,
    *,
    generator: torch.Generator,
    trained: Trained,
) -> Iterator[Row]:
    lookup = by_id(examples)
    shown, kept_as = _shown(config, trained)
    constant = trained[shown].constant
    for batch in subject.batches(examples, config.batch_size):
        probs, attention = says(subject, batch)
        groups = predicted_names(subject, probs)
        uninformed = tvd(probs, constant.to(probs))
        yield from per_text("trained_adversary_uninformed_tvd", uninformed, batch, groups, reference="the same answer")
        for weight, seed in itertools.product(config.lambdas, config.seeds):
            if adversary_name(weight, seed) not in trained:  # the sweep stopped before it
                continue
            names = [adversary_name(weight, seed, k) for k in range(config.apart)]
            found = [says(trained[name].subject, batch) for name in names]
            for number, (model, (theirs, weights)) in enumerate(zip(names, found, strict=True)):
                name = setting_name(seed, number)
                yield from predictions(name, theirs, batch, at=weight)
                moved = distance(attention, trained[model].beside_base(weights))
                for measure, values in (("jsd", moved), ("tvd", tvd(probs, theirs))):
                    yield from per_text(
                        f"trained_adversary_{measure}", values, batch, groups, reference="trained adversary",
                        setting=name, at=weight,
                    )  # fmt: skip
            for i, j in itertools.combinations(range(config.apart), 2):
                apart = distance(found[i][1], trained[names[j]].beside(names[i], found[j][1]))
                yield from per_text(
                    "trained_adversary_apart", apart, batch, groups,
                    subject=f"number {i + 1}", reference=f"number {j + 1}", setting=f"seed {seed}", at=weight,
                )  # fmt: skip
        for method, kept in (("attention", attention), (kept_as, trained[shown].says(batch)[1])):
            yield from token_scores(
                batch, kept.mean(1), attended_words(kept, batch), lookup, method=method, targets=groups
            )


def setting_name(seed: int, number: int = 0) -> str:
    return f"seed {seed}" + (f", number {number + 1}" if number else "")


def _shown(config: AdversaryConfig, trained: Trained) -> tuple[str, str]:
    """Whose heatmaps are kept, and as which method: of the one that the verdict would be about, by the dev texts."""
    models: dict[Key, str] = {
        (setting_name(seed, number), weight): adversary_name(weight, seed, number)
        for weight, seed, number in itertools.product(config.lambdas, config.seeds, range(config.apart))
        if adversary_name(weight, seed, number) in trained  # else the sweep stopped before it
    }
    jsds, tvds = ({key: trained[name].reached[m] for key, name in models.items()} for m in ("jsd", "tvd"))
    chosen = as_in_verdict(jsds, tvds)
    return models[chosen], heatmap_name(*chosen)


def price_of_lying(texts: Texts, config: AdversaryConfig) -> Iterator[Score]:
    """F1 of each adversary; the area under the curve of TVD over JSD; the best F1 at a JSD above 0.4."""
    yield from texts.f1_rows("trained_adversary_f1")
    for weight, seed, number in itertools.product(config.lambdas, config.seeds, range(config.apart)):
        yield from texts.dev_rows(
            adversary_name(weight, seed, number), "trained_adversary", "attention", "trained adversary",
            setting=setting_name(seed, number), at=weight,
        )  # fmt: skip
    moved = texts.values("trained_adversary_tvd", ["setting", "at"])
    apart = texts.values("trained_adversary_jsd", ["setting", "at"])
    areas: dict[str, dict[str, Float[ndarray, "R"]]] = {HEIGHT: {}, AREA: {}}
    for name in dict.fromkeys(str(name) for name, _ in moved.columns):
        here = [i for i, (setting, _) in enumerate(moved.columns) if setting == name]
        tvds, jsds = (means(texts.drawn, table.values[:, here]) for table in (moved, apart))
        areas[AREA][name] = area(jsds, tvds)
        with np.errstate(invalid="ignore"):
            areas[HEIGHT][name] = areas[AREA][name] / jsds.max(axis=1)
        for measure, found in areas.items():
            yield texts.score(measure, found[name], "attention", "trained adversary", setting=name)
    first = [f"seed {seed}" for seed in config.seeds]  # further ones had to be far from these too
    for measure, found in areas.items() if len(first) > 1 else ():
        all_seeds = over_models(np.stack([found[name] for name in first], axis=1), seed=texts.other_seed("area"))
        yield texts.score(measure, all_seeds, "attention", "trained adversary", setting=ALL_SEEDS)
    far = {key: texts.f1[key] for key, jsd in zip(apart.columns, apart.values.mean(0), strict=True) if jsd > FAR}
    if far:
        name, at = max(far, key=lambda key: far[key][0])
        yield texts.score("trained_adversary_best_f1", far[name, at], name, setting=texts.averaging, at=at)
    else:
        reason = f"no adversary reached a mean JSD above {FAR}"
        n = len(texts.names)
        yield Score("trained_adversary_best_f1", None, "attention", statistic="mean", n=n, reason=reason)


def area(jsds: Float[ndarray, "R M"], tvds: Float[ndarray, "R M"]) -> Float[ndarray, "R"]:
    """Under the curve of TVD over JSD, from the base model itself (0, 0) to the farthest adversary.

    >>> area(np.array([[0.5, 0.25]]), np.array([[0.2, 0.1]]))
    array([0.05])
    """
    order = np.argsort(jsds, axis=1)
    x, y = (np.take_along_axis(values, order, axis=1) for values in (jsds, tvds))
    start = np.zeros((len(x), 1))
    return np.asarray(np.trapezoid(np.hstack([start, y]), np.hstack([start, x]), axis=1))
