"""A model by name: a folder of ours, a Hugging Face folder, or a hub id."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from heatcheck.errors import InputError
from heatcheck.models import checkpoint, finetune
from heatcheck.models.pretrained import PACKAGED, TransformerSpec
from heatcheck.models.subject import Subject


def load_subject(spec: TransformerSpec, device: torch.device | str = "cpu") -> Subject[Any]:
    """`spec.source` decides which kind it is; the other fields are for Hugging Face models alone."""
    check_revision(spec)
    if is_transformer(spec.source):
        return finetune.load(spec, device)
    if given := [f.name for f in fields(spec) if f.name != "source" and getattr(spec, f.name) != f.default]:
        raise InputError(
            f"--{given[0].replace('_', '-')} is for transformers, and {spec.source} is none. Leave it out."
        )
    return checkpoint.load(Path(spec.source), device)


def trained_by(spec: object, folder: Path | str) -> TransformerSpec:
    """The folder that a training by `spec` wrote: code of the model's author that was allowed then is allowed still."""
    trusted = isinstance(spec, TransformerSpec) and spec.trust_remote_code
    return TransformerSpec(str(folder), trust_remote_code=trusted)


def check_revision(spec: TransformerSpec) -> None:
    """What is on disk is taken as it is: another revision would be recorded, and not be used."""
    if spec.revision is not None and (spec.source == PACKAGED or Path(spec.source).is_dir()):
        raise InputError(f"--revision is for models of the hub, and {spec.source} is on this disk. Leave it out.")


def is_transformer(source: str) -> bool:
    """Is it a Hugging Face model? Ours have a heatcheck.json that does not say otherwise."""
    folder = Path(source)
    description = folder / checkpoint.DESCRIPTION
    if description.is_file():
        try:
            content = json.loads(description.read_text(encoding="utf-8"))
        except ValueError:
            return False  # our loader says what is wrong with it
        return isinstance(content, dict) and content.get("kind") == "transformer"
    if folder.is_dir():
        return (folder / "config.json").exists()
    return source == PACKAGED or (not folder.exists() and _may_be_a_hub_id(source))


def _may_be_a_hub_id(source: str) -> bool:
    """`name` or `owner/name`: not a path that was meant to be there."""
    is_path = source.startswith((".", "~", os.sep)) or source.count("/") > 1 or source.endswith("/")
    beside_others = "/" in source and Path(source).parent.is_dir()
    return not is_path and not beside_others and Path(source).suffix not in checkpoint.PICKLES
