"""The verdict: a test passes or fails only if its whole interval is on one side."""

import json
from math import nan

import pandas as pd
import pytest

from heatcheck.experiments.randomisation import OURS
from heatcheck.experiments.ranking import unranked
from heatcheck.verdict import verdict
from heatcheck.verdict.attention import TESTS
from heatcheck.verdict.checks import ALL_RANDOM

TAU, LOO, PERMUTATION, ADVERSARY = TESTS


def table(*rows: tuple[str, str, str | None, float, float, float]) -> pd.DataFrame:
    names = ["measure", "statistic", "setting", "value", "low", "high"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(example_id=None, group=None, n=100, subject="attention", reason=None, at=0.01)


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


def test_fewer_than_ten_texts_carry_no_verdict():
    scores = table((PERMUTATION.measure, PERMUTATION.statistic, PERMUTATION.setting, 0.3, 0.2, 0.4))
    assert verdict(scores.assign(n=10))["findings"][0]["outcome"] == "passes"
    (few,) = verdict(scores.assign(n=9))["findings"]
    assert few["outcome"] == "cannot tell"
    assert few["meaning"] == "Fewer than 10 texts cannot carry a verdict, whatever their interval."
    assert {f["outcome"] for f in verdict(erased(good=(0.3, 0.4), bad=(-0.2, 0.0)).assign(n=9))["findings"]} == {
        "cannot tell"
    }


def test_an_output_that_may_move_far_is_not_the_same():
    scores = table((ADVERSARY.measure, ADVERSARY.statistic, ADVERSARY.setting, 0.55, 0.5, 0.6))
    assert "with the same output, within 0.01, is at JSD 0.55" in verdict(scores)["findings"][0]["finding"]
    assert verdict(scores.assign(at=0.05))["findings"][0]["outcome"] == "fails"
    (far,) = verdict(scores.assign(at=0.5))["findings"]
    assert (far["outcome"], far["meaning"]) == (
        "cannot tell",
        "An output that may move by 0.5 is another one: test with 0.05.",
    )


def test_where_no_order_changes_the_output_none_is_judged():
    rows = erased(good=(0.3, 0.4), bad=(-0.2, 0.0))
    raw = rows[rows.setting == "delete:normalised"].iloc[:1].assign(setting="delete", subject="best found")
    for best, outcomes in ((0.2, ["passes", "fails"]), (0.006, ["cannot tell", "cannot tell"])):
        found = verdict(pd.concat([rows, raw.assign(value=best)], ignore_index=True))
        assert [f["outcome"] for f in found["findings"]] == outcomes
    assert "lowers the probability of the class by 0.006" in found["findings"][0]["meaning"]
    assert found["headline"] == (
        "No method is shown to name the words that the output rests on. Whatever words are removed, the output hardly "
        "changes."
    )


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


def test_a_value_that_does_not_exist_cannot_tell_and_says_why():
    why = "no text has a value: leave_one_out gives every word the same score (3 texts)"
    nothing = table((LOO.measure, LOO.statistic, LOO.setting, nan, nan, nan))
    nothing = nothing.assign(value=None, reference="leave_one_out", reason=why, n=0)
    fails = table((PERMUTATION.measure, PERMUTATION.statistic, PERMUTATION.setting, 0.01, 0.005, 0.02))
    found = verdict(pd.concat([nothing, fails], ignore_index=True))
    assert found["headline"].endswith("it fails 1 of 2 tests.")
    undecided, failed = found["findings"]
    assert (undecided["outcome"], failed["outcome"]) == ("cannot tell", "fails")
    assert undecided["question"] == LOO.question
    assert undecided["finding"] == "No text has a value: Leave-one-out gives every word the same score (3 texts)."
    assert undecided["meaning"] == "Without a value this test says nothing, neither for nor against."
    assert [undecided[name] for name in ("value", "low", "high")] == [None] * 3
    assert verdict(nothing)["headline"] == "No test failed, but the only test that was run cannot tell."
    assert verdict(nothing.assign(reason="no text has a value"))["findings"][0]["finding"] == "No text has a value."
    json.dumps(found, allow_nan=False)


def test_a_method_without_a_value_cannot_tell_after_the_others():
    for measure, setting in (("rank_stability", None), ("randomisation_correlation", ALL_RANDOM[0])):
        scores = checked(measure, setting, flat=(0.1, 0.2), good=(0.0, 0.1), lime=(0.8, 0.9))
        scores.loc[scores["subject"] == "flat", ["value", "low", "high", "reason"]] = [
            nan,
            nan,
            nan,
            "no text has a value",
        ]
        findings = verdict(scores)["findings"]
        assert (findings[-1]["subject"], findings[-1]["outcome"]) == ("flat", "cannot tell")
        assert len(findings) == 3


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
        "Better and Good name words that the output rests on. Do not show Bad: hardly better than random words."
    )
    assert "Better reaches 0.70 and random words 0.25: a gain of 0.45 [0.40, 0.50]" in found["findings"][0]["finding"]


def test_methods_that_no_text_has_a_number_for_are_listed():
    rows = erased(gradient=(0.3, 0.4), lime=(0.1, 0.2))
    empty = rows["measure"] == "gain_over_random"
    rows.loc[empty, ["value", "low", "high"]] = None
    rows.loc[empty, "reason"] = "no text has a value: one word"
    (found,) = verdict(rows)["findings"]
    assert (found["outcome"], found["value"]) == ("cannot tell", None)
    assert found["finding"] == "Gradient and LIME: no text has a value: one word."


def test_where_nothing_was_deleted_the_first_other_operator_is_judged():
    masked = erased(lime=(0.3, 0.4)).assign(setting=lambda rows: rows["setting"].str.replace("delete", "mask"))
    (found,) = verdict(masked)["findings"]
    assert found["meaning"].startswith("Masking the words it names changes the output more than masking random words.")


def test_a_method_without_signs_is_told_what_that_costs():
    told = {f["subject"]: f["meaning"] for f in verdict(erased(leave_one_out=(-0.2, 0), lime=(-0.2, 0)))["findings"]}
    assert told["leave_one_out"].endswith("words that speak against the class stand among those that speak for it.")
    assert told["lime"].endswith("if at all.")


def test_the_headline_names_few_methods_and_counts_many():
    many = dict.fromkeys(("gradient", "lime", "rollout", "flow"), (0.3, 0.4))
    rest = " name words that the output rests on."
    assert verdict(erased(**many))["headline"] == "All 4 methods that may be ranked" + rest
    assert verdict(erased(**many, open=(-0.3, 0.4)))["headline"] == "4 of 5 methods that may be ranked" + rest
    assert "a gain of −0.08 [−0.20, 0.04]" in verdict(erased(bad=(-0.2, 0.04)))["findings"][0]["finding"]


def test_a_method_that_is_not_ranked_is_not_judged():
    scores = erased(good=(0.3, 0.4), flawed=(0.5, 0.6))
    scores.loc[scores["subject"] == "flawed", "reason"] = "not ranked: misses its sum"
    assert [f["subject"] for f in verdict(scores)["findings"]] == ["good"]


def test_disagreeing_methods_are_said_to_disagree():
    agreement = table(("kendall", "mean", None, 0.2, 0.1, 0.3)).assign(subject="all methods")
    scores = pd.concat([erased(good=(0.3, 0.4)), agreement], ignore_index=True)
    assert verdict(scores)["headline"] == (
        "Good names words that the output rests on. "
        "The methods contradict one another: say which one a heatmap is from."
    )


def checked(measure: str, setting: str | None = None, **methods: tuple[float, float]) -> pd.DataFrame:
    rows = [(measure, "mean", setting, (low + high) / 2, low, high) for low, high in methods.values()]
    return table(*rows).assign(subject=list(methods))


def test_a_method_that_changes_with_the_seed_fails():
    scores = checked("rank_stability", **{"lime(samples=9)": (0.3, 0.5), "kernel_shap": (0.8, 0.9), "deep": (0.6, 0.8)})
    budgets = checked("rank_stability", "samples", kernel_shap=(0.1, 0.2))
    found = verdict(pd.concat([budgets, scores], ignore_index=True))
    assert [(f["subject"], f["outcome"]) for f in found["findings"]] == [
        ("lime(samples=9)", "fails"),
        ("deep", "cannot tell"),
        ("kernel_shap", "passes"),
    ]
    assert found["headline"] == "Do not show LIME (samples=9): another seed gives another order."
    first = found["findings"][0]
    assert (first["experiment"], first["measure"], first["threshold"]) == ("repeatability", "rank_stability", 0.7)
    assert first["question"] == "Does LIME (samples=9) say the same when it is asked again?"
    assert "LIME (samples=9) orders the words of a text at a mean Kendall τ of 0.40 [0.30, 0.50]" in first["finding"]


def test_methods_that_draw_nothing_share_one_card():
    scores = checked("rank_stability", gradient=(1, 1), rollout=(1, 1), lime=(0.8, 0.9))
    found = verdict(scores)
    assert [f["outcome"] for f in found["findings"]] == ["passes", "passes"]
    assert found["findings"][1]["finding"].startswith("Gradient and Attention rollout order the words of every text")
    assert found["headline"] == "All methods that were tested give the same order when asked again."
    alone = verdict(checked("rank_stability", lime=(0.8, 0.9)))
    assert alone["headline"] == "LIME gives the same order when it is asked again."
    assert verdict(checked("rank_stability", lime=(0.6, 0.8)))["headline"].startswith("No method failed, but the texts")


def test_what_is_not_ranked_for_its_seed_is_what_may_fail():
    """One line for both: a method whose mean is below it is not ranked, one whose interval is below it fails."""
    texts = pd.DataFrame({"measure": "rank_stability", "subject": "lime", "at": None, "value": [0.69, 0.70]})
    assert unranked(texts, ["lime"]) == {"lime": "not ranked: another seed gives another ranking (mean τ 0.69)"}
    assert unranked(texts.assign(value=0.7), ["lime"]) == {}
    unknown = texts.assign(value=float("nan"))
    assert unranked(unknown, ["lime"]) == {"lime": "not ranked: what another seed would do is not known"}


def test_an_explanation_that_random_weights_do_not_change_fails():
    before = checked("randomisation_correlation", "head", rollout=(0.9, 1.0), gradient=(0.5, 0.6))
    last = {"rollout": (0.5, 0.6), "gradient": (-0.1, 0.1), "open": (0.15, 0.3)}
    for stage in ALL_RANDOM:
        after = checked("randomisation_correlation", stage, **last)
        found = verdict(pd.concat([before, after], ignore_index=True))
        assert [(f["subject"], f["outcome"]) for f in found["findings"]] == [
            ("rollout", "fails"),
            ("open", "cannot tell"),
            ("gradient", "passes"),
        ]
        assert (
            "0.55 [0.50, 0.60] over 100 texts. With the output layer alone random it is 0.95."
            in (found["findings"][0]["finding"])
        )
        assert found["findings"][1]["finding"].endswith("over 100 texts.")
        assert found["headline"].startswith("Attention rollout gives a model without learning much the same heatmap")
    assert verdict(before) is None  # some of the weights are still the trained ones
    assert list(OURS)[-1] in ALL_RANDOM
