"""Whole runs: a small audit, the same bytes for the same seed, and real kills."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import heatcheck
from heatcheck.data.sources import Columns
from heatcheck.errors import InputError
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.request import Request
from heatcheck.results import TABLES
from heatcheck.runner import known_labels
from heatcheck.verdict.model import AT_CHANCE
from tests.toys import random_examples, review_rows, small_subject, write_reviews

QUICK = {"spec": ModelSpec(embedding_width=16, hidden=8), "recipe": Recipe(epochs=2, vectors="none"), "threads": 1}


def table_bytes(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    data = write_reviews(folder / "reviews.csv", 200)
    return data, heatcheck.audit(data=data, out=folder / "run", **QUICK)


def test_an_audit_has_verdict_scores_tokens_and_a_page(audited):
    _, run = audited
    assert run.verdict["headline"]
    assert {f["experiment"] for f in run.verdict["findings"]} == {"correlation", "permutation", "adversarial_attention"}
    scores = run.scores
    aggregates = scores[scores.example_id.isna()]
    assert {"f1", "accuracy", "roc_auc", "tau_gradient", "permutation_tvd", "adversarial_jsd"} <= set(
        aggregates.measure
    )
    assert aggregates[aggregates.value.notna()].low.notna().all()
    assert (aggregates.value.isna() == aggregates.reason.notna()).all()
    assert set(run.tokens.method) == {"attention", "gradient", "leave_one_out", "adversarial_attention"}
    text = dict(zip(run.examples.example_id, run.examples.text, strict=True))
    for row in run.tokens.head(200).itertuples():
        assert text[row.example_id][row.start : row.end] == row.token
    assert (run.folder / "report.html").read_text().startswith("<!doctype html>")
    assert "srcdoc" in run._repr_html_()
    assert run.description["status"] == "finished"


def test_the_same_seed_gives_the_same_tables_byte_for_byte(audited, tmp_path):
    data, run = audited
    again = heatcheck.audit(data=data, out=tmp_path / "again", **QUICK)
    assert table_bytes(again.folder) == table_bytes(run.folder)
    assert (again.folder / "report.html").read_text().count("<section") == (
        run.folder / "report.html"
    ).read_text().count("<section")
    other = heatcheck.audit(data=data, out=tmp_path / "other", seed=1, **QUICK)
    assert table_bytes(other.folder)["scores"] != table_bytes(run.folder)["scores"]


def test_repeating_a_finished_run_does_nothing_new(audited):
    data, run = audited
    steps = {p: p.stat().st_mtime_ns for p in (run.folder / "steps").rglob("*.parquet")}
    heatcheck.audit(data=data, out=run.folder, **QUICK)
    assert {p: p.stat().st_mtime_ns for p in (run.folder / "steps").rglob("*.parquet")} == steps


def test_another_run_in_the_same_folder_is_refused(audited):
    data, run = audited
    with pytest.raises(InputError, match=r"holds another run .* Give another --out, or delete that folder\."):
        heatcheck.audit(data=data, out=run.folder, limit=7, **QUICK)
    (run.folder / "notes").mkdir(exist_ok=True)
    (run.folder / "notes" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="exists and is not a heatcheck run"):
        heatcheck.audit(data=data, out=run.folder / "notes", **QUICK)


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "3"])
def test_a_limit_that_is_no_number_of_texts_is_refused(limit, tmp_path):
    sentence = f"limit {limit!r} is not a whole number above 0. Say how many texts to take, or leave it out."
    with pytest.raises(InputError) as caught:
        Request(limit=limit)
    assert str(caught.value) == sentence
    with pytest.raises(InputError) as caught:
        heatcheck.run("performance", data="imdb", limit=limit, out=tmp_path / "run")
    assert (str(caught.value), list(tmp_path.iterdir())) == (sentence, [])


def test_a_given_model_is_tested_on_all_of_a_file_it_was_not_trained_on(audited, tmp_path):
    _, run = audited
    (model,) = (run.folder / "steps").glob("train-*")
    other = write_reviews(tmp_path / "other.csv", 40, seed=9)
    fresh = heatcheck.run("permutation", model, other, out=tmp_path / "fresh", threads=1)
    assert len(fresh.examples) == 40
    assert "40 of 40 rows can be tested." in fresh.description["notes"]
    assert any("The model gives the class 'good' to all 40 texts" in note for note in fresh.description["notes"])
    assert fresh.verdict["headline"].startswith(AT_CHANCE)  # it learned nothing


def test_texts_that_a_given_model_was_trained_on_are_never_tested(audited, tmp_path):
    data, run = audited
    (model,) = (run.folder / "steps").glob("train-*")
    sizes = run.description["dataset"]["sizes"]
    longer = tmp_path / "longer.csv"
    longer.write_text(data.read_text() + "a superb film indeed,good\n")
    for source, seed, extra in ((data, 0, 0), (data, 7, 0), (longer, 0, 1)):
        same = heatcheck.run("permutation", model, source, out=tmp_path / f"{source.name}-{seed}", seed=seed, threads=1)
        assert len(same.examples) == sizes["test"] + extra
        assert (
            f"{sizes['test'] + extra} of {sum(sizes.values()) + extra} rows can be tested, "
            f"{sizes['train'] + sizes['dev']} are not: the model was trained on them, or chosen by them."
        ) in same.description["notes"]


def test_labels_may_be_the_numbers_of_the_models_classes(audited, tmp_path):
    _, run = audited
    (model,) = (run.folder / "steps").glob("train-*")
    texts = review_rows(12, seed=9)
    found = {}
    for kind, names in {"names": ("bad", "good"), "numbers": ("0", "1")}.items():
        file = tmp_path / f"{kind}.csv"
        file.write_text("text,label\n" + "".join(f"{text},{names[label == 'good']}\n" for text, label in texts))
        examples = heatcheck.run("performance", model, file, out=tmp_path / kind, threads=1).examples
        found[kind] = dict(zip(examples.text, examples.label, strict=True))
    assert found["numbers"] == found["names"] == dict(texts)


@pytest.mark.parametrize(
    ("classes", "more"),
    [
        (("bad", "good"), {"0": "bad", "1": "good"}),
        (("0", "1"), {}),
        (("1", "2"), {}),  # a 1 is the class of that name, so a 0 is not the first class
        (("-1", "1"), {}),
    ],
)
def test_numbers_stand_for_classes_only_where_no_class_is_called_by_one(classes, more):
    subject = replace(small_subject(random_examples(8)), labels=classes)
    assert known_labels(subject) == {name: name for name in classes} | more


def test_labels_that_the_model_does_not_know_are_refused(audited, tmp_path):
    _, run = audited
    (model,) = (run.folder / "steps").glob("train-*")
    file = tmp_path / "stars.csv"
    file.write_text("text,label\n" + "\n".join(f"the film {i},{i % 3} stars" for i in range(30)))
    with pytest.raises(InputError, match=r"30 with a label that is no class .* Classes are: bad, good, or"):
        heatcheck.run("permutation", model, file, out=tmp_path / "run", threads=1)
    mixed = tmp_path / "mixed.csv"
    mixed.write_text(file.read_text() + "\na great film,good\na dull one,bad\n")
    some = heatcheck.run("permutation", model, mixed, out=tmp_path / "mixed", threads=1, skip_bad_rows=True)
    assert len(some.examples) == 2
    assert any("30" in note for note in some.description["notes"])


@pytest.mark.parametrize("columns", [Columns(), Columns(text="premise", pair="hypothesis", label="gold")])
def test_pairs_run_through_every_experiment(tmp_path, columns):
    file = tmp_path / "pairs.jsonl"
    texts = [text for text, _ in review_rows(60)]
    rows = [
        {"premise": a, "hypothesis": b, "gold" if columns.label else "label": ("yes", "no", "maybe")[i % 3]}
        for i, (a, b) in enumerate(zip(texts, reversed(texts), strict=True))
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    run = heatcheck.audit(data=file, columns=columns, out=tmp_path / "run", limit=8, **QUICK)
    jsd = run.scores.query("measure == 'adversarial_jsd' and example_id.notna()")
    assert set(jsd.setting) == {"search"}
    assert len(jsd) == len(run.examples)


def command(out: Path, data: Path) -> list[str]:
    flags = ["--data", str(data), "--out", str(out), "--threads", "1", "--epochs", "3", "--vectors", "none"]
    return [sys.executable, "-m", "heatcheck.cli", "audit", *flags]


def test_two_processes_with_the_same_run_do_not_hurt_each_other(tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 120)
    both = [subprocess.Popen(command(tmp_path / "run", data), stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert subprocess.run(command(tmp_path / "alone", data), stdout=subprocess.DEVNULL, check=True).returncode == 0
    assert table_bytes(tmp_path / "run") == table_bytes(tmp_path / "alone")


def killed_when(what: str, out: Path, data: Path) -> bool:
    """Start the command, and SIGKILL it as soon as a file that matches `what` is there. False if it finished first."""
    process = subprocess.Popen(command(out, data), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        if any(out.glob(what)):
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    assert process.returncode == 0
    return False


def test_killing_at_any_moment_and_repeating_finishes_to_the_same_tables(tmp_path):
    data = tmp_path / "reviews.csv"
    rows = review_rows(660)
    parts = ["train"] * 100 + ["dev"] * 40 + ["test"] * 520  # three shards of test texts
    body = "\n".join(
        f"{text} {i},{label},{part}" for i, ((text, label), part) in enumerate(zip(rows, parts, strict=True))
    )
    data.write_text(f"text,label,split\n{body}\n")
    whole = tmp_path / "whole"
    subprocess.run(command(whole, data), check=True, capture_output=True)
    out = tmp_path / "killed"
    moments = [
        "run.json",
        "steps/.train-*.partial/resume.safetensors",
        "steps/train-*",
        "steps/.correlation-*.partial",
        "steps/correlation-*",
        "steps/adversarial_attention-*",
        "examples.parquet",
    ]
    kills = sum(killed_when(moment, out, data) for moment in moments)
    assert kills >= 6
    subprocess.run(command(out, data), check=True, capture_output=True)
    assert table_bytes(out) == table_bytes(whole)
    assert not list(out.rglob("*.part"))
