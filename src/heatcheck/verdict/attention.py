"""What the tests that train nothing say of attention. (Jain & Wallace 2019)

Thresholds and what they mean: docs/decisions/0005-verdict-thresholds.md. No torch here.
"""

from __future__ import annotations

import pandas as pd

from heatcheck.verdict.findings import LN2, Finding, Test, judge
from heatcheck.verdict.model import where_the_output_moves

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


def judge_attention(scores: pd.DataFrame) -> list[Finding]:
    found = [finding for test in TESTS if (finding := judge(test, scores)) is not None]
    return where_the_output_moves(found, scores)
