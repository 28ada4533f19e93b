"""From a number with its interval to a sentence: passes, fails, or cannot tell.

A test fails or passes only if its whole 95% interval lies on one side of the threshold. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

LOWER_BOUNDS = ("search", "published")  # solvers that can prove a failure, never a pass


@dataclass(frozen=True)
class Test:
    """`good` is the side of `threshold` on which attention behaves like an explanation."""

    experiment: str
    measure: str
    statistic: str
    setting: str | None
    threshold: float
    good: str  # "above" or "below"
    question: str
    finding: str  # with {value}, {low}, {high}, {n}
    passes: str
    fails: str
    subject: str | None = None  # whose rows, where several methods were measured


@dataclass(frozen=True)
class Finding:
    experiment: str
    outcome: str  # "passes", "fails" or "cannot tell"
    question: str
    finding: str
    meaning: str
    measure: str
    value: float
    low: float
    high: float
    threshold: float
    subject: str = "attention"  # the method that it is about


class Number(float):
    """With a true minus sign in a sentence.

    >>> f"{Number(-0.051):.2f}"
    '−0.05'
    """

    def __format__(self, how: str) -> str:
        return super().__format__(how).replace("-", "−")


def judge(test: Test, scores: pd.DataFrame) -> Finding | None:
    chosen = scores[
        (scores["measure"] == test.measure)
        & (scores["statistic"] == test.statistic)
        & scores["example_id"].isna()
        & scores["group"].isna()
        & ((scores["setting"] == test.setting) if test.setting else True)
        & ((scores["subject"] == test.subject) if test.subject else True)
    ]
    if not len(chosen) or pd.isna(chosen.iloc[0]["value"]):
        return None
    row = chosen.iloc[0]
    value = float(row["value"])
    low, high = (value if pd.isna(row[side]) else float(row[side]) for side in ("low", "high"))
    outcome = _outcome(test, low, high, int(row["n"]))
    meanings = {
        "passes": test.passes,
        "fails": test.fails,
        "cannot tell": "The interval holds the threshold: more texts are needed to tell.",
    }
    if row["setting"] in LOWER_BOUNDS and outcome == "passes":
        outcome = "cannot tell"
        meanings[outcome] = "The search found nothing far, but it is a search: something farther may exist."
    sentence = test.finding.format(value=Number(value), low=Number(low), high=Number(high), n=int(row["n"]))
    if row["setting"] in LOWER_BOUNDS:
        sentence += " This is a lower bound: a search found it, no certificate."
    return Finding(
        test.experiment,
        outcome,
        test.question,
        sentence,
        meanings[outcome],
        test.measure,
        value,
        low,
        high,
        test.threshold,
        test.subject or "attention",
    )


def _outcome(test: Test, low: float, high: float, n: int) -> str:
    if n < 2 or low <= test.threshold <= high:
        return "cannot tell"
    return "passes" if (low > test.threshold) == (test.good == "above") else "fails"
