"""The price of lying: can a trained twin that looks elsewhere say the same? (Wiegreffe & Pinter 2019, section 4)

Of the adversaries that are far (mean JSD above 0.4, paper 2's Table 4, and above what other seeds do by chance) the one
whose output moves least, minus what imitation alone costs (λ = 0): less than 0.05 TVD, 5 percentage points as in the
permutation test, is no price. In paper 2 it is 0.006 to 0.018 on its four data sets (Tables 4 and 5, doubled to true
TVD). TVD itself would not do: on SST imitation alone has 0.064. A liar that moves the output by more than 0.1 itself
does not say the same, whatever imitation alone does; where that too moves it by more (in paper 2 it never does), they
have not learned to imitate, and no price can be told.

Which of several adversaries is the best is decided on dev texts, and judged on others: the luckiest of many on the very
texts that judge it would seem better than it is. (Runs of before have no numbers of dev texts.)

An adversary that was found proves that it exists; that none was found is no proof. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import FEWEST, Estimate, Finding, means_of, on_dev, over_all_texts, unsure
from heatcheck.verdict.model import VARIED, same_to_all

FAR = 0.4  # JSD above which paper 2 calls attention different (Table 4)
NO_PRICE = 0.05
IMITATES = 0.1  # TVD: beyond it a model says something else


class Liar(NamedTuple):
    """An adversary that is far, and what that costs its output beyond imitation; `honest` is λ = 0 of the same seed."""

    name: str | None
    at: float
    jsd: Estimate
    tvd: Estimate
    honest: Estimate | None
    price_on_dev: float | None

    @property
    def written(self) -> str:
        """With its number, where several of one λ keep away from each other."""
        _, apart, number = (self.name or "").partition(", number ")
        return f"λ = {self.at:g}" + (f", number {number}" if apart else "")

    @property
    def price(self) -> Estimate:
        return self.tvd if self.honest is None else self.tvd - self.honest

    @property
    def order(self) -> tuple[bool, float]:
        """The best liar has the lowest: one that learned, if there is one; of two that did not, the difference may be
        anything."""
        return not self.learned, self.price.value if self.price_on_dev is None else self.price_on_dev

    @property
    def learned(self) -> bool:
        """Did this one or its honest twin learn to imitate? Without a twin nobody knows."""
        return self.honest is None or min(self.honest.value, self.tvd.value) <= IMITATES

    @property
    def says_the_same(self) -> bool:
        return self.tvd.value <= IMITATES


Key = tuple[str | None, float]  # an adversary's name and λ
Adversaries = Mapping[Key, Estimate]


def best_liar(scores: pd.DataFrame) -> Liar | None:
    """The adversary that the verdict is about."""
    means = over_all_texts(scores)
    moved, moved_on_dev = _adversaries(means, "tvd"), on_dev(scores, "trained_adversary_tvd", "setting", "at")
    return _best(_liars(_adversaries(means, "jsd"), moved, _far(means), moved_on_dev))


def as_in_verdict(apart: Mapping[Key, float], moved: Mapping[Key, float]) -> Key:
    """Which one the verdict would be about, by mean JSD and TVD of other texts; the farthest, if none is far."""
    jsds, tvds = ({key: Estimate(x, x, x, FEWEST) for key, x in means.items()} for means in (apart, moved))
    liar = _best(_liars(jsds, tvds, FAR, {}))
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
    """And farther than any other seed moved attention, by chance alone."""
    return max([FAR, *(m.found.high for m in means_of(means, "seed_jsd") if m.reference != ALL_SEEDS)])


def _liars(apart: Adversaries, moved: Adversaries, far: float, on_dev: Mapping[Any, float]) -> list[Liar]:
    price = {(name, at): tvd - on_dev.get((name, 0.0), 0.0) for (name, at), tvd in on_dev.items()}
    return [
        Liar(name, at, jsd, moved[name, at], moved.get((name, 0.0)), price.get((name, at)))
        for (name, at), jsd in apart.items()
        if at and jsd.low > far and (name, at) in moved
    ]


def _best(liars: list[Liar]) -> Liar | None:
    return min(liars, key=lambda liar: liar.order, default=None)


def judge_price(scores: pd.DataFrame) -> Iterator[Finding]:
    means = over_all_texts(scores)
    apart, far = _adversaries(means, "jsd"), _far(means)
    if not apart:
        return
    liar = best_liar(scores)
    uninformed = [m.found for m in means_of(means, "trained_adversary_uninformed_tvd")]
    if uninformed and uninformed[0].value < VARIED:
        yield _nothing_to_imitate(uninformed[0])
    elif liar is None:
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
        "cannot tell": ("cannot tell", unsure(price.n)),
    }[side]
    than = f"{price.written(3)} beyond what imitation alone does"
    if liar.honest is None:
        than = "no adversary was trained with λ = 0, to say what imitation alone does"
        if side == "above":
            outcome, meaning = "cannot tell", "Imitation alone may cost as much. Train with --lambdas 0 too."
    if side == "below" and not liar.says_the_same:
        outcome, meaning = (
            "cannot tell",
            (
                f"Lying costs little beyond imitation, but that is poor: beyond {IMITATES:g} a twin says something "
                "else. Train the adversaries for longer, or on more texts."
            ),
        )
    return Finding(
        "trained_adversary",
        outcome,
        QUESTION,
        f"The best liar{'' if liar.price_on_dev is None else ' by dev texts'} ({liar.written}) has its attention at a "
        f"mean JSD of {liar.jsd}, of at most 0.69, and moves "
        f"the output by {liar.tvd.written(3)}: {than} (TVD, {price.n:,} texts).",
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
        f"Imitation alone (λ = 0) moves the output by {honest.written(3)}; the best liar ({liar.written}) moves it by "
        f"{liar.tvd.written(3)} (TVD, {honest.n:,} texts).",
        f"{failed}: beyond {IMITATES:g} a twin says something else, whatever it looks at. Train the adversaries for "
        "longer, or on more texts.",
        "trained_adversary_tvd",
        *honest[:3],
        IMITATES,
    )


def _nothing_to_imitate(uninformed: Estimate) -> Finding:
    return Finding(
        "trained_adversary",
        "cannot tell",
        QUESTION,
        f"One who has read nothing and always says the same moves the output by {uninformed.written(3)} only (TVD, "
        f"{uninformed.n:,} texts).",
        same_to_all(uninformed.value),
        "trained_adversary_uninformed_tvd",
        *uninformed[:3],
        VARIED,
    )


def _nobody_far(apart: Adversaries, far: float) -> Finding:
    farthest = max(apart.values(), key=lambda jsd: jsd.value)
    chance = ", which another seed alone may reach" if far > FAR else ""
    said = f"the farthest is at a mean JSD of {farthest}; far is beyond {far:.2f}{chance}."
    open_yet = farthest.value > far
    return Finding(
        "trained_adversary",
        "cannot tell",
        QUESTION,
        f"It is not sure that any adversary moved attention far: {said}"
        if open_yet
        else f"No adversary moved attention far: {said}",
        unsure(farthest.n)
        if open_yet
        else "That none was found is no proof that none exists: train with larger λ, or for longer.",
        "trained_adversary_jsd",
        *farthest[:3],
        far,
    )
