"""From numbers with intervals to sentences: which test does attention pass, fail, or leave open, and what that means.

A test fails or passes only if its whole 95% interval lies on one side of the threshold. Tests are never averaged into
one score: each says something else. Reads tables only; no torch here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

LN2 = 0.6931471805599453
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


TESTS = (
    Test(
        "correlation",
        "tau_gradient",
        "mean",
        "kendall",
        0.5,
        "above",
        "Does attention rank the words as gradients do?",
        "Mean Kendall τ between attention and gradients is {value:.2f} [{low:.2f}, {high:.2f}] over {n:,} texts.",
        "At least three of four word pairs stand in the same order in both, on average.",
        "Fewer than three of four word pairs stand in the same order (τ below 0.5): the heatmap and the gradients tell "
        "different stories about the same prediction.",
    ),
    Test(
        "correlation",
        "tau_loo",
        "mean",
        "kendall",
        0.5,
        "above",
        "Do the words with attention matter when they are deleted?",
        "Mean Kendall τ between attention and leave-one-out is {value:.2f} [{low:.2f}, {high:.2f}] over {n:,} texts.",
        "The more attention a word has, the more its deletion changes the output, for most word pairs.",
        "Attention is a poor guide to what happens when a word is deleted (τ below 0.5).",
    ),
    Test(
        "permutation",
        "permutation_tvd",
        "median",
        None,
        0.05,
        "above",
        "Does it matter which words get the attention?",
        "Shuffling attention moves the output of the median text by {value:.3f} [{low:.3f}, {high:.3f}] ({n:,} texts).",
        "Putting the weights on other words changes what the model says by more than 5 percentage points.",
        "Putting the weights on random other words hardly changes what the model says (less than 5 percentage points): "
        "for half of the texts or more, the highlighted words could be any words.",
    ),
    Test(
        "adversarial_attention",
        "adversarial_jsd",
        "mean",
        None,
        LN2 / 2,
        "below",
        "Is this the only heatmap that gives this output?",
        "The farthest attention with the same output is at JSD {value:.2f} [{low:.2f}, {high:.2f}] on average, of at "
        "most 0.69 ({n:,} texts).",
        "Heatmaps far from the one shown would change the output.",
        "For a typical text another heatmap, on mostly other words, gives the same output: the one shown is not the "
        "reason, only one of many.",
    ),
)


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


def verdict(scores: pd.DataFrame) -> dict[str, Any] | None:
    """The verdict on attention heatmaps as plain JSON, or None if no test was run."""
    findings = [f for test in TESTS if (f := judge(test, scores)) is not None]
    if not findings:
        return None
    return {"headline": headline(findings), "findings": [asdict(f) for f in findings]}


def judge(test: Test, scores: pd.DataFrame) -> Finding | None:
    chosen = scores[
        (scores["measure"] == test.measure)
        & (scores["statistic"] == test.statistic)
        & scores["example_id"].isna()
        & scores["group"].isna()
        & ((scores["setting"] == test.setting) if test.setting else True)
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
    sentence = test.finding.format(value=value, low=low, high=high, n=int(row["n"]))
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
    )


def _outcome(test: Test, low: float, high: float, n: int) -> str:
    if n < 2 or low <= test.threshold <= high:
        return "cannot tell"
    return "passes" if (low > test.threshold) == (test.good == "above") else "fails"


def headline(findings: list[Finding]) -> str:
    """What the tests say together, without averaging them."""
    n = len(findings)
    of_all = "the only test that was run" if n == 1 else f"{{}} of {n} tests"
    failed = sum(f.outcome == "fails" for f in findings)
    undecided = sum(f.outcome == "cannot tell" for f in findings)
    if failed:
        return f"Do not show this model's attention as an explanation: it fails {of_all.format(failed)}."
    if undecided:
        return f"No test failed, but the texts are too few to decide {of_all.format(undecided)}."
    passed = of_all if n == 1 else f"all {n} tests that were run"
    return f"Attention passed {passed}. That is evidence, not proof."
