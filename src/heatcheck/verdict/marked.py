"""Does a method find the words that are known to decide a text, and those that people marked?

Planted words are a test: where the model is right it must have used them, so a method passes if the 95% interval of
what its average precision adds to that of a random order is above 0, and fails if it ends below 0.05. What people
marked is no test of a method, only of how it looks to them: the best is named in the headline. Methods that are not
ranked take no part. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from heatcheck.method_names import listed, method_name
from heatcheck.results import CHANCE, MODEL_RIGHT, MODEL_WRONG, PEOPLE, PLANTED
from heatcheck.verdict.findings import FEWEST, Estimate, Finding, Mean, means_of, over_all_texts, unsure

EXPERIMENT = "ground_truth"
SMALL_GAIN = 0.05


class Precisions(NamedTuple):
    """Average precision of the methods that may be ranked, the highest first, and of a random order."""

    methods: list[Mean]
    chance: Estimate


def judge_planted(scores: pd.DataFrame) -> list[Finding]:
    right, wrong = (_precisions(scores, PLANTED, setting) for setting in (MODEL_RIGHT, MODEL_WRONG))
    if right is None:
        return []
    elsewhere = {} if wrong is None else {mean.subject: mean.found for mean in wrong.methods}
    return [_judge_one(mean, right.chance, elsewhere.get(mean.subject)) for mean in right.methods]


def _judge_one(mean: Mean, chance: Estimate, where_wrong: Estimate | None) -> Finding:
    name, found, outcome = method_name(mean.subject), mean.found, _against_chance(mean.found, chance)
    apart = "" if where_wrong is None else f" Where it is wrong: {where_wrong} over {where_wrong.n:,}."
    return Finding(
        EXPERIMENT,
        outcome,
        f"Does {name} find the planted words?",
        f"Where the model is right, its average precision is {found} over {found.n:,} texts, and that of a random "
        f"order {chance.value:.2f}.{apart}",
        {
            "passes": "It puts the words that decide the label higher than chance would.",
            "fails": "It puts the words that decide the label hardly higher than chance would, if at all.",
            "cannot tell": unsure(found.n, "With these texts chance is not ruled out: more are needed."),
        }[outcome],
        "auprc",
        *found[:3],
        chance.value,
        subject=mean.subject,
    )


def _against_chance(found: Estimate, chance: Estimate) -> str:
    gain = found - chance
    if gain.n < FEWEST:
        return "cannot tell"
    return "passes" if gain.low > 0 else "fails" if gain.high < SMALL_GAIN else "cannot tell"


def planted_headlines(findings: Sequence[Finding]) -> Iterator[str]:
    judged = [found for found in findings if found.experiment == EXPERIMENT]
    passed = [found for found in judged if found.outcome == "passes"]
    failed = [found.subject for found in judged if found.outcome == "fails"]
    if passed:
        best = _as_good([(found.subject, found.value or 0.0) for found in passed])
        verb, value, chance = "finds" if len(best) == 1 else "find", passed[0].value, passed[0].threshold
        yield f"{listed(best)} {verb} the planted words best: average precision {value:.2f}, by chance {chance:.2f}."
    elif judged:
        yield "No method is shown to find the planted words."
    if failed:
        yield f"Do not show {listed(failed)}: the planted words stand hardly higher than by chance."


def plausible_headlines(scores: pd.DataFrame) -> Iterator[str]:
    found = _precisions(scores, PEOPLE, None)
    if found is None:
        return
    best, chance = found.methods[0].found, found.chance
    if _against_chance(best, chance) != "passes":
        few = f"; fewer than {FEWEST} texts cannot show it" if best.n < FEWEST else ""
        yield f"No method is shown to mark the words that people marked more than chance would{few}."
        return
    names = _as_good([(mean.subject, mean.found.value) for mean in found.methods])
    yield (
        f"{listed(names)} {'marks' if len(names) == 1 else 'mark'} the words that people marked best: average "
        f"precision {best.value:.2f}, by chance {chance.value:.2f}. That makes a heatmap plausible, not faithful."
    )


def _as_good(ordered: Sequence[tuple[str, float]]) -> list[str]:
    """The first, and those that are written with the same number."""
    return [name for name, value in ordered if f"{value:.2f}" == f"{ordered[0][1]:.2f}"]


def _precisions(scores: pd.DataFrame, marked_by: str, setting: str | None) -> Precisions | None:
    means = over_all_texts(scores)
    means = means[means["reason"].isna()]
    found = [mean for mean in means_of(means, "auprc") if mean.setting == setting]
    methods = [mean for mean in found if mean.reference == marked_by]
    if not methods:
        return None
    chance = next(mean.found for mean in found if mean.reference == CHANCE)
    return Precisions(sorted(methods, key=lambda mean: -mean.found.value), chance)
