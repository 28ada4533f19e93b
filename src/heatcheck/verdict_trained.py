"""What the tests that train models say of attention: is it needed, does it help another model, and can a twin that
looks elsewhere say the same? (Wiegreffe & Pinter 2019; Amini & Kosseim 2022)

Each by a 95% interval and its own threshold, never averaged; the texts' and the seeds' chance are in the intervals.

- uniform_attention: the F1 that attention adds, against the margin of the run (one point). "Attention is not
  explanation if you don't need it" (paper 2, section 3.2).
- guided_mlp: the F1 that attention's weights add to a network that sees no context, against equal weights. Passes above
  0; fails if it ends below 0.01, one point, as else a guide without any effect could never fail.
- trained_adversary: the price of lying. Of the adversaries that are far (mean JSD above 0.4, paper 2's Table 4, and
  above what other seeds do by chance) the one whose output moves least, minus what imitation alone costs (λ = 0):
  less than 0.05 TVD, 5 percentage points as in the permutation test, is no price. In paper 2 it is 0.006 to 0.018 on
  its four data sets (Tables 4 and 5, doubled to true TVD). TVD itself would not do: on SST imitation alone has 0.064.
- attefa: the `relative` variant against ½. AtteFa as published is 0 where attention is free, but its upper end depends
  on the model: an adversary that knows nothing and always says the same reaches about 0.5 on balanced, sure outputs
  (paper 3's Mock-2 to Mock-10 with MLPs) and less on unsure ones. Divided by what such a one would get, 1 means "no
  closer than one who has read nothing", and ½ is the middle. Paper 3's LSTMs on real texts, 0.01 to 0.12 as published,
  would fail. If the adversaries hardly moved attention (mean JSD below 0.1; the lowest in paper 3 is 0.39) a pass says
  nothing: a ratio of two small numbers.
- seed_variance has no finding: that other seeds give other weights does not make any one model's weights wrong. It is
  what adversaries are measured against.

An adversary that was found proves that it exists; that none was found is no proof. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import NamedTuple

import pandas as pd

from heatcheck.findings import Finding

ALL_SEEDS = "all seeds"
POINT = 0.01  # of F1
FAR = 0.4
NO_PRICE = 0.05
HALF_WAY = 0.5
MOVED = 0.1


class Estimate(NamedTuple):
    """A number with its interval. Without an interval it is not judged."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def __sub__(self, other: Estimate) -> Estimate:
        """Zou & Donner's interval for the difference of independent numbers; wider than need be for those that vary
        together, as two models' means over the same texts do.

        >>> Estimate(0.75, 0.5, 1.0, 9) - Estimate(0.25, 0.25, 0.25, 9)
        Estimate(value=0.5, low=0.25, high=0.75, n=9)
        """
        value = self.value - other.value
        down = sqrt((self.value - self.low) ** 2 + (other.high - other.value) ** 2)
        up = sqrt((self.high - self.value) ** 2 + (other.value - other.low) ** 2)
        return Estimate(value, value - down, value + up, min(self.n, other.n))

    def against(self, threshold: float) -> str:
        """
        >>> Estimate(0.2, 0.1, 0.3, 9).against(0.05), Estimate(0.2, 0.1, 0.3, 9).against(0.3)
        ('above', 'cannot tell')
        """
        if self.n < 2 or self.low <= threshold <= self.high:
            return "cannot tell"
        return "above" if self.low > threshold else "below"


class Mean(NamedTuple):
    """A row over all texts."""

    subject: str
    reference: str | None
    setting: str | None
    at: float | None
    found: Estimate


def judge_trained(scores: pd.DataFrame) -> list[Finding]:
    means = scores[(scores["statistic"] == "mean") & scores["example_id"].isna() & scores["group"].isna()]
    return [*_needed(means), *_guides(means), *_price(means), *_faithful(means)]


def _means(means: pd.DataFrame, measure: str) -> list[Mean]:
    """Rows without a value or an interval are left out."""
    rows = means[means["measure"] == measure].dropna(subset=["value", "low", "high"])
    return [_mean(row) for _, row in rows.iterrows()]


def _mean(row: pd.Series) -> Mean:
    value, low, high = (float(row[name]) for name in ("value", "low", "high"))
    reference, setting, at = (None if pd.isna(row.get(name)) else row[name] for name in ("reference", "setting", "at"))
    return Mean(str(row["subject"]), reference, setting, at, Estimate(value, low, high, int(row["n"])))


def _one(means: pd.DataFrame, measure: str, subject: str, reference: str) -> Mean | None:
    return next((m for m in _means(means, measure) if (m.subject, m.reference) == (subject, reference)), None)


def _needed(means: pd.DataFrame) -> Iterator[Finding]:
    added = _one(means, "uniform_f1_difference", "attention", "uniform")
    own, uniform = (_one(means, "uniform_f1", name, ALL_SEEDS) for name in ("attention", "uniform"))
    if added is None or added.at is None or own is None or uniform is None:
        return
    margin, of_n = added.at, f"over {added.found.n:,} texts"
    outcome, meaning = {
        "above": ("passes", "Without attention the model is worse: its weights do something that can be explained."),
        "below": (
            "fails",
            f"With equal weights on all words the model does as well, within {margin:g}: attention is not needed here, "
            "and weights that are not needed explain nothing.",
        ),
        "cannot tell": ("cannot tell", f"The interval holds the margin of {margin:g}: more texts or seeds are needed."),
    }[added.found.against(margin)]
    yield Finding(
        "uniform_attention",
        outcome,
        "Is attention needed at all?",
        f"F1 is {own.found.value:.3f} with attention and {uniform.found.value:.3f} with equal weights: "
        f"{_signed(added.found)} {of_n} and all seeds.",
        meaning,
        "uniform_f1_difference",
        *added.found[:3],
        margin,
    )


def _signed(found: Estimate) -> str:
    """
    >>> _signed(Estimate(-0.0031, -0.01, 0.004, 9))
    'a difference of −0.003 [−0.010, 0.004]'
    """
    return f"a difference of {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def _guides(means: pd.DataFrame) -> Iterator[Finding]:
    added = _one(means, "guided_f1_difference", "base", "uniform")
    if added is None:
        return
    found = added.found
    outcome = "cannot tell"
    if found.n > 1 and found.low > 0:
        outcome = "passes"
    elif found.n > 1 and found.high < POINT:
        outcome = "fails"
    meaning = {
        "passes": "A model that reads every word alone does better when it is told these weights: they say which words "
        "matter, whatever the model.",
        "fails": "Told these weights, a model that reads every word alone does not do better by even one point of F1: "
        "they do not say which words matter.",
        "cannot tell": "Whether these weights help cannot be told with these texts and seeds: more are needed.",
    }[outcome]
    yield Finding(
        "guided_mlp",
        outcome,
        "Do attention's weights help a model that sees no context?",
        f"Against equal weights, attention's weights make {_signed(found)} in F1 over {found.n:,} texts and all seeds.",
        meaning,
        "guided_f1_difference",
        *found[:3],
        POINT if outcome == "fails" else 0.0,
    )


class Liar(NamedTuple):
    """An adversary that is far, and what that costs its output beyond imitation; `honest` is λ = 0 of the same seed."""

    at: float
    jsd: Estimate
    tvd: Estimate
    honest: Estimate | None

    @property
    def price(self) -> Estimate:
        return self.tvd if self.honest is None else self.tvd - self.honest


def _price(means: pd.DataFrame) -> Iterator[Finding]:
    apart, moved = (
        {(m.setting, m.at): m.found for m in _means(means, f"trained_adversary_{name}") if m.at is not None}
        for name in ("jsd", "tvd")
    )
    if not apart:
        return
    far = max(FAR, _by_chance(means))
    liars = [
        Liar(at, jsd, moved[name, at], moved.get((name, 0.0)))
        for (name, at), jsd in apart.items()
        if at and jsd.low > far and (name, at) in moved
    ]
    yield _cheapest(min(liars, key=lambda liar: liar.price.value)) if liars else _nobody_far(apart, far)


def _by_chance(means: pd.DataFrame) -> float:
    """The most that other seeds may move attention, on average."""
    seeds = _one(means, "seed_jsd", "attention", ALL_SEEDS)
    return seeds.found.high if seeds else 0.0


QUESTION = "Would a trained twin that looks elsewhere give other answers?"


def _cheapest(liar: Liar) -> Finding:
    price = liar.price
    side = price.against(NO_PRICE)
    outcome, meaning = {
        "below": (
            "fails",
            "One model, trained once, looks at other words in text after text and says the same (within 5 percentage "
            "points of what honest imitation does): the weights shown are one story of several.",
        ),
        "above": (
            "passes",
            "The adversaries that look elsewhere also answer differently. That is what these trainings found; a better "
            "liar may exist.",
        ),
        "cannot tell": ("cannot tell", "The interval holds the threshold: more texts are needed to tell."),
    }[side]
    cost = f"{price.value:.3f} [{price.low:.3f}, {price.high:.3f}]".replace("-", "−")
    than = f"{cost} more than imitation alone"
    if liar.honest is None:
        than = f"{cost}; no adversary was trained with λ = 0, to say what imitation alone costs"
        if side == "above":
            outcome, meaning = "cannot tell", "Imitation alone may cost as much. Train with --lambdas 0 too."
    return Finding(
        "trained_adversary",
        outcome,
        QUESTION,
        f"The best liar (λ = {liar.at:g}) has its attention at a mean JSD of {liar.jsd}, of at most 0.69, and moves "
        f"the output by {than} (TVD, {price.n:,} texts).",
        meaning,
        "trained_adversary_price",
        *price[:3],
        NO_PRICE,
    )


def _nobody_far(apart: Mapping[tuple[str | None, float], Estimate], far: float) -> Finding:
    farthest = max(apart.values(), key=lambda jsd: jsd.value)
    return Finding(
        "trained_adversary",
        "cannot tell",
        QUESTION,
        f"No adversary moved attention far: the farthest is at a mean JSD of {farthest}; far is {far:.2f} or more.",
        "That none was found is no proof that none exists: train with larger λ, or for longer.",
        "trained_adversary_jsd",
        *farthest[:3],
        far,
    )


def _faithful(means: pd.DataFrame) -> Iterator[Finding]:
    found = {m.setting: m.found for m in _means(means, "attefa") if (m.subject, m.reference) == ("all", ALL_SEEDS)}
    distances = [m.found.value for m in _means(means, "attefa_jsd")]
    if not {"published", "relative"} <= found.keys() or not distances:
        return
    relative, moved = found["relative"], sum(distances) / len(distances)
    outcome, meaning = {
        "below": (
            "fails",
            "Adversaries that look elsewhere stay closer to the model's output than half way to one who has read "
            "nothing: attention can move without the output.",
        ),
        "above": (
            "passes",
            "Adversaries that look elsewhere lose the model's output, more than half way to one who has read nothing. "
            "That is what these trainings found; a better liar may exist.",
        ),
        "cannot tell": ("cannot tell", "The interval holds the threshold: more texts or seeds are needed to tell."),
    }[relative.against(HALF_WAY)]
    if outcome == "passes" and moved < MOVED:
        outcome = "cannot tell"
        meaning = "The adversaries hardly moved attention, so that the ratio is one of two small numbers: train longer."
    yield Finding(
        "attefa",
        outcome,
        "Is attention tied to the output (AtteFa)?",
        f"AtteFa is {found['published']} as published, and {relative} relative to a model that has read nothing "
        f"(0: attention is free, 1: tied to the output). The adversaries are at a mean JSD of {moved:.2f} "
        f"({relative.n:,} texts).",
        meaning,
        "attefa_relative",
        *relative[:3],
        HALF_WAY,
    )
