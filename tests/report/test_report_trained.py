"""Sections of the tests that train: what they draw against plain loops over the tables, and in a real browser."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from heatcheck import report, results
from heatcheck.errors import InputError
from heatcheck.report.figures import figure
from heatcheck.report.measures import MEASURES
from heatcheck.report.methods import cell
from heatcheck.report.source import load
from heatcheck.report.trained import numbers
from heatcheck.results import Origin, Score
from heatcheck.verdict.price import best_liar, heatmap_name

from .browser import CUT_LETTERS, CUT_TABLES, Opened, opened_in
from .sample import CLASSES, EVIL
from .sample_methods import write_methods_sample
from .sample_trained import CONFIGS, EXPERIMENTS, KEPT, LAMBDAS, write_trained_sample

LN2 = float(np.log(2))
Rows = list[dict[str, Any]]


def data(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trained_sample(tmp_path_factory.mktemp("trained"), how_many=40)


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return report.render(folder)


@pytest.fixture(scope="module")
def charts(page: str) -> dict[str, Any]:
    found: dict[str, Any] = data(page)["charts"]
    return found


@pytest.fixture(scope="module")
def scores(folder: Path) -> Rows:
    """The values of single texts."""
    rows: Rows = results.read_table(folder, "scores").to_pylist()
    return [row for row in rows if row["example_id"] is not None]


def where(scores: Rows, measure: str, **which: Any) -> list[float]:
    return [
        row["value"]
        for row in scores
        if row["measure"] == measure and all(row[key] == value for key, value in which.items())
    ]


def written(folder: Path, *rows: Score, experiment: str = "uniform_attention") -> str:
    results.write_tables(folder, results.tables(rows, Origin("data", "model", 0), experiment))
    results.write_json(folder / "run.json", {"schema_version": 1})
    return report.render(folder)


def mean(measure: str, value: float, half: float, subject: str, reference: str | None = None, **more: Any) -> Score:
    common = {"statistic": "mean", "n": 90} | more
    return Score(measure, value, subject, reference, low=value - half, high=value + half, **common)


def f1(folder: Path, name: str) -> float:
    """Of the second class, by its definition."""
    truth = {row["example_id"]: row["label"] for row in results.read_table(folder, "examples").to_pylist()}
    experiment = "uniform_attention"
    rows = results.read_table(folder, "scores").to_pylist()
    hits = wrong = missed = 0
    for row in rows:
        if (row["experiment"], row["measure"], row["subject"]) == (experiment, "predicted_class", name):
            positive, predicted = truth[row["example_id"]] == CLASSES[1], row["value"] == 1
            hits += positive and predicted
            wrong += predicted and not positive
            missed += positive and not predicted
    return 2 * hits / (2 * hits + wrong + missed)


def test_every_model_of_uniform_attention_has_its_f1(folder: Path, charts: dict[str, Any]) -> None:
    rows = {row["id"]: row for row in charts["uniform_attention"]["f1"]}
    assert list(rows) == [
        "attention, all seeds", "this model", "seed 50", "seed 257", "seed 500231",
        "equal weights, all seeds", "equal weights, seed 50", "equal weights, seed 257", "equal weights, seed 500231",
    ]  # fmt: skip
    assert rows["this model"]["cell"][0] == pytest.approx(f1(folder, "base"), abs=1e-4)
    assert rows["equal weights, seed 257"]["cell"][0] == pytest.approx(f1(folder, "uniform, seed 257"), abs=1e-4)
    assert [name for name, row in rows.items() if not row["part"]] == [
        "attention, all seeds",
        "equal weights, all seeds",
    ]
    assert charts["uniform_attention"]["margin"] == 0.01


@pytest.mark.parametrize(
    ("value", "half", "said"),
    [(0.05, 0.03, "Needed"), (-0.02, 0.02, "Not needed"), (0.01, 0.02, "Cannot tell")],
)
def test_needed_not_needed_or_cannot_tell(tmp_path: Path, value: float, half: float, said: str) -> None:
    page = written(
        tmp_path,
        mean("uniform_f1", 0.8, 0.02, "attention", "all seeds", setting="binary"),
        mean("uniform_f1_difference", value, half, "attention", "uniform", at=0.01),
    )
    assert f"<strong>{said}</strong>: attention adds" in page


def test_models_that_have_learned_nothing_do_not_say_that_attention_is_not_needed(tmp_path: Path) -> None:
    page = written(
        tmp_path,
        mean("uniform_f1", 0.0, 0.0, "attention", "all seeds", setting="binary"),
        mean("uniform_f1", 0.0, 0.0, "uniform", "all seeds", setting="binary"),
        mean("uniform_f1_difference", 0.0, 0.0, "attention", "uniform", at=0.01),
        mean("uniform_balanced_accuracy", 0.5, 0.0, "models of this test", at=0.5),
    )
    assert "<strong>Cannot tell</strong>" in page
    assert "learned nothing" in page


def test_violins_take_the_largest_distance_over_the_seeds(page: str, scores: Rows) -> None:
    held = data(page)
    by_text: dict[str, list[float]] = defaultdict(list)
    for row in scores:
        if row["measure"] == "seed_jsd":
            by_text[row["example_id"]].append(row["value"])
    assert {len(values) for values in by_text.values()} == {3}
    series = {one["key"]: dict(zip(held["texts"]["id"], one["values"], strict=True)) for one in held["series"]}
    largest, middle = (series[f"seed_jsd/the {name} of the seeds"] for name in ("largest", "mean"))
    for example, values in by_text.items():
        assert largest[example] == pytest.approx(max(values), abs=1e-4)
        assert middle[example] == pytest.approx(np.mean(values), abs=2e-4)
    chart = held["charts"]["seed_variance"]
    for variant, found in zip(chart["variants"], (largest, middle), strict=True):
        cells = [cell for row in variant["rows"] for cell in row]
        assert sum(cell["n"] for cell in cells) == len(found)
        assert max(point for cell in cells for point in cell.get("grid", [0])) <= LN2 + 1e-4
    (one,) = (cell for cell in chart["variants"][0]["rows"][3][:1])
    peaks, predicted = held["texts"]["max_attention"], held["texts"]["predicted"]
    inside = [
        largest[name]
        for name, peak, label in zip(held["texts"]["id"], peaks, predicted, strict=True)
        if peak >= 0.75 and label == 0
    ]
    assert one["n"] == len(inside)
    assert one["quartiles"] == pytest.approx(np.quantile(inside, (0.25, 0.5, 0.75)), abs=1e-3)
    assert sum(cell["n"] for row in chart["adversary"]["rows"] for cell in row) == len(largest)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.5, "farther than chance does"), (0.3, "no farther than chance might"), (0.1, "not as far as chance does")],
)
def test_the_adversary_is_set_against_the_seeds(tmp_path: Path, value: float, said: str) -> None:
    page = written(
        tmp_path,
        mean("seed_jsd", 0.3, 0.05, "attention", "all seeds"),
        mean("adversarial_jsd", value, 0.02, "attention", "adversarial", setting="exact", at=0.01),
    )
    assert said in page


def test_guides_stand_best_first_and_equal_weights_have_no_difference(charts: dict[str, Any]) -> None:
    chart = charts["guided_mlp"]
    values = [row["cell"][0] for row in chart["f1"]]
    assert values == sorted(values, reverse=True)
    assert {row["id"] for row in chart["f1"]} == set(CONFIGS["guided_mlp"][0].guides)
    assert {row["id"] for row in chart["difference"]} == set(CONFIGS["guided_mlp"][0].guides) - {"uniform"}
    by_name = {row["id"]: row["cell"][0] for row in chart["f1"]}
    for row in chart["difference"]:
        assert row["cell"][0] == pytest.approx(by_name[row["id"]] - by_name["uniform"], abs=2e-4)


@pytest.mark.parametrize(
    ("far", "said"),
    [
        (0.13, "(λ = 0.001) has a mean JSD of 0.13 [0.11, 0.15] from this model’s attention: below 0.4 it looks at"),
        (0.6, "(λ = 0.001) has a mean JSD of 0.60 [0.58, 0.62] from this model’s attention."),
    ],
)
def test_how_far_the_guiding_adversary_is_stands_below_its_row(tmp_path: Path, far: float, said: str) -> None:
    page = written(
        tmp_path,
        mean("guided_f1", 0.8, 0.05, "adversary", "all seeds", setting="binary"),
        mean("guided_adversary_jsd", far, 0.02, "attention", "adversary", at=0.001),
    )
    assert said in page


def test_the_curve_has_the_means_of_every_lambda_by_class_too(page: str, scores: Rows) -> None:
    views = data(page)["charts"]["trained_adversary"]["views"]
    assert [view["name"] for view in views] == ["all texts", "predicted negative", "predicted positive"]
    for view, group in zip(views, ({}, {"group": CLASSES[0]}, {"group": CLASSES[1]}), strict=True):
        assert [line["name"] for line in view["lines"]] == ["seed 50", "seed 50, number 2"]
        for one in view["lines"]:
            distances = [point["jsd"][0] for point in one["points"]]
            assert distances == sorted(distances)
            assert sorted(point["at"] for point in one["points"]) == list(LAMBDAS)
            for point in one["points"]:
                for name in ("jsd", "tvd"):
                    values = where(scores, f"trained_adversary_{name}", setting=one["name"], at=point["at"], **group)
                    assert point[name][0] == pytest.approx(np.mean(values), abs=1e-4)
                    assert point[name][1] <= point[name][0] <= point[name][2]
                assert (point["f1"] is None) == bool(group)


def test_other_models_are_marks_and_attefas_only_of_this_model(charts: dict[str, Any], scores: Rows) -> None:
    view = charts["trained_adversary"]["views"][0]
    names = defaultdict(list)
    for mark in view["marks"]:
        names[mark["kind"]].append(mark["name"])
    assert {kind: len(found) for kind, found in names.items()} == {
        "seed": 3,
        "uniform": 3,
        "adversarial": 1,
        "attefa": 2,
    }
    assert names["attefa"] == ["adversary this model · 1", "adversary this model · 2"]
    assert names["adversarial"] == ["exact, ε = 0.01"]
    assert view["kinds"][0] == ["seed", "other seeds"]
    mark = next(mark for mark in view["marks"] if mark["kind"] == "adversarial")
    assert mark["jsd"][0] == pytest.approx(np.mean(where(scores, "adversarial_jsd", setting="exact")), abs=1e-4)
    assert mark["tvd"][0] == pytest.approx(np.mean(where(scores, "adversarial_tvd", setting="exact")), abs=1e-4)
    assert len(charts["attefa"]["marks"]) == 4


def test_attefa_of_one_seed_is_a_point_on_the_curve_of_one_seed(tmp_path: Path) -> None:
    """Paper 3's Figure 2."""
    common = {"subject": "attention", "reference": "trained adversary", "setting": "seed 50", "at": 0.001}
    page = written(
        tmp_path,
        mean("trained_adversary_jsd", 0.3, 0.01, **common),
        mean("trained_adversary_tvd", 0.1, 0.01, **common),
        mean("attefa_jsd", 0.6, 0.01, "base", "seed 50"),
        mean("attefa_tvd", 0.2, 0.01, "base", "seed 50"),
    )
    (view,) = data(page)["charts"]["trained_adversary"]["views"]
    (mark,) = view["marks"]
    assert (mark["kind"], mark["jsd"][0], mark["tvd"][0]) == ("attefa", 0.6, 0.2)
    assert view["kinds"] == [["attefa", "AtteFa’s adversary"]]


def test_marks_of_what_was_not_run_are_left_out(tmp_path: Path) -> None:
    folder = write_trained_sample(tmp_path, ["trained_adversary"], how_many=8, nasty=False, beside=False)
    view = data(report.render(folder))["charts"]["trained_adversary"]["views"][0]
    assert view["marks"] == view["kinds"] == []
    assert len(view["lines"]) == 2


def section_of(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">(.*?)</section>', page, re.S)
    assert found is not None
    return found[1]


def test_the_adversarys_section_says_the_area_table_4_and_the_papers_half(page: str) -> None:
    section = section_of(page, "trained_adversary")
    assert re.search(r"Mean height of the curve, .*? \(seed 50\): 0\.\d+ \[0\.\d+, 0\.\d+\]", section)
    assert re.search(r"Area under it, .*?: 0\.\d+ \[0\.\d+, 0\.\d+\]", section)
    best = r"Best F1 of an adversary with a mean JSD above 0\.4 \(the paper’s Table 4\)"
    assert re.search(best + r": 0\.\d\d \[.*?\] \(seed 50.*?, λ = ", section)
    assert "the papers print half of it: divide by 2 to compare" in section
    assert section.count('<tr><th scope="row">') == 2 * len(LAMBDAS) + len(LAMBDAS)  # all λ, then those apart


def test_that_no_adversary_is_far_is_said(tmp_path: Path) -> None:
    common = {"subject": "attention", "reference": "trained adversary", "setting": "seed 50", "at": 0.001}
    page = written(
        tmp_path,
        mean("trained_adversary_jsd", 0.1, 0.01, **common),
        mean("trained_adversary_tvd", 0.1, 0.01, **common),
        Score("trained_adversary_best_f1", None, "attention", statistic="mean", reason="no adversary reached 0.4"),
    )
    assert "Best F1 of a far adversary (Table 4): none, as no adversary reached 0.4." in page


@pytest.mark.parametrize(
    ("name", "kind", "which"),
    [
        ("trained_adversary", "trained_adversary", {"setting": "seed 50", "at": KEPT}),
        ("attefa", "attefa", {"subject": "base", "reference": "seed 1"}),
    ],
)
def test_the_texts_shown_keep_their_output_and_have_the_largest_products(
    folder: Path, page: str, scores: Rows, name: str, kind: str, which: dict[str, Any]
) -> None:
    def of(measure: str) -> dict[str, float]:
        return {
            row["example_id"]: round(row["value"], 4)
            for row in scores
            if row["measure"] == measure and all(row[key] == value for key, value in which.items())
        }

    far, changed = of(f"{kind}_jsd"), of(f"{kind}_tvd")
    products = {
        row["example_id"]: row["max_attention"] * far[row["example_id"]]
        for row in results.read_table(folder, "examples").to_pylist()
        if changed[row["example_id"]] <= 0.1 and row["n_tokens"] >= 5 and far[row["example_id"]] >= 0.1
    }
    shown = data(page)["charts"][name]["lies"]["texts"]
    assert [text["id"] for text in shown] == sorted(products, key=lambda example: (-products[example], example))[:8]
    assert all(text["jsd"] == far[text["id"]] and text["tvd"] == changed[text["id"]] for text in shown)
    assert {text["id"] for text in shown} <= set(data(page)["texts"]["id"])
    output, attention = (figure(statistics.fmean(values.values())) for values in (changed, far))
    assert f"over all, its output moves by {output} and its attention by {attention} on" in section_of(page, name)


def with_heatmaps_of(folder: Path, method: str, to: Path) -> str:
    """The same run, its adversary's heatmaps under another name."""
    tokens = results.read_table(folder, "tokens").to_pandas()
    tokens["method"] = tokens["method"].replace(heatmap_name("seed 50", KEPT), method)
    kept = {name: results.read_table(folder, name) for name in results.TABLES}
    results.write_tables(
        to, kept | {"tokens": pa.Table.from_pandas(tokens, kept["tokens"].schema, preserve_index=False)}
    )
    results.write_json(to / "run.json", results.read_run(folder))
    return section_of(report.render(to), "trained_adversary")


def test_the_heatmaps_are_the_verdicts_adversarys_or_the_reader_is_told(folder: Path, tmp_path: Path) -> None:
    liar = best_liar(results.read_table(folder, "scores").to_pandas())
    assert liar is not None
    own = with_heatmaps_of(folder, heatmap_name(liar.name, liar.at), tmp_path / "own")
    assert f"of the adversary with λ = {liar.at:g} ({liar.name})" in own
    assert "The verdict is about" not in own
    older = with_heatmaps_of(folder, "trained_adversary", tmp_path / "older")
    assert "of the adversary with λ = 0.001 (seed 50)" in older
    assert f"The verdict is about λ = {liar.at:g} ({liar.name}), whose heatmaps the run did not keep." in older


def test_the_same_words_are_no_other_words(folder: Path, tmp_path: Path) -> None:
    scores = results.read_table(folder, "scores").to_pandas()
    scores.loc[scores["measure"].isin(["attefa_jsd", "trained_adversary_jsd"]), "value"] = 0.09
    kept = {name: results.read_table(folder, name) for name in results.TABLES}
    results.write_tables(tmp_path, kept | {"scores": pa.Table.from_pandas(scores, kept["scores"].schema)})
    results.write_json(tmp_path / "run.json", results.read_run(folder))
    page = report.render(tmp_path)
    assert 'id="attefa"' in page
    assert "The same answer from other words" not in page


def test_attefas_paper_is_cited_for_its_mark_only_if_there_is_one(page: str, tmp_path: Path) -> None:
    mark = "AtteFa’s mark: Amini &amp; Kosseim 2022, Figure 2"
    assert mark in section_of(page, "trained_adversary")
    folder = write_trained_sample(tmp_path, ["trained_adversary"], how_many=6, nasty=False, beside=False)
    assert mark not in section_of(report.render(folder), "trained_adversary")


def test_attefa_is_the_ratio_of_means_by_each_definition(charts: dict[str, Any], scores: Rows, folder: Path) -> None:
    variants = {one["key"]: one for one in charts["attefa"]["variants"]}
    assert list(variants) == ["published", "relative", "right"]
    names = ["mean", "this model · 1", "this model · 2", "seed 257 · 1", "seed 257 · 2"]
    assert [row["name"] for row in variants["published"]["rows"]] == names
    cells = {key: {row["name"]: row["cell"][0] for row in one["rows"]} for key, one in variants.items()}
    for base, seed in (("base", "seed 1"), ("seed 257", "seed 2")):
        tvd, jsd, most = (
            np.mean(where(scores, f"attefa_{name}", subject=base, reference=seed))
            for name in ("tvd", "jsd", "uninformed_tvd")
        )
        name = f"{'this model' if base == 'base' else base} · {seed[-1]}"
        assert cells["published"][name] == pytest.approx(min(tvd / (jsd / LN2), 1), abs=1e-4)
        assert cells["relative"][name] == pytest.approx(min(tvd / most / (jsd / LN2), 1), abs=1e-4)
    assert all(one["meaning"] for one in variants.values())


def test_attefa_of_further_runs_stands_below_by_model_and_data(folder: Path, tmp_path: Path) -> None:
    other = write_trained_sample(tmp_path / "other", ["attefa"], how_many=12)
    about = results.read_run(other)
    about["model"]["name"], about["dataset"]["name"] = "mlp<b>", "mock-1"
    results.write_json(other / "run.json", about)
    page = report.render(folder, [other])
    rows = data(page)["charts"]["attefa"]["variants"][0]["rows"]
    assert [row["name"] for row in rows if not row["part"]] == [load(folder).name, "mlp<b> on mock-1"]
    assert len({row["id"] for row in rows}) == len(rows) == 10
    assert [row["name"] for row in rows[6:8]] == ["adversary · 1", "adversary · 2"]
    alone = data(report.render(other))["charts"]["attefa"]["variants"][0]["rows"]
    assert [row["cell"] for row in rows[5:]] == [row["cell"] for row in alone]
    assert '<th scope="row">mlp&lt;b&gt; on mock-1</th>' in section_of(page, "attefa")
    about["model"]["temperature"] = 0.5
    results.write_json(other / "run.json", about)
    third = write_trained_sample(tmp_path / "third", ["attefa"], how_many=12)
    results.write_json(third / "run.json", {**about, "model": {**about["model"], "temperature": 2.0}})
    rows = data(report.render(folder, [other, third]))["charts"]["attefa"]["variants"][0]["rows"]
    told = ["temperature 0.5: mlp<b> on mock-1", "temperature 2: mlp<b> on mock-1"]
    assert [row["name"] for row in rows if not row["part"]][1:] == told
    without = write_trained_sample(tmp_path / "without", ["seed_variance"], how_many=6)
    with pytest.raises(InputError, match="without: has no AtteFa to be drawn beside another's"):
        report.render(folder, [without])


def test_where_attefas_variance_comes_from_is_tabled(page: str) -> None:
    section = section_of(page, "attefa")
    assert '<th scope="col">std over adversaries</th><th scope="col">std over models</th>' in section
    assert "0 means that the models differ no more than that." in section
    assert section.count('<tr><th scope="row">') == 3 + 3 * 4


def test_a_chart_and_its_table_give_the_same_digits() -> None:
    """Both write three digits at most; a chart's number has been rounded before."""
    values = [0.098486, *np.random.default_rng(0).uniform(0, 0.7, 2000)]
    rows = [{"value": value, "low": value, "high": value, "n": 9, "reason": None} for value in values]
    assert [figure(cell(row)[0]) for row in rows] == [figure(value) for value in values]
    assert [[figure(x) for x in numbers(row) or ()] for row in rows] == [3 * [figure(value)] for value in values]


def test_a_ratio_without_a_value_says_why(tmp_path: Path) -> None:
    missing = Score("attefa", None, "base", "seed 1", statistic="mean", setting="published", reason="0/0")
    held = data(written(tmp_path, missing, experiment="attefa"))["charts"]["attefa"]
    assert held["variants"][0]["rows"][0]["cell"] == [None, "0/0"]
    assert held["marks"] == []


def test_ground_truth_sets_methods_against_chance_and_the_wrong_texts_apart(
    charts: dict[str, Any], scores: Rows, page: str
) -> None:
    variants = charts["ground_truth"]["variants"]
    assert [(one["measure"], one["texts"]) for one in variants] == [
        ("AUPRC", "right"), ("AUPRC", "wrong"), ("precision at k", "right"), ("precision at k", "wrong"),
    ]  # fmt: skip
    for one, (measure, setting) in zip(
        variants, ((m, f"model {t}") for m in ("auprc", "precision_at_k") for t in ("right", "wrong")), strict=True
    ):
        for row in one["rows"]:
            values = where(scores, measure, subject=row["id"], setting=setting)
            assert row["cell"][0] == pytest.approx(np.mean(values), abs=1e-4)
            assert row["cell"][3] == len(values)
        ((name, at),) = one["guides"]
        assert name == "chance"
        assert at == pytest.approx(np.mean(where(scores, measure, subject="random", setting=setting)), abs=1e-4)
    assert 'id="plausibility"' not in page


def test_texts_without_planted_words_are_counted_with_their_reason(tmp_path: Path) -> None:
    why = "every word was planted: any order finds them"
    rows = [
        Score("auprc", None, name, "planted", text, "pos", setting="model right", reason=why)
        for name in ("attention", "gradient")
        for text in ("1", "2")
    ]
    rows += [Score("auprc", None, "lime", "people", "1", "pos", reason="nobody marked a word")]
    means = [
        Score(
            "auprc", None, name, "planted", statistic="mean", setting="model right", n=0, reason="no text has a value"
        )
        for name in ("attention", "gradient")
    ]
    means += [Score("auprc", None, "lime", "people", statistic="mean", n=0, reason="no text has a value")]
    page = written(tmp_path, *rows, *means, experiment="ground_truth")
    assert f"left out of its means: {why} (2)." in section_of(page, "ground_truth")
    assert "left out of its means: nobody marked a word (1)." in section_of(page, "plausibility")


def test_planted_words_and_marked_words_do_not_mix(tmp_path: Path) -> None:
    both = [write_methods_sample(tmp_path / "a", ["plausibility"], how_many=8, methods=("attention", "gradient"))]
    both.append(write_trained_sample(tmp_path / "b", ["ground_truth"], how_many=8, beside=False))
    content = {name: pa.concat_tables([results.read_table(folder, name) for folder in both]) for name in results.TABLES}
    results.write_tables(tmp_path, content)
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    held = data(report.render(tmp_path))["charts"]
    assert [one["key"] for one in held["plausibility"]["variants"]] == ["auprc", "token_f1"]
    assert len(held["ground_truth"]["variants"]) == 4


def test_values_of_models_are_no_series_but_what_a_section_makes_of_them_is(page: str) -> None:
    keys = [one["key"] for one in data(page)["series"]]
    assert [key for key in keys if not key.startswith("adversarial")] == [
        "seed_jsd/the largest of the seeds", "seed_jsd/the mean of the seeds",
        "trained_adversary_jsd/λ = 0.01", "trained_adversary_tvd/λ = 0.01",
        "attefa_jsd/adversary’s seed 1", "attefa_tvd/adversary’s seed 1",
    ]  # fmt: skip


def test_every_measure_of_the_trained_tests_has_a_name(folder: Path) -> None:
    measures = set(results.read_table(folder, "scores")["measure"].to_pylist())
    assert measures <= set(MEASURES)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_run_of_one_experiment_has_its_section_only(tmp_path: Path, experiment: str) -> None:
    page = report.render(write_trained_sample(tmp_path, [experiment], how_many=6, nasty=False, beside=False))
    assert set(re.findall(r'<section id="([a-z_]+)"', page)) == {"performance", "texts", "provenance", experiment}


def test_same_tables_same_bytes_without_torch(folder: Path, page: str) -> None:
    code = (
        "import sys, pathlib, hashlib; from heatcheck import report; page = report.render(pathlib.Path(sys.argv[1])); "
        "print(hashlib.sha256(page.encode()).hexdigest(), 'torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == f"{hashlib.sha256(page.encode()).hexdigest()} False"


@pytest.fixture(scope="module")
def shared(browser: Any, folder: Path) -> Iterator[Opened]:
    with opened_in(browser, report.write(folder)) as opened:
        yield opened


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    yield shared
    shared.check()


def test_every_section_is_drawn(opened: Opened) -> None:
    for name in EXPERIMENTS:
        assert opened.page.locator(f"#{name} svg.chart").count() >= 1
    assert opened.page.locator("#uniform_attention .dot-lane").count() == 9 + 1
    assert opened.page.locator("#uniform_attention .guide").count() == 2
    assert opened.page.locator("#guided_mlp .dot-lane").count() == 5 + 4
    assert opened.page.locator("#trained_adversary .plane-point").count() == 2 * len(LAMBDAS)
    assert opened.page.locator("#trained_adversary .plane-mark").count() == 9
    assert opened.page.locator("#trained_adversary .bound").count() == 1
    assert opened.page.locator("#attefa .dot-lane").count() == 5
    assert opened.page.locator("#attefa .plane-mark").count() == 4
    assert opened.page.locator("#ground_truth .guide").count() == 1


def test_base_and_adversary_heatmaps_stand_on_the_same_text(opened: Opened) -> None:
    for section, methods in (
        ("trained_adversary", ["attention", "adversarial_attention", heatmap_name("seed 50", KEPT)]),
        ("attefa", ["attention", "attefa_adversary"]),
    ):
        cards = opened.page.locator(f"#{section} article")
        assert cards.count() == 8
        shown = cards.first.locator(":scope > .method").evaluate_all(
            "nodes => nodes.map((node) => node.dataset.method)"
        )
        assert shown == methods
        words = {cards.first.locator(f"[data-method='{method}'] .heat").text_content() for method in methods}
        assert len(words) == 1
        assert re.search(r"JSD\s0\.\d+ away, its output TVD\s[<0.]", cards.first.locator(".moved").inner_text())


def test_a_class_is_chosen_and_a_point_read(opened: Opened, page: str) -> None:
    point = opened.page.locator("#trained_adversary .plane-point").nth(2)
    before = point.get_attribute("aria-label") or ""
    assert re.match(r"λ = [\d.]+, seed 50, attention: JSD 0\.\d+ \[.*\], output: TVD 0\.\d+ \[.*\], F1 0\.\d+", before)
    opened.page.get_by_role("radio", name="predicted positive").check()
    after = opened.page.locator("#trained_adversary .plane-point").nth(2).get_attribute("aria-label") or ""
    assert after != before
    assert "F1" not in after
    opened.page.locator("#trained_adversary .plane-point").nth(2).hover(force=True)  # others may lie over it
    assert "output: TVD" in opened.page.locator("#tip").inner_text()
    opened.page.get_by_role("radio", name="all texts").check()


LABELS = """() => {
  const middle = (node) => {
    const box = node.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const points = [...document.querySelectorAll('#trained_adversary .plane-point')]
    .map((node) => [node.dataset.at, node.getAttribute('class'), middle(node.querySelector('.fill'))]);
  return [...document.querySelectorAll('#trained_adversary text.lambda')].map((node) => {
    const [x, y] = middle(node);
    const far = ([, , [across, up]]) => Math.hypot(across - x, up - y);
    const [at, kind] = points.reduce((one, other) => (far(other) < far(one) ? other : one));
    const box = node.getBoundingClientRect();
    return { text: node.textContent, kind: node.getAttribute('class'), at, of: kind, box: box.toJSON() };
  });
}"""


@pytest.mark.parametrize("width", [1280, 380])
def test_every_lambda_stands_nearest_to_its_own_point_and_apart_from_others(
    browser: Any, tmp_path: Path, width: int
) -> None:
    """Two adversaries whose points lie close together."""
    rows = []
    for number, setting in enumerate(("seed 1", "seed 2", "seed 3")):
        for at, jsd, tvd in ((0.0, 0.1, 0.1), (0.01, 0.58, 0.14), (0.1, 0.6, 0.15), (1.0, 0.61, 0.18)):
            common = {"subject": "attention", "reference": "trained adversary", "setting": setting, "at": at}
            rows.append(mean("trained_adversary_jsd", jsd + 0.015 * number, 0.01, **common))
            rows.append(mean("trained_adversary_tvd", tvd + 0.004 * number, 0.01, **common))
    written(tmp_path, *rows, experiment="trained_adversary")
    with opened_in(browser, report.write(tmp_path), width) as opened:
        labels = opened.page.evaluate(LABELS)
    assert len(labels) >= 3
    for one in labels:
        assert float(one["text"].removeprefix("λ = ")) == float(one["at"])
        assert one["kind"].split()[-1] == one["of"].split()[-1]  # in the colour of its line
    for one, other in itertools.combinations((label["box"] for label in labels), 2):
        beside = one["right"] + 3 <= other["left"] or other["right"] + 3 <= one["left"]
        assert beside or one["bottom"] <= other["top"] + 3 or other["bottom"] <= one["top"] + 3


COVERED = """() => {
  const chart = document.querySelector('#trained_adversary svg.chart');
  const boxes = (what) => [...chart.querySelectorAll(what)].map((node) => [node, node.getBoundingClientRect()]);
  return boxes('text.lambda').flatMap(([label, one]) => boxes('text, .other.itself')
    .filter(([node, other]) => node !== label && one.left < other.right && other.left < one.right
      && one.top + 2 < other.bottom && other.top < one.bottom - 2)
    .map(([node]) => `${label.textContent} over ${node.textContent || 'this model'}`));
}"""


@pytest.mark.parametrize(("width", "near"), [(1280, 0.013), (380, 0.04)])
def test_a_lambda_near_the_model_itself_covers_neither_it_nor_the_axis(
    browser: Any, tmp_path: Path, width: int, near: float
) -> None:
    """Another point above it leaves the place below, where the axis has its own numbers."""
    rows = []
    for at, jsd, tvd in ((0.0, near, 0.007), (0.001, near + 0.001, 0.02), (1.0, 0.6, 0.15)):
        common = {"subject": "attention", "reference": "trained adversary", "setting": "seed 1", "at": at}
        rows.append(mean("trained_adversary_jsd", jsd, 0.001, **common))
        rows.append(mean("trained_adversary_tvd", tvd, 0.001, **common))
    page = written(tmp_path, *rows, experiment="trained_adversary")
    assert "Numbers beside points are λ, where there is room for them; the table has all." in page
    with opened_in(browser, report.write(tmp_path), width) as opened:
        assert opened.page.locator("#trained_adversary text.lambda").count() > 0
        assert opened.page.evaluate(COVERED) == []


def test_points_work_by_keyboard(opened: Opened) -> None:
    opened.page.locator("#trained_adversary .plane-point[tabindex='0']").focus()
    first = opened.page.locator("#tip").inner_text()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#tip").inner_text() != first
    opened.page.keyboard.press("ArrowLeft")
    assert opened.page.locator("#tip").inner_text() == first


def test_every_violin_lists_as_many_texts_as_it_counts(opened: Opened) -> None:
    opened.page.get_by_role("radio", name="the mean").check()
    counts = opened.page.evaluate(
        """() => [...document.querySelectorAll('#seed_variance [data-count]:not([data-count="0"])')].map((node) => {
            node.dispatchEvent(new Event('click'));
            const behind = document.querySelector('#seed_variance .behind');
            const more = behind.querySelector(':scope > button');
            while (!more.hidden) more.click();
            return [behind.querySelectorAll('article').length, Number(node.dataset.count)];
        })"""
    )
    assert len(counts) > 8
    assert all(listed == counted for listed, counted in counts)
    assert (
        "seed"
        in (opened.page.locator("#seed_variance .behind .chip.value, #seed_variance h3").first.inner_text()).lower()
    )


RAYS_UNDER_MARKS = """() => {
  const boxes = (what) => [...document.querySelectorAll(`#attefa ${what}`)].map((node) => node.getBoundingClientRect());
  const covers = (one, other) => one.left < other.right && other.left < one.right
    && one.top + 2 < other.bottom && other.top < one.bottom - 2;
  return boxes('.ray text').filter((one) => boxes('.plane-mark .other').some((other) => covers(one, other))).length;
}"""


@pytest.mark.parametrize("width", [1280, 380])
def test_adversaries_do_not_cover_what_the_lines_of_attefa_are(browser: Any, tmp_path: Path, width: int) -> None:
    """They stand where attention is farthest, which is where the lines end."""
    rows = []
    for seed, (jsd, tvd) in enumerate(((0.67, 0.1), (0.675, 0.12), (0.68, 0.25), (0.66, 0.38), (0.65, 0.2))):
        common = {"subject": "base", "reference": f"seed {seed}"}
        rows.append(mean("attefa_jsd", jsd, 0.001, **common))
        rows.append(mean("attefa_tvd", tvd, 0.001, **common))
        rows.append(mean("attefa", tvd / (jsd / LN2), 0.001, **common, setting="published"))
    written(tmp_path, *rows, experiment="attefa")
    with opened_in(browser, report.write(tmp_path), width) as opened:
        assert opened.page.locator("#attefa .ray text").count() == 4
        assert opened.page.evaluate(RAYS_UNDER_MARKS) == 0


RAYS_OVER_EACH_OTHER = """() => {
  const boxes = [...document.querySelectorAll('#attefa .ray text')].map((node) => node.getBoundingClientRect());
  return boxes.some((one, i) => boxes.slice(i + 1).some((other) => one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom));
}"""


@pytest.mark.parametrize("width", [1280, 380])
def test_steep_lines_of_attefa_are_named_only_where_there_is_room(browser: Any, tmp_path: Path, width: int) -> None:
    """Where outputs hardly move, all of them end close together at the top."""
    common = {"subject": "base", "reference": "seed 1"}
    rows = [mean("attefa_jsd", 0.03, 0.01, **common), mean("attefa_tvd", 0.004, 0.001, **common)]
    written(tmp_path, *rows, mean("attefa", 0.1, 0.01, **common, setting="published"), experiment="attefa")
    with opened_in(browser, report.write(tmp_path), width) as opened:
        assert opened.page.locator("#attefa .ray line").count() == 4
        assert opened.page.locator("#attefa .ray text").count() > 0
        assert not opened.page.evaluate(RAYS_OVER_EACH_OTHER)


def test_another_definition_changes_dots_sentence_and_table(opened: Opened) -> None:
    value = opened.page.locator("#attefa .dot-lane .lane-value").nth(1)
    before = value.text_content()
    assert "As published" in opened.page.locator("#attefa .caption").first.inner_text()
    opened.page.get_by_role("radio", name="relative to no reading").check()
    assert value.text_content() != before
    assert "read nothing" in opened.page.locator("#attefa .caption").first.inner_text()
    assert "The verdict is about the best adversary, by dev texts" in opened.page.locator("#attefa").inner_text()
    opened.page.locator("#attefa .folded > summary").click()
    assert opened.page.locator("#attefa tbody[data-variant]:visible").get_attribute("data-variant") == "relative"


def test_wrong_texts_are_chosen_apart(opened: Opened) -> None:
    opened.page.get_by_role("radio", name="wrong", exact=True).check()
    assert opened.page.locator("#ground_truth tbody:visible").get_attribute("data-variant") == "auprc/model wrong"
    opened.page.get_by_role("radio", name="precision at k").check()
    assert opened.page.locator("#ground_truth tbody:visible").get_attribute("data-variant") == (
        "precision_at_k/model wrong"
    )


def test_texts_can_be_sorted_by_what_the_sections_made(opened: Opened) -> None:
    opened.page.get_by_label("Sort by").select_option("trained_adversary_jsd/λ = 0.01")
    values = [float(text.replace("<", "")) for text in opened.page.locator("#texts .chip.value b").all_inner_texts()]
    assert len(values) > 10
    assert values == sorted(values, reverse=True)


def test_all_sections_fit_screens_of_any_width(browser: Any, folder: Path) -> None:
    with opened_in(browser, report.write(folder), 360, 740, color_scheme="dark") as opened:
        opened.page.evaluate("document.querySelectorAll('details.folded').forEach((node) => { node.open = true; })")
        for width in (360, 1280, 700):
            opened.page.set_viewport_size({"width": width, "height": 740})
            opened.page.wait_for_function("document.querySelector('.chart').clientWidth <= innerWidth")
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.page.evaluate(CUT_LETTERS) == []
            assert opened.page.evaluate(CUT_TABLES) == []


@pytest.mark.parametrize("width", [1100, 380])
def test_long_names_of_further_runs_fit(browser: Any, folder: Path, tmp_path: Path, width: int) -> None:
    other = write_trained_sample(tmp_path / "other", ["attefa"], how_many=12)
    about = results.read_run(other)
    about["model"]["name"] = "bilstm-additive"
    about["dataset"]["name"] = "mock-2(train=1500,dev=200,test=150,shortest=8,longest=14,filler=30)"
    results.write_json(other / "run.json", about)
    page = report.write(folder, tmp_path / "page.html", [other])
    with opened_in(browser, page, width) as opened:
        assert opened.page.evaluate(CUT_LETTERS) == []
        assert opened.page.evaluate(CUT_TABLES) == []


def test_runs_of_one_experiment_open_without_errors(browser: Any, tmp_path: Path) -> None:
    for experiment in EXPERIMENTS:
        folder = write_trained_sample(tmp_path / experiment, [experiment], how_many=6, nasty=False, beside=False)
        with opened_in(browser, report.write(folder)) as opened:
            assert opened.page.locator(f"#{experiment} svg.chart").count() >= 1


def test_names_that_attack_are_only_shown(browser: Any, tmp_path: Path) -> None:
    hostile = {"setting": EVIL, "at": 0.1}
    rows = [
        mean("trained_adversary_jsd", 0.5, 0.1, "attention", EVIL, **hostile),
        mean("trained_adversary_tvd", 0.1, 0.1, "attention", EVIL, **hostile),
        mean("trained_adversary_area", 0.1, 0.1, "attention", EVIL, setting=EVIL),
        mean("seed_jsd", 0.1, 0.05, "attention", EVIL),
        mean("seed_tvd", 0.1, 0.05, "attention", EVIL),
        mean("guided_f1", 0.5, 0.1, EVIL, "all seeds", setting="binary"),
        mean("guided_f1", 0.5, 0.1, f"{EVIL}, seed 1", setting="binary"),
        mean("uniform_f1", 0.5, 0.1, EVIL, setting="binary"),
        mean("uniform_f1_difference", 0.5, 0.1, "attention", "uniform", at=0.01),
        Score("attefa", None, EVIL, EVIL, statistic="mean", setting="published", reason=EVIL),
        mean("attefa_jsd", 0.5, 0.1, EVIL, EVIL),
        mean("attefa_tvd", 0.5, 0.1, EVIL, EVIL),
        mean("auprc", 0.5, 0.1, EVIL, "planted", setting="model right"),
    ]
    page = written(tmp_path, *rows)
    assert EVIL not in page
    with opened_in(browser, report.write(tmp_path)) as opened:
        assert opened.page.locator(".plane-point, .dot-lane").count() == 1 + 1 + 1 + 1 + 1 + 1
        for node in opened.page.locator(".plane-point, .plane-mark, .dot-lane").all():
            node.dispatch_event("focus")
        assert opened.page.locator("img").count() == 0
