"""What a command finds in its way: a finished run, a folder of something else, changed inputs, flags for another kind
of model. One sentence, exit code 2, and everything as it was."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from heatcheck.models import checkpoint, training
from heatcheck.results import read_run
from tests.toys import write_reviews

QUICK = ("--vectors", "none", "--epochs", "1", "--threads", "1", "--encoder", "average")


@pytest.fixture
def model(heatcheck) -> Path:
    """Trained on the reviews."""
    write_reviews(Path("reviews.csv"))
    assert heatcheck("train", "--data", "reviews.csv", "--out", "model", *QUICK)[0] == 0
    return Path("model")


def other_texts(*rows: str) -> Path:
    path = Path("other.csv")
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


def test_a_finished_run_survives_the_same_command_with_changed_inputs(heatcheck, model):
    data = other_texts("a fine day,good", "a dull day,bad", "such a fine film,good")
    command = ("run", "correlation", "--model", model, "--data", data, "--threads", "1", "--out", "run")
    assert heatcheck(*command)[0] == 0
    before = {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()}
    other_texts("a fine day,good", "another one,bad")
    code, _, err = heatcheck(*command)
    assert code == 2
    assert "run: holds a finished run of other texts: the data has changed since. Give another --out" in err
    other_texts("a fine day,good", "a dull day,bad", "such a fine film,good")
    shutil.rmtree(model)
    assert heatcheck("train", "--data", "reviews.csv", "--out", model, "--seed", "5", *QUICK)[0] == 0
    code, _, err = heatcheck(*command)
    assert code == 2
    assert "run: holds a finished run of another model: its files changed. Give another --out" in err
    assert {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()} == before


def test_a_finished_run_survives_wrong_input_and_a_kill(heatcheck, model, monkeypatch):
    data = other_texts("a fine day,good", "a dull day,bad", "such a fine film,good")
    command = ("run", "permutation", "--model", model, "--data", data, "--threads", "1", "--out", "run")
    assert heatcheck(*command)[0] == 0
    finished = read_run(Path("run"))
    monkeypatch.setattr("heatcheck.runner.texts_under_test", lambda *_: (_ for _ in ()).throw(SystemExit(9)))
    assert heatcheck(*command)[0] == 9
    assert read_run(Path("run")) == finished


def test_wrong_input_that_comes_to_light_late_leaves_nothing_behind(heatcheck):
    write_reviews(Path("reviews.csv"))
    Path("bad.vec").write_text("town 0.1 0.2 0.3\nfilm 0.1 nothing 0.3\n")
    code, _, err = heatcheck("audit", "--data", "reviews.csv", "--vectors", "bad.vec", "--out", "run")
    assert code == 2
    assert "bad.vec" in err
    assert sorted(p.name for p in Path().iterdir()) == ["bad.vec", "reviews.csv"]


@pytest.mark.parametrize("command", ["train", "audit"])
@pytest.mark.parametrize("out", ["reviews.csv/x", "/proc/nowhere/x"])
def test_a_folder_that_cannot_be_made_is_a_sentence(heatcheck, command, out):
    write_reviews(Path("reviews.csv"))
    code, _, err = heatcheck(command, "--data", "reviews.csv", "--out", out, *QUICK)
    assert code == 2
    assert "the folder cannot be made" in err


def test_train_into_a_folder_of_something_else_is_refused(heatcheck):
    write_reviews(Path("reviews.csv"))
    Path("mine").mkdir()
    Path("mine/precious.txt").write_text("keep me")
    code, _, err = heatcheck("train", "--data", "reviews.csv", "--out", "mine", *QUICK)
    assert code == 2
    assert "heatcheck: mine: exists and is not a model. Give another --out." in err
    assert Path("mine/precious.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--learning-rate", "nan"), "--learning-rate nan is not a number above 0."),
        (("--temperature", "nan"), "--temperature nan is not a number above 0."),
        (("--learning-rate", "-1"), "--learning-rate -1 is not a number above 0."),
        (("--temperature", "0"), "--temperature 0 is not a number above 0."),
        (("--temperature", "inf"), "--temperature inf is not a number above 0."),
        (
            ("--model", "minilm", "--encoder", "cnn"),
            "--encoder is for a model that heatcheck trains, and --model fine-",
        ),
        (("--model", "minilm", "--encoder", "bilstm"), "--encoder is for a model that heatcheck trains"),
        (("--model", "minilm", "--temperature", "3"), "--temperature is for a model that heatcheck trains"),
        (("--encoder", "bilstm", "--max-length", "20"), "--max-length is for transformers. Name one with --model."),
        (("--encoder", "mlp", "--uniform"), "--uniform is for transformers. Of our models: --weighting uniform."),
    ],
)
def test_settings_that_would_go_unheard_are_refused(heatcheck, flags, sentence):
    write_reviews(Path("reviews.csv"))
    code, _, err = heatcheck("train", "--data", "reviews.csv", "--out", "model", *flags)
    assert code == 2
    assert sentence in err
    assert not Path("model").exists()


def test_a_trained_model_takes_no_flags_of_training_or_of_transformers(heatcheck, model):
    for flags, sentence in (
        (("--encoder", "cnn"), "--encoder is for a model that heatcheck trains, and --model is trained already."),
        (("--epochs", "50"), "--epochs is for a model that heatcheck trains, and --model is trained already."),
        (("--windows",), "--windows is for transformers, and model is none. Leave it out."),
        (("--max-length", "9"), "--max-length is for transformers, and model is none. Leave it out."),
    ):
        for command in (("audit",), ("run", "permutation")):
            code, _, err = heatcheck(*command, "--model", model, "--data", "reviews.csv", "--out", "run", *flags)
            assert (code, Path("run").exists()) == (2, False)
            assert sentence in err


def test_an_experiment_trains_the_model_that_is_asked_for(heatcheck):
    write_reviews(Path("reviews.csv"))
    flags = ("--encoder", "mlp", "--attention", "dot", "--epochs", "1", "--vectors", "none", "--threads", "1")
    code, _, err = heatcheck("run", "permutation", "--data", "reviews.csv", "--out", "run", *flags)
    assert code == 0, err
    model = read_run(Path("run"))["model"]
    assert model["name"] == "mlp-dot"


def test_several_experiments_go_into_one_run(heatcheck, model):
    flags = ("--model", model, "--data", "reviews.csv", "--threads", "1")
    code, _, err = heatcheck("run", "permutation,correlation", *flags, "--out", "run")
    assert code == 0, err
    assert {"permutation", "correlation"} <= set(read_run(Path("run"))["settings"]["experiments"])
    code, _, err = heatcheck("run", "permutation,attefa", *flags, "--lambdas", "0,1", "--out", "other")
    assert code == 2
    assert "heatcheck: --lambdas is not for permutation or attefa. Leave it out." in err
    code, _, err = heatcheck("run", "permutation,nothing", *flags, "--out", "other")
    assert code == 2
    assert "There is no experiment 'nothing'." in err


def test_train_says_what_was_left_out_cut_and_drawn(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    data.write_text(data.read_text() + "great " * 3000 + ",good\n,bad\n")
    arguments = ("train", "--data", data, "--skip-bad-rows", "--out", "model", *QUICK)
    code, _, err = heatcheck(*arguments)
    assert code == 0
    assert "note: Left out: 1 row cannot be used" in err
    assert "Split by us" in err
    fewer = heatcheck("train", "--data", data, "--skip-bad-rows", "--out", "fewer", "--limit", "20", *QUICK)[2]
    assert "note: 20 of " in fewer
    assert "training texts were drawn at random (--limit, seed 0)." in fewer


def test_long_training_texts_are_cut_with_a_notice(heatcheck):
    rows = "".join(
        f"{'great ' * 2000 if i < 3 else 'fine film'} {i},{'good' if i % 2 else 'bad'},train\n" for i in range(9)
    )
    Path("long.csv").write_text("text,label,split\n" + rows + "fine,good,dev\ndull,bad,dev\nfine,good,test\n")
    code, _, err = heatcheck("train", "--data", "long.csv", "--out", "model", *QUICK)
    assert code == 0
    assert "note: 3 of 11 training texts have more words, or a longer one, than the model takes: cut." in err


def test_a_changed_description_is_a_sentence(heatcheck, model):
    file = model / "heatcheck.json"
    whole = json.loads(file.read_text())
    for change, sentence in (
        ({"vocabulary": {}}, "heatcheck.json: 'words' is missing. Changed, or written by another heatcheck"),
        ({"spec": whole["spec"] | {"encoder": "cnn"}}, "does not fit the model that heatcheck.json describes"),
        ({"spec": whole["spec"] | {"new": 1}}, "heatcheck.json: "),
    ):
        file.write_text(json.dumps(whole | change))
        code, _, err = heatcheck("run", "permutation", "--model", model, "--data", "reviews.csv", "--out", "run")
        assert (code, len(err.strip().splitlines())) == (2, 1), err
        assert sentence in err


def test_others_may_read_a_model(model):
    modes = {p.name: p.stat().st_mode & 0o777 for p in model.iterdir()}
    assert modes["model.safetensors"] == modes["heatcheck.json"]


@pytest.mark.parametrize(("name", "content"), [("a.csv", b"\n\n\n"), ("a.parquet", b""), ("a.jsonl", b"")])
def test_files_with_nothing_in_them_are_empty(heatcheck, name, content):
    Path(name).write_bytes(content)
    code, _, err = heatcheck("train", "--data", name, "--out", "model", *QUICK)
    assert code == 2
    assert f"heatcheck: {name}: the file is empty." in err


def heed_ctrl_c() -> None:
    """Where the tests run in the background, the shell has told all of them to ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_says_how_to_go_on(tmp_path):
    write_reviews(tmp_path / "reviews.csv")
    command = [
        sys.executable,
        "-m",
        "heatcheck.cli",
        "train",
        "--data",
        "reviews.csv",
        "--out",
        "model",
        "--encoder",
        "bilstm",
        "--epochs",
        "9999",
    ]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".model.training/.train-*/resume.safetensors")):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGINT)
    assert "Stopped. Repeat the command to go on where it was." in child.communicate(timeout=60)[1]
    assert child.returncode == 130


def test_training_goes_on_after_kills_to_the_same_weights(tmp_path):
    """`heatcheck train` itself, killed after its first epochs."""
    write_reviews(tmp_path / "reviews.csv")
    flags = ["--data", "reviews.csv", "--vectors", "none", "--epochs", "6", "--threads", "1"]
    command = [sys.executable, "-m", "heatcheck.cli", "train", *flags, "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "whole"], cwd=tmp_path, check=True, capture_output=True, env=environment)
    child = subprocess.Popen([*command, "killed"], cwd=tmp_path, stderr=subprocess.DEVNULL, env=environment)
    deadline = time.monotonic() + 60
    while child.poll() is None and not list(tmp_path.glob(".killed.training/.train-*/resume.safetensors")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert child.poll() is None, "it was over before it could be killed"
    child.kill()
    child.wait()
    assert not (tmp_path / "killed").exists()
    subprocess.run([*command, "killed"], cwd=tmp_path, check=True, capture_output=True, env=environment)
    one, other = (checkpoint.load(tmp_path / name).model.state_dict() for name in ("whole", "killed"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_training_that_diverges_leaves_the_model_of_before(heatcheck, monkeypatch):
    """What the epochs before the loss was no number had learned can be explained."""
    write_reviews(Path("reviews.csv"), 60)
    steps = iter(range(10**6))
    own = training.classification_loss

    def wild(model, examples):
        loss = own(model, examples)
        return lambda batch: loss(batch) * (math.nan if next(steps) > 7 else 1.0)

    flags = ("--encoder", "mlp", "--vectors", "none", "--data", "reviews.csv", "--threads", "1")
    with monkeypatch.context() as patch:
        patch.setattr("heatcheck.models.training.classification_loss", wild)
        code, _, err = heatcheck("train", *flags, "--out", "m")
    assert code == 2
    assert not Path("m").exists()
    found = re.search(r"Training diverged in epoch (\d): the loss is not finite\..* is a model in (\S+)\.\n", err)
    assert found, err
    assert found[2] == f"m-before-epoch-{found[1]}"
    assert heatcheck("explain", "a good film", "--model", found[2], "--method", "gradient")[0] == 0
    assert heatcheck("train", *flags, "--learning-rate", "0.0005", "--out", "m")[0] == 0  # as the message says
    assert Path(found[2], "heatcheck.json").exists()
