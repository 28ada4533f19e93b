"""Flags that nothing would heed are refused in a sentence, before any work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import tiny_folder
from tests.toys import write_reviews

BOX = ("--model", "python:judge:predict")
DATA = ("--data", "reviews.csv", "--out", "out")
ONLY_TRANSFORMERS = "is for transformers. Name one with --model."


@pytest.fixture
def refused(heatcheck):
    """Nothing of the command may have begun: the folder holds what it held."""
    write_reviews(Path("reviews.csv"))
    Path("judge.py").write_text("def predict(texts):\n    raise SystemExit('was asked')\n")
    before = sorted(p.name for p in Path().iterdir())

    def check(*arguments):
        code, out, err = heatcheck(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert sorted(p.name for p in Path().iterdir() if p.name != "__pycache__") == before
        return err.removeprefix("heatcheck: ").rstrip("\n")

    return check


@pytest.mark.parametrize("flags", [("--rationales", "nothere.jsonl"), ("--rationale-format", "mask")])
def test_rationales_are_for_plausibility(refused, flags):
    sentence = "--rationales and --rationale-format are for plausibility, not correlation."
    assert refused("run", "correlation", *DATA, *flags) == sentence


def test_a_format_of_rationales_that_there_is_not(refused):
    sentence = "--rationale-format 'foo' is not one of eraser, mask, sst."
    assert refused("run", "plausibility", *DATA, "--rationale-format", "foo") == sentence


def test_a_flag_twice_would_lose_the_first(refused):
    sentence = "--method is given 3 times. Give it once; where it takes several, put commas between them."
    assert refused("explain", "good", *BOX, "--method", "lime", "--method=shap", "--method", "occlusion") == sentence
    assert refused("audit", *DATA, "--out", "out").startswith("--out is given 2 times.")
    assert refused("train", *DATA, "--seed", "1", "--seed", "2").startswith("--seed is given 2 times.")


def test_special_tokens_take_part_in_rankings_alone(refused):
    assert refused("run", "correlation", *DATA, "--special-tokens") == (
        "--special-tokens is not for correlation. Leave it out."
    )


def test_labels_are_those_of_a_function(refused):
    sentence = "--labels names the classes of a Python function, and some/model has its own. Leave it out."
    assert refused("explain", "good", "--model", "some/model", "--labels", "a,b") == sentence


@pytest.mark.parametrize(
    "flags", [("--windows",), ("--max-length", "9"), ("--revision", "x"), ("--trust-remote-code",)]
)
@pytest.mark.parametrize("command", [("explain", "good"), ("audit", *DATA), ("run", "erasure", *DATA)])
def test_a_function_is_not_read_as_a_transformer_is(refused, command, flags):
    assert refused(*command, *BOX, *flags) == f"{flags[0]} {ONLY_TRANSFORMERS}"


@pytest.mark.parametrize("command", ["audit", "run"])
def test_nor_is_a_model_that_is_still_to_be_trained(refused, command):
    test = ("correlation",) if command == "run" else ()
    assert refused(command, *test, *DATA, "--windows") == f"--windows {ONLY_TRANSFORMERS}"


@pytest.mark.parametrize("flags", [("--only", "nosuch"), ("--limit", "5")])
def test_where_nothing_is_run_nothing_is_chosen(refused, flags):
    sentence = f"{flags[0]} chooses what is run, and --tables-only runs nothing. Leave one out."
    assert refused("reproduce", "paper-2", "--tables-only", *flags) == sentence


@pytest.mark.parametrize("command", [("explain", "good"), ("run", "agreement", *DATA), ("train", *DATA)])
@pytest.mark.parametrize("model", ["tiny", "minilm"])
def test_a_model_on_disk_has_no_other_revision(heatcheck, capsys, command, model):
    tiny_folder(Path("tiny"), "bert")
    capsys.readouterr()  # Hugging Face's progress
    code, out, err = heatcheck(*command, "--model", model, "--revision", "v9")
    assert (code, out) == (2, "")
    assert (
        err.lstrip() == f"heatcheck: --revision is for models of the hub, and {model} is on this disk. Leave it out.\n"
    )
    assert [p.name for p in Path().iterdir()] == ["tiny"]


def test_single_texts_are_not_compared(refused):
    sentence = "--pairing comparison is for two texts, and reviews.csv has single ones. Leave it out."
    assert refused("train", *DATA, "--pairing", "comparison") == sentence


def test_a_shell_completes_behind_a_flag_that_is_given_twice():
    shell = {**os.environ, "_HEATCHECK_COMPLETE": "complete_bash", "COMP_CWORD": "6"}
    shell["COMP_WORDS"] = "heatcheck audit --seed 1 --seed 2 --dat"
    done = subprocess.run([Path(sys.executable).with_name("heatcheck")], env=shell, capture_output=True, text=True)
    assert "--data" in done.stdout.split()
    assert "given 2 times" not in done.stdout + done.stderr
