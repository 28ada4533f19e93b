"""From a request to a run folder: train or load the model, explain, run the experiments, write the tables.

Every piece of work is a step of the folder's store (see work.py). Killing the process loses the step it was in;
repeating the same request continues.
"""

from __future__ import annotations

import importlib.metadata
import platform
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

from heatcheck import results
from heatcheck.batch import PAIR, TEXT, Example
from heatcheck.data.dataset import TEST, Dataset, examples_fingerprint, text_fingerprint
from heatcheck.data.reading import Column
from heatcheck.data.sources import DEFAULT, Columns, is_named, load
from heatcheck.data.vectors import vectors_fingerprint
from heatcheck.engine.crew import Crew
from heatcheck.engine.store import Store, digest
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.erasing.winner import winner_by_operator
from heatcheck.experiments.explained import read_notes
from heatcheck.experiments.trained.jobs import recipe_of, twin
from heatcheck.explain import method
from heatcheck.models import blackbox, checkpoint, finetune
from heatcheck.models.blackbox import Predict
from heatcheck.models.fit import Recipe
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec, resolve, source_fingerprint
from heatcheck.models.protocols import AttentiveClassifier, Classifier
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.models.training import check_trainable, train
from heatcheck.models.uniform import check_replaceable
from heatcheck.progress import Progress, Silent
from heatcheck.results import SCHEMA_VERSION, Origin
from heatcheck.tables import EXPLAIN, aggregates, write_tables
from heatcheck.verdict import verdict
from heatcheck.work import Work, check_served, methods_of, with_methods

BATTERY = ("correlation", "permutation", "adversarial_attention")
TRANSFORMER_BATTERY = ("agreement", "erasure", "repeatability")
BLACK_BOX_BATTERY = ("agreement", "erasure", "repeatability")


@dataclass(frozen=True)
class Request:
    """Everything a run depends on. Without a `model` one is trained by `spec` and `recipe`; without `experiments` those
    run that this kind of model can serve."""

    model: str | None = None
    predict: Predict | None = None  # a black box: texts to probabilities; `model` is then its name
    reading: TransformerSpec = field(default_factory=lambda: TransformerSpec(""))  # how to take a Hugging Face model
    data: str = DEFAULT
    columns: Columns = field(default_factory=Columns)
    labels: Mapping[str, str] | None = None
    data_dir: Path | None = None
    skip_bad_rows: bool = False
    words: tuple[Path, ...] = ()  # lists that mock data is made of
    split: str = TEST
    limit: int | None = None
    spec: ModelSpec | TransformerSpec = field(default_factory=ModelSpec)
    recipe: Recipe = field(default_factory=Recipe)
    experiments: tuple[str, ...] | None = None
    configs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed {self.seed} is not between 0 and 2³² − 1.")

    def config(self, experiment: str) -> Any:
        return self.configs.get(experiment) or EXPERIMENTS[experiment].config()

    def all_configs(self) -> dict[str, Any]:
        return {name: self.config(name) for name in ("performance", *(self.experiments or ()))}

    def settings(self) -> dict[str, Any]:
        """As plain JSON: what run.json records and what tells one run from another."""
        chosen = {name: asdict(config) for name, config in self.all_configs().items()}
        plain = {name: getattr(self, name) for name in ("data", "skip_bad_rows", "split", "limit", "seed", "device")}
        return {
            **plain,
            "model": self.model,
            "reading": asdict(self.reading),
            "data_dir": None if self.data_dir is None else str(self.data_dir),
            "columns": asdict(self.columns),
            "labels": None if self.labels is None else dict(self.labels),
            "spec": asdict(self.spec),
            "recipe": asdict(self.recipe),
            "experiments": chosen,
            **({"words": [str(path) for path in self.words]} if self.words else {}),
        }


def execute(request: Request, out: Path, *, command: str = "", progress: Progress | None = None) -> Path:
    """Do all of `request`, into the folder `out`; what is there already is reused."""
    progress = progress or Silent()
    check_experiments(request.experiments or ())
    began = time.monotonic()
    torch.set_num_threads(request.threads)
    given, data = load_model_and_data(request)
    request = replace(request, experiments=with_company(request, data, given))
    check_fit(request, data, given)
    claim(out, request, command)  # nothing is written before this: wrong input leaves nothing behind
    store = Store(out / "steps")
    model_folder = request.model or str(train_step(request, data, store, progress))
    subject = given or load_subject(TransformerSpec(model_folder), request.device)
    examples, notes = texts_under_test(request, data, subject)
    configs, left_out = with_methods(request.all_configs(), subject)
    notes += left_out
    for name, config in configs.items():
        EXPERIMENTS[name].check_texts(config, examples)
    origin = Origin(request.data, subject.name, request.seed)
    crew = crew_for(request, data, subject, model_folder, store.root)
    work = Work(subject, examples, configs, origin, request.device, request.threads, store, progress, crew)
    durations = {"model": time.monotonic() - began}
    shards: dict[str, list[Path]] = {}
    for name, folders in work.run():
        shards[name] = folders
        durations[name] = time.monotonic() - began - sum(durations.values())
    notes += read_notes({name.removeprefix(EXPLAIN): folders for name, folders in shards.items() if EXPLAIN in name})
    progress.task("tables", 1)
    with FileLock(store.root / ".tables.lock"):  # two processes may do the same run
        write_tables(out, shards, subject.labels, origin, configs)
        description = _describe(request, data, subject, examples, model_folder)
        over_all = aggregates(out)
        notes += [sentence] if (sentence := winner_by_operator(over_all)) else []
        extra = {"command": command, "notes": notes, "durations": {k: round(v, 2) for k, v in durations.items()}}
        results.write_json(out / "run.json", {**description, **extra, "verdict": verdict(over_all)})
    progress.advance(1)
    return out


def load_model_and_data(request: Request) -> tuple[Subject[Any] | None, Dataset]:
    """A black box takes its classes from the data; other models have their own."""
    if request.predict is not None:
        data = load_data(request)
        given = blackbox.as_subject(request.predict, data.labels, request.model or "black box")
        return blackbox.tried(given, data.splits[request.split][:8]), data
    if request.model is None:
        return None, load_data(request)
    given = load_subject(replace(request.reading, source=request.model), request.device)
    return given, load_data(request, given)


def battery(given: Subject[Any] | None) -> tuple[str, ...]:
    """The tests for this kind of model; None is one of ours, to be trained."""
    if given is None or isinstance(given.model, AttentiveClassifier):
        return BATTERY
    return TRANSFORMER_BATTERY if isinstance(given.model, Classifier) else BLACK_BOX_BATTERY


def heads_of(request: Request, data: Dataset, given: Subject[Any] | None) -> int:
    """How many distributions over words the model has; two compared texts are two."""
    if given is not None:
        return int(getattr(given.model, "heads", 1))
    if not isinstance(request.spec, ModelSpec):
        return 1
    return 2 if data.task != "single" and request.spec.pairing == "comparison" else request.spec.heads


def with_company(request: Request, data: Dataset, given: Subject[Any] | None) -> tuple[str, ...]:
    """The tests that were asked for, or the battery, and those whose numbers belong into the same picture; what was not
    asked for by name only where the model can serve it."""
    many = heads_of(request, data, given) > 1

    def served(name: str) -> bool:
        if many and EXPERIMENTS[name].one_head:
            return False
        needs = EXPERIMENTS[name].needs
        if given is not None:
            return isinstance(given.model, needs)
        return isinstance(request.spec, ModelSpec) or needs is not AttentiveClassifier

    asked = request.experiments or tuple(name for name in battery(given) if served(name))
    company = [(*(other for other in EXPERIMENTS[name].beside if served(other)), name) for name in asked]
    return tuple(dict.fromkeys(name for names in company for name in names))


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
    base = replace(request.reading, source=folder)
    return Crew(base, subject.fingerprint, starts, data, root, request.device)


def check_experiments(names: Sequence[str]) -> None:
    for name in names:
        if name not in EXPERIMENTS:
            raise InputError(f"There is no experiment {name!r}. There are: {', '.join(EXPERIMENTS)}.")


def claim(out: Path, request: Request, command: str) -> None:
    """Make `out` ours, or refuse if it holds another run. An unfinished one gives way: its steps keep their keys."""
    identity = digest(request.settings())
    if (out / "run.json").exists():
        other = results.read_run(out)
        if other.get("identity") != identity and other["status"] == "finished":
            raise InputError(
                f"{out}: holds another run ({other.get('command') or 'made in Python'}). "
                "Give another --out, or delete that folder."
            )
    elif out.exists() and (not out.is_dir() or any(not p.name.startswith(".run.json.") for p in out.iterdir())):
        raise InputError(f"{out}: exists and is not a heatcheck run. Give another --out.")
    running = {"schema_version": SCHEMA_VERSION, "identity": identity, "command": command, "status": "running"}
    results.write_json(out / "run.json", running)


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
    """What a label column may say. A transformer's classes have numbers too, and files often hold those."""
    names = {label: label for label in given.labels}
    if given.spec.task == "any":
        names |= {str(i): label for i, label in enumerate(given.labels) if str(i) not in names}
    return names


def starting_point(request: Request) -> str:
    """Fingerprint of what training starts from: word vectors, or pretrained weights."""
    if isinstance(request.spec, TransformerSpec):
        return source_fingerprint(resolve(request.spec.source))
    return vectors_fingerprint(request.recipe.vectors)


def train_step(request: Request, data: Dataset, store: Store, progress: Progress) -> Path:
    """The folder of the trained model: found again, or trained, from its last epoch if it was killed."""
    key = {
        "data": data.fingerprint(),
        "spec": asdict(request.spec),
        "recipe": asdict(request.recipe),
        "starts_from": starting_point(request),
        "version": importlib.metadata.version("heatcheck"),
        "seed": request.seed,
        "device": request.device,
        "threads": request.threads,
    }

    def work(folder: Path) -> None:
        progress.task(f"train {request.spec.short_name}", request.recipe.epochs)
        resume = folder / "resume.safetensors"
        settings: dict[str, Any] = {
            "seed": request.seed,
            "device": request.device,
            "resume": resume,
            "progress": lambda epoch, part: progress.advance(epoch + part),
        }
        if isinstance(request.spec, TransformerSpec):
            finetune.save(finetune.fine_tune(data, request.spec, request.recipe, **settings), folder)
        else:
            checkpoint.save(train(data, request.spec, request.recipe, **settings), folder)
        resume.unlink(missing_ok=True)

    return store.step("train", key, work)


def texts_under_test(request: Request, data: Dataset, subject: Subject[Any]) -> tuple[Sequence[Example], list[str]]:
    """The asked split, or a random `limit` of it in its own order, with labels as the model numbers them; and notes.

    Of data without splits of its own, all texts are held out from a given model but those it was trained on.
    """
    examples = data.splits[request.split]
    notes = [*data.notes, *subject.notes]
    guessed = request.columns.pair is None and not is_named(request.data)
    if data.task == "pair" and subject.spec.task == "any" and guessed:
        notes.append(
            "Each row has two texts, which the model reads as one pair. If it was trained on single texts, leave the "
            "second column out with --pair none."
        )
    if request.model is not None:
        everything = [e for split in data.splits.values() for e in split]
        pool = examples if data.own_splits else everything
        fresh = [e for e in pool if text_fingerprint(e) not in subject.seen]
        known = len(pool) - len(fresh)
        if data.own_splits:
            notes += [f"The model was trained on {known:,} of these texts."] if known else []
        else:
            examples = fresh
            left_out = f", {known:,} are not: the model was trained on them" if known else ""
            notes = [n for n in notes if not n.startswith("Split by us")]
            notes.append(f"{len(fresh):,} of {len(pool):,} rows can be tested{left_out}.")
    if not examples:
        raise InputError(f"{data.name}: the model was trained on every text in it. Give other texts.")
    if request.limit is not None and request.limit < len(examples):
        chosen = sorted(random.Random(request.seed).sample(range(len(examples)), request.limit))
        notes.append(
            f"{request.limit:,} of {len(examples):,} texts were drawn at random (--limit, seed {request.seed})."
        )
        examples = [examples[i] for i in chosen]
    examples = readable(request, data, subject, examples, notes)
    cut = sum(subject.reader.row(e).cut for e in examples)
    if cut:
        whole = " --windows reads them whole." if subject.spec.task == "any" else ""
        notes.append(
            f"{cut:,} of {len(examples):,} texts have more words, or a longer one, than the model takes: cut.{whole}"
        )
    return with_model_labels(examples, data, subject), notes


def readable(
    request: Request, data: Dataset, subject: Subject[Any], examples: Sequence[Example], notes: list[str]
) -> Sequence[Example]:
    """Without the texts of which the model's tokenizer leaves nothing, if bad rows may be skipped."""
    blank = [e for e in examples if not _has_words(subject, e)] if subject.spec.task == "any" else []
    if not blank:
        return examples
    first = ", ".join(repr(e.id) for e in blank[:3])
    found = f"{len(blank):,} of {len(examples):,} texts have no word that the model's tokenizer knows (first: {first})"
    if not request.skip_bad_rows or len(blank) == len(examples):
        raise InputError(f"{data.name}: {found}. Remove them, or leave them out with --skip-bad-rows.")
    notes.append(f"{found}: left out.")
    gone = {e.id for e in blank}
    return [e for e in examples if e.id not in gone]


def _has_words(subject: Subject[Any], example: Example) -> bool:
    columns = subject.reader.row(example).columns
    words = columns[Column.SPECIAL] == 0
    texts = (TEXT,) if example.pair is None else (TEXT, PAIR)
    return all(bool((words & (columns[Column.SEGMENT] == segment)).any()) for segment in texts)


def check_fit(request: Request, data: Dataset, given: Subject[Any] | None) -> None:
    """Can this data be tested, with the model that was given or after training one?"""
    for name, config in request.all_configs().items():
        EXPERIMENTS[name].check(config, data.task, len((given or data).labels))
    if given is None:
        check_trainable(data)
        starting_point(request)
        for name in methods_of(request.all_configs()):
            method(name)  # a misspelt one is found before the training
    else:
        check_served(given, with_methods(request.all_configs(), given)[0])
        check_same_training(request, data, given)
    if not data.splits.get(request.split):
        sizes = ", ".join(f"{len(texts):,} {split}" for split, texts in data.splits.items())
        raise InputError(f"{data.name}: there are no {request.split} texts. There are: {sizes}.")
    if given is None:
        return
    task = "single" if data.task == "single" else "pair"
    if given.spec.task not in (task, "any"):
        kinds = {"single": "a single text", "pair": "pairs of texts"}
        raise InputError(f"{data.name} has {kinds[task]}, but {given.name} takes {kinds[given.spec.task]}.")
    unknown = [label for label in data.labels if label not in given.labels]
    if unknown:
        raise InputError(
            f"{data.name} has the label {unknown[0]!r}, which the model does not know: it was trained on "
            f"{', '.join(given.labels)}. Rename the labels with --labels."
        )


def check_same_training(request: Request, data: Dataset, given: Subject[Any]) -> None:
    """Tests that train twins of a model need its own training texts."""
    training = [name for name in request.experiments or () if EXPERIMENTS[name].models]
    if not training:
        return
    twin(given)  # says what is missing if the model cannot be trained again
    if "uniform_attention" in training and isinstance(given.model, HuggingFaceClassifier):
        check_replaceable(given.model.network)
    if given.trained_on != data.fingerprint():
        raise InputError(
            f"{training[0]} trains twins of {given.name}, which was trained on other texts than {data.name} has (or "
            "other splits of them). Give the data that it was trained on, read in the same way."
        )


def with_model_labels(examples: Sequence[Example], data: Dataset, subject: Subject[Any]) -> Sequence[Example]:
    if data.labels == subject.labels:
        return examples
    index = {i: subject.labels.index(label) for i, label in enumerate(data.labels)}

    def renumbered(e: Example) -> Example:
        candidates = None if e.candidates is None else tuple(sorted(index[c] for c in e.candidates))
        return replace(e, label=index[e.label], candidates=candidates)

    return [renumbered(e) for e in examples]


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
            "weights": subject.fingerprint[:16],
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
