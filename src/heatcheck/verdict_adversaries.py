"""What trained adversaries say of attention: can a twin that looks elsewhere say the same? (Wiegreffe & Pinter 2019,
section 4; Amini & Kosseim 2022)

- trained_adversary: the price of lying. Of the adversaries that are far (mean JSD above 0.4, paper 2's Table 4, and
  above what other seeds do by chance) the one whose output moves least, minus what imitation alone costs (λ = 0):
  less than 0.05 TVD, 5 percentage points as in the permutation test, is no price. In paper 2 it is 0.006 to 0.018 on
  its four data sets (Tables 4 and 5, doubled to true TVD). TVD itself would not do: on SST imitation alone has 0.064.
  Where imitation alone moves the output by more than 0.1 (in paper 2 it never does) and the liar too, they have not
  learned to imitate, and the difference of two failures is no price.
- attefa: the `relative` variant against ½. AtteFa as published is 0 where attention is free, but its upper end depends
  on the model: an adversary that knows nothing and always says the same reaches about 0.5 on balanced, sure outputs
  (paper 3's Mock-2 to Mock-10 with MLPs) and less on unsure ones. Divided by what such a one would get, 1 means "no
  closer than one who has read nothing", and ½ is the middle. Paper 3's LSTMs on real texts, 0.01 to 0.12 as published,
  would fail. A ratio of two small numbers says nothing: not where the adversaries hardly moved attention (mean JSD
  below 0.1; the lowest in paper 3 is 0.39), nor where the model says nearly the same to every text, so that one who
  has read nothing is within 0.05 of it.

An adversary that was found proves that it exists; that none was found is no proof. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from heatcheck.findings import ALL_SEEDS, Estimate, Finding, means_of, one_mean, over_all_texts

FAR = 0.4
NO_PRICE = 0.05
IMITATES = 0.1  # TVD: beyond it a model says something else
HALF_WAY = 0.5
MOVED = 0.1
VARIED = 0.05


def judge_adversaries(scores: pd.DataFrame) -> list[Finding]:
    means = over_all_texts(scores)
    return [*_price(means), *_faithful(means)]


class Liar(NamedTuple):
    """An adversary that is far, and what that costs its output beyond imitation; `honest` is λ = 0 of the same seed."""

    name: str | None
    at: float
    jsd: Estimate
    tvd: Estimate
    honest: Estimate | None

    @property
    def price(self) -> Estimate:
        return self.tvd if self.honest is None else self.tvd - self.honest

    @property
    def learned(self) -> bool:
        """Did this one or its honest twin learn to imitate? Without a twin nobody knows."""
        return self.honest is None or min(self.honest.value, self.tvd.value) <= IMITATES


Key = tuple[str | None, float]  # an adversary's name and λ
Adversaries = Mapping[Key, Estimate]


def best_liar(scores: pd.DataFrame) -> Liar | None:
    """The adversary that the verdict is about."""
    means = over_all_texts(scores)
    return _best(_liars(_adversaries(means, "jsd"), _adversaries(means, "tvd"), _far(means)))


def as_in_verdict(apart: Mapping[Key, float], moved: Mapping[Key, float]) -> Key:
    """Which one the verdict would be about, by mean JSD and TVD of other texts; the farthest, if none is far."""
    jsds, tvds = ({key: Estimate(x, x, x, 2) for key, x in means.items()} for means in (apart, moved))
    liar = _best(_liars(jsds, tvds, FAR))
    return (liar.name, liar.at) if liar else max(apart, key=lambda key: apart[key])


def heatmap_name(name: str | None, at: float) -> str:
    """The method under which an adversary's heatmaps are kept.

    >>> heatmap_name("seed 50", 0.001)
    'trained_adversary(λ=0.001, seed 50)'
    """
    return f"trained_adversary(λ={at:g}, {name})"


def _adversaries(means: pd.DataFrame, what: str) -> Adversaries:
    return {(m.setting, m.at): m.found for m in means_of(means, f"trained_adversary_{what}") if m.at is not None}


def _far(means: pd.DataFrame) -> float:
    """And farther than other seeds may move attention by chance, on average."""
    seeds = one_mean(means, "seed_jsd", "attention", ALL_SEEDS)
    return max(FAR, seeds.found.high if seeds else 0.0)


def _liars(apart: Adversaries, moved: Adversaries, far: float) -> list[Liar]:
    return [
        Liar(name, at, jsd, moved[name, at], moved.get((name, 0.0)))
        for (name, at), jsd in apart.items()
        if at and jsd.low > far and (name, at) in moved
    ]


def _best(liars: list[Liar]) -> Liar | None:
    """One that learned, if there is one: of two that did not, the difference may be anything."""
    return min(liars, key=lambda liar: (not liar.learned, liar.price.value), default=None)


def _price(means: pd.DataFrame) -> Iterator[Finding]:
    apart, far = _adversaries(means, "jsd"), _far(means)
    if not apart:
        return
    liar = _best(_liars(apart, _adversaries(means, "tvd"), far))
    if liar is None:
        yield _nobody_far(apart, far)
    elif liar.honest is not None and not liar.learned:
        yield _nobody_learned(liar, liar.honest)
    else:
        yield _cheapest(liar)


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
    cost = _three(price)
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


def _nobody_learned(liar: Liar, honest: Estimate) -> Finding:
    failed = "Imitation itself failed" if honest.low > IMITATES else "It is not sure that imitation itself works"
    return Finding(
        "trained_adversary",
        "cannot tell",
        QUESTION,
        f"Imitation alone (λ = 0) moves the output by {_three(honest)}; the best liar (λ = {liar.at:g}) moves it by "
        f"{_three(liar.tvd)} (TVD, {honest.n:,} texts).",
        f"{failed}: beyond {IMITATES:g} a twin says something else, whatever it looks at. Train the adversaries for "
        "longer, or on more texts.",
        "trained_adversary_tvd",
        *honest[:3],
        IMITATES,
    )


def _three(found: Estimate) -> str:
    """
    >>> _three(Estimate(-0.0031, -0.01, 0.004, 9))
    '−0.003 [−0.010, 0.004]'
    """
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def _nobody_far(apart: Adversaries, far: float) -> Finding:
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
    found = {m.setting: m.found for m in means_of(means, "attefa") if (m.subject, m.reference) == ("all", ALL_SEEDS)}
    distances, varied = ([m.found.value for m in means_of(means, f"attefa_{x}")] for x in ("jsd", "uninformed_tvd"))
    if not {"published", "relative"} <= found.keys() or not distances:
        return
    relative, moved = found["relative"], fmean(distances)
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
    if varied and fmean(varied) < VARIED:
        outcome = "cannot tell"
        meaning = (
            "The model says nearly the same to every text: one that has read nothing is at a mean TVD of only "
            f"{fmean(varied):.3f} from it. There is hardly an output that attention could be tied to."
        )
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
