"""Stability over repeated runs against scipy; a method whose noise falls with its samples settles where it should."""

from dataclasses import dataclass, replace
from itertools import combinations
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import kendalltau

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.experiments.repeatability import (
    CONSTANT,
    IN_AUDITS,
    RepeatabilityConfig,
    mean_tau,
    repeatability,
    samples_needed,
)
from heatcheck.experiments.rows import TOO_SHORT
from heatcheck.experiments.summary import summarise
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation, ProbabilityOf
from heatcheck.models.protocols import AttentiveClassifier, Predictor
from heatcheck.randomness import text_seeds
from tests.tiny import tiny_subject
from tests.toys import random_examples, small_subject


@dataclass(frozen=True)
class Noisy:
    """Position plus noise of variance 1/samples: known scores, and ranks that settle with samples."""

    samples: int = 8
    scale: float = 2.0

    def __call__(self, model, batch, scalar, *, generator=None):
        scores = torch.arange(1, batch.mask.shape[1] + 1).expand(batch.mask.shape).double().clone()
        for row, seed in enumerate(text_seeds(generator, batch.example_ids)):
            noise = np.random.default_rng(int(seed)).normal(0, self.scale / self.samples**0.5, len(scores[row]))
            scores[row] += torch.from_numpy(noise)
        return Explanation(scores * batch.mask, signed=True)


def constant(model, batch, scalar, *, generator=None):
    return Explanation(batch.mask.double(), signed=False)


class Drifting:
    """Claims to be deterministic and is not."""

    def __init__(self):
        self.calls = 0

    def __call__(self, model, batch, scalar, *, generator=None):
        self.calls += 1
        direction = 1 if self.calls % 2 else -1
        order = torch.arange(1, batch.mask.shape[1] + 1).double()
        return Explanation((10 * batch.mask.shape[1] + direction * order) * batch.mask, signed=False)


@pytest.fixture(autouse=True)
def methods(monkeypatch):
    monkeypatch.setitem(EXPLAINERS, "noisy", Method(Noisy(), Predictor, random=True))
    monkeypatch.setitem(EXPLAINERS, "constant", Method(constant, Predictor))
    monkeypatch.setitem(EXPLAINERS, "random_constant", Method(constant, Predictor, random=True))
    monkeypatch.setitem(EXPLAINERS, "drifting", Method(Drifting(), Predictor))


def run(subject, examples, *names, seed=5, **settings):
    generator = torch.Generator().manual_seed(seed)
    return list(repeatability(subject, examples, RepeatabilityConfig(methods=names, **settings), generator=generator))


@pytest.mark.parametrize("family", ["ours", "distilbert"])
def test_stability_is_the_mean_tau_over_all_pairs_of_runs(tmp_path, family):
    examples = random_examples(6, longest=9)
    subject = small_subject(examples) if family == "ours" else tiny_subject(tmp_path, family)
    rows = run(subject, examples, "noisy", repeats=4, budgets=(0.5, 1, 3))
    assert {(r.setting, r.at) for r in rows} == {(None, None), ("samples", 4), ("samples", 8), ("samples", 24)}
    for row in rows:
        (batch,) = subject.batches([e for e in examples if e.id == row.example_id], 1)
        words = batch.words[0]
        explainer = Noisy(samples=int(row.at or 8))
        lists = []
        for seed in range(5, 9):
            generator = torch.Generator().manual_seed(seed)
            lists.append(explainer(subject.model, batch, ProbabilityOf({}), generator=generator).scores[0, words].abs())
        if words.sum() < 2:
            assert (row.value, row.reason) == (None, TOO_SHORT)
            continue
        taus = [kendalltau(a, b).statistic for a, b in combinations(lists, 2)]
        assert row.value == pytest.approx(np.mean(taus), abs=1e-9)
        assert row.group in subject.labels


def test_the_usual_budget_is_run_once_and_more_samples_are_steadier():
    examples = random_examples(30, longest=12, seed=3)
    subject = small_subject(examples)
    rows = run(subject, examples, "noisy(samples=2)", budgets=(1, 16, 64))
    usual = [r.value for r in rows if r.setting is None]
    assert usual == [r.value for r in rows if r.at == 2]
    means = [np.mean([r.value for r in rows if r.at == at and r.value is not None]) for at in (2, 32, 128)]
    assert means[0] < 0.8 < means[1] < means[2]
    assert {r.subject for r in rows} == {"noisy(samples=2)"}


def test_batches_do_not_change_the_numbers():
    examples = random_examples(7)
    subject = small_subject(examples)
    one, all_ = (
        {(r.example_id, r.at): r.value for r in run(subject, examples, "noisy", batch_size=size)} for size in (1, 7)
    )
    assert one == pytest.approx(all_)


def test_deterministic_methods_are_run_twice_and_must_be_equal():
    examples = [Example("one", "w1", 0), Example("many", "w1 w2 w3 w4", 1)]
    subject = small_subject(examples)
    found = {(r.subject, r.example_id): r for r in run(subject, examples, "gradient", "constant", "drifting")}
    assert found["gradient", "many"].value == 1
    assert found["constant", "many"].value == 1
    assert found["drifting", "many"].value == pytest.approx(-1)
    assert {r.reason for (_, text), r in found.items() if text == "one"} == {TOO_SHORT}
    assert EXPLAINERS["drifting"].explain.calls == 2  # type: ignore[attr-defined]


def test_a_random_method_that_gives_every_word_the_same_score_has_no_stability():
    """Nothing was compared: neither where it names no word, nor where its numbers were lost."""

    def lost(model, batch, scalar, *, generator=None):
        return Explanation(torch.full(batch.mask.shape, torch.nan), signed=False)

    examples = [Example("one", "w1", 0), Example("many", "w1 w2 w3 w4", 1)]
    with mock.patch.dict(EXPLAINERS, {"lost": Method(lost, Predictor, random=True)}):
        found = {
            (r.subject, r.example_id): r for r in run(small_subject(examples), examples, "random_constant", "lost")
        }
    for name in ("random_constant", "lost"):
        assert (found[name, "many"].value, found[name, "many"].reason) == (None, CONSTANT)
        assert (found[name, "one"].value, found[name, "one"].reason) == (None, TOO_SHORT)


def test_budgets_that_a_method_refuses_are_left_out():
    """Half of two coalitions is one, which kernel_shap cannot draw."""
    examples = random_examples(2, longest=6)
    rows = run(small_subject(examples), examples, "kernel_shap(samples=2, exact=1)", repeats=2)
    assert {r.at for r in rows} == {None, 2, 4, 8}


def test_where_every_coalition_is_run_no_number_of_samples_is_told():
    examples = [Example("short", "w1 w2 w3", 0), Example("long", "w1 w2 w3 w4 w5", 1)]
    rows = run(small_subject(examples), examples, "kernel_shap(samples=4, exact=3)", repeats=2)
    assert {(r.setting, r.at) for r in rows if r.example_id == "short"} == {(None, None)}
    assert [r.value for r in rows if r.example_id == "short"] == [1]
    assert {r.at for r in rows if r.example_id == "long"} == {None, 2, 4, 8, 16}
    assert {r.at for r in run(small_subject(examples), examples, "kernel_shap", repeats=2)} == {None}


def test_an_audit_asks_random_methods_once_more(monkeypatch):
    """The explanation that is there is the first run; methods that draw nothing are not asked at all."""
    examples = random_examples(6, longest=9)
    subject = small_subject(examples)
    made = list(explain_texts(subject, examples, "noisy", generator=torch.Generator().manual_seed(99)))
    config = replace(IN_AUDITS, methods=("noisy", "gradient", "drifting"))
    rows = list(
        repeatability(
            subject, examples, config, generator=torch.Generator().manual_seed(5), explained=Explained.of(made)
        )
    )
    assert {(r.subject, r.setting) for r in rows} == {("noisy", None)}
    assert EXPLAINERS["drifting"].explain.calls == 0  # type: ignore[attr-defined]
    for row in rows:
        (batch,) = subject.batches([e for e in examples if e.id == row.example_id], 1)
        words = batch.words[0]
        one, other = (
            Noisy()(subject.model, batch, ProbabilityOf({}), generator=torch.Generator().manual_seed(s)).scores[
                0, words
            ]
            for s in (99, 5)
        )
        expected = kendalltau(one, other).statistic if words.sum() > 1 else None
        assert row.value == (None if expected is None else pytest.approx(expected))


def test_without_names_every_method_that_the_model_serves_is_run(tmp_path):
    examples = random_examples(2, longest=5)
    subject = tiny_subject(tmp_path, "bert")
    there = {name: EXPLAINERS[name] for name in ("gradient", "noisy")}
    there["attentive"] = Method(constant, AttentiveClassifier)
    with mock.patch.dict(EXPLAINERS, there, clear=True):  # puts all back in their order
        assert {r.subject for r in run(subject, examples)} == {"gradient", "noisy"}


def test_mean_tau_leaves_out_pairs_that_do_not_exist():
    words = np.ones((1, 3), bool)
    flat, up, down = [[1.0, 1, 1]], [[1.0, 2, 3]], [[3.0, 2, 1]]
    assert mean_tau(np.array([flat, up, down]), words) == pytest.approx([-1])
    assert mean_tau(np.array([up, up]), words).tolist() == [1]
    assert np.isnan(mean_tau(np.array([flat, flat]), words)).all()
    assert mean_tau(np.array([flat, flat, up, up]), words).tolist() == [1]
    assert np.isnan(mean_tau(np.array([flat, up]), words)).all()
    assert "same score" in CONSTANT


def test_samples_needed_is_the_first_budget_that_reaches_the_mark():
    examples = random_examples(20, longest=12, seed=3)
    subject = small_subject(examples)
    rows = run(subject, examples, "noisy(samples=2)", "noisy(samples=1)", budgets=(1, 4, 64))
    columns = ("measure", "subject", "reference", "setting", "at", "example_id", "group", "statistic", "value", "n")
    texts = pd.DataFrame([{c: getattr(r, c) for c in columns} for r in rows])
    summary = pd.DataFrame([{c: getattr(r, c) for c in columns} for r in summarise(texts, seed=0)])
    means = summary[(summary["statistic"] == "mean") & summary["group"].isna() & summary["at"].notna()]
    settled = {r.subject: r for r in samples_needed(summary, settled=0.9)}
    for name in ("noisy(samples=2)", "noisy(samples=1)"):
        reach = [at for at, v in means[means["subject"] == name][["at", "value"]].to_numpy() if v >= 0.9]
        assert settled[name].value == min(reach)
        assert settled[name].at == 0.9
    (none, _) = samples_needed(summary, settled=1.0)
    assert none.value is None
    assert none.reason.startswith("not settled: mean τ is 0.")
    assert none.reason.endswith("at 64 samples")


def test_bad_settings_are_sentences():
    with pytest.raises(InputError, match="two runs are the fewest"):
        RepeatabilityConfig(repeats=1)
    with pytest.raises(InputError, match="a factor above 0"):
        RepeatabilityConfig(budgets=(0,))
    examples = random_examples(2)
    with pytest.raises(InputError, match="There is no explanation method 'nothing'"):
        run(small_subject(examples), examples, "nothing")
