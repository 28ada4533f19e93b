"""Sections by explanation method: what they draw against plain loops over the tables, and in a real browser."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from heatcheck import report, results
from heatcheck.experiments.agreement import AgreementConfig, agreement
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.experiments.performance import PerformanceConfig, performance
from heatcheck.experiments.repeatability import RepeatabilityConfig, repeatability
from heatcheck.experiments.summary import SUMMARISED, summarise
from heatcheck.method_names import method_name
from heatcheck.report.clusters import clustered
from heatcheck.report.methods import unranked
from heatcheck.report.said import said
from heatcheck.report.source import load
from heatcheck.results import Origin, Score, TokenScores
from tests.toys import random_examples, small_subject

from .browser import CUT_LETTERS, CUT_TABLES, Opened, opened_in
from .sample import EVIL
from .sample_methods import EXPERIMENTS, FLAWED, METHODS, write_methods_sample

SOME = ("attention", "rollout", "gradient", "deep_lift_captum", "lime(samples=1000)", "leave_one_out")


def data(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_methods_sample(tmp_path_factory.mktemp("methods"), how_many=25, methods=SOME)


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return report.render(folder)


@pytest.fixture(scope="module")
def scores(folder: Path) -> list[dict[str, Any]]:
    return results.read_table(folder, "scores").to_pylist()


def test_clusters_are_scipys_and_keep_families_together() -> None:
    random = np.random.default_rng(0)
    family = np.array([0, 1, 2, 0, 1, 2, 0])
    tau = np.where(family[:, None] == family[None], 0.7, 0.1) + 0.05 * random.random((7, 7))
    tau = (tau + tau.T) / 2
    np.fill_diagonal(tau, 1)
    found = clustered(tau)
    assert sorted(found.order) == list(range(7))
    assert len([1 for a, b in zip(found.order, found.order[1:], strict=False) if family[a] != family[b]]) == 2
    heights = linkage(squareform(1 - tau, checks=False), "average")[:, 2]
    assert [join.at for join in found.joins] == pytest.approx(1 - heights)
    for join in found.joins:
        assert join.at <= min(join.grown)
        assert join.places[0] < join.places[1]


def test_clusters_of_few_methods_and_missing_values() -> None:
    assert clustered(np.eye(1)).order == [0]
    assert clustered(np.eye(0)).joins == []
    assert sorted(clustered(np.array([[1, np.nan], [np.nan, 1]])).order) == [0, 1]


def test_every_cell_is_the_mean_of_its_pair(page: str, scores: list[dict[str, Any]]) -> None:
    chart = data(page)["charts"]["agreement"]
    names = [method["id"] for method in chart["methods"]]
    assert sorted(names) == sorted(SOME)
    kendall = next(variant for variant in chart["variants"] if variant["key"] == "kendall")
    for (one, other), (value, low, high, n) in zip(combinations(names, 2), kendall["cells"], strict=True):
        values = [
            row["value"]
            for row in scores
            if row["measure"] == "kendall" and {row["subject"], row["reference"]} == {one, other} and row["example_id"]
        ]
        known = [number for number in values if number is not None]
        assert value == pytest.approx(np.mean(known), abs=1e-4)
        assert low < value < high
        assert n == len(known) < len(values)  # one text has a single word


def test_the_texts_shown_are_those_of_lowest_tau(page: str, scores: list[dict[str, Any]]) -> None:
    chart = data(page)["charts"]["agreement"]
    taus: dict[str, list[tuple[float, str]]] = defaultdict(list)
    means: list[tuple[float, str]] = []
    for row in scores:
        if row["measure"] == "kendall" and row["example_id"] and row["value"] is not None:
            if row["subject"] == "all methods":
                means.append((round(row["value"], 4), row["example_id"]))
            else:
                taus["/".join(sorted((row["subject"], row["reference"])))].append((row["value"], row["example_id"]))
    assert [text["id"] for text in chart["least"]] == [example for _, example in sorted(means)[:8]]
    assert chart["behind"] == {pair: [example for _, example in sorted(found)[:3]] for pair, found in taus.items()}
    for text in chart["least"]:
        lowest = min(
            (tau, pair)
            for pair, found in taus.items()
            for tau, ex in found
            if ex == text["id"] and "captum" not in pair
        )
        assert sorted(text["methods"]) == lowest[1].split("/")
    assert {text["id"] for text in chart["least"]} <= set(data(page)["texts"]["id"])


def test_scores_of_single_methods_are_no_series_of_the_text(page: str) -> None:
    held = data(page)
    assert [one["key"] for one in held["series"]] == ["kendall", "off_data/delete", "off_data/mask"]
    values = held["series"][0]["values"]
    assert sum(value is not None for value in values) == len(values) - 1


def test_methods_that_are_not_ranked_are_marked_everywhere_and_stand_last(folder: Path, page: str) -> None:
    assert unranked(load(folder)) == FLAWED
    assert page.count("DeepLIFT (Captum)†") > 5
    assert "† DeepLIFT (Captum): not ranked: misses the sum it promises by 45% (median)." in page
    charts = data(page)["charts"]
    for rows in (charts["erasure"]["variants"][0]["rows"], charts["plausibility"]["variants"][0]["rows"]):
        assert rows[-1]["id"] == "deep_lift_captum"
        ranked = [row["cell"][0] for row in rows[:-1]]
        assert ranked == sorted(ranked, reverse=True)


def test_own_rows_decide_who_is_marked_if_all_pairs_are(tmp_path: Path) -> None:
    reason = "not ranked: misses its sum"
    common = {"statistic": "mean", "n": 9}
    rows = [Score("kendall", 0.5, *pair, reason=reason, **common) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]
    rows.append(Score("rank_stability", 1.0, "b", **common))
    rows.append(Score("rank_stability", 0.3, "c", reason=reason, **common))
    rows.append(Score("samples_needed", None, "c", reason="not settled", at=0.9, **common))
    results.write_tables(tmp_path, results.tables(rows, Origin("data", "model", 0), "agreement"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert unranked(load(tmp_path)) == {"a": reason, "c": reason}


TWIN = "not ranked: ranks the words of every text as gradient does, and counts once"


def compared(folder: Path, marked: dict[str, str], own: dict[str, str], *names: str) -> str:
    """The page of a run that compared the methods, in this order, and has numbers of their own for those of `own`."""
    common = {"statistic": "mean", "n": 9}
    rows = [
        Score("kendall", 0.5, *pair, reason=next((marked[name] for name in pair if name in marked), None), **common)
        for pair in sorted(combinations(names, 2))
    ]
    rows += [Score("aopc_comprehensiveness", 0.3, name, reason=why or None, **common) for name, why in own.items()]
    rows += [Score("kendall", 0.1, "all methods", example_id="a")]
    rows += [results.ExampleRow("a", "w", None, "no", "no", 0.9, 2, 0.5)]
    results.write_tables(folder, results.tables(rows, Origin("data", "model", 0), "agreement"))
    results.write_json(folder / "run.json", {"schema_version": 1})
    return report.render(folder)


@pytest.mark.parametrize("others", [(), ("attention",), ("attention", "leave_one_out")])
def test_a_twin_is_marked_in_agreement_whatever_else_was_measured(tmp_path: Path, others: tuple[str, ...]) -> None:
    methods = ("gradient", "gradient_x_input", *others)
    for own in ({}, dict.fromkeys(methods, "")):
        page = compared(tmp_path / str(len(own)), {"gradient_x_input": TWIN}, own, *methods)
        assert f"† Gradient × input: {TWIN}." in page
        assert "(without Gradient × input†)" in page
        whys = {method["id"]: method["why"] for method in data(page)["charts"]["agreement"]["methods"]}
        assert whys == {name: TWIN if name == "gradient_x_input" else None for name in methods}


def test_a_heatmap_beside_the_audit_marks_a_twin_whatever_else_was_measured(tmp_path: Path) -> None:
    methods = ("gradient", "gradient_x_input", "lime")
    for own in ({}, dict.fromkeys(methods, "")):
        folder = tmp_path / str(len(own))
        compared(folder, {"gradient_x_input": TWIN}, own, *methods)
        lines = said(folder, methods).lines
        assert [name for name, line in lines.items() if line.endswith(f"; {TWIN}")] == ["gradient_x_input"]
        assert lines["gradient"] == "mean τ with 1 other method: 0.50"
    compared(tmp_path / "alone", {"gradient_x_input": TWIN}, {}, *methods[:2])
    gradient, twin = said(tmp_path / "alone", methods[:2]).lines.values()
    assert gradient == "tested there, but beside no other method that may be ranked"
    assert TWIN in twin


def test_marks_of_two_kinds_and_the_only_method_that_is_ranked(tmp_path: Path) -> None:
    flaw = "not ranked: misses the sum it promises by 45% (median)"
    marked = {"gradient_x_input": TWIN, "deep_lift_captum": flaw}
    page = compared(tmp_path, marked, {"deep_lift_captum": flaw}, "deep_lift_captum", "gradient", "gradient_x_input")
    whys = {method["id"]: method["why"] for method in data(page)["charts"]["agreement"]["methods"]}
    assert whys == {"gradient": None, **marked}


def test_sufficiency_is_best_when_low(page: str) -> None:
    variants = {one["key"]: one for one in data(page)["charts"]["erasure"]["variants"]}
    values = [row["cell"][0] for row in variants["aopc_sufficiency/delete"]["rows"][:-1]]
    assert values == sorted(values)
    assert [name for name, _ in variants["aopc_sufficiency/delete"]["guides"]] == [
        "worst found",
        "random",
        "best found",
    ]
    row = variants["aopc_comprehensiveness/delete:normalised"]["rows"][0]
    assert row["reversed"][0] == pytest.approx(row["cell"][0] / 3, abs=1e-3)


def test_texts_without_a_value_are_counted_and_said_why(page: str, tmp_path: Path) -> None:
    texts = len(data(page)["texts"]["id"])
    said = f"1 of {texts} texts has no value for at least one method and is left out of its means: undefined:"
    assert page.count(said) == 1
    short, flat = "undefined: the text has fewer than two words", "undefined: lime gives every word the same score"
    reasons = [("a", short, ("lime", "gradient")), ("a", short, ("lime", "rollout")), ("b", flat, ("lime", "gradient"))]
    rows: list[results.Row] = [results.ExampleRow(x, "w", None, "no", "no", 0.9, 2, 0.5) for x in "abc"]
    rows += [Score("kendall", None, *pair, example_id=text, reason=why) for text, why, pair in reasons]
    rows += [Score("kendall", 0.3, "lime", "gradient", statistic="mean", n=1)]
    rows += [
        Score("rank_stability", 0.5, "lime", example_id="a"),
        Score("rank_stability", 0.5, "lime", statistic="mean"),
    ]
    results.write_tables(tmp_path, results.tables(rows, Origin("data", "model", 0), "agreement"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert re.findall(r"<p class=\"note\">(.*?)</p>", report.render(tmp_path)) == [
        "2 of 3 texts have no value for at least one method and are left out of its means: undefined: LIME gives every "
        "word the same score (1); undefined: the text has fewer than two words (1)."
    ]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_run_of_one_experiment_has_its_section_only(tmp_path: Path, experiment: str) -> None:
    page = report.render(write_methods_sample(tmp_path, [experiment], how_many=6, methods=SOME[:3], nasty=False))
    assert set(re.findall(r'<section id="([a-z_]+)"', page)) == {"performance", "texts", "provenance", experiment}


def test_samples_needed_are_said_in_words(page: str) -> None:
    assert re.search(r"<li>LIME \(samples=1000\): 2,000 samples\.</li>", page)


def test_from_model_to_page(tmp_path: Path) -> None:
    examples = random_examples(8, longest=8)
    subject = small_subject(examples)
    generator = torch.Generator().manual_seed(0)
    names = ("attention", "gradient", "leave_one_out")
    made = [row for name in names for row in explain_texts(subject, examples, name, generator=generator)]
    explained = Explained.of(row for row in made if isinstance(row, TokenScores))
    parts = {
        "explain": made,
        "performance": performance(subject, examples, PerformanceConfig(), generator=generator),
        "agreement": agreement(subject, examples, AgreementConfig(), generator=generator, explained=explained),
        "repeatability": repeatability(subject, examples, RepeatabilityConfig(names), generator=generator),
    }
    origin = Origin("data", "model", 0)
    found = []
    for name, rows in parts.items():
        listed = list(rows)
        texts = pd.DataFrame([{c: getattr(r, c) for c in SUMMARISED} for r in listed if isinstance(r, Score)])
        means = (
            list(summarise(texts[texts["measure"].isin(["kendall", "rank_stability"])], seed=0)) if len(texts) else []
        )
        found.append(results.tables([*listed, *means], origin, name))
    results.write_tables(tmp_path, {name: pa.concat_tables([part[name] for part in found]) for name in found[0]})
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    held = data(report.render(tmp_path))
    chart = held["charts"]["agreement"]
    assert {method["id"] for method in chart["methods"]} == set(names)
    assert all(-1 <= value <= 1 for value, *_ in chart["variants"][0]["cells"])
    assert [row["cell"][:3] for row in held["charts"]["repeatability"]["dots"]["rows"]] == [[1, 1, 1]] * 3
    assert len(chart["least"]) > 0


@pytest.fixture(scope="module")
def shared(browser: Any, folder: Path) -> Iterator[Opened]:
    with opened_in(browser, report.write(folder)) as opened:
        yield opened


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    yield shared
    shared.check()


def test_the_matrix_shows_its_means_on_both_sides(opened: Opened, page: str) -> None:
    chart = data(page)["charts"]["agreement"]
    n = len(SOME)
    assert opened.page.locator("#agreement .cell").count() == n * n
    for number, (row, column) in enumerate(combinations(range(n), 2)):
        expected = f"{chart['variants'][0]['cells'][number][0]:.2f}".replace("-", "−")
        for a, b in ((row, column), (column, row)):
            cell = opened.page.locator(f"#agreement .cell[data-row='{a}'][data-column='{b}'] text")
            assert (cell.text_content() or "") == expected.replace("−0.00", "0.00")


def test_a_cell_lists_its_texts_by_pointer_and_keyboard(opened: Opened, page: str) -> None:
    chart = data(page)["charts"]["agreement"]
    one, other = (method["id"] for method in chart["methods"][:2])
    opened.page.locator("#agreement .cell[data-row='0'][data-column='1']").click()
    cards = opened.page.locator("#agreement .behind article")
    ids = cards.evaluate_all("nodes => nodes.map((node) => node.dataset.id)")
    assert ids == chart["behind"]["/".join(sorted((one, other)))]
    for method in (one, other):
        assert cards.first.locator(f"[data-method='{method}'] .token").count() > 0
    assert "95% interval" in (opened.page.locator("#agreement .reading-line").text_content() or "")
    opened.page.locator("#agreement .cell[tabindex='0']").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowDown")
    assert opened.page.evaluate("document.activeElement.dataset.row + document.activeElement.dataset.column") == "31"
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("#agreement .behind article").count() > 0


def test_another_measure_changes_matrix_and_table(opened: Opened) -> None:
    cell = opened.page.locator("#agreement .cell[data-row='0'][data-column='1'] text")
    before = cell.text_content()
    opened.page.locator("#agreement .folded > summary").click()
    assert opened.page.locator("#agreement .numbers tbody:visible").count() == 1
    opened.page.get_by_role("radio", name="rank-biased overlap, p = 0.9").check()
    assert cell.text_content() != before
    assert opened.page.locator("#agreement .numbers tbody:visible").get_attribute("data-variant") == "rbo@0.9"
    opened.page.get_by_role("radio", name="Kendall τ", exact=True).check()


def test_dots_and_curves_follow_the_choice(opened: Opened) -> None:
    lanes = opened.page.locator("#erasure .dot-lane")
    assert lanes.count() == len(SOME)
    assert opened.page.locator("#erasure .curve").count() == len(SOME) + 1
    opened.page.get_by_role("radio", name="τ with leave-one-out").check()
    assert opened.page.locator("#erasure .curve").count() == 0
    opened.page.get_by_role("radio", name="sufficiency", exact=True).check()
    opened.page.get_by_role("radio", name="masked").check()
    assert "words masked" in (opened.page.locator("#erasure svg.chart").first.get_attribute("aria-label") or "")
    assert opened.page.locator("#repeatability .dot-lane").count() == len(SOME)
    assert opened.page.locator("#repeatability .curve").count() == 1
    assert opened.page.locator("#randomisation .cell").count() == 7 * len(SOME)
    assert opened.page.locator("#plausibility .guide").count() == 1


LOOKS = """nodes => nodes.map((node) => [".stroke", ".fill"].flatMap((part) => {
  const look = getComputedStyle(node.querySelector(part));
  return [look.stroke, look.fill, look.strokeDasharray];
}))"""


# Names beside the lines are found by colour: that of the leader is the line's.
LED = """nodes => nodes.map((node) => {
  const [leader, line] = [".leader", ".stroke"].map((part) => getComputedStyle(node.querySelector(part)).stroke);
  return leader === line;
})"""
FILLS = "nodes => nodes.map((node) => getComputedStyle(node).fill)"


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1280, "light")])
def test_fifteen_methods_fit_the_screen(
    browser: Any, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    path = report.write(write_methods_sample(tmp_path, how_many=8, methods=tuple(METHODS), nasty=False))
    with opened_in(browser, path, width, 740, color_scheme=scheme) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.page.evaluate(CUT_LETTERS) == []
        names = [re.sub(r" \d+$|†|\s", "", text) for text in opened.page.locator(".lane-name").all_text_contents()]
        assert set(names) == {re.sub(r"\s", "", method_name(name)) for name in METHODS}
        curves = opened.page.locator(".curve text").all_text_contents()
        assert {"LIME", "Kernel-SHAP", "Integrated gradients", "DeepLIFT (Captum)†"} <= set(curves)
        assert not any("…" in text for text in curves)
        looks = opened.page.locator("#erasure .curve:not(.reference)").evaluate_all(LOOKS)
        assert len(set(map(tuple, looks))) == len(METHODS)
        assert all(opened.page.locator("#erasure .curve").evaluate_all(LED))
        assert len(set(opened.page.locator("#erasure .curve text").evaluate_all(FILLS))) == 9  # eight and random
        opened.page.evaluate("document.querySelectorAll('details.folded').forEach((node) => { node.open = true; })")
        assert opened.page.evaluate(CUT_TABLES) == []
        opened.page.locator("#agreement .cell[data-row='3'][data-column='9']").click()
        assert opened.page.locator("#agreement .reading-line").inner_text().count("·") >= 3


def test_names_that_attack_are_only_shown(browser: Any, tmp_path: Path) -> None:
    rows = [
        Score("kendall", 0.25, EVIL, "b", statistic="mean", low=0.2, high=0.3, n=4),
        Score("kendall", None, EVIL, "c", statistic="mean", n=0, reason=EVIL),
        Score("randomisation_correlation", 0.5, EVIL, statistic="mean", setting=EVIL, at=1.0, n=4),
    ]
    results.write_tables(tmp_path, results.tables(rows, Origin("data", "model", 0), "agreement"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    with opened_in(browser, report.write(tmp_path)) as opened:
        assert opened.page.locator("#agreement .cell").count() == 9
        opened.page.locator("#agreement .cell[role=button]").first.hover()
        assert opened.page.locator("img").count() == 0
