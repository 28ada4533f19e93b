"""Does a method give the same ranking when it is asked again? (beyond paper 5, which runs LIME and SHAP once)

1. Explain each text several times, each time with another seed.  2. Kendall τ-b between every two of the rankings; its
   mean is the text's rank stability.  3. Where samples are drawn (Kernel-SHAP draws none for short texts): the same
   with fewer and with more of them. The ranks have settled at the first budget whose mean stability reaches 0.9
   (`samples_needed`).
A run that gives every word the same score has ranked none, and cannot be compared with any. A method without randomness
is run twice with the same seed: the scores must be equal, which is a stability of 1 whatever they are; if they are not,
its stability is their τ. As in `agreement`, words rank by |score| and marks like [CLS] take no part.
An audit asks in the cheapest form (`IN_AUDITS`): the explanation that it has, and one more, of random methods only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.agreement import compare_all
from heatcheck.experiments.explained import Explained, usable
from heatcheck.experiments.rows import TOO_SHORT, to_numpy
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import ProbabilityOf, probability_of_prediction
from heatcheck.measure.ranks import kendall
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

SAMPLES = "samples"
CONSTANT = "undefined: no two runs can be compared, as they give every word the same score"


@dataclass(frozen=True)
class RepeatabilityConfig:
    methods: tuple[str, ...] = ()  # none: all that the model can serve
    repeats: int = 5
    budgets: tuple[float, ...] = (0.5, 1, 2, 4)  # times the method's own number of samples
    random_only: bool = False  # leave out methods that draw nothing
    special_tokens: bool = False
    signed: bool = False
    batch_size: int = 16

    def __post_init__(self) -> None:
        if self.repeats < 2:
            raise InputError(f"repeats is {self.repeats}; two runs are the fewest that can be compared.")
        if any(budget <= 0 for budget in self.budgets):
            raise InputError(f"budgets are {self.budgets}; each is a factor above 0 on the number of samples.")


IN_AUDITS = RepeatabilityConfig(repeats=2, budgets=(), random_only=True)


def repeatability(
    subject: Subject[Any],
    examples: Sequence[Example],
    config: RepeatabilityConfig,
    *,
    generator: torch.Generator,
    explained: Explained | None = None,
) -> Iterator[Row]:
    """`explained` are explanations that were made with other seeds: each stands for one of the runs."""
    served = (name for name, chosen in EXPLAINERS.items() if chosen.serves(subject.model))
    methods = {name: usable(subject, name) for name in config.methods or served}
    if config.random_only:
        methods = {name: chosen for name, chosen in methods.items() if chosen.random}
    for batch in subject.batches(examples, config.batch_size):
        scalar = probability_of_prediction(subject.model, batch)
        repeat = Repeat(subject, batch, scalar, generator.initial_seed(), config, explained)
        for name, chosen in methods.items():
            yield from repeat.rows(name, chosen)


@dataclass(frozen=True)
class Repeat:
    """One batch, explained again and again."""

    subject: Subject[Any]
    batch: Batch
    scalar: ProbabilityOf
    seed: int
    config: RepeatabilityConfig
    explained: Explained | None = None

    def rows(self, name: str, chosen: Method) -> Iterator[Score]:
        own = chosen.settings().get(SAMPLES)
        usual = self.stability(chosen, self._made(name) if chosen.random else [])
        yield from self._scores(name, usual, None, None)
        drawn = [chosen.draws(words) for words in self.batch.words.sum(1).tolist()]
        if not any(drawn) or not isinstance(own, int):
            return
        for samples in sorted({max(1, round(own * budget)) for budget in self.config.budgets}):
            try:
                changed = chosen.with_settings({SAMPLES: samples}, name)
            except InputError:  # too few for the method: a number that we chose, not the user
                continue
            values = usual if samples == own else self.stability(changed)
            yield from compress(self._scores(name, values, SAMPLES, float(samples)), drawn)

    def stability(self, chosen: Method, made: Sequence[Float[ndarray, "B T"]] = ()) -> Float[ndarray, "B"]:
        """`made`: runs that need not be made again."""
        needed = self.config.repeats - len(made)
        seeds = [self.seed + number for number in range(needed)] if chosen.random else [self.seed] * 2
        lists = np.stack([*made, *(self._explained(chosen, seed) for seed in seeds)])
        words = (self.batch.mask if self.config.special_tokens else self.batch.words).cpu().numpy()
        lists = lists if self.config.signed else np.abs(lists)
        taus = mean_tau(lists, words)
        return taus if chosen.random else np.where(equal(lists[0], lists[1], words) & (words.sum(1) > 1), 1, taus)

    def _made(self, name: str) -> list[Float[ndarray, "B T"]]:
        if self.explained is None or name not in self.explained.found:
            return []
        return [self.explained.scores(self.batch, name).numpy()]

    def _explained(self, chosen: Method, seed: int) -> Float[ndarray, "B T"]:
        generator = torch.Generator().manual_seed(seed)
        return to_numpy(chosen.explain(self.subject.model, self.batch, self.scalar, generator=generator).scores)

    def _scores(self, name: str, values: Float[ndarray, "B"], setting: str | None, at: float | None) -> Iterator[Score]:
        lengths = (self.batch.mask if self.config.special_tokens else self.batch.words).sum(1).tolist()
        for text, value, length in zip(self.batch.example_ids, values, lengths, strict=True):
            missing = bool(np.isnan(value))
            yield Score(
                "rank_stability",
                None if missing else float(value),
                name,
                example_id=text,
                group=self.subject.labels[self.scalar.classes[text]],
                setting=setting,
                at=at,
                reason=(TOO_SHORT if length < 2 else CONSTANT) if missing else None,
            )


def mean_tau(lists: Float[ndarray, "R B T"], words: Bool[ndarray, "B T"]) -> Float[ndarray, "B"]:
    """Mean Kendall τ over every two of R lists; NaN if none exists. Equal lists count 1 to the last digit.

    >>> mean_tau(np.array([[[1.0, 2, 3]], [[1.0, 3, 2]], [[1.0, 2, 3]]]), np.ones((1, 3), bool)).round(3)
    array([0.556])
    """
    taus = compare_all(lambda a, b, inside: kendall(a, b, inside).tau, lists, words)
    known = ~np.isnan(taus)
    for pair, (a, b) in enumerate(combinations(lists, 2)):
        taus[pair, known[pair] & equal(a, b, words)] = 1
    total, count = np.where(known, taus, 0).sum(0), known.sum(0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def equal(a: Float[ndarray, "B T"], b: Float[ndarray, "B T"], words: Bool[ndarray, "B T"]) -> Bool[ndarray, "B"]:
    return np.asarray(((a == b) | ~words).all(1))


def samples_needed(aggregates: pd.DataFrame, *, settled: float = 0.9) -> Iterator[Score]:
    """For each method the smallest number of samples at which the mean stability over all texts is `settled`.

    From the summaries of `rank_stability`, as a mean over texts exists only when all have been measured.
    """
    wanted = (
        (aggregates["measure"] == "rank_stability")
        & (aggregates["setting"] == SAMPLES)
        & (aggregates["statistic"] == "mean")
        & aggregates["group"].isna()
        & aggregates["example_id"].isna()
        & aggregates["value"].notna()
    )
    for name, budgets in aggregates[wanted].sort_values("at").groupby("subject"):
        n, enough = int(budgets["n"].max()), budgets[budgets["value"] >= settled]["at"]
        value = float(enough.iloc[0]) if len(enough) else None
        best = f"not settled: mean τ is {budgets['value'].iloc[-1]:.3f} at {budgets['at'].iloc[-1]:,.0f} samples"
        yield Score(
            "samples_needed",
            value,
            str(name),
            statistic="mean",
            at=settled,
            n=n,
            reason=best if value is None else None,
        )
