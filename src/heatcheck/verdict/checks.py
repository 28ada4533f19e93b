"""Does a method say the same when it is asked again, and something else when the model has forgotten everything?

Repeatability: the mean Kendall τ between runs with other seeds, against 0.7. Randomisation (Adebayo et al. 2018): the
mean τ between the explanations of the trained model and of one whose weights are all drawn anew, against 0.2; the
paper draws no line. Both by the whole 95% interval, one finding a method. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

import pandas as pd

from heatcheck.method_names import listed, method_name
from heatcheck.verdict.findings import Finding, Number, Test, judge

LEAST_STABILITY = 0.7  # mean Kendall τ between two seeds: 17 of 20 word pairs in the same order
MOST_ALIKE = 0.2  # mean Kendall τ with a model of random weights: 12 of 20 word pairs in the same order, by chance 10
# The first and the last stage of the cascade, of transformers and of our models.
HEAD_RANDOM, ALL_RANDOM = ("head", "decoder"), ("embeddings", "embedding")
STEADY = "methods without chance"

REPEATED = Test(
    "repeatability",
    "rank_stability",
    "mean",
    None,
    LEAST_STABILITY,
    "above",
    "Does {method} say the same when it is asked again?",
    "Between two seeds, {method} orders the words of a text at a mean Kendall τ of {{value:.2f}} "
    "[{{low:.2f}}, {{high:.2f}}] over {{n:,}} texts.",
    "At least 17 of 20 word pairs stand in the same order whatever the seed.",
    "Another seed gives another heatmap: of 20 word pairs more than 3 change places (τ below 0.7). Take more samples, "
    "or do not show it.",
)
RANDOMISED = Test(
    "randomisation",
    "randomisation_correlation",
    "mean",
    None,
    MOST_ALIKE,
    "below",
    "Does {method} notice when the model forgets what it learned?",
    "With all weights random, {method} orders the words as before at a mean Kendall τ of {{value:.2f}} "
    "[{{low:.2f}}, {{high:.2f}}] over {{n:,}} texts.",
    "The heatmap of a model that has learned nothing is another one: the least that can be asked.",
    "A model that has learned nothing gets a heatmap that is alike (τ above 0.2, where chance gives 0): it shows the "
    "text or the architecture, not what was learned.",
)


def judge_checks(scores: pd.DataFrame) -> list[Finding]:
    """The worst first in each: what a reader must not miss."""
    repeated = scores[(scores["measure"] == REPEATED.measure) & scores["setting"].isna()]
    steady = repeated["low"] == 1  # the same in every run, as it must be where nothing is drawn
    randomised = scores[scores["measure"] == RANDOMISED.measure]
    chance = sorted(_each(REPEATED, repeated[~steady]), key=_value_or_last)
    return [
        *chance,
        *_steady(_each(REPEATED, repeated[steady])),
        *sorted(_randomised(randomised), key=lambda found: _value_or_last(found, -1)),
    ]


def _value_or_last(found: Finding, sign: int = 1) -> float:
    return inf if found.value is None else sign * found.value


def _randomised(scores: pd.DataFrame) -> Iterator[Finding]:
    """Judged with all weights random; what the output layer alone changes is said too."""
    means = scores[(scores["statistic"] == "mean") & scores["group"].isna() & scores["example_id"].isna()]
    first = means[means["setting"].isin(HEAD_RANDOM)].set_index("subject")["value"]
    for found in _each(RANDOMISED, scores[scores["setting"].isin(ALL_RANDOM)]):
        alone = first.get(found.subject)
        more = (
            "" if alone is None or pd.isna(alone) else f" With the output layer alone random it is {Number(alone):.2f}."
        )
        yield replace(found, finding=found.finding + more)


def _each(test: Test, scores: pd.DataFrame) -> list[Finding]:
    found = [judge(_about(test, str(name)), rows) for name, rows in scores.groupby("subject", sort=True)]
    return [one for one in found if one is not None]


def _about(test: Test, method: str) -> Test:
    name = method_name(method)
    return replace(
        test,
        question=test.question.format(method=name),
        finding=test.finding.format(method=name.replace("{", "{{").replace("}", "}}")),
        subject=method,
    )


def _steady(findings: Sequence[Finding]) -> Iterator[Finding]:
    """One card for all of them: that nothing was drawn is soon said."""
    if len(findings) < 2:
        yield from findings
        return
    names = listed(found.subject for found in findings)
    passed = [found for found in findings if found.outcome == "passes"]
    yield replace(
        (passed or findings)[0],
        question=f"Do {len(findings)} methods say the same when they are asked again?",
        finding=f"{names} order the words of every text in the same way each time.",
        subject=STEADY,
    )


def check_headlines(findings: Sequence[Finding]) -> Iterator[str]:
    """What to leave alone, by name; if nothing else was tested, what was found."""
    failed = {
        experiment: [found.subject for found in findings if found.experiment == experiment and found.outcome == "fails"]
        for experiment in (REPEATED.experiment, RANDOMISED.experiment)
    }
    if failed["repeatability"]:
        yield f"Do not show {listed(failed['repeatability'])}: another seed gives another order."
    if failed["randomisation"]:
        verb = "gives" if len(failed["randomisation"]) == 1 else "give"
        names = listed(failed["randomisation"])
        yield f"{names} {verb} a model without learning much the same heatmap: do not show as what it learned."
    if findings and not any(failed.values()) and {f.experiment for f in findings} <= failed.keys():
        yield _nothing_failed(findings)


def _nothing_failed(findings: Sequence[Finding]) -> str:
    if any(found.outcome == "cannot tell" for found in findings):
        return "No method failed, but the texts do not tell of all."
    return " ".join(_passed(findings))


def _passed(findings: Sequence[Finding]) -> Iterator[str]:
    """Of the methods that were tested: others may be in the report, and cannot have failed."""
    for experiment, one, many in (
        ("repeatability", "gives the same order when it is asked again", "give the same order when asked again"),
        ("randomisation", "changes when the model forgets what it learned", "change when the model forgets"),
    ):
        tested = [found.subject for found in findings if found.experiment == experiment]
        if len(tested) == 1 and tested != [STEADY]:
            yield f"{listed(tested)} {one}."
        elif tested:
            few = listed(tested) if len(tested) <= 3 and STEADY not in tested else "All methods that were tested"
            yield f"{few} {many}."
