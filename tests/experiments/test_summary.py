"""From values per text to aggregates: what no text has is null, with the texts' own reasons."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, f1_score

from heatcheck.experiments.summary import summarise, summarise_performance

SHORT = "undefined: the text has fewer than two words"
FLAT = "undefined: attention gives every word the same score"


def taus(*values: float | None, reasons: tuple[str | None, ...], group: str = "a") -> pd.DataFrame:
    """τ of each text, with p-values of 0.01."""
    rows = [
        (f"{group}{i}", group, statistic, value if statistic == "value" or value is None else 0.01, reason)
        for statistic in ("value", "p_value")
        for i, (value, reason) in enumerate(zip(values, reasons, strict=True))
    ]
    frame = pd.DataFrame(rows, columns=["example_id", "group", "statistic", "value", "reason"])
    same = {
        "measure": "tau_loo",
        "subject": "attention",
        "reference": "leave_one_out",
        "setting": "kendall",
        "at": None,
    }
    return frame.assign(**same).astype({"value": float})


def test_what_no_text_has_is_null_in_every_statistic_and_says_why():
    frame = taus(None, None, None, reasons=(FLAT, SHORT, FLAT))
    found = {(s.group, s.statistic): s for s in summarise(frame, seed=0)}
    names = ("mean", "std", "significant_fraction", "median")
    assert set(found) == {(group, name) for group in (None, "a") for name in names}
    why = "attention gives every word the same score (2 texts); the text has fewer than two words (1 text)"
    for score in found.values():
        assert (score.value, score.n, score.reason) == (None, 0, f"no text has a value: {why}")


def test_a_class_without_a_value_is_null_beside_one_that_has_some():
    frame = pd.concat([taus(0.2, 0.4, reasons=(None, None)), taus(None, reasons=(SHORT,), group="b")])
    found = {(s.group, s.statistic): s for s in summarise(frame, seed=0)}
    assert found["b", "significant_fraction"].value is None
    assert found["b", "significant_fraction"].reason == f"no text has a value: {SHORT[11:]} (1 text)"
    assert (found[None, "significant_fraction"].value, found[None, "significant_fraction"].n) == (1, 2)
    assert (found[None, "significant_fraction"].reason, found[None, "mean"].reason) == (None, None)


def test_texts_without_a_value_change_no_number_of_the_others():
    """The share of significant texts is drawn from those that have a p-value alone."""
    values = np.random.default_rng(0).uniform(-1, 1, 20).tolist()
    some = taus(*values, reasons=(None,) * 20).assign(value=lambda f: f["value"].where(f["statistic"] == "value", 0.04))
    some.loc[some.index[20:25], "value"] = 0.06
    share = [s for s in summarise(some, seed=0) if s.statistic == "significant_fraction"]
    beside = pd.concat([some, taus(None, None, reasons=(SHORT, FLAT)).assign(example_id=["x", "y"] * 2)])
    assert [s for s in summarise(beside, seed=0) if s.statistic == "significant_fraction"] == share


def f1(truth: str, predicted: str):
    """Of classes written as digits, a text each."""
    frame = pd.DataFrame({"label": list(truth), "predicted": list(predicted), "log_odds": 0.0})
    return next(s for s in summarise_performance(frame, ("0", "1"), seed=0) if s.measure == "f1")


def test_f1_is_scikit_learns_and_0_where_no_text_of_the_class_is_found():
    for truth, predicted in (("01101", "01011"), ("0011", "0000"), ("0000", "0011"), ("10", "01")):
        assert f1(truth, predicted).value == pytest.approx(f1_score(list(truth), list(predicted), pos_label="1"))
    assert (f1("0011", "0000").value, f1("0000", "0011").value) == (0, 0)


def test_f1_of_samples_that_lack_the_class_is_not_counted_as_0():
    """A third of the samples of five texts hold none of the one that is of the class."""
    right = f1("00001", "00001")
    assert (right.value, right.low, right.high, right.n) == (1, 1, 1, 5)
    wrong = f1("00011", "00001")
    assert (wrong.low, wrong.high) == (0, 1)


def test_f1_of_a_class_that_is_neither_there_nor_predicted_is_null():
    found = f1("000", "000")
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 3)
    assert found.reason == "no text is of the class 1 or predicted to be"


def performance(truth: str, predicted: str, log_odds: list[float | None], labels: str):
    frame = pd.DataFrame({"label": list(truth), "predicted": list(predicted), "log_odds": log_odds})
    return {s.measure: s for s in summarise_performance(frame, tuple(labels), seed=0)}


def test_mean_recall_is_scikit_learns_and_knows_what_chance_is():
    truth, predicted = "001121120", "011121020"
    found = performance(truth, predicted, [None] * 9, "012")["balanced_accuracy"]
    assert found.value == pytest.approx(balanced_accuracy_score(list(truth), list(predicted)))
    assert found.at == pytest.approx(1 / 3)
    assert found.low < found.value < found.high
    assert "balanced_accuracy" not in performance("000", "010", [0.0] * 3, "01")  # of one class there is no chance
    assert "output_spread" not in performance(truth, predicted, [None] * 9, "012")


def test_the_spread_of_outputs_is_from_the_nearest_constant():
    """Both predicted classes weigh the same: here the mean of two texts and that of three."""
    outputs = np.array([0.2, 0.45, 0.6, 0.9, 0.5])
    found = performance("01011", "00111", np.log(outputs / (1 - outputs)).tolist(), "01")["output_spread"]
    far = [np.abs(outputs - constant) for constant in np.linspace(0, 1, 1001)]
    assert found.value == pytest.approx(min((each[:2].mean() + each[2:].mean()) / 2 for each in far))
    assert found.low <= found.value <= found.high
    assert performance("01", "01", [3.0, 3.0], "01")["output_spread"].value == 0


def test_a_model_that_knows_a_rare_class_does_not_say_the_same_to_every_text():
    truth = "0" * 97 + "1" * 3
    found = performance(truth, truth, [-4.0] * 97 + [4.0] * 3, "01")["output_spread"]
    assert found.value == pytest.approx((expit(4) - expit(-4)) / 2)


def test_chance_is_that_of_the_classes_that_are_there():
    found = performance("00112", "00111", [None] * 5, "0123")["balanced_accuracy"]
    assert (found.value, found.at) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
