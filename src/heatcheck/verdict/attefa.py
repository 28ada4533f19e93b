"""AtteFa, judged: is attention tied to the output? (Amini & Kosseim 2022)

The `relative` variant of the best adversary against ½. AtteFa as published is 0 where attention is free, but its upper
end depends on the model: an adversary that knows nothing and always says the same reaches about 0.5 on balanced, sure
outputs (paper 3's Mock-2 to Mock-10 with MLPs) and less on unsure ones. Divided by what such a one would get, 1 means
"no closer than one who has read nothing", and ½ is the middle. Paper 3's LSTMs on real texts, 0.01 to 0.12 as
published, would fail. The best counts, not the mean: one liar is enough; it is chosen on dev texts (see price.py). One
that is at 1 (0.95 or more) has given up imitating, which proves nothing. Nor does a ratio of two small numbers: not
where the adversaries hardly moved attention (mean JSD below 0.1; the lowest in paper 3 is 0.39), nor where the model
says nearly the same to every text, so that one who has read nothing is within 0.05 of it. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import LN2, Estimate, Finding, Mean, means_of, on_dev, over_all_texts, unsure
from heatcheck.verdict.model import VARIED, same_to_all

HALF_WAY = 0.5
GAVE_UP = 0.95
MOVED = 0.1


class Attack(NamedTuple):
    """An adversary of AtteFa: of which base model, with which seed."""

    base: str
    seed: str
    relative: Estimate
    jsd: float
    published: float | None
    uninformed: float | None  # mean TVD of its base from one who has read nothing
    on_dev: float | None  # `relative` there

    @property
    def order(self) -> tuple[bool, float, float]:
        """The best attack has the lowest. One that cannot tell comes last."""
        chosen_by = self.relative.value if self.on_dev is None else self.on_dev
        return self.nothing_to_imitate or self.jsd < MOVED, chosen_by, self.published or 0.0

    @property
    def nothing_to_imitate(self) -> bool:
        return self.uninformed is not None and self.uninformed < VARIED

    def __str__(self) -> str:
        return f"{self.seed}, against " + ("this model" if self.base == "base" else f"the model of {self.base}")


FAITHFUL = "Is attention tied to the output (AtteFa)?"


def judge_attefa(scores: pd.DataFrame) -> Iterator[Finding]:
    means = over_all_texts(scores)
    if not (means["measure"] == "attefa").any():
        return
    published = next(
        (m for m in means_of(means, "attefa") if (m.reference, m.setting) == (ALL_SEEDS, "published")), None
    )
    attacks = _attacks(means, scores)
    if not attacks:
        yield _no_attefa(means)
        return
    best = min(attacks, key=lambda attack: attack.order)
    outcome, meaning = _tied(best)
    which = "The adversary"
    if len(attacks) > 1:
        which = f"The best of {len(attacks)} adversaries" + ("" if best.on_dev is None else " by dev texts")
    named = str(best) if len({attack.base for attack in attacks}) > 1 else best.seed
    yield Finding(
        "attefa",
        outcome,
        FAITHFUL,
        f"{_published(published)} {which} ({named}) has {best.relative} relative to one who has read "
        "nothing (0: attention is free, 1: no closer to the output than that), with its attention at a mean JSD of "
        f"{best.jsd:.2f} ({best.relative.n:,} texts).",
        meaning,
        "attefa_relative",
        *best.relative[:3],
        HALF_WAY,
    )


def _published(mean: Mean | None) -> str:
    if mean is None:
        return "AtteFa as published has no mean, as one adversary did not move attention at all."
    return f"AtteFa is {mean.found} as published."


def _relative_on_dev(scores: pd.DataFrame, uninformed: Mapping[str, float]) -> dict[tuple[Any, ...], float]:
    """`uninformed`, of a base, is on the texts that judge: it tells bases apart, not their adversaries."""
    moved, apart = (on_dev(scores, f"attefa_{what}", "subject", "reference") for what in ("tvd", "jsd"))
    return {
        (base, seed): tvd / uninformed[base] / (apart[base, seed] / LN2)
        for (base, seed), tvd in moved.items()
        if apart[base, seed] > 0 and uninformed.get(base, 0) > 0
    }


def _attacks(means: pd.DataFrame, scores: pd.DataFrame) -> list[Attack]:
    uninformed = {m.subject: m.found.value for m in means_of(means, "attefa_uninformed_tvd")}
    relative_on_dev = _relative_on_dev(scores, uninformed)
    distances = {(m.subject, m.reference): m.found.value for m in means_of(means, "attefa_jsd")}
    found = means_of(means, "attefa")
    published = {(m.subject, m.reference): m.found.value for m in found if m.setting == "published"}
    return [
        Attack(
            m.subject,
            str(m.reference),
            m.found,
            distances[m.subject, m.reference],
            published.get((m.subject, m.reference)),
            uninformed.get(m.subject),
            relative_on_dev.get((m.subject, m.reference)),
        )
        for m in found
        if m.setting == "relative" and (m.subject, m.reference) in distances
    ]


def _tied(best: Attack) -> tuple[str, str]:
    """Outcome and meaning. Where there is nothing to be tied to, or nothing was tried, it cannot be told."""
    if best.uninformed is not None and best.nothing_to_imitate:
        return "cannot tell", same_to_all(best.uninformed)
    if best.jsd < MOVED:
        return "cannot tell", (
            "The adversaries hardly moved attention, so that the ratio is one of two small numbers: train longer."
        )
    if best.relative.value >= GAVE_UP:
        return "cannot tell", (
            "The adversaries gave up imitating: they are no closer to the model's output than one who has read "
            "nothing. Either attention cannot move without the output, or training was stuck or too short. Try other "
            "seeds, more --adversary-epochs, or --adversary-patience 30."
        )
    return {
        "below": (
            "fails",
            "An adversary that looks elsewhere stays closer to the model's output than half way to one who has read "
            "nothing: attention can move without the output.",
        ),
        "above": (
            "passes",
            "Adversaries that look elsewhere lose the model's output, more than half way to one who has read nothing. "
            "That is what these trainings found; a better liar may exist.",
        ),
        "cannot tell": ("cannot tell", unsure(best.relative.n)),
    }[best.relative.against(HALF_WAY)]


def _no_attefa(means: pd.DataFrame) -> Finding:
    """A test that was run and has no number is listed, or the others would seem to be all."""
    empty = means[(means["measure"] == "attefa") & means["value"].isna()]
    why = "The adversaries did not move attention at all" if len(empty) else "One text has no interval"
    return Finding(
        "attefa",
        "cannot tell",
        FAITHFUL,
        f"{why}.",
        "Without a number this test says nothing, neither for nor against.",
        "attefa_relative",
        None,
        None,
        None,
        HALF_WAY,
    )
