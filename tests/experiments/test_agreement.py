"""Agreement rows against scipy and plain loops on the explanations themselves, for our models and for transformers."""

from itertools import combinations
from math import ceil

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

import heatcheck
from heatcheck import results
from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.agreement import NO_PAIR, AgreementConfig, agreement, ranked_means
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.experiments.rows import TOO_SHORT
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation
from heatcheck.models.protocols import Predictor
from heatcheck.report.sections.agreement import section
from heatcheck.report.source import load
from heatcheck.results import Origin, Score, TokenScores
from heatcheck.settings import explaining_configs
from tests.test_cli_transformers import table
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


def predict(texts):
    """Every word counts a little, by its letters."""
    p = np.array([0.5 + 0.4 * np.sin(sum(map(ord, text))) for text in texts])
    return np.stack([1 - p, p], axis=1)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """An audit in which LIME, with its four samples, turns out to change with the seed."""
    folder = tmp_path_factory.mktemp("agreement")
    rows = [(example.text, ("no", "yes")[i % 2]) for i, example in enumerate(random_examples(40, longest=9))]
    data = table(folder / "texts.csv", ["text", "label"], rows)
    configs = explaining_configs("lime(samples=4),leave_one_out,occlusion", audit=True)
    experiments = ("agreement", "repeatability")
    return heatcheck.audit(predict, data, out=folder / "run", experiments=experiments, configs=configs, threads=1)


def test_a_texts_own_mean_leaves_out_what_turns_out_not_to_be_ranked(audited):
    """LIME is known not to be ranked only after all texts: two shards of them, both written before."""
    taus = audited.scores.query("measure == 'kendall' and setting.isna() and example_id.notna()")
    own = taus[taus.subject == "all methods"].set_index("example_id")
    ranked = taus.query("subject == 'leave_one_out' and reference == 'occlusion'").set_index("example_id")
    assert len(own) == len(ranked) == 40
    pd.testing.assert_series_equal(own["value"], ranked["value"].reindex(own.index))
    assert (own["reason"][own["value"].isna()] == NO_PAIR).all()
    assert own["reason"][own["value"].notna()].isna().all()
    means = audited.scores.query("measure == 'kendall' and statistic == 'mean' and subject == 'all methods'")
    assert means[means.group.isna()].value.item() == pytest.approx(own["value"].mean())


def test_the_report_shows_the_texts_on_which_ranked_methods_agree_least(audited):
    taus = audited.scores.query("measure == 'kendall' and setting.isna() and example_id.notna()")
    ranked = taus.query("subject == 'leave_one_out' and reference == 'occlusion' and value.notna()")
    page = (audited.folder / "report.html").read_text(encoding="utf-8")
    least = section(load(audited.folder)).chart["least"]
    lowest = sorted(zip(ranked.value.round(4), ranked.example_id, strict=True))[:8]
    assert [text["id"] for text in least] == [example for _, example in lowest]
    assert all(text["methods"] == ["leave_one_out", "occlusion"] for text in least)
    assert "The mean τ over all pairs of methods that are ranked (without LIME (samples=4)†) for each text." in page


def test_without_two_ranked_methods_no_text_has_a_mean():
    rows = [
        Score("kendall", 0.5, "a", "b", "one"),
        Score("kendall", 0.25, "a", "c", "one"),
        Score("kendall", 0.1, "a", "b", "one", setting="top_k", at=0.25),
        Score("kendall", 0.375, "all methods", None, "one"),
        Score("rbo", 0.7, "a", "b", "one", at=0.9),
    ]
    written = results.tables(rows, Origin("data", "model", 0), "agreement")["scores"]
    assert ranked_means(written, set()).equals(written)
    without_c = ranked_means(written, {"c"}).to_pandas()
    assert without_c["value"].tolist() == [0.5, 0.25, 0.1, 0.5, 0.7]
    none = ranked_means(written, {"a"})
    assert none.schema == written.schema
    assert none["value"].to_pylist() == [0.5, 0.25, 0.1, None, 0.7]
    assert none["reason"].to_pylist() == [None, None, None, NO_PAIR, None]


def test_bad_settings_are_sentences():
    examples = random_examples(2)
    subject = small_subject(examples)
    rows = explained_by(subject, examples, ("gradient",))
    with pytest.raises(
        InputError, match=r"There are no scores of 'lime' here\. There are: gradient\. Add it to --methods\."
    ):
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


def test_marks_that_are_ranked_are_spoken_of():
    notes = EXPERIMENTS["agreement"].notes
    assert notes(AgreementConfig(), None) == []
    assert "never take a mark away and give it 0" in notes(AgreementConfig(special_tokens=True), None)[0]
