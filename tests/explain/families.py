"""A tiny model of each family, made once for all tests of a process; and one of ours that attends to two texts."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.batch import Batch, Example
from heatcheck.models.compared import ComparedTexts
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from tests.tiny import tiny_subject
from tests.toys import random_examples, vocabulary_of


@functools.cache
def family_subject(family: str) -> Subject[HuggingFaceClassifier]:
    with tempfile.TemporaryDirectory() as folder:
        return tiny_subject(Path(folder), family, ("a", "b", "c"))


def hooks(network: Any) -> list[Any]:
    """All that are registered in it."""
    return [h for m in network.modules() for h in (*m._forward_hooks.values(), *m._forward_pre_hooks.values())]


def two_texts_compared(examples: Sequence[Example], weighting: str = "softmax") -> tuple[ComparedTexts, Batch]:
    """In double precision, untrained."""
    vocabulary = vocabulary_of(examples, 3)
    sizes = {"embedding_width": 12, "hidden": 8}
    spec = ModelSpec(
        "bilstm", "additive", "pair", 3, len(vocabulary), **sizes, pairing="comparison", weighting=weighting
    )
    model = spec.build(0)
    assert isinstance(model, ComparedTexts)
    return model.double().eval(), vocabulary.batch(examples)


def texts_and_pairs() -> tuple[list[Example], Example]:
    """Two of each, and a longer pair."""
    singles, pairs = (random_examples(2, task, labels=3, longest=8) for task in ("single", "pair"))
    (longer,) = random_examples(1, "pair", labels=3, longest=25, seed=5)
    return [*singles, *(replace(e, id=f"pair {e.id}") for e in pairs)], replace(longer, id="longer")
