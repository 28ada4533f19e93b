"""Requests as `audit` and `run` make them, and what an audit makes of a method that changes its mind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heatcheck
from heatcheck.api import default_limit, make_request
from heatcheck.company import battery
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.repeatability import RepeatabilityConfig
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.settings import explaining_configs
from tests.test_cli_transformers import TEXTS, table

CHEAP = RepeatabilityConfig(repeats=2, budgets=(), random_only=True)


def predict(texts):
    """Every word counts a little, by its letters."""
    p = np.array([0.5 + 0.4 * np.sin(sum(map(ord, text))) for text in texts])
    return np.stack([1 - p, p], axis=1)


def test_an_audit_asks_random_methods_twice_whatever_methods_it_is_told():
    assert make_request(None, "movie-reviews", 9, 0, {}).config("repeatability") == CHEAP
    configs = explaining_configs("lime,gradient", special_tokens=True, audit=True)
    told = replace(CHEAP, methods=("lime", "gradient"), special_tokens=True)
    assert make_request(None, "movie-reviews", 9, 0, {"configs": configs}).config("repeatability") == told


def test_a_run_of_repeatability_asks_as_often_as_its_own_settings_say():
    whole = RepeatabilityConfig()
    assert make_request(None, "x", 9, 0, {"experiments": ("repeatability",)}).config("repeatability") == whole
    assert explaining_configs("lime")["repeatability"] == replace(whole, methods=("lime",))
    own = RepeatabilityConfig(repeats=7)
    assert make_request(None, "x", 9, 0, {"configs": {"repeatability": own}}).config("repeatability") == own


@pytest.mark.parametrize("experiment", ["agreement", "erasure", "ground_truth"])
def test_tests_that_compare_methods_ask_random_ones_twice(experiment):
    def asked(**configs):
        return make_request(None, "x", 9, 0, {"experiments": (experiment,), "configs": configs})

    config = EXPERIMENTS[experiment].config
    assert asked().experiments == (experiment, "repeatability")
    assert asked().config("repeatability") == CHEAP
    drawn = asked(**{experiment: config(methods=("gradient", "lime(samples=9)"))})
    assert drawn.config("repeatability") == replace(CHEAP, methods=("gradient", "lime(samples=9)"))
    assert asked(**{experiment: config(methods=("gradient", "attention"))}).experiments == (experiment,)


@pytest.mark.parametrize(
    ("spec", "first", "limit"),
    [(TransformerSpec("minilm"), "agreement", 100), (ModelSpec(), "correlation", 1000), (None, "correlation", 1000)],
)
def test_a_model_that_is_to_be_trained_gets_the_battery_of_its_kind(spec, first, limit):
    request = make_request(None, "movie-reviews", 9, 0, {} if spec is None else {"spec": spec})
    assert battery(None, request.spec)[0] == first
    assert default_limit(None, spec) == limit


def test_one_method_is_audited_alone_and_compared_with_nothing(tmp_path):
    rows = [(text, ("no", "yes")[i % 2]) for i, text in enumerate(TEXTS)]
    data = table(tmp_path / "texts.csv", ["text", "label"], rows)
    configs = explaining_configs("occlusion", audit=True)
    run = heatcheck.audit(predict, data, out=tmp_path / "run", configs=configs, threads=1)
    assert "agreement" not in run.description["settings"]["experiments"]
    assert "gain_over_random" in set(run.scores.measure)
    assert run.description["methods"] == {"occlusion": {"hide": "mask"}}  # nobody asked for it, and it is known
    assert "spec" not in run.description["settings"]  # nothing was trained
    twice = {"configs": explaining_configs("lime,lime"), "threads": 1}
    with pytest.raises(InputError, match="agreement compares methods, and there is only lime"):
        heatcheck.run("agreement", predict, data, out=tmp_path / "other", **twice)
    assert not (tmp_path / "other").exists()


def test_an_audit_finds_its_folder_again_and_leaves_those_of_others_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"{text} w{i}", ("no", "yes")[i % 2]) for i, text in enumerate(TEXTS)]
    data = table(tmp_path / "texts.csv", ["text", "label"], rows)
    for _ in range(2):
        for methods, name in (("leave_one_out,occlusion", ""), ("occlusion,lime(samples=4)", "-2")):
            configs = explaining_configs(methods, audit=True)
            run = heatcheck.audit(predict, data.name, configs=configs, threads=1)
            assert run.folder == Path(f"runs/audit-texts-predict{name}")
    assert len(list(Path("runs").iterdir())) == 2


def test_a_method_that_changes_with_the_seed_is_shown_but_not_ranked(tmp_path):
    rows = [(f"{text} w{i}", ("no", "yes")[i % 2]) for i, text in enumerate(TEXTS * 2)]
    data = table(tmp_path / "texts.csv", ["text", "label"], rows)
    run = heatcheck.audit(
        predict,
        data,
        out=tmp_path / "run",
        experiments=("erasure", "repeatability"),
        configs=explaining_configs("lime(samples=4),leave_one_out", audit=True),
        threads=1,
    )
    findings = {(f["experiment"], f["subject"]): f["outcome"] for f in run.verdict["findings"]}
    assert findings["repeatability", "lime(samples=4)"] == "fails"
    assert {subject for experiment, subject in findings if experiment == "erasure"} == {"leave_one_out"}
    assert "Do not show LIME (samples=4): another seed gives another order." in run.verdict["headline"]
    means = run.scores[run.scores.example_id.isna() & run.scores.value.notna()]
    means = means[means.subject == "lime(samples=4)"]
    assert means.reason.str.startswith("not ranked: another seed gives another ranking (mean τ").all()
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert '<a href="#repeatability">See the evidence</a>' in page
