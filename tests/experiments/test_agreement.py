"""Agreement rows against scipy and plain loops on the explanations themselves, for our models and for transformers."""

from itertools import combinations
from math import ceil

import numpy as np
import pytest
import torch
from scipy import stats

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.agreement import NO_PAIR, TOO_SHORT, AgreementConfig, agreement
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation
from heatcheck.models.protocols import Predictor
from heatcheck.results import Score, TokenScores
from tests.tiny import tiny_subject
from tests.toys import random_examples, small_subject

METHODS = ("gradient", "gradient_x_input", "leave_one_out")


def explained_by(subject, examples, methods=METHODS, special_tokens=False):
    rows = []
    for name in methods:
        made = explain_texts(subject, examples, name, generator=torch.Generator(), special_tokens=special_tokens)
        rows += [row for row in made if isinstance(row, TokenScores)]
    return rows


def run(subject, examples, rows, **settings):
    config = AgreementConfig(**settings)
    return list(agreement(subject, examples, config, generator=torch.Generator(), explained=Explained.of(rows)))


def scipys(measure, a, b):
    """The value, or None where scipy has none; scipy warns of constant lists, so they are not given to it."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    function = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[measure]
    return float(function(a, b).statistic)


def overlap(a, b, k):
    """For lists without ties at the cut."""
    tops = [set(np.argsort(-scores, kind="stable")[:k]) for scores in (a, b)]
    return len(tops[0] & tops[1]) / k


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("task", ["single", "pair"])
@pytest.mark.parametrize("family", ["ours", "distilbert"])
def test_every_pair_is_scipys_value_on_the_token_scores(tmp_path, family, task, signed):
    examples = random_examples(7, task)
    subject = small_subject(examples) if family == "ours" else tiny_subject(tmp_path, family)
    rows = explained_by(subject, examples)
    lists = {(r.method, r.example_id): np.array(r.scores) if signed else np.abs(r.scores) for r in rows}
    found = {
        (s.measure, s.setting, s.subject, s.reference, s.example_id): s
        for s in run(subject, examples, rows, signed=signed, batch_size=3)
    }
    assert len(found) == 7 * (3 * 6 + 1)
    for example in examples:
        taus = []
        for a, b in combinations(METHODS, 2):
            one, other = lists[a, example.id], lists[b, example.id]
            for measure in ("kendall", "spearman", "pearson"):
                ours = found[measure, None, a, b, example.id].value
                assert ours == pytest.approx(scipys(measure, one, other), abs=1e-9)
            taus.append(found["kendall", None, a, b, example.id].value)
            if taus[-1] is not None and task == "single":  # leave-one-out ties all words of the second text
                k = ceil(0.25 * len(one))
                assert found["topk_overlap", None, a, b, example.id].value == pytest.approx(overlap(one, other, k))
        known = [tau for tau in taus if tau is not None]
        mean = found["kendall", None, "all methods", None, example.id]
        assert mean.value == (pytest.approx(sum(known) / len(known)) if known else None)


def test_groups_are_predicted_classes_and_settings_are_recorded(tmp_path):
    examples = random_examples(5)
    subject = tiny_subject(tmp_path, "bert")
    rows = explained_by(subject, examples, METHODS[:2])
    predicted = {r.example_id: r.target for r in rows}
    scores = run(subject, examples, rows, top_share=0.5, persistence=0.7)
    assert {s.example_id: s.group for s in scores} == predicted
    kinds = {(s.measure, s.setting, s.at) for s in scores}
    assert kinds == {
        ("kendall", None, None),
        ("kendall", "top_k", 0.5),
        ("spearman", None, None),
        ("pearson", None, None),
        ("topk_overlap", None, 0.5),
        ("rbo", None, 0.7),
    }


def test_marks_take_part_only_when_asked(tmp_path):
    examples = random_examples(5, longest=6)
    subject = tiny_subject(tmp_path, "bert")
    with_marks = explained_by(subject, examples, METHODS[:2], special_tokens=True)
    without = explained_by(subject, examples, METHODS[:2])
    assert run(subject, examples, with_marks) == run(subject, examples, without)
    lists = {(r.method, r.example_id): np.abs(r.scores) for r in with_marks}
    for score in run(subject, examples, with_marks, special_tokens=True):
        if score.measure == "kendall" and score.setting is None and score.reference:
            one, other = (lists[name, score.example_id] for name in METHODS[:2])
            assert score.value == pytest.approx(scipys("kendall", one, other), abs=1e-9)
    with pytest.raises(ValueError, match="no scores for the marks of text"):
        run(subject, examples, without, special_tokens=True)


def test_what_does_not_exist_says_why():
    examples = [Example("one", "w1", 0), Example("same", "w1 w1 w1", 1), Example("many", "w1 w2 w3 w4", 0)]
    subject = small_subject(examples, "average")
    rows = explained_by(subject, examples, ("attention", "gradient"))
    found = {s.example_id: s for s in run(subject, examples, rows) if s.measure == "rbo"}
    assert (found["one"].value, found["one"].reason) == (None, TOO_SHORT)
    assert found["same"].reason == "undefined: attention and gradient give every word the same score"
    assert found["many"].value is not None
    assert found["many"].reason is None
    means = {s.example_id: s for s in run(subject, examples, rows) if s.subject == "all methods"}
    assert means["same"].reason == NO_PAIR


def flat(model, batch, scalar, *, generator=None):
    return Explanation(batch.mask.double(), signed=False)


def test_a_method_that_is_not_ranked_is_compared_but_not_averaged(monkeypatch):
    monkeypatch.setitem(EXPLAINERS, "flawed", Method(flat, Predictor, ranked=False))
    examples = random_examples(4, longest=9)
    subject = small_subject(examples)
    rows = explained_by(subject, examples, (*METHODS, "flawed"))
    scores = run(subject, examples, rows)
    assert {(s.subject, s.reference) for s in scores if s.reference == "gradient"} == {("flawed", "gradient")}
    reasons = {s.reason for s in scores if "flawed" in (s.subject, s.reference)}
    assert "undefined: flawed gives every word the same score" in reasons
    only = run(subject, examples, rows, methods=METHODS)
    means = [s.value for s in scores if s.subject == "all methods"]
    assert means == [s.value for s in only if s.subject == "all methods"]


def test_bad_settings_are_sentences():
    examples = random_examples(2)
    subject = small_subject(examples)
    rows = explained_by(subject, examples, ("gradient",))
    with pytest.raises(InputError, match=r"lime was not explained\. There are: gradient\. Add it to --methods\."):
        run(subject, examples, rows, methods=("gradient", "lime"))
    with pytest.raises(InputError, match="there is only gradient"):
        run(subject, examples, rows)
    with pytest.raises(InputError, match="share of the words"):
        AgreementConfig(top_share=0)
    with pytest.raises(InputError, match="probability"):
        AgreementConfig(persistence=1.0)
    assert all(
        isinstance(s, Score) for s in run(subject, examples, rows + explained_by(subject, examples, METHODS[1:]))
    )
