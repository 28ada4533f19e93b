"""Correlation rows against scipy on the explainers' scores; what does not exist is null with a reason."""

from dataclasses import replace

import pytest
import torch
from scipy.stats import kendalltau

from heatcheck.batch import Example
from heatcheck.experiments.correlation import CorrelationConfig, correlation
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.types import predicted_probability
from heatcheck.results import Score, TokenScores
from tests.toys import random_examples, small_subject


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("pair", 3), ("qa", 4)])
def test_rows_are_scipys_tau_of_the_explainers_scores(task, labels):
    examples = random_examples(6, task, labels=labels)
    subject = small_subject(examples, labels=labels)
    rows = list(correlation(subject, examples, CorrelationConfig(), generator=torch.Generator()))
    tau = {
        (r.example_id, r.measure): r
        for r in rows
        if isinstance(r, Score) and r.setting == "kendall" and r.statistic == "value"
    }
    for example in examples:
        batch = next(subject.batches([example], 1))
        scores = {
            n: EXPLAINERS[n].explain(subject.model, batch, predicted_probability).scores[0, batch.attended[0]].double()
            for n in ("attention", "gradient", "leave_one_out")
        }
        expected = kendalltau(scores["attention"], scores["leave_one_out"]).statistic
        ours = tau[example.id, "tau_loo"].value
        assert (ours is None) == (expected != expected)
        if ours is not None:
            assert ours == pytest.approx(expected, abs=0.1)  # near-ties may fall either way between batches


def test_one_word_and_constant_attention_are_null_with_a_reason():
    examples = [Example("one", "w1", 0), Example("same", "w1 w1 w1", 1), Example("many", "w1 w2 w3 w4", 0)]
    subject = small_subject(examples, "average")
    rows = [
        r
        for r in correlation(subject, examples, CorrelationConfig(), generator=torch.Generator())
        if isinstance(r, Score)
    ]
    for row in rows:
        reasons = {
            "one": "undefined: the text has fewer than two words",
            "same": f"undefined: {row.subject} and {row.reference} give every word the same score",
        }
        assert row.reason == reasons.get(row.example_id), row
        assert (row.value is None) == (row.reason is not None)


def test_the_reason_names_the_list_that_is_constant():
    examples = [Example("a", "w1 w2 w3 w4", 0), Example("b", "w5 w6 w7", 1)]
    subject = small_subject(examples)
    spec = replace(subject.spec, weighting="uniform")
    flat = replace(subject, spec=spec, model=spec.build(0).eval())
    rows = correlation(flat, examples, CorrelationConfig(), generator=torch.Generator())
    reasons = {(r.measure, r.setting, r.statistic): r.reason for r in rows if isinstance(r, Score)}
    for (measure, _, _), reason in reasons.items():
        flat_one = "undefined: attention gives every word the same score"
        assert reason == (None if measure == "tau_gradient_loo" else flat_one)


def test_token_rows_point_into_the_original_text():
    examples = [Example("a", "W1  w2,w3\tw1", 0), Example("b", "w2", 1)]
    subject = small_subject(examples)
    rows = [
        r
        for r in correlation(subject, examples, CorrelationConfig(), generator=torch.Generator())
        if isinstance(r, TokenScores)
    ]
    texts = {e.id: e.text for e in examples}
    assert {r.method for r in rows} == {"attention", "gradient", "leave_one_out"}
    for row in rows:
        assert row.tokens == [texts[row.example_id][s:e] for s, e in zip(row.starts, row.ends, strict=True)]
