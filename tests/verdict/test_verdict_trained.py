"""The verdict of the trained tests: each outcome by its interval, with the papers' own numbers as a check."""

from __future__ import annotations

import re
from functools import partial
from statistics import fmean
from typing import Any

import pandas as pd
import pytest

from heatcheck.report.measures import measure
from heatcheck.report.verdict import _strip
from heatcheck.results import ON_DEV, Score
from heatcheck.verdict import verdict
from heatcheck.verdict.attention import TESTS
from heatcheck.verdict.checks import RANDOMISED, REPEATED
from heatcheck.verdict.findings import Estimate, Finding
from heatcheck.verdict.methods import AGREEMENT
from heatcheck.verdict.price import as_in_verdict, best_liar
from heatcheck.verdict.trained import judge_trained

LN2 = 0.6931


def mean(
    measure: str, value: float, half: float, subject: str = "attention", reference: str | None = None, **more: Any
) -> Score:
    common = {"statistic": "mean", "n": 500} | more
    return Score(measure, value, subject, reference, low=value - half, high=value + half, **common)


def found(*rows: Score) -> list[Finding]:
    return judge_trained(pd.DataFrame([vars(row) for row in rows]))


def one(*rows: Score) -> Finding:
    (finding,) = found(*rows)
    return finding


def needed(difference: float, half: float, margin: float = 0.01, own: float = 0.83, recall: float = 0.8) -> Finding:
    return one(
        mean("uniform_balanced_accuracy", recall, 0.02, "models of this test", at=0.5),
        mean("uniform_f1", own, 0.02, "attention", "all seeds"),
        mean("uniform_f1", own - difference, 0.02, "uniform", "all seeds"),
        mean("uniform_f1", 0.7, 0.1, "base"),
        mean("uniform_f1_difference", difference, half, "attention", "uniform", at=margin),
    )


def test_attention_is_needed_if_it_adds_more_than_the_margin() -> None:
    assert needed(0.05, 0.03).outcome == "passes"
    assert needed(0.05, 0.045).outcome == "cannot tell"
    assert needed(0.001, 0.005).outcome == "fails"
    assert needed(0.05, 0.03, margin=0.09).outcome == "fails"
    finding = needed(-0.001, 0.005)
    assert finding.finding == (
        "F1 is 0.830 with attention and 0.831 with equal weights: a difference of −0.001 [−0.006, 0.004] over 500 "
        "texts and all seeds."
    )
    assert finding.threshold == 0.01
    assert finding.experiment == "uniform_attention"


@pytest.mark.parametrize("own", [0.0, 0.667])
def test_models_that_always_answer_the_same_cannot_tell_whether_attention_is_needed(own: float) -> None:
    """Always "positive" has an F1 of 0.667 where half of the texts are, always "negative" 0."""
    finding = needed(0.0, 0.0, own=own, recall=0.5)
    assert finding.outcome == "cannot tell"
    assert "learned nothing" in finding.meaning
    assert needed(-0.5, 0.1, own=0.0, recall=0.7).outcome == "fails"  # equal weights did learn


def test_a_guide_of_models_that_always_answer_the_same_proves_nothing() -> None:
    rows = [mean("guided_f1_difference", 0.0, 0.001, "base", "uniform")]
    recall = partial(mean, "guided_balanced_accuracy", half=0.01, subject="models of this test", at=1 / 3)
    assert one(*rows, recall(value=0.334)).outcome == "cannot tell"
    assert one(*rows, recall(value=0.5)).outcome == "fails"


@pytest.mark.parametrize(
    ("value", "half", "outcome"),
    [(0.03, 0.02, "passes"), (0.005, 0.004, "passes"), (-0.01, 0.015, "fails"), (0.01, 0.02, "cannot tell")],
)
def test_a_guide_must_help_and_fails_below_one_point(value: float, half: float, outcome: str) -> None:
    others = [mean("guided_f1_difference", 0.2, 0.01, name, "uniform") for name in ("mlp", "adversary", "lime")]
    finding = one(*others, mean("guided_f1_difference", value, half, "base", "uniform"))
    assert finding.outcome == outcome
    assert finding.threshold == (0.01 if outcome == "fails" else 0.0)
    assert finding.finding.endswith(
        "texts and all seeds. Other guides: weights learned by itself 0.200 [0.190, 0.210], an adversary's attention "
        "0.200 [0.190, 0.210], LIME 0.200 [0.190, 0.210]."
    )
    assert "Other guides" not in one(mean("guided_f1_difference", value, half, "base", "uniform")).finding


def adversary(*points: tuple[float, float, float], setting: str = "seed 50", half: float = 0.004) -> list[Score]:
    """λ, TVD, JSD."""
    rows = []
    for at, tvd, jsd in points:
        for name, value in (("tvd", tvd), ("jsd", jsd)):
            rows.append(
                mean(f"trained_adversary_{name}", value, half, "attention", "trained adversary", setting=setting, at=at)
            )
    return rows


# λ = 0 and the best far adversary of paper 2's Tables 4 and 5, in true TVD.
PAPER_2 = {
    "Diabetes": ((0.0, 0.024, 0.098), (2e-4, 0.030, 0.409)),
    "Anemia": ((0.0, 0.016, 0.056), (5e-4, 0.034, 0.481)),
    "SST": ((0.0, 0.064, 0.075), (5.25e-4, 0.072, 0.514)),
    "IMDb": ((0.0, 0.022, 0.043), (8e-4, 0.028, 0.405)),
}


@pytest.mark.parametrize("data", PAPER_2)
def test_lying_has_no_price_on_all_data_sets_of_paper_2(data: str) -> None:
    finding = one(*adversary(*PAPER_2[data]))
    assert finding.outcome == "fails"
    assert 0.006 <= round(finding.value, 3) <= 0.018


def test_the_cheapest_of_the_far_adversaries_counts_against_its_own_seed() -> None:
    rows = adversary((0.0, 0.02, 0.1), (0.001, 0.01, 0.3), (0.01, 0.2, 0.5), (0.1, 0.15, 0.6))
    rows += adversary((0.0, 0.1, 0.1), (0.1, 0.3, 0.6), setting="seed 2")
    finding = one(*rows)
    assert finding.outcome == "passes"
    assert finding.value == pytest.approx(0.13)
    assert "The best liar (λ = 0.1) has its attention at a mean JSD of 0.60 [0.60, 0.60]" in finding.finding
    assert finding.measure == "trained_adversary_price"


def test_of_several_adversaries_of_one_lambda_the_liar_has_its_number() -> None:
    rows = adversary((0.0, 0.02, 0.1), (0.01, 0.08, 0.6))
    rows += adversary((0.0, 0.02, 0.1), (0.01, 0.03, 0.6), setting="seed 50, number 3")
    assert one(*rows).finding.startswith("The best liar (λ = 0.01, number 3) has its attention at")


def test_an_adversary_must_go_farther_than_other_seeds_do() -> None:
    rows = adversary((0.0, 0.02, 0.1), (1.0, 0.03, 0.5))
    assert one(*rows).outcome == "fails"
    seeds = [mean("seed_jsd", 0.48, 0.03, "attention", "seed 1"), mean("seed_jsd", 0.3, 0.01, "attention", "seed 2")]
    finding = one(*rows, *seeds, mean("seed_jsd", 0.39, 0.3, "attention", "all seeds"))
    assert finding.outcome == "cannot tell"
    assert finding.finding.endswith("far is beyond 0.51, which another seed alone may reach.")
    assert one(*adversary((0.0, 0.02, 0.1), (1.0, 0.03, 0.2))).finding.endswith("far is beyond 0.40.")
    assert finding.measure == "trained_adversary_jsd"


def test_an_adversary_that_may_be_far_is_not_told_to_go_farther() -> None:
    finding = one(*adversary((0.0, 0.02, 0.1), (1.0, 0.03, 0.45), half=0.06))
    assert finding.outcome == "cannot tell"
    assert finding.finding.startswith("It is not sure that any adversary moved attention far")
    assert "more texts" in finding.meaning


def test_a_liar_that_says_something_else_proves_nothing_however_poor_imitation_is() -> None:
    finding = one(*adversary((0.0, 0.099, 0.1), (1.0, 0.14, 0.6)))
    assert finding.outcome == "cannot tell"
    assert "moves the output by 0.140 [0.136, 0.144]: 0.041" in finding.finding


@pytest.mark.parametrize("lying", [0.003, 0.2])
def test_a_model_that_says_nearly_the_same_to_every_text_gives_nothing_to_imitate(lying: float) -> None:
    rows = adversary((0.0, 0.001, 0.1), (1.0, lying, 0.6))
    assert one(*rows).outcome != "cannot tell"
    finding = one(*rows, mean("trained_adversary_uninformed_tvd", 0.01, 0.001, "attention", "the same answer"))
    assert finding.outcome == "cannot tell"
    assert "says nearly the same to nearly every text" in finding.meaning


def test_without_imitation_alone_a_price_proves_nothing() -> None:
    assert one(*adversary((1.0, 0.02, 0.6))).outcome == "fails"
    finding = one(*adversary((1.0, 0.2, 0.6)))
    assert finding.outcome == "cannot tell"
    assert "λ = 0" in finding.finding


@pytest.mark.parametrize("liar", [0.23, 0.45])  # at no price, at a high one
def test_adversaries_that_did_not_learn_to_imitate_prove_nothing(liar: float) -> None:
    finding = one(*adversary((0.0, 0.23, 0.02), (1.0, liar, 0.6)))
    assert finding.outcome == "cannot tell"
    assert "Imitation itself failed" in finding.meaning
    assert "0.230 [0.226, 0.234]" in finding.finding
    assert (finding.measure, finding.value, finding.threshold) == ("trained_adversary_tvd", 0.23, 0.1)


def test_that_imitation_failed_is_said_only_if_the_whole_interval_says_so() -> None:
    finding = one(*adversary((0.0, 0.11, 0.02), (1.0, 0.12, 0.6), half=0.02))
    assert finding.outcome == "cannot tell"
    assert finding.meaning.startswith("It is not sure that imitation itself works: beyond 0.1")


def test_a_liar_that_imitates_proves_it_whatever_imitation_alone_did() -> None:
    assert one(*adversary((0.0, 0.23, 0.02), (1.0, 0.03, 0.6))).outcome == "fails"


def test_another_seed_that_did_learn_decides() -> None:
    rows = adversary((0.0, 0.23, 0.02), (1.0, 0.2, 0.6))
    rows += adversary((0.0, 0.02, 0.02), (0.5, 0.05, 0.6), setting="seed 2")
    finding = one(*rows)
    assert finding.outcome == "fails"
    assert finding.value == pytest.approx(0.03)


def test_the_best_liar_can_be_asked_for_and_is_the_verdicts() -> None:
    rows = adversary((0.0, 0.02, 0.1), (0.001, 0.01, 0.3), (0.01, 0.2, 0.5), (0.1, 0.15, 0.6))
    liar = best_liar(pd.DataFrame([vars(row) for row in rows]))
    assert liar is not None
    assert (liar.name, liar.at) == ("seed 50", 0.1)
    apart = {("seed 1", 0.0): 0.1, ("seed 1", 0.1): 0.6, ("seed 2", 0.1): 0.5}
    moved = {("seed 1", 0.0): 0.02, ("seed 1", 0.1): 0.05, ("seed 2", 0.1): 0.04}
    assert as_in_verdict(apart, moved) == ("seed 1", 0.1)  # 0.03 beyond imitation; of seed 2 nothing is known of that
    assert as_in_verdict({("seed 1", 0.0): 0.1, ("seed 1", 1.0): 0.2}, moved) == ("seed 1", 1.0)  # nobody far: farthest


def test_which_liar_is_judged_is_decided_on_dev_texts() -> None:
    rows = adversary((0.0, 0.02, 0.1), (0.01, 0.2, 0.5), (0.1, 0.15, 0.6))
    by_dev = {0.0: 0.02, 0.01: 0.1, 0.1: 0.3}
    rows += [
        Score(
            "trained_adversary_tvd", tvd, "attention", "trained adversary", statistic=ON_DEV, setting="seed 50", at=at
        )
        for at, tvd in by_dev.items()
    ]
    finding = one(*rows)
    assert finding.finding.startswith("The best liar by dev texts (λ = 0.01) has its attention at a mean JSD of 0.50")
    assert finding.value == pytest.approx(0.18)  # its price on the texts under test


def test_on_dev_texts_too_a_liar_pays_only_beyond_imitation() -> None:
    """The twins of the second seed imitate poorly, with and without other attention."""
    rows = adversary((0.0, 0.01, 0.1), (0.1, 0.06, 0.6), setting="seed 1")
    rows += adversary((0.0, 0.05, 0.1), (0.1, 0.07, 0.6), setting="seed 2")
    rows += [
        Score("trained_adversary_tvd", tvd, "attention", "trained adversary", statistic=ON_DEV, setting=seed, at=at)
        for seed, tvds in (("seed 1", (0.01, 0.06)), ("seed 2", (0.05, 0.07)))
        for at, tvd in zip((0.0, 0.1), tvds, strict=True)
    ]
    assert one(*rows).value == pytest.approx(0.02)


def attefa(*relative: float, half: float = 0.05, jsd: float = 0.6, uninformed: float = 0.4) -> list[Score]:
    """An adversary for each value."""
    overall = fmean(relative)
    seeds = {f"seed {number}": value for number, value in enumerate(relative, start=1)}
    return [
        *(mean("attefa_uninformed_tvd", uninformed, 0.002, "base", seed) for seed in seeds),
        mean("attefa", overall / 3, half / 3, "all", "all seeds", setting="published"),
        mean("attefa", overall, half, "all", "all seeds", setting="relative"),
        *(mean("attefa", value, half, "base", seed, setting="relative") for seed, value in seeds.items()),
        *(mean("attefa_jsd", jsd, 0.01, "base", seed) for seed in seeds),
    ]


def test_attefa_is_half_way_between_free_and_tied() -> None:
    assert one(*attefa(0.25)).outcome == "fails"
    assert one(*attefa(0.9)).outcome == "passes"
    assert one(*attefa(0.48)).outcome == "cannot tell"
    assert one(*attefa(0.25)).finding.startswith(
        "AtteFa is 0.08 [0.07, 0.10] as published. The adversary (seed 1) has 0.25 [0.20, 0.30] relative to one"
    )


def test_one_liar_is_enough_whatever_the_others_do() -> None:
    finding = one(*attefa(1.0, 1.0, 0.02, 1.0, half=0.01))
    assert (finding.outcome, finding.value) == ("fails", 0.02)
    assert "The best of 4 adversaries (seed 3)" in finding.finding
    assert one(*attefa(1.0, 0.7, 0.8)).outcome == "passes"


def test_which_attack_is_judged_is_decided_on_dev_texts() -> None:
    finding = one(
        *attefa(0.2, 0.3, half=0.01), *on_dev("base", "seed 1", 0.5, 0.6), *on_dev("base", "seed 2", 0.1, 0.6)
    )
    assert "The best of 2 adversaries by dev texts (seed 2) has 0.30" in finding.finding


def on_dev(base: str, seed: str, tvd: float, jsd: float) -> list[Score]:
    return [Score(f"attefa_{what}", x, base, seed, statistic=ON_DEV) for what, x in (("tvd", tvd), ("jsd", jsd))]


def test_on_dev_texts_too_attefa_is_a_ratio() -> None:
    rows = attefa(0.2, 0.3, half=0.01)  # the second moved the output more, and attention far more
    finding = one(*rows, *on_dev("base", "seed 1", 0.1, 0.15), *on_dev("base", "seed 2", 0.15, 0.6))
    assert "(seed 2) has 0.30" in finding.finding


def test_on_dev_texts_too_adversaries_are_measured_by_their_own_base() -> None:
    """One who has read nothing is near to a base that hardly varies, and so is every adversary."""
    rows = attefa(0.2, half=0.01)
    for name, value, setting in (
        ("attefa", 1.0, "relative"),
        ("attefa_jsd", 0.6, None),
        ("attefa_uninformed_tvd", 0.07, None),
    ):
        rows.append(mean(name, value, 0.01, "seed 7", "seed 1", setting=setting))
    finding = one(*rows, *on_dev("base", "seed 1", 0.08, 0.6), *on_dev("seed 7", "seed 1", 0.07, 0.6))
    assert (finding.outcome, finding.value) == ("fails", 0.2)


def test_a_base_that_says_nearly_the_same_to_all_does_not_decide_for_the_others() -> None:
    rows = attefa(0.2, half=0.01)
    for name, value, setting in (
        ("attefa", 0.1, "relative"),
        ("attefa_jsd", 0.6, None),
        ("attefa_uninformed_tvd", 0.01, None),
    ):
        rows.append(mean(name, value, 0.001, "seed 7", "seed 1", setting=setting))
    assert (one(*rows).outcome, one(*rows).value) == ("fails", 0.2)


def test_an_adversary_without_a_value_does_not_hide_the_others() -> None:
    rows = [row for row in attefa(0.1, half=0.01) if row.reference != "all seeds"]
    for reference in ("all seeds", "seed 2"):
        rows.append(Score("attefa", None, "base", reference, setting="relative", statistic="mean", reason="0/0"))
    finding = one(*rows)
    assert (finding.outcome, finding.value) == ("fails", 0.1)
    assert "no mean, as one adversary did not move" in finding.finding


def test_adversaries_that_gave_up_imitating_prove_no_faithfulness() -> None:
    finding = one(*attefa(1.0, 0.99, half=0.001))
    assert finding.outcome == "cannot tell"
    assert "gave up imitating" in finding.meaning


def test_of_adversaries_that_gave_up_alike_the_better_as_published_is_named() -> None:
    published = [
        mean("attefa", value, 0.01, "base", seed, setting="published")
        for seed, value in (("seed 1", 0.9), ("seed 2", 0.3))
    ]
    assert "The best of 2 adversaries (seed 2) has 1.00" in one(*attefa(1.0, 1.0), *published).finding


def test_of_several_base_models_the_adversary_names_its_own() -> None:
    other = [
        mean("attefa", 0.2, 0.01, "seed 7", "seed 1", setting="relative"),
        mean("attefa_jsd", 0.6, 0.01, "seed 7", "seed 1"),
    ]
    assert "adversaries (seed 1, against the model of seed 7) has" in one(*attefa(0.9), *other).finding
    assert "adversaries (seed 1, against this model) has" in one(*attefa(0.1), *other).finding


def test_an_adversary_that_did_not_move_attention_proves_no_faithfulness() -> None:
    for relative in (0.1, 0.9):
        finding = one(*attefa(relative, jsd=0.001))
        assert finding.outcome == "cannot tell"
        assert "hardly moved attention" in finding.meaning


@pytest.mark.parametrize("relative", [0.1, 0.9])
def test_where_the_model_says_nearly_the_same_to_every_text_nothing_can_be_told(relative: float) -> None:
    finding = one(*attefa(relative, uninformed=0.003))
    assert finding.outcome == "cannot tell"
    assert "says nearly the same to nearly every text" in finding.meaning
    assert "0.003" in finding.meaning
    assert one(*attefa(relative, uninformed=0.06)).outcome != "cannot tell"


UNINFORMED = mean("trained_adversary_uninformed_tvd", 0.01, 0.001, "attention", "the same answer")


@pytest.mark.parametrize(
    "finding",
    [
        needed(0.138, 0.03),
        one(mean("guided_f1_difference", 0.138, 0.03, "base", "uniform")),
        one(*adversary((0.0, 0.02, 0.1), (1.0, 0.158, 0.6))),  # a price
        one(*adversary((0.0, 0.234, 0.02), (1.0, 0.45, 0.6))),  # no imitation
        one(*adversary((0.0, 0.02, 0.1), (1.0, 0.158, 0.6)), UNINFORMED),
        one(*adversary((0.0, 0.02, 0.1), (1.0, 0.03, 0.0123))),  # nobody far
        one(*attefa(0.0823)),
    ],
    ids=lambda finding: finding.measure,
)
def test_a_card_gives_a_number_with_the_digits_of_its_sentence(finding: Finding) -> None:
    card = re.sub("<.*?>", "", str(_strip(vars(finding)))).partition("]")[0]
    assert f"{card}]" in finding.finding


@pytest.mark.parametrize("test", [*TESTS, REPEATED, RANDOMISED, AGREEMENT], ids=lambda test: test.measure)
def test_every_test_writes_its_measure_with_the_digits_of_the_report(test: Any) -> None:
    digits = measure(test.measure).digits
    assert set(re.findall(r"(?:value|low|high):\.(\d)f", test.finding)) == {str(digits)}


def test_differences_add_their_intervals_in_quadrature() -> None:
    found = Estimate(0.5, 0.5 - 0.03, 0.5 + 0.06, 9) - Estimate(0.1, 0.1 - 0.08, 0.1 + 0.04, 7)
    assert found == pytest.approx((0.4, 0.4 - 0.05, 0.4 + 0.1, 7))


def test_values_without_an_interval_or_with_one_text_are_not_judged() -> None:
    assert found(Score("guided_f1_difference", 0.5, "base", "uniform", statistic="mean", n=1)) == []
    assert one(mean("guided_f1_difference", 0.5, 0.1, "base", "uniform", n=1)).outcome == "cannot tell"
    nothing = Score("attefa", None, "all", "all seeds", setting="relative", statistic="mean", reason="0/0")
    assert (one(nothing).outcome, one(nothing).value) == ("cannot tell", None)  # listed, or others would seem to be all


def test_rows_of_classes_and_texts_do_not_count() -> None:
    by_class = [mean("guided_f1_difference", 0.5, 0.1, "base", "uniform", group="pos")]
    of_a_text = [mean("guided_f1_difference", 0.5, 0.1, "base", "uniform", example_id="a")]
    assert found(*by_class, *of_a_text, mean("seed_jsd", 0.1, 0.01, "attention", "all seeds")) == []


def test_a_headline_does_not_give_a_reason_that_is_not_the_findings() -> None:
    undecided = attefa(0.9, uninformed=0.003)
    said = verdict(pd.DataFrame([vars(row) for row in undecided]))
    assert said is not None
    assert said["headline"] == "No test failed, but the only test that was run cannot tell."
    rows = [*undecided, mean("guided_f1_difference", 0.03, 0.02, "base", "uniform")]
    said = verdict(pd.DataFrame([vars(row) for row in rows]))
    assert said is not None
    assert said["headline"] == "No test failed, but 1 of 2 tests cannot tell."


def test_they_stand_in_the_verdict_and_are_counted() -> None:
    rows = [*attefa(0.25), *adversary(*PAPER_2["SST"]), mean("guided_f1_difference", 0.03, 0.02, "base", "uniform")]
    said = verdict(pd.DataFrame([vars(row) for row in rows]))
    assert said is not None
    assert [f["experiment"] for f in said["findings"]] == ["guided_mlp", "trained_adversary", "attefa"]
    assert said["headline"] == "Do not show this model's attention as an explanation: it fails 2 of 3 tests."
