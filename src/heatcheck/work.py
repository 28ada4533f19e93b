"""The steps of a run: each method's explanations and each experiment, on a shard of the texts at a time.

A finished step is found again by its key, so killing the process loses the step it was in and nothing else. Texts
stream through in shards, so memory does not grow with their number.
"""

from __future__ import annotations

import functools
import importlib.metadata
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from heatcheck import results
from heatcheck.batch import Batch, Example
from heatcheck.data.dataset import examples_fingerprint
from heatcheck.engine.crew import Crew
from heatcheck.engine.store import Store
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS, Experiment
from heatcheck.experiments.explained import Explained, explain_texts, left_out, usable, write_notes
from heatcheck.experiments.trained.jobs import Job
from heatcheck.experiments.trained.models import Trained
from heatcheck.explain import audited, distinct, packages
from heatcheck.explain.method import Method
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models.checkpoint import fingerprint
from heatcheck.models.heads import HasHeads, attended
from heatcheck.models.protocols import in_words
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.progress import Progress
from heatcheck.results import Origin, Row

SHARD = 256  # texts per step: what a kill may cost, and what is in memory at once
EXPLAIN_SHARD = 32  # explanations take far longer
# And some tests of them seconds a text, unless the model is one of ours; divides EXPLAIN_SHARD, so that a step's are in
# one file.
SLOW_SHARD = 8

Rows = Callable[[Sequence[Example], torch.Generator], Iterator[Row]]


def check_served(subject: Subject[Any], configs: Mapping[str, Any]) -> None:
    """Can the model serve all of it? Said before hours of work, not after."""
    for name in configs:
        needs = EXPERIMENTS[name].needs
        if not isinstance(subject.model, needs):
            raise InputError(f"{name} needs {needed(needs)}, which {subject.name} is not.")
        if EXPERIMENTS[name].one_head and (heads := getattr(subject.model, "heads", 1)) > 1:
            raise InputError(f"{name} is for attention with one head, and {subject.name} has {heads}.")
        if needs is HasHeads:
            attended(subject.model, trial(subject))  # a transformer whose attention cannot be read says so
    for name in methods_of(configs):
        usable(subject, name)


def needed(needs: type[Any] | tuple[type[Any], ...]) -> str:
    """For sentences."""
    return " or ".join(in_words(kind) for kind in (needs if isinstance(needs, tuple) else (needs,)))


def with_methods(configs: Mapping[str, Any], subject: Subject[Any]) -> tuple[dict[str, Any], list[str]]:
    """Experiments that were not told which methods to compare get those that an audit compares, without those that this
    model turns out to refuse; and notes on these. A method named twice, or by two names, counts once."""
    silent = [name for name, config in configs.items() if getattr(config, "methods", None) == ()]
    served, notes = tried(subject, audited(subject.model)) if silent else ((), [])
    found = dict(configs)
    for name, config in configs.items():
        if hasattr(config, "methods"):
            found[name] = replace(config, methods=served if name in silent else distinct(config.methods))
    return found, notes


def tried(subject: Subject[Any], names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Which of the methods explain a text of two words; and notes on those that refuse."""
    batch = trial(subject)
    scalar = probability_of_prediction(subject.model, batch)
    served: list[str] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            usable(subject, name).explain(subject.model, batch, scalar, generator=torch.Generator().manual_seed(0))
            served.append(name)
        except InputError as error:
            refused[name] = str(error)
    return tuple(served), left_out(refused)


def trial(subject: Subject[Any]) -> Batch:
    """A text of two words."""
    pair = "good film" if subject.spec.task == "pair" else None
    (batch,) = subject.batches([Example("trial", "good film", 0, pair)], 1)
    return batch


def methods_of(configs: Mapping[str, Any]) -> list[str]:
    """Every explanation that some experiment takes, once."""
    named = (configs[name].methods for name in configs if EXPERIMENTS[name].explained)
    return list(dict.fromkeys(method for methods in named for method in methods))


@dataclass(frozen=True)
class Work:
    """What every step of one run shares. `configs` has an entry for each experiment."""

    subject: Subject[Any]
    examples: Sequence[Example]
    configs: Mapping[str, Any]
    origin: Origin
    device: str
    threads: int
    workers: int
    store: Store
    progress: Progress
    crew: Crew | None = None  # who trains the models that tests need; None if none does

    def run(self) -> Iterator[tuple[str, list[Path]]]:
        """All steps' folders, by `explain METHOD` and by experiment."""
        explained: dict[str, list[Path]] = {}
        for name in methods_of(self.configs):
            explained[name] = list(self._explain(name))
            yield f"explain {name}", explained[name]
        if self.trained.folders:
            yield "other models", []
        for name in self.configs:
            yield name, list(self._measure(name, explained))

    @functools.cached_property
    def trained(self) -> Trained:
        """Trained when they are first asked for."""
        return Trained(self._train(), self.subject.device, self.subject.spec)

    def _train(self) -> dict[str, Path]:
        """All models that some experiment needs, each once."""
        plans = [(EXPERIMENTS[name].models, config) for name, config in self.configs.items()]

        def plan(done: Mapping[str, Path]) -> list[Job]:
            jobs = [job for models, config in plans if models for job in models(self.subject, config, done)]
            found = {job.name: job for job in jobs}
            if different := [job.name for job in jobs if found[job.name] != job]:
                raise ValueError(f"Two different jobs are called {different[0]!r}.")
            return list(found.values())

        if self.crew is None:
            return {}
        self.progress.say(self._announced())
        return self.crew.carry_out(plan, self.workers, self.progress)

    def _announced(self) -> str:
        """How many models are to be trained for what: some are for marks that stand beside a test's own."""
        counts = []
        for name, config in self.configs.items():
            if models := EXPERIMENTS[name].models:
                may_stop = getattr(config, "stop_at", None) is not None
                whole = replace(config, stop_at=None) if may_stop else config
                many = len(list(models(self.subject, whole, {})))
                counts.append(f"{'up to ' if may_stop else ''}{many} for {name}")
        return f"Models that are needed: {', '.join(counts)}."

    @property
    def special_tokens(self) -> bool:
        return any(getattr(config, "special_tokens", False) for config in self.configs.values())

    def _explain(self, name: str) -> Iterator[Path]:
        chosen: Method = usable(self.subject, name)
        settings = {"method": name, "settings": chosen.settings(), "special_tokens": self.special_tokens}
        settings |= packages([name])

        notes: list[str] = []

        def rows(shard: Sequence[Example], generator: torch.Generator) -> Iterator[Row]:
            notes.clear()
            return explain_texts(
                self.subject, shard, name, generator=generator, special_tokens=self.special_tokens, notes=notes
            )

        yield from self._steps("explain", name, settings, rows, EXPLAIN_SHARD, lambda f: write_notes(f, notes))

    def _measure(self, name: str, explained: Mapping[str, list[Path]]) -> Iterator[Path]:
        experiment: Experiment = EXPERIMENTS[name]
        config = self.configs[name]
        slow = experiment.slow and not isinstance(self.subject.spec, ModelSpec)
        size = SLOW_SHARD if slow else EXPLAIN_SHARD if experiment.explained else SHARD
        needed = self._needed(experiment, config)

        def rows(shard: Sequence[Example], generator: torch.Generator) -> Iterator[Row]:
            if not experiment.explained:
                return experiment.measure(self.subject, shard, config, generator=generator, **needed())
            place = next(i for i, e in enumerate(self.examples) if e.id == shard[0].id) // EXPLAIN_SHARD
            folders = [explained[method][place] for method in config.methods]
            found = Explained.from_tables(results.read_table(folder, "tokens") for folder in folders)
            return experiment.measure(self.subject, shard, config, generator=generator, explained=found, **needed())

        read = [fingerprint(path) for path in experiment.files(config)]
        settings = {"revision": experiment.revision, "config": asdict(config), "files": read}
        settings |= packages(getattr(config, "methods", ()))
        if experiment.models is not None:
            folders = self.trained.folders
            jobs = experiment.models(self.subject, config, folders)
            settings["trained"] = {job.name: folders[job.name].name for job in jobs}
        if experiment.prepare is not None:
            settings["prepared_of"] = examples_fingerprint(self.examples)
        if experiment.explained:
            settings["explained"] = [folder.name for method in config.methods for folder in explained[method]]
        yield from self._steps(name, name.replace("_", " "), settings, rows, size)

    def _needed(self, experiment: Experiment, config: Any) -> Callable[[], dict[str, Any]]:
        """What all steps of an experiment are handed alike. Made once, and only if a step is not there yet."""

        @functools.cache
        def needed() -> dict[str, Any]:
            found: dict[str, Any] = {} if experiment.models is None else {"trained": self.trained}
            if experiment.prepare is not None:
                found["prepared"] = experiment.prepare(self.subject, self.examples, config)
            return found

        return needed

    def _steps(
        self,
        kind: str,
        title: str,
        settings: Mapping[str, Any],
        rows: Rows,
        size: int,
        beside: Callable[[Path], None] = lambda folder: None,
    ) -> Iterator[Path]:
        """`beside` writes what belongs beside a step's tables."""
        self.progress.task(title, len(self.examples))
        seed = zlib.crc32(f"{self.origin.seed}/{title.replace(' ', '_')}".encode())
        for start in range(0, len(self.examples), size):
            shard = self.examples[start : start + size]

            def work(folder: Path, shard: Sequence[Example] = shard) -> None:
                found = rows(shard, torch.Generator().manual_seed(seed))
                results.write_tables(folder, results.tables(found, self.origin, kind))
                beside(folder)

            yield self.store.step(kind, self._key(shard, settings), work)
            self.progress.advance(start + len(shard))

    def _key(self, shard: Sequence[Example], settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **settings,
            "model": self.subject.fingerprint,
            "spec": {k: v for k, v in asdict(self.subject.spec).items() if k != "source"},
            "labels": self.subject.labels,
            "data": self.origin.dataset,
            "version": importlib.metadata.version("heatcheck"),
            "texts": examples_fingerprint(shard),
            "seed": self.origin.seed,
            "device": self.device,
            "threads": self.threads,
        }
