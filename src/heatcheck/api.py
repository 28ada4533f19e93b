"""The main job: run the battery on a model and its data, judge it, write the report.

In Python `heatcheck.audit(...)` and `heatcheck.run(...)` return a `Run`, which reads its tables from disk.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pandas as pd
import torch

from heatcheck import report, results, runner
from heatcheck.attributions import Attributions
from heatcheck.claim import OccupiedError, is_held
from heatcheck.data.sources import DEFAULT, Columns, is_named
from heatcheck.engine.store import digest
from heatcheck.errors import InputError
from heatcheck.machine import available_cores, choose_device
from heatcheck.models.blackbox import BlackBox, Predict
from heatcheck.models.fit import Recipe
from heatcheck.models.given import Model, subject_of
from heatcheck.models.loading import is_transformer
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.progress import Progress
from heatcheck.report.said import Said
from heatcheck.report.said import said as report_said
from heatcheck.request import Request
from heatcheck.settings import AUDITS, with_stability
from heatcheck.single import Target, Text, TextExplainer, explain_text, with_settings


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


def run_request(
    request: Request, out: Path | None, *, what: str = "run", command: str = "", progress: Progress | None = None
) -> Run:
    """Execute and write report.html. Without `out` it goes into the first folder in runs/ that it may take, named after
    `what`; into the next if another run turns out to have it."""
    folders = _default_folders(what, request) if out is None else iter([out])
    while True:
        folder = next(folders)
        try:
            runner.execute(request, folder, command=command, progress=progress)
        except OccupiedError:
            if out is not None:
                raise
            continue
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
    """Run the battery on `limit` held-out texts, and judge. Without a model, train one first: ours, or as `spec` says.
    Without a limit: 1000 texts of our models, 100 of others."""
    texts = default_limit(model, options.get("spec")) if limit is None else limit
    request = make_request(model, data, texts, seed, options)
    return run_request(request, None if out is None else Path(out), what="audit")


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
    return run_request(request, None if out is None else Path(out), what=experiment)


def make_request(
    model: str | Path | Predict | None, data: str | Path, limit: int | None, seed: int, options: Options
) -> Request:
    """A request with this machine's cores and device filled in. Without experiments it is an audit."""
    device = choose_device(options.get("device", "auto"))
    threads = options.get("threads", available_cores())
    given: Options = {**options, "device": device, "threads": threads}
    if "experiments" in options:
        given["experiments"], given["configs"] = with_stability(options["experiments"], options.get("configs", {}))
    else:
        given["configs"] = {**AUDITS, **options.get("configs", {})}
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


def check_audited(run: Path, model: Subject[Any]) -> None:
    """Refuses the audit of another model: what it says of methods holds for that model alone."""
    about = results.read_run(run)
    if not _is_audit_of(about, model):
        raise InputError(
            f"{run} is an audit of {_of_another(about.get('model', {}), model.name)}. Give --model the model that was "
            "audited, leave out --run, or audit this model and give that run."
        )


def audited_methods(run: Path, found: Attributions) -> Said:
    """What the audit in the folder `run` says of each method in `found`."""
    return report_said(run, [one.method for one in found])


def _is_audit_of(about: Mapping[str, Any], model: Subject[Any]) -> bool:
    """By weights, where a run has their fingerprint: many models share a name. A function's fingerprint holds what it
    answered to the run's texts, so that functions have only their names."""
    there = about.get("fingerprints", {}).get("model")
    if there is None or not model.fingerprint or isinstance(model.model, BlackBox):
        return bool(about.get("model", {}).get("name", "") == model.name)
    return bool(there == runner.model_fingerprints(model)["model"])


def _of_another(audited: Mapping[str, Any], name: str) -> str:
    """Many models share a name; of ours and of folders the run knows where they were."""
    where = f" ({audited['folder']})" if audited.get("folder") else ""
    if audited.get("name") == name:
        return f"another model called {name}{where or ' (its folder is not known)'}"
    return f"{audited.get('name', 'a model without a name')}{where}, not of {name}"


def default_limit(model: str | Path | Predict | None, spec: ModelSpec | TransformerSpec | None = None) -> int:
    """So that an audit takes minutes: explanations of a transformer take far longer than those of our models."""
    if model is None:
        return 100 if isinstance(spec, TransformerSpec) else 1000
    other = callable(model) or str(model).startswith("python:") or is_transformer(str(model))
    return 100 if other else 1000


def _default_folders(what: str, request: Request) -> Iterator[Path]:
    """In runs/, named after what is tested; with a number behind it where another run has that name."""
    model = Path(request.model).name if request.model else request.spec.short_name.split(" ")[0]
    data = request.data if is_named(request.data) else Path(request.data).stem
    data, model = (re.sub(r"[^\w.-]+", "-", part).strip("-") for part in (data, model))
    name = f"{what}-{data}-{model}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in itertools.count(1))
    return (folder for folder in folders if may_take(folder, request))


def may_take(folder: Path, request: Request) -> bool:
    """Is it free, of a run that was stopped, or of this very request? Which tests join those that were asked for
    depends on the model, which is not loaded yet: those that are there are taken."""
    if not folder.exists():
        return True
    try:
        there = results.read_run(folder)
    except InputError:
        return False
    tests = tuple(there.get("settings", {}).get("experiments", {}))
    same = set(request.experiments or ()) <= set(tests) and (
        digest(replace(request, experiments=tests).settings()) == there.get("identity")
    )
    return same or (there["status"] != "finished" and not is_held(folder))
