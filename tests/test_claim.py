"""Two runs and one folder: what is under way or finished is never lost, and what was killed is in nobody's way."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import heatcheck
from heatcheck.claim import OccupiedError, claimed, is_held
from heatcheck.errors import InputError
from heatcheck.progress import Silent
from heatcheck.results import read_run
from tests.toys import write_reviews

HOLD = """
import json, sys
from pathlib import Path
from heatcheck.claim import claimed
from heatcheck.progress import Silent
from heatcheck.results import write_json
out, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
with claimed(out, settings, {}, "heatcheck audit --seed 1", Silent()):
    print("held", flush=True)
    sys.stdin.readline()
    run = json.loads((out / "run.json").read_text())
    write_json(out / "run.json", {**run, "status": "finished", "fingerprints": {}})
"""
OURS, THEIRS = {"seed": 2}, {"seed": 1}


@contextlib.contextmanager
def held(out: Path, settings: dict[str, int]) -> Iterator[subprocess.Popen[str]]:
    """By a run in another process, which finishes when it is sent a line."""
    arguments = [sys.executable, "-c", HOLD, str(out), json.dumps(settings)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


class Listener(Silent):
    """Lets the other run finish as soon as it hears that we wait."""

    def __init__(self, other: subprocess.Popen[str]) -> None:
        self.other, self.heard = other, []

    def say(self, sentence: str) -> None:
        self.heard.append(sentence)
        assert self.other.poll() is None
        self.other.communicate("go on\n")


def test_a_run_under_way_does_not_give_way_to_another(tmp_path):
    out = tmp_path / "run"
    with held(out, THEIRS):
        before = read_run(out)
        with (
            pytest.raises(OccupiedError, match=r"another run is under way there \(heatcheck audit --seed 1\)\. Give"),
            claimed(out, OURS, {}, "", Silent()),
        ):
            pass
        assert read_run(out) == before


def test_a_killed_run_gives_way_and_its_lock_blocks_nobody(tmp_path):
    out = tmp_path / "run"
    with held(out, THEIRS) as other:
        assert is_held(out)
        other.kill()
        other.wait()
        assert not is_held(out)
        with claimed(out, OURS, {}, "", Silent()):
            assert read_run(out)["settings"] == OURS
            assert is_held(out)
    assert not is_held(out)


def test_the_very_same_run_is_waited_for(tmp_path):
    out = tmp_path / "run"
    with held(out, OURS) as other:
        listener = Listener(other)
        with claimed(out, OURS, {}, "", listener):
            assert other.returncode == 0
            assert read_run(out)["status"] == "finished"
    assert listener.heard == [f"{out}: another process is at this very run. Waiting for it."]


def test_wrong_input_leaves_nothing_behind_not_even_the_lock(tmp_path):
    with pytest.raises(InputError, match="wrong"), claimed(tmp_path / "run", OURS, {}, "", Silent()):
        raise InputError("wrong")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def reviews(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_reviews(Path("reviews.csv"), 60)


def knows(word: str):
    def predict(texts):
        p = np.array([0.9 if word in text else 0.2 for text in texts])
        return np.stack([1 - p, p], axis=1)

    return predict


def test_without_a_folder_the_next_number_is_taken_while_a_run_is_under_way(reviews):
    first = heatcheck.run("performance", knows("great"), reviews, threads=1).folder
    with held(first.with_name(f"{first.name}-2"), THEIRS):
        runs = [
            heatcheck.run("performance", knows("great"), reviews, seed=seed, threads=1).folder for seed in (0, 2, 2)
        ]
    assert [run.name.removeprefix(first.name) for run in runs] == ["", "-3", "-3"]


def test_a_folder_that_another_run_takes_at_the_last_moment_is_left_to_it(reviews):
    with contextlib.ExitStack() as stack:
        others: list[Path] = []

        def predict(texts):
            """Asked for the first time when the folder is chosen and not yet claimed."""
            if not others:
                others.append(Path("runs/performance-reviews-" + name))
                stack.enter_context(held(others[0], THEIRS))
            return knows("great")(texts)

        name = predict.__qualname__.replace("<locals>", "-locals-")  # no file has such marks in its name
        run = heatcheck.run("performance", predict, reviews, threads=1)
        assert run.folder == others[0].with_name(others[0].name + "-2")
        assert read_run(others[0])["settings"] == THEIRS


def test_another_function_of_the_same_name_does_not_take_a_finished_run(reviews):
    def accuracy(run):
        return run.scores[run.scores.measure == "accuracy"].value.item()

    first = heatcheck.run("performance", knows("great"), reviews, out="run", threads=1)
    before = {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()}
    sentence = r"run: holds a finished run of another model: its files or its answers changed\. Give another --out"
    with pytest.raises(InputError, match=sentence):
        heatcheck.run("performance", knows("film"), reviews, out="run", threads=1)
    assert {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()} == before
    other = heatcheck.run("performance", knows("film"), reviews, out="other", threads=1)
    assert accuracy(first) != accuracy(other)
    assert first.description["fingerprints"]["model"] != other.description["fingerprints"]["model"]
    assert (
        heatcheck.run("performance", knows("great"), reviews, out="run", threads=1).description["status"] == "finished"
    )


def test_a_function_that_answers_by_lot_finds_its_run_again(reviews):
    def dice(texts):
        p = np.random.default_rng().uniform(0.3, 0.6, len(texts))
        return np.stack([1 - p, p], axis=1)

    first, again = (heatcheck.run("performance", dice, reviews, out="run", threads=1) for _ in range(2))
    assert first.scores.equals(again.scores)
