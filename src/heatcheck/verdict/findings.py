"""From a number with its interval to a sentence: passes, fails, or cannot tell.

A test fails or passes only if its whole 95% interval lies on one side of the threshold, and comes from ten texts at
least: of fewer, intervals by resampling are too narrow (of two they hold the truth half of the time). No torch here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from heatcheck.method_names import with_names
from heatcheck.results import ON_DEV

LN2 = math.log(2)  # the largest JSD
FEWEST = 10  # texts that can carry a verdict
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
    finding: str  # with {value}, {low}, {high}, {n}, and {at}
    passes: str
    fails: str
    subject: str | None = None  # whose rows, where several methods were measured
    same_within: float | None = None  # the largest change of output (a row's `at`) that is still "the same"


@dataclass(frozen=True)
class Finding:
    experiment: str
    outcome: str  # "passes", "fails" or "cannot tell"
    question: str
    finding: str
    meaning: str
    measure: str
    value: float | None  # None: no text has one
    low: float | None
    high: float | None
    threshold: float
    subject: str = "attention"  # the method that it is about


class Number(float):
    """With a true minus sign in a sentence, and none before a zero.

    >>> f"{Number(-0.051):.2f} {Number(-0.0001):.2f}"
    '−0.05 0.00'
    """

    def __format__(self, how: str) -> str:
        text = super().__format__(how)
        return text.replace("-", "−" if text.strip("-0.") else "")


def judge(test: Test, scores: pd.DataFrame) -> Finding | None:
    chosen = scores[
        (scores["measure"] == test.measure)
        & (scores["statistic"] == test.statistic)
        & scores["example_id"].isna()
        & scores["group"].isna()
        & ((scores["setting"] == test.setting) if test.setting else True)
        & ((scores["subject"] == test.subject) if test.subject else True)
    ]
    if not len(chosen):
        return None
    row = chosen.iloc[0]
    if pd.isna(row["value"]):
        return _undefined(test, row)
    value = float(row["value"])
    low, high = (value if pd.isna(row[side]) else float(row[side]) for side in ("low", "high"))
    outcome = _outcome(test, low, high, int(row["n"]))
    meanings = {
        "passes": test.passes,
        "fails": test.fails,
        "cannot tell": unsure(int(row["n"])),
    }
    if row["setting"] in LOWER_BOUNDS and outcome == "passes":
        outcome = "cannot tell"
        meanings[outcome] = "The search found nothing far, but it is a search: something farther may exist."
    if test.same_within is not None and row["at"] > test.same_within:
        outcome = "cannot tell"
        meanings[outcome] = f"An output that may move by {row['at']:g} is another one: test with {test.same_within:g}."
    numbers = {"value": Number(value), "low": Number(low), "high": Number(high)}
    sentence = test.finding.format(**numbers, n=int(row["n"]), at=row["at"])
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


def unsure(n: int, holds: str = "The interval holds the threshold: more texts are needed to tell.") -> str:
    """Why a number is on neither side."""
    return holds if n >= FEWEST else f"Fewer than {FEWEST} texts cannot carry a verdict, whatever their interval."


def _undefined(test: Test, row: pd.Series) -> Finding:
    """A test that was run and has no number is listed, or the others would seem to be all."""
    reason = "no text has a value" if pd.isna(row["reason"]) else str(row["reason"])
    reason = with_names(reason, [name for name in (row["subject"], row.get("reference")) if isinstance(name, str)])
    return Finding(
        test.experiment,
        "cannot tell",
        test.question,
        f"{reason[0].upper()}{reason[1:]}.",
        "Without a value this test says nothing, neither for nor against.",
        test.measure,
        None,
        None,
        None,
        test.threshold,
        test.subject or "attention",
    )


def _outcome(test: Test, low: float, high: float, n: int) -> str:
    if n < FEWEST or low <= test.threshold <= high:
        return "cannot tell"
    return "passes" if (low > test.threshold) == (test.good == "above") else "fails"


class Estimate(NamedTuple):
    """A number with its interval. Without an interval it is not judged."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return self.written(2)

    def written(self, digits: int) -> str:
        """
        >>> Estimate(-0.0031, -0.01, 0.004, 9).written(3)
        '−0.003 [−0.010, 0.004]'
        """
        value, low, high = (f"{Number(x):.{digits}f}" for x in self[:3])
        return f"{value} [{low}, {high}]"

    def __sub__(self, other: Estimate) -> Estimate:
        """Zou & Donner's interval for the difference of independent numbers; wider than need be for those that vary
        together, as two models' means over the same texts do.

        >>> Estimate(0.75, 0.5, 1.0, 9) - Estimate(0.25, 0.25, 0.25, 9)
        Estimate(value=0.5, low=0.25, high=0.75, n=9)
        """
        value = self.value - other.value
        down = math.sqrt((self.value - self.low) ** 2 + (other.high - other.value) ** 2)
        up = math.sqrt((self.high - self.value) ** 2 + (other.value - other.low) ** 2)
        return Estimate(value, value - down, value + up, min(self.n, other.n))

    def against(self, threshold: float) -> str:
        """
        >>> Estimate(0.2, 0.1, 0.3, 90).against(0.05), Estimate(0.2, 0.1, 0.3, 90).against(0.3)
        ('above', 'cannot tell')
        """
        if self.n < FEWEST or self.low <= threshold <= self.high:
            return "cannot tell"
        return "above" if self.low > threshold else "below"


class Mean(NamedTuple):
    """A row over all texts."""

    subject: str
    reference: str | None
    setting: str | None
    at: float | None
    found: Estimate


def over_all_texts(scores: pd.DataFrame) -> pd.DataFrame:
    """The means of all classes together."""
    return scores[(scores["statistic"] == "mean") & scores["example_id"].isna() & scores["group"].isna()]


def on_dev(scores: pd.DataFrame, measure: str, *columns: str) -> dict[tuple[Any, ...], float]:
    """The means over dev texts, by the columns that tell trained models apart."""
    rows = scores[(scores["statistic"] == ON_DEV) & (scores["measure"] == measure)]
    return {tuple(row[column] for column in columns): float(row["value"]) for _, row in rows.iterrows()}


def means_of(means: pd.DataFrame, measure: str) -> list[Mean]:
    """Rows without a value or an interval are left out."""
    rows = means[means["measure"] == measure].dropna(subset=["value", "low", "high"])
    return [_mean(row) for _, row in rows.iterrows()]


def _mean(row: pd.Series) -> Mean:
    value, low, high = (float(row[name]) for name in ("value", "low", "high"))
    reference, setting, at = (None if pd.isna(row.get(name)) else row[name] for name in ("reference", "setting", "at"))
    return Mean(str(row["subject"]), reference, setting, at, Estimate(value, low, high, int(row["n"])))


def one_mean(means: pd.DataFrame, measure: str, subject: str, reference: str) -> Mean | None:
    return next((m for m in means_of(means, measure) if (m.subject, m.reference) == (subject, reference)), None)
