"""What the tests that train models say of attention: is it needed, and does it help another model? (Wiegreffe & Pinter
2019) What adversaries say is in price.py and attefa.py.

Each by a 95% interval and its own threshold, never averaged; the texts' and the seeds' chance are in the intervals.

- uniform_attention: the F1 that attention adds, against the margin of the run (one point). "Attention is not
  explanation if you don't need it" (paper 2, section 3.2).
- guided_mlp: the F1 that attention's weights add to a network that sees no context, against equal weights. Passes above
  0; fails if it ends below 0.01, one point, as else a guide without any effect could never fail.
- seed_variance has no finding: that other seeds give other weights does not make any one model's weights wrong. It is
  what adversaries are measured against.

No torch here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heatcheck.method_names import method_name
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.attefa import judge_attefa
from heatcheck.verdict.findings import FEWEST, Finding, Mean, means_of, one_mean, over_all_texts, unsure
from heatcheck.verdict.price import judge_price

POINT = 0.01  # of F1


def judge_trained(scores: pd.DataFrame) -> list[Finding]:
    means = over_all_texts(scores)
    return [*_needed(means), *_guides(means), *judge_price(scores), *judge_attefa(scores)]


def learned(balanced_accuracy: float, chance: float) -> bool:
    """Are the models better, by a point, than one that always answers the same? F1 does not tell: always "positive" has
    an F1 of 0.67 where half of the texts are.

    >>> learned(0.83, 0.5), learned(0.5, 0.5)
    (True, False)
    """
    return balanced_accuracy > chance + POINT


NOT_LEARNED = (
    "The models have learned nothing: they are no better than one that always answers the same, by the mean recall of "
    "the classes. Train them longer, or on more texts."
)


def _learned(means: pd.DataFrame, measure: str) -> bool:
    found = means_of(means, measure)
    return all(learned(mean.found.value, mean.at) for mean in found if mean.at is not None)


def _needed(means: pd.DataFrame) -> Iterator[Finding]:
    added = one_mean(means, "uniform_f1_difference", "attention", "uniform")
    own, uniform = (one_mean(means, "uniform_f1", name, ALL_SEEDS) for name in ("attention", "uniform"))
    if added is None or added.at is None or own is None or uniform is None:
        return
    margin, of_n = added.at, f"over {added.found.n:,} texts"
    outcome, meaning = {
        "above": ("passes", "Without attention the model is worse: its weights do something that can be explained."),
        "below": (
            "fails",
            f"With equal weights on all words the model does as well, within {margin:g}: attention is not needed here, "
            "and weights that are not needed explain nothing.",
        ),
        "cannot tell": (
            "cannot tell",
            unsure(added.found.n, f"The interval holds the margin of {margin:g}: more texts or seeds are needed."),
        ),
    }[added.found.against(margin)]
    if not _learned(means, "uniform_balanced_accuracy"):
        outcome, meaning = "cannot tell", NOT_LEARNED
    yield Finding(
        "uniform_attention",
        outcome,
        "Is attention needed at all?",
        f"F1 {_of(own)}is {own.found.value:.3f} with attention and {uniform.found.value:.3f} with equal weights: "
        f"a difference of {added.found.written(3)} {of_n} and all seeds.",
        meaning,
        "uniform_f1_difference",
        *added.found[:3],
        margin,
    )


def _other_guides(means: pd.DataFrame) -> str:
    others = [m for m in means_of(means, "guided_f1_difference") if m.subject != "base" and m.reference == "uniform"]
    own = {"mlp": "weights learned by itself", "adversary": "an adversary's attention"}
    named = (f"{own.get(m.subject) or method_name(m.subject)} {m.found.written(3)}" for m in others)
    return f" Other guides: {', '.join(named)}." if others else ""


def _of(f1: Mean) -> str:
    return "" if f1.setting is None else f"({f1.setting}) "


def _guides(means: pd.DataFrame) -> Iterator[Finding]:
    added = one_mean(means, "guided_f1_difference", "base", "uniform")
    if added is None:
        return
    found = added.found
    outcome = "cannot tell"
    if found.n >= FEWEST and found.low > 0:
        outcome = "passes"
    elif found.n >= FEWEST and found.high < POINT:
        outcome = "fails"
    meaning = {
        "passes": "A model that reads every word alone does better when it is told these weights: they say which words "
        "matter, whatever the model.",
        "fails": "Told these weights, a model that reads every word alone does not do better by even one point of F1: "
        "they do not say which words matter.",
        "cannot tell": unsure(
            found.n, "Whether these weights help cannot be told with these texts and seeds: more are needed."
        ),
    }[outcome]
    if not _learned(means, "guided_balanced_accuracy"):
        outcome, meaning = "cannot tell", NOT_LEARNED
    yield Finding(
        "guided_mlp",
        outcome,
        "Do attention's weights help a model that sees no context?",
        f"Against equal weights, attention's weights make a difference of {found.written(3)} in F1 over {found.n:,} "
        f"texts and all seeds.{_other_guides(means)}",
        meaning,
        "guided_f1_difference",
        *found[:3],
        POINT if outcome == "fails" else 0.0,
    )
