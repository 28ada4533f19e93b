"""A model trained into a folder of its own: what `heatcheck train` does."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from heatcheck import runner
from heatcheck.data.dataset import TRAIN, Dataset
from heatcheck.engine.store import Store
from heatcheck.errors import InputError
from heatcheck.models import checkpoint, finetune
from heatcheck.models.fit import RESUME
from heatcheck.models.loading import is_transformer, load_subject, trained_by
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.models.training import UnfinishedError, check_trainable, fitted_spec
from heatcheck.progress import Progress, Silent
from heatcheck.request import Request
from heatcheck.results import make_folder


def train_model(
    request: Request, out: Path, *, progress: Progress | None = None
) -> tuple[Subject[Any], tuple[str, ...]]:
    """Train a model into the folder `out`; a killed training goes on from its last epoch, a finished one is found.
    Also what is to be said of its training."""
    progress = progress or Silent()
    torch.set_num_threads(request.threads)
    data = fewer_training_texts(runner.load_data(request), request.limit, request.seed)
    if data.task == "single" and isinstance(request.spec, ModelSpec) and request.spec.pairing != ModelSpec.pairing:
        raise InputError(
            f"--pairing {request.spec.pairing} is for two texts, and {data.name} has single ones. Leave it out."
        )
    if out.is_file():
        raise InputError(f"{out}: is a file. Give a folder as --out.")
    if out.exists() and any(out.iterdir()):
        subject = _same_model(request, data, out)
        return subject, (*data.notes, *subject.notes)
    check_trainable(data)
    request.starts_from()
    make_folder(out.parent)
    working = out.parent / f".{out.name}.training"
    try:
        folder = runner.train_step(request, data, Store(working), progress)
    except InputError as error:
        if not any(working.rglob(RESUME)):  # refused before an epoch was over: nothing to go on from
            shutil.rmtree(working, ignore_errors=True)
        if isinstance(error, UnfinishedError) and error.subject.history:
            raise _kept(error, out) from error
        raise
    os.replace(folder, out)
    shutil.rmtree(working, ignore_errors=True)
    subject = load_subject(trained_by(request.spec, out))
    return subject, (*data.notes, *subject.notes)


def _kept(error: UnfinishedError, out: Path) -> InputError:
    """What a training that diverged had learned before, as a model beside the one that it was to be."""
    epochs = len(error.subject.history)
    folder = out.with_name(f"{out.name}-before-epoch-{epochs + 1}")
    (checkpoint if isinstance(error.subject.spec, ModelSpec) else finetune).save(error.subject, folder)
    best = "That epoch" if epochs == 1 else f"The best of these {epochs} epochs"
    return InputError(f"{error} {best} is a model in {folder}.")


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
        return load_subject(trained_by(request.spec, out))
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
