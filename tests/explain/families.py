"""A tiny model of each family, made once for all tests of a process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.subject import Subject
from tests.tiny import tiny_subject


@functools.cache
def family_subject(family: str) -> Subject[HuggingFaceClassifier]:
    with tempfile.TemporaryDirectory() as folder:
        return tiny_subject(Path(folder), family, ("a", "b", "c"))


def hooks(network: Any) -> list[Any]:
    """All that are registered in it."""
    return [h for m in network.modules() for h in (*m._forward_hooks.values(), *m._forward_pre_hooks.values())]
