"""The README's examples do what it says, as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from heatcheck.batch import Example
from heatcheck.data.columns import USUAL_NAMES
from heatcheck.data.rationales import KINDS, read_rationales
from heatcheck.data.readers import READERS
from tests.tiny import tiny_folder

README = Path(__file__).parents[1] / "README.md"


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)


def test_the_black_box_and_its_data(heatcheck):
    (data,) = fences("csv")
    Path("my.csv").write_text(data)
    (code,) = [fence for fence in fences("python") if fence.startswith("# mine.py")]
    Path("mine.py").write_text(code)
    (command,) = re.findall(r"^`heatcheck (audit --model python:mine:predict .*?)`", README.read_text(), re.M)
    code, out, _ = heatcheck(*shlex.split(command), "--methods", "lime(samples=50),leave_one_out,occlusion")
    assert code == 0
    assert "Report: runs/audit-my-predict/report.html" in out
    examples = pd.read_parquet("runs/audit-my-predict/examples.parquet")
    assert set(examples.label) == {"negative", "positive"}
    assert len(examples) == 4


def test_the_words_that_people_marked(tmp_path):
    (row,) = re.findall(r'^`({"text": .*?})`', README.read_text(encoding="utf-8"), re.M)
    (tmp_path / "marked.jsonl").write_text(row)
    text = "A dull, dull film."
    found = read_rationales(tmp_path / "marked.jsonl", "mask", [Example("a", text, 0)])
    assert [text[span.start : span.end] for span in found["a"]] == ["dull,", "dull"]


def test_the_notebook(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tiny_folder(tmp_path / "m")
    (code,) = [fence for fence in fences("python") if "attribute(" in fence]
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"\n\d +0 +dull +-?\d", printed)
    assert (tmp_path / "heatmaps.html").exists()


@pytest.mark.parametrize("line", [line for line in fences("")[1].splitlines() if line.startswith("heatcheck ")])
def test_every_flag_of_the_tour_is_there(heatcheck, line):
    words = shlex.split(line, comments=True)[1:]
    text = heatcheck(words[0], "--help")[1]
    for flag in (word for word in words if word.startswith("--")):
        assert flag in text


def test_the_help_on_rationales_is_shown_whole(heatcheck):
    """Words in brackets may be taken for markup, and vanish."""
    text = re.sub(r"[│\s]+", " ", heatcheck("run", "--help")[1])
    for part in ("start_token, end_token", "[[0, 4], [9, 12]]", "(3 (2 A) (3 gem))", *KINDS):
        assert part in text


def test_what_it_says_of_files_and_columns():
    text = README.read_text(encoding="utf-8")
    assert {".csv", ".tsv", ".jsonl", ".json", ".parquet"} <= set(READERS)
    for role, names in {"text": ("text", "sentence", "review"), "label": ("label", "class", "sentiment")}.items():
        assert set(names) <= set(USUAL_NAMES[role])
        assert ", ".join(names) in text
