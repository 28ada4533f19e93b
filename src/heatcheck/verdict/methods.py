"""Which explanation method may be shown? Judged by what happens when the words it names are erased.

A method's order is compared with random orders of the same words, text by text, as a share of what is possible between
the worst and the best order found. It passes if the 95% interval of the mean gain is above 0, and fails if it ends
below 0.05, a twentieth of what is possible. Where even the best order found lowers the probability of the class by less
than 0.05, there is nothing to find, and no order is judged. One that is not ranked (it misses its own sum, or changes
with the seed) is not judged. Repeatability and randomisation are judged by checks.py, planted words by
marked.py. No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from heatcheck.method_names import listed, method_name
from heatcheck.results import ALL_METHODS, BEST, RANDOM
from heatcheck.verdict.checks import check_headlines, judge_checks
from heatcheck.verdict.findings import FEWEST, Finding, Number, Test, judge, unsure
from heatcheck.verdict.marked import judge_planted, planted_headlines, plausible_headlines

REMOVING = {"delete": "Deleting", "mask": "Masking", "pad": "Padding", "sample": "Replacing"}  # judged: the first there
ERASED = {"delete": "deleted", "mask": "masked", "pad": "padded over", "sample": "replaced by sampled ones"}
SMALL_GAIN = 0.05
SMALL_CHANGE = 0.05  # of the probability, by the best order found
# Methods whose scores have no sign, and what that costs them here.
UNSIGNED = ("attention", "rollout", "flow", "value_zeroing", "gradient", "saliency", "smooth_grad", "leave_one_out")
WITHOUT_SIGN = " It has no signs: words that speak against the class stand among those that speak for it."
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
    subject=ALL_METHODS,
)


def judge_methods(scores: pd.DataFrame) -> list[Finding]:
    """One finding for each method whose words were erased, best first, so for planted words, one for their agreement,
    then the checks."""
    agreement = judge(AGREEMENT, scores)
    used = set(scores[scores["measure"] == "gain_over_random"]["setting"])
    operator = next((name for name in REMOVING if name in used), "delete")
    gains = _means(scores, "gain_over_random", operator)
    reached = _means(scores, "aopc_comprehensiveness", f"{operator}:normalised").set_index("subject")["value"]
    ranked = gains[gains["reason"].isna()].sort_values("value", ascending=False)
    best = _means(scores, "aopc_comprehensiveness", operator).set_index("subject")["value"].get(BEST)
    found = [
        _judge_one(row, reached, REMOVING[operator], best) for _, row in ranked[ranked["value"].notna()].iterrows()
    ]
    found += _without_value(gains[gains["value"].isna()])
    return [*found, *judge_planted(scores), *([] if agreement is None else [agreement]), *judge_checks(scores)]


def _means(scores: pd.DataFrame, measure: str, setting: str) -> pd.DataFrame:
    return scores[
        (scores["measure"] == measure)
        & (scores["setting"] == setting)
        & (scores["statistic"] == "mean")
        & scores["group"].isna()
        & scores["example_id"].isna()
    ]


def _without_value(rows: pd.DataFrame) -> list[Finding]:
    """Methods that no text has a number for are listed, or the others would seem to be all."""
    if not len(rows):
        return []
    reason = str(rows.iloc[0]["reason"])
    return [
        Finding(
            "erasure",
            "cannot tell",
            "Does the output rest on the words that the methods name?",
            f"{listed(rows['subject'])}: {reason}.",
            "Without a value this test says nothing, neither for nor against.",
            "gain_over_random",
            None,
            None,
            None,
            0.0,
            subject=ALL_METHODS,
        )
    ]


def _judge_one(row: pd.Series, reached: pd.Series, removing: str, best: float | None) -> Finding:
    subject, value, n = str(row["subject"]), float(row["value"]), int(row["n"])
    low, high = (value if pd.isna(row[side]) else float(row[side]) for side in ("low", "high"))
    outcome = "cannot tell"
    if n >= FEWEST and low > 0:
        outcome = "passes"
    elif n >= FEWEST and high < SMALL_GAIN:
        outcome = "fails"
    meaning = {
        "passes": f"{removing} the words it names changes the output more than {removing.lower()} random words.",
        "fails": f"{removing} the words it names changes the output hardly more than {removing.lower()} random words, "
        "if at all." + (WITHOUT_SIGN if subject.partition("(")[0] in UNSIGNED else ""),
        "cannot tell": unsure(n, "With these texts chance is not ruled out: more are needed."),
    }[outcome]
    if best is not None and best < SMALL_CHANGE:
        outcome, meaning = "cannot tell", _nothing_to_find(best)
    name = method_name(subject)
    between = f"{name} reaches {Number(reached[subject]):.2f} and random words {Number(reached[RANDOM]):.2f}"
    gain = f"{Number(value):.2f} [{Number(low):.2f}, {Number(high):.2f}]"
    return Finding(
        "erasure",
        outcome,
        f"Does the output rest on the words that {name} names?",
        f"Between the worst (0) and the best (1) order found, {between}: a gain of {gain} over {n:,} texts.",
        meaning,
        "gain_over_random",
        value,
        low,
        high,
        0.0,
        subject=subject,
    )


def _nothing_to_find(best: float) -> str:
    return (
        f"Whatever words are removed, the output hardly changes. The best order found lowers the probability of the "
        f"class by {Number(best):.3f}, and below {SMALL_CHANGE:g} none is judged: either the output does not rest on "
        "words, or the model is so unsure that nothing moves it far."
    )


def headline(findings: Sequence[Finding], scores: pd.DataFrame) -> str:
    """What may be shown, by name, and what looks right to people."""
    of_words = [*_erasure(findings), *planted_headlines(findings), *plausible_headlines(scores)]
    return " ".join([*of_words, *check_headlines(findings), *_agreement(findings)])


def _erasure(findings: Sequence[Finding]) -> Iterator[str]:
    judged = [f for f in findings if f.experiment == "erasure"]
    names = {kind: [f.subject for f in judged if f.outcome == kind] for kind in ("passes", "fails")}
    good = names["passes"]
    if good:
        many = f"all {len(judged)}" if len(good) == len(judged) else f"{len(good)} of {len(judged)}"
        few = listed(good) if len(good) <= 3 else f"{many} methods that may be ranked".capitalize()
        yield f"{few} {'names' if len(good) == 1 else 'name'} words that the output rests on."
    elif judged:
        yield "No method is shown to name the words that the output rests on."
        why = {found.meaning for found in judged if found.outcome == "cannot tell"}
        if len(why) == 1 and not names["fails"]:
            yield why.pop().partition(". ")[0].rstrip(".") + "."
    if names["fails"]:
        yield f"Do not show {listed(names['fails'])}: hardly better than random words."


def _agreement(findings: Sequence[Finding]) -> Iterator[str]:
    agree = next((f for f in findings if f.experiment == "agreement"), None)
    if agree is None:
        return
    if agree.outcome == "fails":
        yield "The methods contradict one another: say which one a heatmap is from."
    elif all(f.experiment != "erasure" for f in findings):
        yield "The methods agree." if agree.outcome == "passes" else "Whether the methods agree cannot be told."
