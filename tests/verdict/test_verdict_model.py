"""Guesses, and answers that never change."""

from __future__ import annotations

import pandas as pd
import pytest

from heatcheck.results import Score
from heatcheck.verdict import verdict
from heatcheck.verdict.model import at_chance


def mean(measure: str, value: float, half: float, *, subject: str = "model", **rest) -> Score:
    rest = {"low": value - half, "high": value + half, "n": 200, "statistic": "mean", **rest}
    return Score(measure, value, subject, **rest)


def judged(*rows: Score):
    found = verdict(pd.DataFrame([vars(row) for row in rows]))
    assert found is not None
    return found


AGREE = mean("kendall", 0.7, 0.02, subject="all methods")


def test_a_model_at_chance_is_named_before_all_else() -> None:
    rows = [AGREE, mean("balanced_accuracy", 0.53, 0.05, at=0.5), mean("roc_auc", 0.54, 0.06)]
    assert judged(*rows)["headline"] == (
        "On these texts the model is not shown to do better than chance. The methods agree."
    )
    assert at_chance(pd.DataFrame([vars(row) for row in rows])) == (
        "The model's mean recall of the classes is 0.53 [0.48, 0.58] over 200 texts, and one who always says the same "
        "has 0.50: its explanations may be those of guesses. Give more texts, or a better model."
    )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [mean("balanced_accuracy", 0.6, 0.05, at=0.5)],
        [mean("balanced_accuracy", 0.5, 0.0, at=0.5), mean("roc_auc", 0.9, 0.05)],  # it draws the line elsewhere
        [mean("balanced_accuracy", 0.45, 0.05, at=1 / 3)],
        [mean("balanced_accuracy", 0.5, 0.3, at=0.5, n=9)],  # too few texts to say so
    ],
)
def test_others_are_not(rows: list[Score]) -> None:
    assert judged(AGREE, *rows)["headline"] == "The methods agree."


SHUFFLED = mean("permutation_tvd", 0.001, 0.0005, subject="attention", statistic="median")
ADVERSARY = mean("adversarial_jsd", 0.6, 0.01, subject="attention", setting="exact", at=0.01)


def test_a_model_that_is_wrong_more_often_than_a_guess_may_have_its_classes_in_another_order() -> None:
    rows = [mean("balanced_accuracy", 0.05, 0.03, at=0.5), mean("roc_auc", 0.02, 0.02)]
    note = at_chance(pd.DataFrame([vars(row) for row in rows]))
    assert note is not None
    assert "it is wrong more often than a guess. Are the classes in the model's order?" in note


def test_an_output_that_never_changes_cannot_fail() -> None:
    assert [f["outcome"] for f in judged(SHUFFLED, ADVERSARY)["findings"]] == ["fails", "fails"]
    found = judged(SHUFFLED, ADVERSARY, mean("output_spread", 0.004, 0.001))
    assert [f["outcome"] for f in found["findings"]] == ["cannot tell", "cannot tell"]
    assert all("says nearly the same to nearly every text" in f["meaning"] for f in found["findings"])
    assert found["headline"] == "No test failed, but 2 of 2 tests cannot tell."
    varied = judged(SHUFFLED, ADVERSARY, mean("output_spread", 0.3, 0.01))
    assert [f["outcome"] for f in varied["findings"]] == ["fails", "fails"]
    unsure = judged(SHUFFLED, ADVERSARY, mean("output_spread", 0.04, 0.02))  # more texts may show that it varies
    assert [f["outcome"] for f in unsure["findings"]] == ["fails", "fails"]


def test_a_pass_shows_that_the_output_moves() -> None:
    shuffled = mean("permutation_tvd", 0.88, 0.01, subject="attention", statistic="median")
    found = judged(shuffled, mean("output_spread", 0.004, 0.001))
    assert [f["outcome"] for f in found["findings"]] == ["passes"]
