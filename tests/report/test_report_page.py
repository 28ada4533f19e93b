"""The page as text: the same every time, self-contained, safe, and tolerant of what a run lacks."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from heatcheck import report, results
from heatcheck.errors import InputError
from heatcheck.report import embed

from .sample import EVIL, EXPERIMENTS, write_sample


class Elements(HTMLParser):
    """Every element with its attributes, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def data(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    )
    return found


def with_run(folder: Path, **changes: Any) -> Path:
    about = {**results.read_run(folder), **changes}
    results.write_json(folder / "run.json", {key: value for key, value in about.items() if value is not None})
    return folder


def test_same_tables_same_bytes_whatever_the_hash_seed_and_without_torch(run_folder: Path, page: str) -> None:
    code = (
        "import sys, pathlib, hashlib; from heatcheck import report; page = report.render(pathlib.Path(sys.argv[1])); "
        "print(hashlib.sha256(page.encode()).hexdigest(), 'torch' in sys.modules)"
    )
    expected = f"{hashlib.sha256(page.encode()).hexdigest()} False"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code, str(run_folder)], capture_output=True, text=True, check=True, env=environment
        )
        assert done.stdout.strip() == expected


def test_loads_nothing_from_elsewhere(page: str) -> None:
    for name, attributes in Elements(page).found:
        for key in ("src", "href", "action", "srcset", "data", "poster"):
            value = attributes.get(key)
            assert value is None or value.startswith(("#", "data:")), (name, key, value)
    assert "@import" not in page
    assert "url(" not in page


def test_policy_allows_exactly_our_script_and_style(page: str) -> None:
    policy = next(attributes["content"] for _, attributes in Elements(page).found if "http-equiv" in attributes)
    for kind, pattern in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        (body,) = re.findall(pattern, page, re.S)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_texts_cannot_become_markup(page: str) -> None:
    assert EVIL not in page
    assert "onerror" not in {key for _, attributes in Elements(page).found for key in attributes}
    assert "img" not in {name for name, _ in Elements(page).found}
    assert EVIL in data(page)["texts"]["text"]
    block = page[page.index('id="data">') :]
    assert not set("<>&\u2028\u2029") & set(block[block.index(">") + 1 : block.index("</script>")])


def test_words_of_run_json_cannot_become_markup(tmp_path: Path) -> None:
    hostile = {"name": EVIL, "description": "\ud800 \x00"}
    folder = with_run(write_sample(tmp_path, how_many=12), model=hostile, notes=[EVIL], command=["heatcheck", EVIL])
    page = report.render(folder)
    assert EVIL not in page
    assert "img" not in {name for name, _ in Elements(page).found}
    page.encode()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_run_of_one_experiment_has_its_section_only(tmp_path: Path, experiment: str) -> None:
    page = report.render(write_sample(tmp_path, experiments=[experiment], how_many=20))
    ids = {attributes.get("id") for name, attributes in Elements(page).found if name == "section"}
    assert ids == {"verdict", "performance", "texts", "provenance", experiment}


def test_without_verdict_no_verdict_block(tmp_path: Path) -> None:
    page = report.render(with_run(write_sample(tmp_path, how_many=12), verdict=None, notes=None))
    assert 'id="verdict"' not in page
    assert 'id="notes"' not in page
    assert "<h1>bilstm-tanh on movie-reviews</h1>" in page


def test_bare_run_json_is_enough(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, how_many=12)
    results.write_json(folder / "run.json", {"schema_version": 1})
    assert "<h1>heatcheck report</h1>" in report.render(folder)


def test_empty_tables_still_give_a_page(tmp_path: Path) -> None:
    results.write_tables(tmp_path, {name: schema.empty_table() for name, schema in results.TABLES.items()})
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert 'id="provenance"' in report.render(tmp_path)


def test_aggregates_without_texts_are_tabled(tmp_path: Path) -> None:
    score = results.Score(
        "tau_gradient", 0.25, "attention", statistic="mean", setting="kendall", low=0.2, high=0.3, n=40
    )
    results.write_tables(tmp_path, results.tables([score], results.Origin("data", "model", 0), "correlation"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert "<td>[0.20, 0.30]</td>" in report.render(tmp_path)


def test_verdict_cards_say_the_outcome_in_words_and_link_to_the_evidence(page: str) -> None:
    assert re.search(r'class="card fails">.*?>✕</span>Fails</p><h3>Does attention agree with gradients\?</h3>', page)
    assert re.search(r'class="card unclear">.*?>\?</span>Cannot tell</p>', page)
    assert '<a href="#permutation">See the evidence</a>' in page
    assert "0.3417123" not in page


def finding(experiment: str, subject: str, outcome: str, value: float | None = 0.123456) -> dict[str, Any]:
    said = {"question": f"{experiment} of {subject}?", "finding": f"It is {subject}.", "meaning": "It means that."}
    numbers = {"measure": "gain_over_random", "value": value, "low": value, "high": value, "threshold": 0.0}
    return {"experiment": experiment, "subject": subject, "outcome": outcome, **said, **numbers}


def test_many_findings_on_methods_are_a_table_and_their_cards_wait(tmp_path: Path) -> None:
    methods = ("gradient", "lime(samples=9)", EVIL, "saliency", "attention")
    found = [finding("erasure", name, "fails" if name == EVIL else "cannot tell") for name in methods]
    found += [finding("randomisation", name, "passes", -0.04) for name in methods]
    general = [
        finding("agreement", "all methods", "fails"),
        finding("erasure", "all methods", "cannot tell", None),
        finding("repeatability", "methods without chance", "passes"),
    ]
    folder = with_run(write_sample(tmp_path, how_many=12), verdict={"headline": "So.", "findings": found + general})
    page = report.render(folder)
    table = page[page.index('class="glance"') :].partition("</table>")[0]
    assert table.count("<tr>") == 1 + len(methods)
    assert re.search(r">LIME \(samples=9\)</th><td title=\"It is lime[^<]*<span class=\"outcome unclear\">", table)
    assert table.count("</span>passes</span> −0.04</td>") == len(methods)
    assert EVIL not in page
    waiting = page[page.index("<summary>Each of these 10 outcomes in a sentence</summary>") :].partition("</details>")[
        0
    ]
    assert waiting.count("<article") == len(found)
    assert page[page.index('id="verdict"') :].partition("<details")[0].count("<article") == len(general)
    few = report.render(with_run(folder, verdict={"headline": "So.", "findings": found[:6] + general}))
    assert 'class="glance"' not in few
    assert few.count("<article") == page.count("<article") - 4


def test_what_is_not_known_of_the_data_has_no_line(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, how_many=12)
    data_set = {"name": "texts.csv", "task": "single", "labels": ["negative", "positive"]}

    def facts(**more: Any) -> list[str]:
        page = report.render(with_run(folder, dataset=data_set | more))
        return re.findall("<dt>(.*?)</dt>", page[page.index('id="performance"') :].partition("</section>")[0])

    examined = ["Texts examined", "Length", "Predicted"]
    assert facts(sizes={"train": 3, "test": 12}, split="test") == ["Sizes", "Split", *examined]
    assert facts(sizes={}, split=None) == examined


@pytest.mark.parametrize(
    ("lengths", "said"),
    [([4, 1], "median 2.5 tokens, from 1 to 4"), ([3000, 1, 1200], "median 1,200 tokens, from 1 to 3,000")],
)
def test_the_median_length_lies_in_the_middle(tmp_path: Path, lengths: list[int], said: str) -> None:
    rows = [results.ExampleRow(str(n), "w", None, "no", "no", 0.9, None, n) for n in lengths]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    assert f"<dd>{said}</dd>" in report.render(tmp_path)


def test_a_finding_without_number_or_section(tmp_path: Path) -> None:
    finding = {"experiment": "later", "outcome": "cannot tell", "question": "Q?", "value": None}
    page = report.render(
        with_run(write_sample(tmp_path, how_many=12), verdict={"headline": "H", "findings": [finding]})
    )
    assert "<h3>Q?</h3>" in page
    assert 'href="#later"' not in page


def test_missing_values_come_with_their_reason(page: str) -> None:
    series = next(one for one in data(page)["series"] if one["key"] == "tau_gradient/kendall")
    index = data(page)["texts"]["id"].index("single")
    assert series["values"][index] is None
    assert series["reasons"][series["reason"][str(index)]] == "a single token has no ranking"
    assert data(page)["charts"]["correlation"]["variants"][0]["missing"] == (
        "1 text without a value, left out of the chart: a single token has no ranking (1)."
    )


def test_the_distance_of_the_top_words_has_its_own_axis_and_sentence(page: str) -> None:
    tau, distance = data(page)["charts"]["correlation"]["variants"][:2]
    assert tau["histogram"]["edges"][::20] == [-1, 1]
    assert (tau["axis"], tau["value"]) == ("Kendall τ of attention and gradients", "τ")
    assert tau["reading"] == "Kendall τ: 1 the same order, 0 no relation, −1 the reverse order."
    assert distance["histogram"]["edges"][::20] == [0, 1]
    assert distance["axis"] == distance["value"] == "distance of the top words"
    assert (
        distance["label"] == "Histogram of the distance of the top words of attention and gradients, by predicted class"
    )
    assert distance["reading"] == "Distance of the top words: 0 the same order, 1 the reverse order."
    scales = {one["key"]: one["scale"] for one in data(page)["series"]}
    assert scales["tau_gradient/top_k"] == "0 same order, 1 reversed"
    assert scales["tau_gradient/kendall"] == ""
    lead = page[page.index('id="correlation"') :].partition("</p>")[0]
    assert "the top words alone are compared by a distance: 0 the same order, 1 the reverse order" in lead


def test_without_the_top_words_nothing_is_said_of_them(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, how_many=12)
    scores = results.read_table(folder, "scores")
    results.write_tables(
        folder, {"scores": scores.filter(pc.fill_null(pc.not_equal(scores["setting"], "top_k"), True))}
    )
    assert "top words" not in report.render(folder).partition("<script")[0]


def test_of_the_models_numbers_each_is_shown_once_and_by_a_name(tmp_path: Path) -> None:
    shown = ("accuracy", None), ("f1", "micro"), ("output_spread", None), ("roc_auc", None), ("f1", "of yes")
    rows = [results.Score(name, 0.5, "model", statistic="mean", setting=which, n=9) for name, which in shown]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "performance"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    numbers = report.render(tmp_path).partition('class="big-numbers"')[2].partition("</section>")[0]
    assert re.findall("<span>(.*?)</span>", numbers) == ["F1 (of yes)", "accuracy", "ROC-AUC"]


def test_splits_stand_in_the_order_of_their_use(tmp_path: Path) -> None:
    sizes = {"dev": 20, "extra": 4, "test": 1300, "train": 80}
    page = report.render(with_run(write_sample(tmp_path, how_many=12), dataset={"name": "a", "sizes": sizes}))
    assert "80 train, 20 dev, 1,300 test, 4 extra" in page


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, how_many=12)
    assert "may be incomplete" not in report.render(folder)
    assert "The status of this run is “interrupted”" in report.render(with_run(folder, status="interrupted"))


def test_too_many_texts_stay_out_but_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "MOST_TEXTS", 20)
    folder = write_sample(tmp_path, how_many=60, nasty=False)
    page = report.render(folder)
    held = data(page)
    assert len(held["texts"]["id"]) == 20
    assert set(held["charts"]["adversarial_attention"]["telling"]) <= set(held["texts"]["id"])
    assert sum(map(sum, held["charts"]["correlation"]["variants"][0]["histogram"]["counts"])) == 60
    assert "it holds 20 of the 60 texts" in page


def test_two_sentences_of_a_pair_are_both_embedded(tmp_path: Path) -> None:
    rows = [
        results.ExampleRow("a", "A man sleeps.", "He is awake.", "no", "no", 0.9, 6, 0.5),
        results.TokenScores("a", "attention", "no", [0, 1], [0, 1], [0, 6], [1, 11], ["A", "awake"], [0.5, 0.25]),
    ]
    results.write_tables(tmp_path, results.tables(rows, results.Origin("data", "model", 0), "explain"))
    results.write_json(tmp_path / "run.json", {"schema_version": 1})
    held = data(report.render(tmp_path))
    assert held["texts"]["pair"] == ["He is awake."]
    assert held["heat"][0]["spans"] == [[0, 1], [6, 5]]


def test_write_goes_into_the_run_folder_and_leaves_no_part(run_folder: Path, tmp_path: Path, page: str) -> None:
    assert report.write(run_folder) == run_folder / "report.html"
    assert (run_folder / "report.html").read_text(encoding="utf-8") == page
    assert report.write(run_folder, tmp_path / "deep" / "r.html").exists()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["r.html"]


def test_errors_are_sentences(tmp_path: Path, run_folder: Path) -> None:
    with pytest.raises(InputError, match=r"no run\.json in it"):
        report.render(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the report cannot be written"):
        report.write(run_folder, tmp_path / "file" / "report.html")


def test_several_seeds_do_not_repeat_texts(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, how_many=12)
    tables = {name: results.read_table(folder, name) for name in results.TABLES}
    before = data(report.render(folder))
    results.write_tables(folder, {name: pa.concat_tables([table, table]) for name, table in tables.items()})
    assert data(report.render(folder)) == before
