"""A model as the user holds it: a name, a function, a loaded Hugging Face model with its tokenizer, or a subject."""

from __future__ import annotations

import contextlib
import copy
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heatcheck.errors import InputError
from heatcheck.models import blackbox, pretrained
from heatcheck.models.blackbox import Predict
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.subject import Subject

# A folder, hub id, function from texts to probabilities, loaded (model, tokenizer), or a subject.
Model = str | Path | Predict | tuple[Any, Any] | Subject[Any]


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Without dropout, and with a pad id; afterwards the model is as it was, every module in its mode."""
    modes = {module: module.training for module in model.modules()} if isinstance(model, nn.Module) else {}
    for module in modes:
        module.training = False
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def subject_of(
    model: Model,
    *,
    reading: TransformerSpec | None = None,
    labels: Sequence[str] | None = None,
    device: torch.device | str = "cpu",
    pair: bool = False,
) -> Subject[Any]:
    """`labels` name the classes of a function, which cannot say them itself; without them it is asked for a text, or
    for a `pair` of texts. A loaded model stays on its device."""
    reading = reading or TransformerSpec("")
    match model:
        case Subject():
            return model
        case str() | Path():
            return load_subject(replace(reading, source=str(model)), device)
        case (network, tokenizer):
            return _of_loaded(network, tokenizer, reading)
        case _ if callable(model) and not isinstance(model, nn.Module):
            return blackbox.as_subject(model, labels or _count_classes(model, pair))
    raise InputError(
        f"A {type(model).__name__} is not a model that can be explained. Give a folder, a hub id, a function from "
        "texts to probabilities, or a loaded (model, tokenizer)."
    )


def _of_loaded(network: Any, tokenizer: Any, reading: TransformerSpec) -> Subject[Any]:
    """A Hugging Face model as its owner holds it; it comes back as it was."""
    if not isinstance(network, nn.Module):
        raise InputError(f"(model, tokenizer): the first is a {type(network).__name__}, not a loaded model.")
    config: Any = copy.copy(network.config)
    config.architectures = [type(network).__name__]
    name = getattr(network, "name_or_path", "") or type(network).__name__
    pretrained.check_head(name, config)
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"{name}: its tokenizer ({type(tokenizer).__name__}) does not say which characters a token stands for. "
            "Load a fast one."
        )
    with evaluating(network):
        return pretrained.as_subject(
            network, tokenizer, replace(reading, source=name), device=next(network.parameters()).device
        )


def _count_classes(function: Predict, pair: bool) -> tuple[str, ...]:
    """By asking for one text."""
    text: Any = ("a text", "a text") if pair else "a text"
    try:
        answer = np.asarray(function([text]))
    except Exception as error:
        raise InputError(
            f"{blackbox.name_of(function)}: its classes are not known, and asked for the probabilities of one text it "
            f"fails ({type(error).__name__}: {error}). Make it answer, or name its classes with --labels."
        ) from error
    if answer.ndim != 2 or answer.shape[1] < 2:
        raise InputError(
            f"{blackbox.name_of(function)} gives numbers of shape {answer.shape} for one text. "
            "Give a row with the probability of each class."
        )
    return tuple(f"class {i}" for i in range(answer.shape[1]))


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
        advice = f"Run heatcheck where {module} can be imported, and name a function that is in it."
        raise InputError(f"--model {name}: {type(error).__name__}: {error}. {advice}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(found):
        raise InputError(f"--model {name}: {function} is not a function.")
    predict: Predict = found
    return predict
