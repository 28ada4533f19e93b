"""`heatcheck explain` as a user types it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

from heatcheck import cli
from tests.report.sample_methods import write_methods_sample
from tests.tiny import tiny_folder

EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", "bert", ("bad", "go\x1b[31mod\u202e" + EVIL))


def test_explain_prints_a_heatmap_and_writes_a_page(heatcheck, model):
    methods = "saliency,integrated_gradients(steps=3, most_steps=3),lime(samples=9)"
    code, out, err = heatcheck("explain", "A good film.", "--model", model, "--method", methods)
    assert (code, err) == (0, "")
    number = r" \(−?\d\.?\d*(?:e−\d+)?\)"
    assert re.match(r"tiny: (bad|go␛\[31mod‹U\+202E›<script>.*), probability \d+%\n\nSaliency\n  A", out), out
    assert re.search(rf"\n  A(?:{number})? good(?:{number})? film(?:{number})?\.", out), out
    assert "Integrated gradients (steps=3, most_steps=3)" in out
    assert "a method with chance in it: another seed may give other scores" in out
    assert out.endswith("\nPage: explanation.html\n")
    assert "\x1b" not in out
    page = Path("explanation.html").read_text()
    assert EVIL not in page
    assert "LIME (samples=9)" in page


def test_pairs_targets_marks_and_another_file(heatcheck, model):
    code, out, _ = heatcheck(
        "explain", "good", "--pair", "sad film", "--model", model, "--method", "attention", "--target", "bad",
        "--special-tokens", "--out", "made/here.html",
    )  # fmt: skip
    assert code == 0
    assert re.search(r"\nAttention\n  \[CLS\].* good.* \[SEP\].*\n  sad.* film.* \[SEP\]", out), out
    assert out.endswith("Page: made/here.html\n")
    assert "sad" in Path("made/here.html").read_text()


def test_threads_and_a_place_that_cannot_be_is_said_before_the_work(heatcheck, model, monkeypatch):
    before = torch.get_num_threads()
    try:
        flags = ("--model", model, "--method", "gradient", "--threads", "1")
        assert heatcheck("explain", "good", *flags)[0] == 0
        assert torch.get_num_threads() == 1
        monkeypatch.setattr("heatcheck.single.TextExplainer.attribute", None)  # would fail
        Path("folder").mkdir()
        assert "(Is a directory)" in heatcheck("explain", "good", *flags, "--out", "folder")[2]
    finally:
        torch.set_num_threads(before)


def test_nasty_texts_are_shown_as_text(heatcheck, model):
    text = f'good {EVIL} "quoted" \u200fעברית\u202e 😀 \x00 \x1b]0;title\x07 film'
    code, out, _ = heatcheck("explain", text, "--model", model, "--method", "gradient")
    assert code == 0
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200f\u202e]", out)
    assert "␛]0;title␇" in re.sub(r" \([^)]*\)", "", out)
    page = Path("explanation.html").read_text()
    assert "<script" not in page
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", page)


def test_functions_are_explained_too(heatcheck):
    Path("judge.py").write_text(
        "def predict(texts):\n    return [[0.2, 0.8] if 'good' in t else [0.9, 0.1] for t in texts]\n"
    )
    code, out, _ = heatcheck(
        "explain", "a good film", "--model", "python:judge:predict", "--labels", "no, yes", "--method", "occlusion"
    )
    assert code == 0
    assert out.startswith("predict: yes, probability 80%\n\nOcclusion\n  a good (0.70) film\n")


def test_a_function_of_pairs_is_asked_for_a_pair(heatcheck):
    Path("alike.py").write_text(
        "def predict(texts):\n    return [[0.2, 0.8] if a == b else [0.9, 0.1] for a, b in texts]\n"
    )
    flags = ("--model", "python:alike:predict", "--method", "occlusion")
    code, out, _ = heatcheck("explain", "good film", "--pair", "good film", *flags)
    assert code == 0
    assert out.startswith("predict: class 1, probability 80%\n\nOcclusion\n  good (0.70) film (0.70)\n  good (0.70)")


def test_what_the_model_does_not_read_is_told_from_what_does_not_matter(heatcheck, model):
    code, out, _ = heatcheck("explain", "good film " * 50, "--model", model, "--method", "gradient")
    assert code == 0
    assert re.search(r" \(not read: good film( good film){18}\)\n", out)
    assert "the text is longer than the model takes; not read at its end: 38 words" in out
    page = Path("explanation.html").read_text()
    assert page.count('class="unread"') == 1


def test_an_audit_adds_what_it_says(heatcheck, model):
    write_methods_sample(Path("run"))
    flags = ("--model", model, "--method", "gradient,deep_lift_captum,occlusion,saliency", "--run", "run")
    code, out, err = heatcheck("explain", "good film", *flags)
    assert (code, out) == (2, "")
    assert err == (
        "heatcheck: run is an audit of bilstm-tanh, not of tiny. Give --model the model that was audited, leave out "
        "--run, or audit this model and give that run.\n"
    )
    assert not Path("explanation.html").exists()
    about = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(about | {"model": {"name": "tiny"}}))
    code, out, err = heatcheck("explain", "good film", *flags)
    assert (code, err) == (0, "")
    assert re.search(r"\n  audit: mean τ with 13 other methods: .*; comprehensiveness .* \(delete, ", out)
    assert re.search(r"\n  audit: .*not ranked: misses the sum it promises by 45% \(median\)\n", out)
    page = Path("explanation.html").read_text()
    for once in ("audit: not tested there: occlusion, saliency; tested: attention, ", "audit: τ is 1 where"):
        assert out.count(once) == page.count(once) == 1
    assert "audit: mean τ with 13" in page


def test_an_audit_of_a_model_of_the_same_name_is_of_another_model(heatcheck):
    """All BiLSTMs have one name; a transformer is called as its folder, which may move."""
    for seed, folder in enumerate(("one/tiny", "two/tiny", "other")):
        tiny_folder(Path(folder), "bert", ("bad", "good"), seed=seed)
    shutil.copytree("one/tiny", "moved")
    Path("data.csv").write_text("text,label\ngood film,good\nsad film,bad\nfine,good\n")
    flags = ("--model", "one/tiny", "--data", "data.csv", "--threads", "1", "--methods", "gradient,attention")
    assert heatcheck("run", "agreement", *flags, "--out", "run")[0] == 0
    explain = ("explain", "good", "--method", "gradient", "--run", "run", "--model")
    assert heatcheck(*explain, "one/tiny")[::2] == (0, "")
    assert heatcheck(*explain, "moved")[::2] == (0, "")
    assert heatcheck(*explain, "one/tiny")[1].count("comprehensiveness") == 0
    for other, whose in (
        ("two/tiny", "another model called tiny (one/tiny)"),
        ("other", "tiny (one/tiny), not of other"),
    ):
        code, _, err = heatcheck(*explain, other)
        assert code == 2
        assert err.startswith(f"heatcheck: run is an audit of {whose}. Give --model the model that was audited, ")


def test_an_audit_of_a_function_is_known_by_its_name(heatcheck):
    """Its fingerprint in a run holds its answers to the texts there."""
    Path("judge.py").write_text(
        "def predict(texts):\n    return [[0.2, 0.8] if 'good' in t else [0.9, 0.1] for t in texts]\n"
    )
    Path("data.csv").write_text("text,label\na good film,yes\nsad film,no\nfine good,yes\n")
    box = ("--model", "python:judge:predict")
    flags = ("--data", "data.csv", "--threads", "1", "--methods", "occlusion,leave_one_out", "--out", "run")
    assert heatcheck("run", "agreement", *box, *flags)[0] == 0
    assert heatcheck("explain", "good", *box, "--method", "occlusion", "--run", "run")[::2] == (0, "")


def test_mistakes_are_one_sentence_and_leave_nothing_behind(heatcheck, model):
    shutil.copytree(model, "tiny")
    Path("folder").mkdir()
    gradient = ("--model", "tiny", "--method", "gradient")
    cases = {
        ("explain", "good"): "explain needs a model: give --model a Hugging Face classifier (folder or hub id)",
        ("explain", "", *gradient): "The text '' is empty. Give a text with words.",
        ("explain", "good", "--pair", "\u200b", *gradient): "The text '\\u200b' has no word that the model's",
        ("explain", "good", "--model", "tiny", "--method", ","): "No method is named. Name some of `heatcheck list",
        ("explain", "good", "--pair", " ", *gradient): "The second text ' ' is empty.",
        ("explain", "go\udc80od", *gradient): "The text 'go\\udc80od', character 2: not valid Unicode.",
        ("explain", "good", *gradient, "--target", "\x1b[2J"):
            "The model has no class '\\x1b[2J'. It has: 'bad', \"go\\x1b",
        ("explain", "good", "--model", "tiny", "--method", "lyme"):
            "There is no explanation method 'lyme'. Did you mean 'lime'? There",
        ("explain", "good", "--model", "tiny", "--method", "lime(x=1)"): "Method 'lime(x=1)': there is no setting 'x'.",
        ("explain", "good", "--model", "nowhere/at/all"): "nowhere/at/all: ",
        ("explain", "good", *gradient, "--run", "folder"): "folder: no run.json in it. Give the folder that `heatcheck",
        ("explain", "good", *gradient, "--out", "folder"): "folder: the heatmap cannot be written (",
        ("explain", " ", *gradient, "--out", "new/folders/page.html"): "The text ' ' is empty.",
        ("explain", "good", *gradient, "--out", "tiny/config.json/page.html"):
            "tiny/config.json/page.html: the heatmap cannot be written (tiny/config.json is not a directory)",
        ("explain", "good", *gradient, "--device", "tpu"): "device 'tpu' is not one of auto, cpu, cuda, mps.",
    }  # fmt: skip
    for arguments, sentence in cases.items():
        code, out, err = heatcheck(*arguments)
        assert code == 2, arguments
        assert err.startswith(f"heatcheck: {sentence}"), err
        assert err.count("\n") == 1
        assert "\x1b" not in err
        assert "Page:" not in out
    assert sorted(p.name for p in Path().iterdir()) == ["folder", "tiny"]
    assert "explain" in [command.callback.__name__ for command in cli.app.registered_commands]
