"""Jobs side by side on the cores there are.

Every job runs on one thread, in a process of its own if there are several cores, so its outcome does not depend on
their number. Each is a step of the run's store: killed and repeated, what is finished is found again.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import torch

from heatcheck.data.dataset import Dataset
from heatcheck.engine.store import Store
from heatcheck.experiments.trained.jobs import Around, Job
from heatcheck.explain import packages
from heatcheck.models.checkpoint import fingerprint
from heatcheck.models.fit import Watch
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.subject import Subject
from heatcheck.progress import Progress

EVERY = 0.5  # seconds between looks at how far the jobs are
DONE = "done"  # in the folder of a running job: how many of its units are done, and how many will be at least
Plan = Callable[[Mapping[str, Path]], Sequence[Job]]


@dataclass(frozen=True)
class Crew:
    """What all jobs of a run share, small enough to be sent to another process."""

    base: TransformerSpec  # the folder of the model under test, and how to read it
    fingerprint: str
    starts_from: str
    data: Dataset
    root: Path
    device: str

    def carry_out(self, plan: Plan, workers: int, progress: Progress) -> dict[str, Path]:
        """Do all jobs of the plan, which may add more when it sees what is done. Their folders, by name."""
        done: dict[str, Path] = {}
        while ready := [job for job in plan(done) if job.name not in done and set(job.needs) <= done.keys()]:
            found = self._wave(ready, done, workers, progress)
            done |= {job.name: folder for job, folder in zip(ready, found, strict=True)}
        return done

    def _wave(self, jobs: Sequence[Job], done: Mapping[str, Path], workers: int, progress: Progress) -> list[Path]:
        missing = [job for job in jobs if not self.place(job, done).exists()]
        ahead = Ahead(missing, progress)
        if workers == 1 or len(missing) == 1:
            for number, job in enumerate(missing):
                self.perform(job, done, functools.partial(ahead.reached, number))
                ahead.ended(number)
        elif missing:
            with self._watched(missing, done, ahead), warnings.catch_warnings():
                # Between two trainings joblib puts a new process in the place of one that has grown, and says so.
                warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
                tasks = (joblib.delayed(_perform)(self, job, dict(done), os.getpid()) for job in missing)
                joblib.Parallel(n_jobs=min(workers, len(missing)), batch_size=1, pre_dispatch="all")(tasks)
        return [self.place(job, done) for job in jobs]

    def perform(self, job: Job, done: Mapping[str, Path], report: Watch) -> Path:
        needed = {name: done[name] for name in job.needs}

        def work(folder: Path) -> None:
            job.work(Around(_subject(self.base, self.device, self.fingerprint), self.data, needed), folder, report)
            (folder / DONE).unlink(missing_ok=True)

        with one_thread():
            return Store(self.root).step(_kind(job), self._key(job, needed), work)

    def place(self, job: Job, done: Mapping[str, Path]) -> Path:
        return Store(self.root).place(_kind(job), self._key(job, {name: done[name] for name in job.needs}))

    def _key(self, job: Job, needed: Mapping[str, Path]) -> dict[str, Any]:
        settings = {k: v for k, v in asdict(job).items() if k != "name"}
        return {
            **{k: (needed[v].name if isinstance(v, str) and v in needed else v) for k, v in settings.items()},
            "needs": [needed[name].name for name in job.needs],
            "base_model": self.fingerprint,
            "starts_from": self.starts_from,
            "data": self.data.fingerprint(),
            "version": importlib.metadata.version("heatcheck"),
            "device": self.device,
            **({"files": [fingerprint(file) for file in job.files]} if job.files else {}),
            **({"revision": job.revision} if job.revision > 1 else {}),
            **packages(job.methods),
        }

    @contextlib.contextmanager
    def _watched(self, jobs: Sequence[Job], done: Mapping[str, Path], ahead: Ahead) -> Iterator[None]:
        """Show how far jobs in other processes are, by the numbers they leave in their folders."""
        places = [self.place(job, done) for job in jobs]

        def look() -> None:
            for number, place in enumerate(places):
                if place.exists():
                    ahead.ended(number)
                else:
                    ahead.reached(number, *_so_far(place))

        with _meanwhile(look):
            yield
        look()


class Ahead:
    """How far the jobs side by side are, and how far they go. At first each may need all of its units, or as few as it
    says; once some have ended, the others are expected to need as large a share of theirs."""

    def __init__(self, jobs: Sequence[Job], progress: Progress) -> None:
        self.units = [job.units for job in jobs]
        self.at_least = [float(job.at_least) for job in jobs]
        self.done = [0.0] * len(jobs)
        self.over = [False] * len(jobs)
        self.progress = progress
        if jobs:
            progress.task(_title(jobs), sum(self.units))

    def reached(self, number: int, done: float, at_least: float) -> None:
        if not self.over[number]:
            # The file of a job may be just being written.
            self.done[number] = max(self.done[number], done)
            self.at_least[number] = max(self.at_least[number], at_least)
            self._show()

    def ended(self, number: int) -> None:
        if not self.over[number]:
            self.over[number] = True
            self.done[number] = self.done[number] or self.units[number]  # too quick to be seen on its way
            self._show()

    def _show(self) -> None:
        ended = [done / units for done, units, over in zip(self.done, self.units, self.over, strict=True) if over]
        if not ended:
            return self.progress.advance(sum(self.done), sum(self.units), at_least=sum(self.at_least))
        share = sum(ended) / len(ended)
        expected = [
            # One that goes on for longer than the others did may need all.
            done if over else max(units * share, at_least) if done < units * share else units
            for done, units, at_least, over in zip(self.done, self.units, self.at_least, self.over, strict=True)
        ]
        self.progress.advance(sum(self.done), sum(expected))


def _perform(crew: Crew, job: Job, done: Mapping[str, Path], parent: int) -> None:
    """In a process of its own."""
    file = Store.partial(crew.place(job, done)) / DONE
    last = 0.0

    def report(units: float, at_least: float) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            file.write_text(f"{units:.3f} {at_least:g}", encoding="utf-8")
            last = time.monotonic()

    with with_parent(parent):
        crew.perform(job, done, report)


@contextlib.contextmanager
def with_parent(parent: int) -> Iterator[None]:
    """Inside, this process ends at once when its parent is gone: nobody waits for its work. What a job has saved so far
    was saved whole, so that the next run goes on from there."""

    def look() -> None:
        if os.getppid() != parent:
            os._exit(1)

    with _meanwhile(look):
        yield


@contextlib.contextmanager
def _meanwhile(look: Callable[[], None]) -> Iterator[None]:
    """Inside, `look` is called now and then, beside the work."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _so_far(place: Path) -> tuple[float, float]:
    try:
        done, at_least = map(float, (Store.partial(place) / DONE).read_text(encoding="utf-8").split())
    except (OSError, ValueError):  # not begun, or being written
        return 0.0, 0.0
    return done, at_least


def _title(jobs: Sequence[Job]) -> str:
    return jobs[0].name if len(jobs) == 1 else f"{len(jobs)} models"


def _kind(job: Job) -> str:
    return type(job).__name__.lower()


@functools.lru_cache(maxsize=1)
def _subject(spec: TransformerSpec, device: str, fingerprint: str) -> Subject[Any]:
    """`fingerprint`: another model in the same folder is another one."""
    return load_subject(spec, device)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
