"""The verdict: a test passes or fails only if its whole interval is on one side."""

import pandas as pd
import pytest

from heatcheck.verdict import TESTS, verdict

TAU, PERMUTATION, ADVERSARY = TESTS[0], TESTS[2], TESTS[3]


def table(*rows: tuple[str, str, str | None, float, float, float]) -> pd.DataFrame:
    names = ["measure", "statistic", "setting", "value", "low", "high"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(example_id=None, group=None, n=100)


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
