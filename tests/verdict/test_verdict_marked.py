"""Verdicts on words that are known to decide a text, and a sentence on those that people marked."""

from dataclasses import asdict

import pandas as pd
import pytest

from heatcheck.results import CHANCE, MODEL_RIGHT, MODEL_WRONG, PEOPLE, PLANTED, RANDOM, Score
from heatcheck.verdict import verdict
from heatcheck.verdict.findings import Estimate


def found(marked_by: str, setting: str | None, n: int = 40, **precisions: tuple[float, float]) -> pd.DataFrame:
    """Average precisions by their intervals; chance has 0.1."""
    rows = [
        Score(
            "auprc", (low + high) / 2, name, CHANCE if name == RANDOM else marked_by, statistic="mean",
            setting=setting, low=low, high=high, n=n,
        )
        for name, (low, high) in {**precisions, RANDOM: (0.09, 0.11)}.items()
    ]  # fmt: skip
    return pd.DataFrame(map(asdict, rows))


def outcomes(scores: pd.DataFrame) -> dict[str, str]:
    return {one["subject"]: one["outcome"] for one in verdict(scores)["findings"]}


def test_a_method_finds_planted_words_or_is_no_better_than_chance():
    precisions = {"gradient": (0.95, 0.97), "lime": (0.09, 0.4), "rollout": (0.08, 0.12), "deep_lift": (0.5, 0.9)}
    right = found(PLANTED, MODEL_RIGHT, **precisions)
    wrong = found(PLANTED, MODEL_WRONG, n=7, gradient=(0.2, 0.4))
    said = verdict(pd.concat([wrong, right], ignore_index=True))
    assert [(f["subject"], f["outcome"]) for f in said["findings"]] == [
        ("gradient", "passes"),
        ("deep_lift", "passes"),
        ("lime", "cannot tell"),
        ("rollout", "fails"),
    ]
    assert said["headline"] == (
        "Gradient finds the planted words best: average precision 0.96, by chance 0.10. Do not show Attention rollout: "
        "the planted words stand hardly higher than by chance."
    )
    first = said["findings"][0]
    assert (first["experiment"], first["measure"], first["threshold"]) == ("ground_truth", "auprc", pytest.approx(0.1))
    assert first["finding"] == (
        "Where the model is right, its average precision is 0.96 [0.95, 0.97] over 40 texts, and that of a random "
        "order 0.10. Where it is wrong: 0.30 [0.20, 0.40] over 7."
    )
    assert "Where it is wrong" not in said["findings"][1]["finding"]


def test_methods_with_the_same_number_are_named_together():
    scores = found(PLANTED, MODEL_RIGHT, gradient=(1, 1), attention=(0.998, 1), lime=(0.5, 0.6))
    assert verdict(scores)["headline"].startswith("Gradient and Attention find the planted words best: ")


def test_few_texts_and_texts_that_the_model_got_wrong_carry_no_verdict_on_planted_words():
    scores = found(PLANTED, MODEL_RIGHT, n=9, gradient=(0.9, 1.0))
    assert outcomes(scores) == {"gradient": "cannot tell"}
    assert verdict(scores)["headline"] == "No method is shown to find the planted words."
    assert verdict(found(PLANTED, MODEL_WRONG, gradient=(0.9, 1.0))) is None


def test_a_method_that_is_not_ranked_is_not_judged():
    scores = found(PLANTED, MODEL_RIGHT, gradient=(0.5, 0.6), lime=(0.9, 1.0))
    scores.loc[scores["subject"] == "lime", "reason"] = "not ranked: another seed gives another ranking"
    assert outcomes(scores) == {"gradient": "passes"}


def test_that_the_gain_is_uncertain_on_both_sides_counts():
    """The interval alone is above the mean of chance, that of the difference holds 0."""
    scores = found(PLANTED, MODEL_RIGHT, gradient=(0.1005, 0.1995))
    assert (Estimate(0.15, 0.1005, 0.1995, 40) - Estimate(0.1, 0.09, 0.11, 40)).low < 0
    assert outcomes(scores) == {"gradient": "cannot tell"}


def test_what_people_marked_is_told_in_the_headline_and_judges_nobody():
    scores = found(PEOPLE, None, gradient=(0.3, 0.5), lime=(0.6, 0.7))
    assert verdict(scores) == {
        "headline": "LIME marks the words that people marked best: average precision 0.65, by chance 0.10. That makes "
        "a heatmap plausible, not faithful.",
        "findings": [],
    }
    nobody = verdict(found(PEOPLE, None, gradient=(0.05, 0.2)))["headline"]
    assert nobody == "No method is shown to mark the words that people marked more than chance would."
    few = verdict(found(PEOPLE, None, n=3, gradient=(0.3, 0.5)))["headline"]
    assert few.endswith("more than chance would; fewer than 10 texts cannot show it.")


def test_planted_and_marked_words_of_one_run_have_their_own_chance():
    people = found(PEOPLE, None, gradient=(0.3, 0.5))
    planted = found(PLANTED, MODEL_RIGHT, gradient=(0.9, 1.0))
    planted.loc[planted["subject"] == RANDOM, ["value", "low", "high"]] = 0.2
    headline = verdict(pd.concat([people, planted], ignore_index=True))["headline"]
    assert "find the planted words" not in headline
    assert (
        "0.95, by chance 0.20. Gradient marks the words that people marked best: average precision 0.40, by chance "
        in (headline)
    )
