"""Models trained side by side: the same bytes as one after another, and real kills."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heatcheck.engine.crew import EVERY, Ahead
from heatcheck.experiments.trained.jobs import Training
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Silent
from heatcheck.results import TABLES
from tests.toys import write_reviews

SCRIPT = """
import sys
from pathlib import Path
import heatcheck
from heatcheck.experiments.attefa import AtteFaConfig
from heatcheck.experiments.seed_variance import SeedConfig
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
heatcheck.audit(
    data=sys.argv[1], out=Path(sys.argv[2]), threads=int(sys.argv[3]),
    spec=ModelSpec(embedding_width=16, hidden=8), recipe=Recipe(epochs=3, vectors="none"),
    experiments=("seed_variance", "attefa"),
    configs={"seed_variance": SeedConfig(seeds=(1, 2, 3)), "attefa": AtteFaConfig(seeds=(1, 2), bases=(1,), epochs=6)},
)
"""


def start(data: Path, out: Path, threads: int) -> subprocess.Popen:
    """A script without `if __name__ == "__main__"`, as users write them."""
    script = out.parent / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen([sys.executable, script, data, out, str(threads)])


def table_bytes(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def epochs_begun(out: Path) -> int:
    return len(list((out / "steps").glob(".training-*.partial/resume.safetensors")))


WAITING = """
import os, sys, time
from pathlib import Path
import joblib
from heatcheck.engine.crew import with_parent
def wait(folder, parent):
    with with_parent(parent):
        (folder / str(os.getpid())).touch()
        while True:
            time.sleep(0.05)
if __name__ == "__main__":
    joblib.Parallel(n_jobs=2)(joblib.delayed(wait)(Path(sys.argv[1]), os.getpid()) for _ in range(2))
"""


def is_running(pid: int) -> bool:
    """Ended ones may stand in the list of processes until somebody asks for their exit code."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_workers_end_with_their_parent(tmp_path):
    folder = tmp_path / "workers"
    folder.mkdir()
    (tmp_path / "waiting.py").write_text(WAITING)
    parent = subprocess.Popen([sys.executable, tmp_path / "waiting.py", folder])
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [int(p.name) for p in folder.iterdir()]
    assert len(workers) == 2
    time.sleep(3 * EVERY)
    assert all(map(is_running, workers))  # as long as it lives
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [worker for worker in workers if is_running(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert not left


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_and_repeated_with_other_cores_it_ends_with_the_same_tables(tmp_path):
    data = write_reviews(tmp_path / "reviews.csv", 240)
    whole = tmp_path / "whole" / "run"
    whole.parent.mkdir()
    assert start(data, whole, 1).wait() == 0
    killed = tmp_path / "killed" / "run"
    killed.parent.mkdir()
    child = start(data, killed, 2)
    deadline = time.monotonic() + 120
    while not epochs_begun(killed) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert child.poll() is None, "it was over before it could be killed"
    os.kill(child.pid, signal.SIGKILL)  # not its workers: they have to notice
    child.wait()
    assert not (killed / "scores.parquet").exists()
    assert start(data, killed, 2).wait() == 0
    assert table_bytes(killed) == table_bytes(whole)


class Noted(Silent):
    """What a bar would show: how many units are done, of how many, and of how many at the least."""

    def __init__(self) -> None:
        self.shown: list[tuple[float, ...]] = []

    def task(self, name: str, total: float) -> None:
        self.name, self.total = name, total

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None:
        self.shown.append((done, total, total if at_least is None else at_least))


def ahead(*, patience: int | None, jobs: int = 4) -> tuple[Ahead, Noted]:
    noted = Noted()
    recipe = Recipe(epochs=20, patience=patience)
    return Ahead([Training(f"job {i}", ModelSpec(), recipe, i) for i in range(jobs)], noted), noted


def test_trainings_that_end_early_say_when_the_others_may_end():
    bar, noted = ahead(patience=2)
    assert (noted.name, noted.total) == ("4 models", 80)
    bar.reached(0, 1.0, 4)  # the second epoch is the first that counts, and two after it may be no better
    assert noted.shown[-1] == (1, 80, 16)
    bar.reached(0, 5.0, 5)
    assert noted.shown[-1] == (5, 80, 17)
    bar.ended(0)  # after a quarter of its epochs: so may the other three
    assert noted.shown[-1] == (5, 20, 20)
    bar.reached(1, 4.0, 6)  # not so this one: its best epoch is the fourth
    assert noted.shown[-1] == (9, 21, 21)
    bar.reached(1, 6.0, 8)  # longer than the first: it may need all
    assert noted.shown[-1] == (11, *2 * (5 + 20 + 5 + 5,))
    bar.reached(1, 10.0, 10)
    bar.ended(1)
    assert noted.shown[-1] == (15, *2 * (5 + 10 + 2 * 7.5,))


def test_a_bar_without_early_ends_never_changes_its_length():
    bar, noted = ahead(patience=None, jobs=2)
    for number in (0, 1):
        for epoch in (0.5, 10.0, 20.0):
            bar.reached(number, epoch, 20)
        bar.ended(number)
    assert {ends for _, *both in noted.shown for ends in both} == {40}
    assert noted.shown[-1][0] == 40


def test_a_job_too_quick_to_be_seen_counts_in_full_and_nothing_goes_back():
    bar, noted = ahead(patience=2, jobs=2)
    bar.ended(0)
    bar.reached(1, 3.0, 4)
    bar.reached(1, 0.0, 0)  # its file was just being written
    assert noted.shown[-1] == (23, 40, 40)
    bar.ended(1)
    bar.reached(1, 9.0, 9)
    assert noted.shown[-1] == (23, 23, 23)
