"""The main job: run the battery on a model and its data, judge it, write the report.

In Python `heatcheck.audit(...)` and `heatcheck.run(...)` return a `Run`, which reads its tables from disk.
"""

from __future__ import annotations

import html
import importlib
import itertools
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pandas as pd
import torch

from heatcheck import report, results, runner
from heatcheck.attributions import Attributions
from heatcheck.data.dataset import TRAIN, Dataset
from heatcheck.data.sources import DEFAULT, Columns, is_named
from heatcheck.engine.store import Store, digest
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.repeatability import IN_AUDITS
from heatcheck.explain.method import split
from heatcheck.models import checkpoint, finetune
from heatcheck.models.blackbox import Predict
from heatcheck.models.fit import Recipe
from heatcheck.models.given import Model, subject_of
from heatcheck.models.loading import is_transformer, load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.models.training import check_trainable, fitted_spec
from heatcheck.progress import Progress, Silent
from heatcheck.report.said import said as report_said
from heatcheck.request import Request
from heatcheck.results import make_folder
from heatcheck.single import Target, Text, TextExplainer, explain_text, with_settings

AUDITS: Mapping[str, Any] = {"repeatability": IN_AUDITS}  # settings of experiments that are cheaper in an audit


class Run:
    """A finished run folder."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.description = results.read_run(self.folder)

    @property
    def verdict(self) -> dict[str, Any] | None:
        """Headline and findings; None if no test was run."""
        return self.description.get("verdict")

    @property
    def scores(self) -> pd.DataFrame:
        return self._frame("scores")

    @property
    def tokens(self) -> pd.DataFrame:
        return self._frame("tokens")

    @property
    def examples(self) -> pd.DataFrame:
        return self._frame("examples")

    def _frame(self, name: str) -> pd.DataFrame:
        frame: pd.DataFrame = results.read_table(self.folder, name).to_pandas()
        return frame

    def to_html(self, path: Path | str) -> Path:
        return report.write(self.folder, Path(path))

    def _repr_html_(self) -> str:
        page = html.escape(report.render(self.folder))
        return f'<iframe srcdoc="{page}" width="100%" height="700" sandbox="allow-scripts"></iframe>'

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}: {(self.verdict or {}).get('headline', 'no verdict')})"


def run_request(request: Request, out: Path, *, command: str = "", progress: Progress | None = None) -> Run:
    """Execute and write report.html."""
    folder = runner.execute(request, out, command=command, progress=progress)
    report.write(folder)
    return Run(folder)


class Options(TypedDict, total=False):
    """What `audit` and `run` take by name beside the obvious; see `Request`."""

    reading: TransformerSpec
    columns: Columns
    labels: Mapping[str, str]
    data_dir: Path
    skip_bad_rows: bool
    words: tuple[Path, ...]
    split: str
    spec: ModelSpec | TransformerSpec
    recipe: Recipe
    experiments: tuple[str, ...]
    configs: Mapping[str, Any]
    device: str
    threads: int


def audit(
    model: str | Path | Predict | None = None,
    data: str | Path = DEFAULT,
    *,
    out: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    **options: Unpack[Options],
) -> Run:
    """Run the battery on `limit` held-out texts, and judge. Without a model, train ours first. Without a limit: 1000
    texts of our models, 100 of others."""
    request = make_request(model, data, limit or default_limit(model), seed, options)
    return run_request(request, Path(out) if out is not None else default_folder("audit", request))


def run(
    experiment: str,
    model: str | Path | Predict | None = None,
    data: str | Path = DEFAULT,
    *,
    out: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    **options: Unpack[Options],
) -> Run:
    """Run one experiment; `configs={experiment: Config(...)}` changes its settings."""
    request = make_request(model, data, limit, seed, {**options, "experiments": (experiment,)})
    return run_request(request, Path(out) if out is not None else default_folder(experiment, request))


def train_model(
    request: Request, out: Path, *, progress: Progress | None = None
) -> tuple[Subject[Any], tuple[str, ...]]:
    """Train a model into the folder `out`; a killed training goes on from its last epoch, a finished one is found.
    Also what is to be said of its training."""
    progress = progress or Silent()
    torch.set_num_threads(request.threads)
    data = fewer_training_texts(runner.load_data(request), request.limit, request.seed)
    if out.is_file():
        raise InputError(f"{out}: is a file. Give a folder as --out.")
    if out.exists() and any(out.iterdir()):
        subject = _same_model(request, data, out)
        return subject, (*data.notes, *subject.notes)
    check_trainable(data)
    request.starts_from()
    make_folder(out.parent)
    folder = runner.train_step(request, data, Store(out.parent / f".{out.name}.training"), progress)
    os.replace(folder, out)
    shutil.rmtree(folder.parent, ignore_errors=True)
    subject = load_subject(TransformerSpec(str(out)))
    return subject, (*data.notes, *subject.notes)


def fewer_training_texts(data: Dataset, limit: int | None, seed: int) -> Dataset:
    """At most `limit` of them, drawn by the seed."""
    texts = data.splits.get(TRAIN, ())
    if limit is None or limit >= len(texts):
        return data
    chosen = [texts[i] for i in sorted(random.Random(seed).sample(range(len(texts)), limit))]
    note = f"{limit:,} of {len(texts):,} training texts were drawn at random (--limit, seed {seed})."
    return replace(data, splits={**data.splits, TRAIN: chosen}, notes=(*data.notes, note))


def _same_model(request: Request, data: Dataset, out: Path) -> Subject[Any]:
    """The model in `out`, if it is the one that was asked for."""
    if not any((out / name).exists() for name in (checkpoint.DESCRIPTION, "config.json")):
        raise InputError(f"{out}: exists and is not a model. Give another --out.")
    other = InputError(f"{out}: holds another model. Give another --out, or delete that folder.")
    if isinstance(request.spec, TransformerSpec) != is_transformer(str(out)):
        raise other
    if isinstance(request.spec, TransformerSpec):
        if not finetune.same_training(out, request.spec, request.recipe, request.seed, data):
            raise other
        return load_subject(TransformerSpec(str(out)))
    there = checkpoint.load(out)
    same_training = (there.recipe, there.seed, there.trained_on) == (request.recipe, request.seed, data.fingerprint())
    spec = there.spec
    if not (
        same_training
        and isinstance(spec, ModelSpec)
        and spec == fitted_spec(request.spec, data, spec.vocabulary_size, spec.embedding_width)
    ):
        raise other
    return there


def make_request(
    model: str | Path | Predict | None, data: str | Path, limit: int | None, seed: int, options: Options
) -> Request:
    """A request with this machine's cores and device filled in. Without experiments it is an audit."""
    device = choose_device(options.get("device", "auto"))
    threads = options.get("threads", available_cores())
    configs = options.get("configs", {})
    configs = configs if "experiments" in options else {**AUDITS, **configs}
    given: Options = {**options, "device": device, "threads": threads, "configs": configs}
    name = getattr(model, "__qualname__", "black box") if callable(model) else None if model is None else str(model)
    predict = model if callable(model) else None
    return Request(model=name, predict=predict, data=str(data), limit=limit, seed=seed, **given)


def explainer(
    name: str,
    /,
    model: Model,
    *,
    labels: Sequence[str] | None = None,
    reading: TransformerSpec | None = None,
    device: str = "auto",
    special_tokens: bool = False,
    seed: int = 0,
    **settings: Any,
) -> TextExplainer:
    """A method of `heatcheck list explainers`, by its name here or in Captum, with its settings; for any model.

    `explainer("integrated_gradients", model="folder", steps=50).attribute("a text", target="positive")`. `model`: a
    folder, hub id, function from texts to probabilities (`labels` name its classes), or loaded (model, tokenizer).
    """
    subject = subject_of(model, reading=reading, labels=labels, device=choose_device(device))
    return TextExplainer(with_settings(name, settings), subject, special_tokens, seed)


def explain(
    text: Text,
    model: Model,
    methods: Sequence[str] | None = None,
    target: Target = None,
    *,
    labels: Sequence[str] | None = None,
    reading: TransformerSpec | None = None,
    device: str = "auto",
    special_tokens: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[Attributions, list[str]]:
    """One text by several methods, by default those that an audit compares; and notes on what was left out."""
    if threads is not None:
        torch.set_num_threads(threads)
    subject = subject_of(model, reading=reading, labels=labels, device=choose_device(device))
    return explain_text(subject, text, methods, target, special_tokens=special_tokens, seed=seed)


def audited_methods(run: Path, found: Attributions) -> tuple[dict[str, str], list[str]]:
    """What the audit in the folder `run` says of each method in `found`; and a note if it is of another model."""
    name = results.read_run(run).get("model", {}).get("name", "")
    here = {one.model for one in found} - {name}
    notes = [f"{run} is an audit of {name}, not of {min(here)}."] if here else []
    return report_said(run, [one.method for one in found]), notes


def find_function(name: str) -> Predict:
    """The function that `python:module:function` names; modules of the current folder are found too."""
    _, _, target = name.partition(":")
    module, _, function = target.partition(":")
    if not module or not function:
        raise InputError(f"--model {name}: give it as python:module:function.")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except Exception as error:  # the user's own module may fail in any way
        raise InputError(
            f"--model {name}: {type(error).__name__}: {error}. Give it as python:module:function."
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(found):
        raise InputError(f"--model {name}: {function} is not a function.")
    predict: Predict = found
    return predict


def default_limit(model: str | Path | Predict | None) -> int:
    """So that an audit takes minutes: explanations of a transformer take far longer than those of our models."""
    if model is None:
        return 1000
    other = callable(model) or str(model).startswith("python:") or is_transformer(str(model))
    return 100 if other else 1000


def explaining_configs(
    methods: str | None,
    *,
    special_tokens: bool = False,
    rationales: Path | None = None,
    kind: str = "eraser",
    audit: bool = False,
) -> dict[str, Any]:
    """The settings of every experiment that compares explanations, with these changes; those of an audit, if asked."""
    changes: dict[str, Any] = {"special_tokens": special_tokens}
    if rationales is not None:
        changes |= {"rationales": str(rationales), "format": kind}
    if methods is not None:
        changes["methods"] = split(methods)
        if not changes["methods"]:
            raise InputError("--methods names none. Leave it out, or name some of `heatcheck list explainers`.")
    found = {}
    for name, experiment in EXPERIMENTS.items():
        known = {f.name for f in fields(experiment.config)}
        here = {key: value for key, value in changes.items() if key in known and value not in (None, False)}
        if here:
            usual = AUDITS.get(name) if audit else None
            found[name] = replace(usual or experiment.config(), **here)
    return found


FLAGS: dict[str, tuple[str, Callable[[Any], Any]]] = {  # of tests that train: the setting's name, and how it is read
    "seeds": ("seeds", lambda text: numbers(text, int, "--seeds")),
    "bases": ("bases", lambda text: numbers(text, int, "--bases")),
    "lambdas": ("lambdas", lambda text: numbers(text, float, "--lambdas")),
    "guides": ("guides", split),
    "margin": ("margin", float),
    "apart": ("apart", int),
    "adversary-epochs": ("epochs", int),
    "stop-at": ("stop_at", float),
    "select-on": ("selected_on", str),
}


def trained_configs(experiments: Sequence[str], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of tests that train, from the flags that were given; each has to be for one of them at least."""
    given = {flag: value for flag, value in flags.items() if value is not None}
    known = [name for name in experiments if name in EXPERIMENTS]
    found = {name: _heard(name, given) for name in known if given}
    for flag in given:
        if known and not any(flag in heard for heard, _ in found.values()):
            raise InputError(f"--{flag} is not for {' or '.join(known)}. Leave it out.")
    return {name: config for name, (heard, config) in found.items() if heard}


def _heard(experiment: str, given: Mapping[str, Any]) -> tuple[set[str], Any]:
    """Which flags are for this test, and its settings with them. guided_mlp passes on those of its adversary."""
    config = EXPERIMENTS[experiment].config()
    inner = getattr(config, "adversary", None)
    own, passed, heard = {}, {}, set()
    for flag, value in given.items():
        name, read = FLAGS[flag]
        if EXPERIMENTS[experiment].models is not None and hasattr(config, name):
            own[name] = read(value)
        elif hasattr(inner, name):
            passed[name] = read(value)
        else:
            continue
        heard.add(flag)
    if inner is not None and passed:
        own["adversary"] = replace(inner, **passed)
    return heard, replace(config, **own)


def numbers(text: str, kind: type[int] | type[float], flag: str) -> tuple[Any, ...]:
    """
    >>> numbers("0, 1e-3", float, "--lambdas")
    (0.0, 0.001)
    """
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{flag} {text!r}: not {what} with commas between them.") from error


def default_folder(what: str, request: Request) -> Path:
    """In runs/, named after what is tested; with a number behind it where another run has that name."""
    model = Path(request.model).name if request.model else request.spec.short_name.split(" ")[0]
    data = request.data if is_named(request.data) else Path(request.data).stem
    plain = re.sub(r"[^\w.-]+", "-", data).strip("-")
    name = f"{what}-{plain}-{model}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in itertools.count(1))
    return next(folder for folder in folders if may_take(folder, request))


def may_take(folder: Path, request: Request) -> bool:
    """Is it free, unfinished, or of this very request? Which tests join those that were asked for depends on the model,
    which is not loaded yet: those that are there are taken."""
    if not folder.exists():
        return True
    try:
        there = results.read_run(folder)
    except InputError:
        return False
    tests = tuple(there.get("settings", {}).get("experiments", {}))
    same = digest(replace(request, experiments=tests).settings()) == there.get("identity")
    return there["status"] != "finished" or (same and set(request.experiments or ()) <= set(tests))


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device(name: str) -> str:
    """`auto` takes a GPU if there is one; a device that is not there is an error, not a fallback."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if there[device])
    if name not in there:
        raise InputError(f"device {name!r} is not one of auto, {', '.join(there)}.")
    if not there[name]:
        raise InputError(f"This machine has no {name} device. Use --device auto or cpu.")
    return name
