"""Which explanation method may be shown? Judged by what happens when the words it names are erased.

A method passes if, its top words deleted, it stands above random words with both 95% intervals apart, and fails if it
stands below or level with them. One that is not ranked (it misses its own sum, or changes with the seed) is not judged.
No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from heatcheck.findings import Finding, Test, judge, listed

ERASED = ("aopc_comprehensiveness", "delete:normalised")
NOT_METHODS = ("random", "best found", "worst found")
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
    rows = _erased(scores)
    random = rows[rows["subject"] == "random"]
    if not len(random):
        return [] if agreement is None else [agreement]
    methods = rows[~rows["subject"].isin(NOT_METHODS) & ~rows["subject"].str.startswith("reversed ") & rows["ranked"]]
    ordered = methods.sort_values("value", ascending=False)
    found = [_judge_one(row, random.iloc[0]) for _, row in ordered.iterrows()]
    return [*found, *([] if agreement is None else [agreement])]


def _erased(scores: pd.DataFrame) -> pd.DataFrame:
    measure, setting = ERASED
    rows = scores[
        (scores["measure"] == measure)
        & (scores["setting"] == setting)
        & (scores["statistic"] == "mean")
        & scores["group"].isna()
        & scores["example_id"].isna()
        & scores["value"].notna()
    ]
    return rows.assign(ranked=rows["reason"].isna())


def _judge_one(row: pd.Series, random: pd.Series) -> Finding:
    name, value, low, high, n = row["subject"], row["value"], row["low"], row["high"], int(row["n"])
    outcome = "cannot tell"
    if n > 1 and low > random["high"]:
        outcome = "passes"
    elif n > 1 and high < random["high"]:
        outcome = "fails"
    meaning = {
        "passes": "Deleting the words it names changes the output more than deleting random words.",
        "fails": "Deleting the words it names changes the output no more than deleting random words.",
        "cannot tell": "It cannot be told from random words with these texts: more are needed.",
    }[outcome]
    return Finding(
        "erasure",
        outcome,
        f"Does the output rest on the words that {name} names?",
        f"Between the worst (0) and the best (1) order found, {name} reaches {value:.2f} [{low:.2f}, {high:.2f}], "
        f"random words {random['value']:.2f} [{random['low']:.2f}, {random['high']:.2f}], over {n:,} texts.",
        meaning,
        ":".join((ERASED[0], "normalised")),
        float(value),
        float(low),
        float(high),
        float(random["high"]),
        subject=str(name),
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
        sentences.append(f"Do not show {listed(names['fails'])}: no better than random words.")
    if agree is not None and agree.outcome == "fails":
        sentences.append("The methods contradict one another: say which one a heatmap is from.")
    elif agree is not None and not judged:
        sentences.append(
            "The methods agree." if agree.outcome == "passes" else "Whether the methods agree cannot be told."
        )
    return " ".join(sentences)
