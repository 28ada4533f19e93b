"""The verdict: a test passes or fails only if its whole interval is on one side."""

import pandas as pd
import pytest

from heatcheck.verdict import TESTS, verdict

TAU, PERMUTATION, ADVERSARY = TESTS[0], TESTS[2], TESTS[3]


def table(*rows: tuple[str, str, str | None, float, float, float]) -> pd.DataFrame:
    names = ["measure", "statistic", "setting", "value", "low", "high"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(example_id=None, group=None, n=100, subject="attention", reason=None)


@pytest.mark.parametrize(
    ("test", "low", "high", "outcome"),
    [
        (TAU, 0.51, 0.6, "passes"),
        (TAU, 0.3, 0.49, "fails"),
        (TAU, 0.4, 0.6, "cannot tell"),
        (PERMUTATION, 0.01, 0.02, "fails"),
        (PERMUTATION, 0.2, 0.3, "passes"),
        (ADVERSARY, 0.5, 0.6, "fails"),
        (ADVERSARY, 0.1, 0.2, "passes"),
    ],
)
def test_the_whole_interval_decides(test, low, high, outcome):
    found = verdict(table((test.measure, test.statistic, test.setting, (low + high) / 2, low, high)))
    (finding,) = found["findings"]
    assert finding["outcome"] == outcome
    assert f"[{low:.2f}, {high:.2f}]" in finding["finding"] or f"[{low:.3f}, {high:.3f}]" in finding["finding"]


def test_the_headline_counts_failures_and_never_averages():
    fails = (TAU.measure, TAU.statistic, TAU.setting, 0.2, 0.1, 0.3)
    passes = (PERMUTATION.measure, PERMUTATION.statistic, PERMUTATION.setting, 0.3, 0.2, 0.4)
    assert verdict(table(fails, passes))["headline"] == (
        "Do not show this model's attention as an explanation: it fails 1 of 2 tests."
    )
    assert (
        verdict(table(passes))["headline"]
        == "Attention passed the only test that was run. That is evidence, not proof."
    )
    assert verdict(table()) is None


def test_a_value_that_does_not_exist_is_no_finding():
    frame = table((TAU.measure, TAU.statistic, TAU.setting, 0.2, 0.1, 0.3)).assign(value=None)
    assert verdict(frame) is None


def erased(**gains: tuple[float, float]) -> pd.DataFrame:
    """The mean gain of each method over random words, which reach 0.25 of what is possible."""
    gain = [("gain_over_random", "mean", "delete", (a + b) / 2, a, b) for a, b in gains.values()]
    reached = {name: (a + b) / 2 + 0.25 for name, (a, b) in gains.items()} | {"random": 0.25, "best found": 1.0}
    rows = [("aopc_comprehensiveness", "mean", "delete:normalised", x, x, x) for x in reached.values()]
    return table(*gain, *rows).assign(subject=[*gains, *reached])


def test_methods_are_judged_against_random_words_best_first():
    found = verdict(erased(good=(0.3, 0.4), better=(0.4, 0.5), bad=(-0.2, 0.04), open=(-0.05, 0.2)))
    assert [(f["subject"], f["outcome"]) for f in found["findings"]] == [
        ("better", "passes"),
        ("good", "passes"),
        ("open", "cannot tell"),
        ("bad", "fails"),
    ]
    assert found["headline"] == (
        "better and good name words that the output rests on. Do not show bad: hardly better than random words."
    )
    assert "better reaches 0.70 and random words 0.25: a gain of 0.45 [0.40, 0.50]" in found["findings"][0]["finding"]


def test_a_method_that_is_not_ranked_is_not_judged():
    scores = erased(good=(0.3, 0.4), flawed=(0.5, 0.6))
    scores.loc[scores["subject"] == "flawed", "reason"] = "not ranked: misses its sum"
    assert [f["subject"] for f in verdict(scores)["findings"]] == ["good"]


def test_disagreeing_methods_are_said_to_disagree():
    agreement = table(("kendall", "mean", None, 0.2, 0.1, 0.3)).assign(subject="all methods")
    scores = pd.concat([erased(good=(0.3, 0.4)), agreement], ignore_index=True)
    assert verdict(scores)["headline"] == (
        "good names words that the output rests on. "
        "The methods contradict one another: say which one a heatmap is from."
    )
