"""Which explanation method may be shown? Judged by what happens when the words it names are erased.

A method's order is compared with random orders of the same words, text by text, as a share of what is possible
between the worst and the best order found. It passes if the 95% interval of the mean gain is above 0, and fails if it
ends below 0.05, a twentieth of what is possible. One that is not ranked (it misses its own sum, or changes with the
seed) is not judged. No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from heatcheck.findings import Finding, Test, judge, listed

ERASED = ("aopc_comprehensiveness", "delete:normalised")
SMALL_GAIN = 0.05
AGREEMENT = Test(
    "agreement",
    "kendall",
    "mean",
    None,
    0.5,
    "above",
    "Do the methods tell the same story about a text?",
    "Mean Kendall τ over all pairs of methods is {value:.2f} [{low:.2f}, {high:.2f}] over {n:,} texts.",
    "Two methods put at least three of four word pairs in the same order, on average.",
    "Two methods put fewer than three of four word pairs in the same order (τ below 0.5): which words are shown as "
    "important depends on the method that is chosen.",
    subject="all methods",
)


def judge_methods(scores: pd.DataFrame) -> list[Finding]:
    """One finding for each method whose words were erased, best first, and one for their agreement."""
    agreement = judge(AGREEMENT, scores)
    gains = _means(scores, "gain_over_random", "delete")
    reached = _means(scores, *ERASED).set_index("subject")["value"]
    ranked = gains[gains["reason"].isna()].sort_values("value", ascending=False)
    found = [_judge_one(row, reached) for _, row in ranked.iterrows()]
    return [*found, *([] if agreement is None else [agreement])]


def _means(scores: pd.DataFrame, measure: str, setting: str) -> pd.DataFrame:
    return scores[
        (scores["measure"] == measure)
        & (scores["setting"] == setting)
        & (scores["statistic"] == "mean")
        & scores["group"].isna()
        & scores["example_id"].isna()
        & scores["value"].notna()
    ]


def _judge_one(row: pd.Series, reached: pd.Series) -> Finding:
    name, value, n = str(row["subject"]), float(row["value"]), int(row["n"])
    low, high = (value if pd.isna(row[side]) else float(row[side]) for side in ("low", "high"))
    outcome = "cannot tell"
    if n > 1 and low > 0:
        outcome = "passes"
    elif n > 1 and high < SMALL_GAIN:
        outcome = "fails"
    meaning = {
        "passes": "Deleting the words it names changes the output more than deleting random words.",
        "fails": "Deleting the words it names changes the output hardly more than deleting random words, if at all.",
        "cannot tell": "It cannot be told from random words with these texts: more are needed.",
    }[outcome]
    between = f"{name} reaches {reached[name]:.2f} and random words {reached['random']:.2f}"
    return Finding(
        "erasure",
        outcome,
        f"Does the output rest on the words that {name} names?",
        f"Between the worst (0) and the best (1) order found, {between}: a gain of {value:.2f} [{low:.2f}, {high:.2f}] "
        f"over {n:,} texts.",
        meaning,
        "gain_over_random",
        value,
        low,
        high,
        0.0,
        subject=name,
    )


def headline(findings: Sequence[Finding]) -> str:
    """What may be shown, by name."""
    judged = [f for f in findings if f.experiment == "erasure"]
    names = {kind: [str(f.subject) for f in judged if f.outcome == kind] for kind in ("passes", "fails", "cannot tell")}
    agree = next((f for f in findings if f.experiment == "agreement"), None)
    sentences = []
    if names["passes"]:
        few = (
            listed(names["passes"]) if len(names["passes"]) <= 3 else f"{len(names['passes'])} of {len(judged)} methods"
        )
        verb = "names" if len(names["passes"]) == 1 else "name"
        sentences.append(f"{few} {verb} words that the output rests on.")
    elif judged:
        sentences.append("No method is shown to name the words that the output rests on.")
    if names["fails"]:
        sentences.append(f"Do not show {listed(names['fails'])}: hardly better than random words.")
    if agree is not None and agree.outcome == "fails":
        sentences.append("The methods contradict one another: say which one a heatmap is from.")
    elif agree is not None and not judged:
        sentences.append(
            "The methods agree." if agree.outcome == "passes" else "Whether the methods agree cannot be told."
        )
    return " ".join(sentences)
