"""From numbers with intervals to sentences: which test does attention pass, fail, or leave open, which method may be
shown, and what that means.

Tests are never averaged into one score: each says something else. Reads tables only; no torch here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from heatcheck import verdict_methods, verdict_model, verdict_trained
from heatcheck.findings import LN2, Finding, Test, judge

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
        "The farthest attention with the same output, within {at:g}, is at JSD {value:.2f} [{low:.2f}, {high:.2f}] on "
        "average, of at most 0.69 ({n:,} texts).",
        "Heatmaps far from the one shown would change the output.",
        "For a typical text another heatmap, on mostly other words, gives the same output: the one shown is not the "
        "reason, only one of many.",
        same_within=0.05,
    ),
)


def verdict(scores: pd.DataFrame) -> dict[str, Any] | None:
    """The verdict as plain JSON, or None if no test was run."""
    attention = [f for test in TESTS if (f := judge(test, scores)) is not None]
    attention = verdict_model.where_the_output_moves(attention, scores)
    attention += verdict_trained.judge_trained(scores)
    methods = verdict_methods.judge_methods(scores)
    sentences = [headline(attention)] if attention else []
    sentences += [sentence] if (sentence := verdict_methods.headline(methods, scores)) else []
    if not sentences:
        return None
    if verdict_model.at_chance(scores):
        sentences.insert(0, verdict_model.AT_CHANCE)
    return {"headline": " ".join(sentences), "findings": [asdict(f) for f in (*attention, *methods)]}


def headline(findings: list[Finding]) -> str:
    """What the tests say together, without averaging them."""
    n = len(findings)
    of_all = "the only test that was run" if n == 1 else f"{{}} of {n} tests"
    failed = sum(f.outcome == "fails" for f in findings)
    undecided = sum(f.outcome == "cannot tell" for f in findings)
    if failed:
        return f"Do not show this model's attention as an explanation: it fails {of_all.format(failed)}."
    if undecided:
        return f"No test failed, but {of_all.format(undecided)} cannot tell."  # each for a reason of its own
    passed = of_all if n == 1 else f"all {n} tests that were run"
    return f"Attention passed {passed}. That is evidence, not proof."
