"""What the model's own answers leave to be explained: a heatmap of a guess, or of an answer that never changes, says
little, whatever a test of it finds. No torch here.

- At chance: its mean recall of the classes may be what one has who always says the same (1 / number of classes), and of
  two classes its area under the ROC curve may be ½. Then the headline begins with that, and a note has the numbers.
- Nearly one answer: its outputs are within 0.05 of a constant on average, by the whole interval (known of two classes
  only). Then no test of how far the output moves can fail: it has nowhere to move. That it passes shows that it has.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from heatcheck.verdict.findings import FEWEST, Finding, Mean, means_of, over_all_texts

VARIED = 0.05
MOVES_THE_OUTPUT = ("permutation", "adversarial_attention")  # tests whose measure, or allowance, is in that unit


AT_CHANCE = "On these texts the model is not shown to do better than chance."


def at_chance(scores: pd.DataFrame) -> str | None:
    """A note, if the model is not shown to do better."""
    recall, roc_auc = (_of_model(scores, measure) for measure in ("balanced_accuracy", "roc_auc"))
    if recall is None or recall.at is None or recall.found.n < FEWEST or recall.found.low > recall.at:
        return None
    if roc_auc is not None and roc_auc.found.low > 0.5:  # it tells the classes apart, and draws the line elsewhere
        return None
    found = (
        f"The model's mean recall of the classes is {recall.found} over {recall.found.n:,} texts, and one who always "
        f"says the same has {recall.at:.2f}"
    )
    if recall.found.high < recall.at:
        return (
            f"{found}: it is wrong more often than a guess. Are the classes in the model's order? --labels names them."
        )
    return f"{found}: its explanations may be those of guesses. Give more texts, or a better model."


def where_the_output_moves(findings: list[Finding], scores: pd.DataFrame) -> list[Finding]:
    """The findings, without failures by outputs that are nearly the same for all texts."""
    spread = _of_model(scores, "output_spread")
    if spread is None or spread.found.high >= VARIED:
        return findings
    return [
        replace(finding, outcome="cannot tell", meaning=same_to_all(spread.found.value))
        if finding.experiment in MOVES_THE_OUTPUT and finding.outcome == "fails"
        else finding
        for finding in findings
    ]


def same_to_all(uninformed: float) -> str:
    """`uninformed`: mean TVD of the outputs from the constant that is nearest to them."""
    return (
        "The model says nearly the same to nearly every text: one who has read nothing is at a mean TVD of only "
        f"{uninformed:.3f} from it. Little is left that attention could be tied to."
    )


def _of_model(scores: pd.DataFrame, measure: str) -> Mean | None:
    return next(iter(means_of(over_all_texts(scores), measure)), None)
