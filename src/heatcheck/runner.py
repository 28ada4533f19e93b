"""From a request to a run folder: train or load the model, explain, run the experiments, write the tables.

Every piece of work is a step of the folder's store (see work.py). Killing the process loses the step it was in;
repeating the same request continues.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from filelock import FileLock

from heatcheck import results
from heatcheck.batch import Example
from heatcheck.claim import claimed
from heatcheck.company import with_company
from heatcheck.data.dataset import Dataset, examples_fingerprint
from heatcheck.data.sources import is_named, load
from heatcheck.data.vectors import vectors_fingerprint
from heatcheck.engine.crew import Crew
from heatcheck.engine.store import Store, digest
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.erasing.winner import winner_by_operator
from heatcheck.experiments.explained import read_notes
from heatcheck.experiments.performance import one_class_for_all
from heatcheck.experiments.plausibility import without_rationale
from heatcheck.experiments.trained.jobs import recipe_of
from heatcheck.experiments.trained_adversary import where_the_sweep_ended
from heatcheck.explain import method
from heatcheck.fitness import check_experiments, check_fit, notes_beside
from heatcheck.held_out import texts_under_test
from heatcheck.models import blackbox, checkpoint, finetune
from heatcheck.models.blackbox import BlackBox
from heatcheck.models.fit import RESUME
from heatcheck.models.loading import load_subject, trained_by
from heatcheck.models.pretrained import TransformerSpec, resolve, source_fingerprint
from heatcheck.models.subject import Subject
from heatcheck.models.training import train
from heatcheck.progress import Progress, Silent
from heatcheck.request import Request
from heatcheck.results import SCHEMA_VERSION, Origin
from heatcheck.tables import EXPLAIN, aggregates, write_tables
from heatcheck.verdict import verdict
from heatcheck.verdict.model import at_chance
from heatcheck.work import Work, with_methods


def execute(request: Request, out: Path, *, command: str = "", progress: Progress | None = None) -> Path:
    """Do all of `request`, into the folder `out`; what is there already is reused."""
    progress = progress or Silent()
    check_experiments(request.experiments or ())
    torch.set_num_threads(request.threads)
    given, data = load_model_and_data(request)
    request, notes = with_company(request, data, given)
    check_fit(request, data, given)
    with claimed(out, request.settings(), fingerprints(data, given), command, progress):
        _carry_out(request, given, data, out, command, progress, notes)
    return out


def _carry_out(
    request: Request,
    given: Subject[Any] | None,
    data: Dataset,
    out: Path,
    command: str,
    progress: Progress,
    notes: list[str],
) -> None:
    began = time.monotonic()
    store = Store(out / "steps")
    model_folder = request.model or str(train_step(request, data, store, progress))
    subject = given or load_subject(trained_by(request.spec, model_folder), request.device)
    examples, on_texts = texts_under_test(request, data, subject)
    configs, left_out = with_methods(request.all_configs(), subject)
    notes = [*on_texts, *notes, *left_out, *notes_beside(request, configs, subject)]
    for name, config in configs.items():
        EXPERIMENTS[name].check_texts(config, examples)
    origin = Origin(request.data, subject.name, request.seed)
    crew = crew_for(request, data, subject, model_folder, store.root)
    workers = request.workers or request.threads
    work = Work(subject, examples, configs, origin, request.device, request.threads, workers, store, progress, crew)
    durations = {"model": time.monotonic() - began}
    shards: dict[str, list[Path]] = {}
    for name, folders in work.run():
        shards |= {name: folders} if folders else {}
        durations[name] = time.monotonic() - began - sum(durations.values())
    notes += read_notes({name.removeprefix(EXPLAIN): folders for name, folders in shards.items() if EXPLAIN in name})
    progress.task("tables", 1)
    with FileLock(store.root / ".tables.lock"):  # two processes may do the same run
        write_tables(out, shards, subject.labels, origin, configs, work.trained)
        description = _describe(request, data, subject, examples, model_folder)
        over_all = aggregates(out)
        notes += [sentence for sentence in _in_hindsight(out, over_all, configs, examples) if sentence]
        extra = {"command": command, "notes": notes, "methods": _methods(configs)}
        extra["durations"] = {k: round(v, 2) for k, v in durations.items()}
        results.write_json(out / "run.json", {**description, **extra, "verdict": verdict(over_all)})
    progress.advance(1)


def _in_hindsight(
    out: Path, over_all: pd.DataFrame, configs: Mapping[str, Any], examples: Sequence[Example]
) -> Iterator[str | None]:
    """Notes that follow from what was found."""
    if "performance" in configs:
        yield one_class_for_all(pd.read_parquet(out / "examples.parquet", columns=["label", "predicted"]))
        yield at_chance(over_all)
    yield winner_by_operator(over_all)
    if "plausibility" in configs:
        yield without_rationale(configs["plausibility"], examples)
    if "trained_adversary" in configs:
        yield where_the_sweep_ended(over_all, configs["trained_adversary"])


def _methods(configs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All settings of every explanation method, those that nobody changed too: a later version may have others."""
    named = (name for config in configs.values() for name in getattr(config, "methods", ()))
    return {name: method(name).settings() for name in named}


def load_model_and_data(request: Request) -> tuple[Subject[Any] | None, Dataset]:
    """A black box takes its classes from the data; other models have their own."""
    if request.predict is not None:
        data = load_data(request)
        given = blackbox.as_subject(request.predict, data.labels, request.model or "black box")
        return blackbox.tried(given, data.splits.get(request.split, ())[:8]), data
    if request.model is None:
        return None, load_data(request)
    given = load_subject(replace(request.reading, source=request.model), request.device)
    return given, load_data(request, given)


def crew_for(request: Request, data: Dataset, subject: Subject[Any], folder: str, root: Path) -> Crew | None:
    """For tests that train: they need the data that the model was trained on, and how."""
    if not any(EXPERIMENTS[name].models for name in request.experiments or ()):
        return None
    spec = subject.started_as or subject.spec
    starts = (
        source_fingerprint(resolve(spec.source))
        if isinstance(spec, TransformerSpec)
        else vectors_fingerprint(recipe_of(subject).vectors)
    )
    base = replace(request.reading, source=folder) if request.model else trained_by(request.spec, folder)
    return Crew(base, subject.fingerprint, starts, data, root, request.device)


def fingerprints(data: Dataset, given: Subject[Any] | None) -> dict[str, str]:
    """Of what was put into a run. Of a black box that answers otherwise each time only the name is known."""
    found = {"data": data.fingerprint()}
    if given is None or (isinstance(given.model, BlackBox) and not blackbox.is_known_by_answers(given)):
        return found
    return found | model_fingerprints(given)


def model_fingerprints(subject: Subject[Any]) -> dict[str, str]:
    """`model` is of all that the subject is known by. `weights`, its beginning, is all that older runs have."""
    return {"weights": subject.fingerprint[:16], "model": digest({"fingerprint": subject.fingerprint})}


def load_data(request: Request, given: Subject[Any] | None = None) -> Dataset:
    """For a given model the classes are its own, and rows are split as they were when it was trained."""
    labels = request.labels
    if labels is None and given is not None and not is_named(request.data):
        labels = known_labels(given)
    return load(
        request.data,
        request.columns,
        labels=None if labels is None else dict(labels),
        data_dir=request.data_dir,
        skip_bad_rows=request.skip_bad_rows,
        words=request.words,
        seed=request.seed if given is None else given.seed,
    )


def known_labels(given: Subject[Any]) -> dict[str, str]:
    """What a label column may say. Classes have numbers too, and files often hold those; where a number is the name of
    a class, as in 1 to 5 stars, numbers are names only."""
    names = {label: label for label in given.labels}
    numbers = {str(i): label for i, label in enumerate(given.labels)}
    return names if names.keys() & numbers.keys() else names | numbers


def train_step(request: Request, data: Dataset, store: Store, progress: Progress) -> Path:
    """The folder of the trained model: found again, or trained, from its last epoch if it was killed."""
    key = {
        "data": data.fingerprint(),
        "spec": asdict(request.spec),
        "recipe": asdict(request.recipe),
        "starts_from": request.starts_from(),
        "version": importlib.metadata.version("heatcheck"),
        "seed": request.seed,
        "device": request.device,
        "threads": request.threads,
    }

    def work(folder: Path) -> None:
        progress.task(f"train {request.spec.short_name}", request.recipe.epochs)
        resume = folder / RESUME
        settings: dict[str, Any] = {
            "seed": request.seed,
            "device": request.device,
            "resume": resume,
            "progress": lambda done, at_least: progress.advance(done, at_least=at_least),
        }
        subject: Subject[Any]
        if isinstance(request.spec, TransformerSpec):
            subject = finetune.fine_tune(data, request.spec, request.recipe, **settings)
            finetune.save(subject, folder)
        else:
            subject = train(data, request.spec, request.recipe, **settings)
            checkpoint.save(subject, folder)
        progress.advance(len(subject.history), len(subject.history))  # it may have ended early
        resume.unlink(missing_ok=True)

    return store.step("train", key, work)


def _describe(
    request: Request, data: Dataset, subject: Subject[Any], examples: Sequence[Example], model_folder: str
) -> dict[str, Any]:
    split = request.split if request.model is None or data.own_splits else None  # None: all rows were held out
    packages = ("heatcheck", "torch", "transformers", "captum", "numpy", "scipy", "scikit-learn", "pyarrow")
    return {
        "schema_version": SCHEMA_VERSION,
        "identity": digest(request.settings()),
        "heatcheck_version": importlib.metadata.version("heatcheck"),
        "status": "finished",
        "settings": request.settings(),
        "seeds": {"run": request.seed, "model": subject.seed},
        "packages": {"python": platform.python_version()} | {p: importlib.metadata.version(p) for p in packages},
        "fingerprints": {
            "data": data.fingerprint(),
            "texts": examples_fingerprint(examples),
            **model_fingerprints(subject),
        },
        "threads": request.threads,
        "model": {
            "name": subject.name,
            "folder": model_folder,
            "description": subject.spec.describe(),
            **asdict(subject.spec),
            "history": [asdict(e) for e in subject.history],
        },
        "dataset": {
            "name": data.name,
            "description": f"{len(examples):,} {'texts' if data.task == 'single' else 'pairs of texts'}",
            "task": data.task,
            "labels": list(subject.labels),
            "sizes": {split: len(texts) for split, texts in data.splits.items()} if split else {},
            "split": split,
        },
    }
