"""A trained model on disk: weights as safetensors, the rest as JSON. Loading runs no code from the file."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from heatcheck.data.vocabulary import Vocabulary
from heatcheck.data.words import WordRules
from heatcheck.errors import InputError
from heatcheck.models.attentive import AttentionModel
from heatcheck.models.fit import Epoch, Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.results import write_json

FORMAT = 1
FIELDS = {
    "name",
    "spec",
    "recipe",
    "labels",
    "seed",
    "trained_on",
    "seen",
    "history",
    "notes",
    "weights_sha256",
    "vocabulary",
}
WEIGHTS, DESCRIPTION = "model.safetensors", "heatcheck.json"
VOCABULARY = "vocabulary"  # beside the weights: fingerprint of the words and rules by which texts are read
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")


def save(subject: Subject[AttentionModel], folder: Path) -> None:
    """Write the two files; the description comes last, so a folder with it is whole."""
    vocabulary = subject.reader
    if not (isinstance(vocabulary, Vocabulary) and isinstance(subject.spec, ModelSpec) and subject.recipe is not None):
        raise TypeError(f"{subject.name} is not one of our own trained models.")
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in subject.model.state_dict().items()}
    read_by = {"words": vocabulary.words, "rules": asdict(vocabulary.rules), "max_length": vocabulary.max_length}
    save_file(weights, folder / WEIGHTS, {VOCABULARY: _digest(read_by)})
    write_json(
        folder / DESCRIPTION,
        {
            "format": FORMAT,
            "name": subject.name,
            "spec": asdict(subject.spec),
            "recipe": asdict(subject.recipe),
            "labels": subject.labels,
            "seed": subject.seed,
            "trained_on": subject.trained_on,
            "seen": sorted(subject.seen),
            "history": [asdict(e) for e in subject.history],
            "notes": subject.notes,
            "weights_sha256": fingerprint(folder / WEIGHTS),
            "vocabulary": read_by,
        },
    )
    shutil.copymode(folder / DESCRIPTION, folder / WEIGHTS)  # which safetensors writes for its owner alone


def load(path: Path, device: torch.device | str = "cpu") -> Subject[AttentionModel]:
    """The subject that `save` wrote, with identical outputs."""
    check_files(path)
    content = _description(path / DESCRIPTION)
    found = fingerprint(path / WEIGHTS)
    if found != content["weights_sha256"]:
        raise InputError(
            f"{path / WEIGHTS}: truncated or changed since it was written (sha256 {found[:12]}…, "
            f"expected {content['weights_sha256'][:12]}…). Copy the folder again or train anew."
        )
    try:
        _check_vocabulary(content, path / WEIGHTS)
        return _subject(content, load_file(path / WEIGHTS), f"{found}-{fingerprint(path / DESCRIPTION)}", device)
    except (SafetensorError, RuntimeError) as error:
        raise InputError(
            f"{path / WEIGHTS}: does not fit the model that {DESCRIPTION} describes. Train anew."
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InputError(
            f"{path / DESCRIPTION}: {what}. Changed, or written by another heatcheck; train anew."
        ) from error


def _check_vocabulary(content: dict[str, Any], weights: Path) -> None:
    """A word's place in the list is its row in the weights, which therefore know the list. (Older ones do not.)"""
    words, size = len(content["vocabulary"]["words"]), content["spec"]["vocabulary_size"]
    if words != size:
        raise ValueError(f"{words:,} words for a model of {size:,}")
    with safe_open(weights, "pt") as file:
        known = (file.metadata() or {}).get(VOCABULARY)
    if known is not None and known != _digest(content["vocabulary"]):
        raise ValueError("its words are not those that the weights were trained with")


def _digest(vocabulary: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(vocabulary, sort_keys=True).encode()).hexdigest()


def _subject(
    content: dict[str, Any], weights: dict[str, Tensor], digest: str, device: torch.device | str
) -> Subject[AttentionModel]:
    spec, words = ModelSpec(**content["spec"]), content["vocabulary"]
    model = spec.build(content["seed"])
    model.load_state_dict(weights)
    return Subject(
        name=content["name"],
        model=model.to(device).eval(),
        reader=Vocabulary(tuple(words["words"]), WordRules(**words["rules"]), spec.n_labels, words["max_length"]),
        labels=tuple(content["labels"]),
        seed=content["seed"],
        spec=spec,
        recipe=Recipe(**content["recipe"]),
        fingerprint=digest,
        device=device,
        trained_on=content["trained_on"],
        seen=frozenset(content["seen"]),
        history=tuple(Epoch(**e) for e in content["history"]),
        notes=tuple(content["notes"]),
    )


def fingerprint(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_files(path: Path) -> None:
    if path.suffix in PICKLES:
        raise InputError(
            f"{path}: pickled weights can run code when loaded and are refused. Convert them to safetensors."
        )
    if not path.is_dir():
        raise InputError(
            f"{path}: no such folder. Give one that `heatcheck train` wrote, a Hugging Face model's, or a hub id."
        )
    missing = [name for name in (DESCRIPTION, WEIGHTS) if not (path / name).exists()]
    pickles = sorted(p.name for p in path.iterdir() if p.suffix in PICKLES)
    if missing and pickles:
        raise InputError(
            f"{path}: holds {pickles[0]}, a pickle, which can run code when loaded and is refused. "
            "Convert it to safetensors."
        )
    if DESCRIPTION in missing:
        raise InputError(
            f"{path}: holds neither {DESCRIPTION} nor config.json. Give a folder that `heatcheck train` wrote, or a "
            "Hugging Face model folder."
        )
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing. Copy the folder again or train with `heatcheck train`.")


def _description(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: truncated or not JSON ({error}). Copy the folder again or train anew.") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise InputError(f"{file}: format {found}, this heatcheck reads {FORMAT}. Train anew.")
    missing = FIELDS - content.keys()
    if missing:
        raise InputError(f"{file}: {min(missing)!r} is missing. Copy the folder again or train anew.")
    return content
