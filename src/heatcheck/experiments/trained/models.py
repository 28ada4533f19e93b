"""The trained models that a test compares with the model under test, and what it says of them text by text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.trained.outputs import Outputs
from heatcheck.measure.distributions import jsd, nearest_constant, tvd
from heatcheck.measure.heads import head_distances, matching
from heatcheck.models.heads import attended
from heatcheck.models.loading import load_subject, trained_by
from heatcheck.models.subject import EVALUATION_BATCH, Subject
from heatcheck.results import Score, write_json

REACHED = "reached.json"
PREDICTED = "predicted_class"  # a text's class by number: what F1 is computed from


@dataclass(frozen=True)
class Twin:
    """A trained model. `reached` is how far it is from the model it was compared with, on the dev texts."""

    subject: Subject[Any]
    reached: Mapping[str, Any]

    @property
    def constant(self) -> Float[Tensor, "L"]:
        """The constant output that is nearest to the base's."""
        if "constant" not in self.reached:
            raise InputError("The run's folder holds models of an older heatcheck. Give another --out.")
        return torch.tensor(self.reached["constant"])

    def says(self, batch: Batch) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B K T"]]:
        """Probabilities, and attention with its heads in the order of the model that it is compared with."""
        probs, attention = says(self.subject, batch)
        return probs, self.beside_base(attention)

    def beside_base(self, attention: Float[Tensor, "B K T"]) -> Float[Tensor, "B K T"]:
        return attention[:, self.reached.get("heads", range(attention.shape[1]))]

    def beside(self, name: str, attention: Float[Tensor, "B K T"]) -> Float[Tensor, "B K T"]:
        """With its heads in the order of another trained model's own: of one that it was told to keep away from."""
        return attention[:, self.reached["heads_beside"][name]] if attention.shape[1] > 1 else attention


@dataclass(frozen=True)
class Trained:
    """The models of finished jobs by name, loaded when they are first asked for."""

    folders: Mapping[str, Path]
    device: torch.device | str = "cpu"
    spec: object = None  # of the model under test

    @cached_property
    def _loaded(self) -> dict[str, Twin]:
        return {}

    def __getitem__(self, name: str) -> Twin:
        if name not in self._loaded:
            subject = load_subject(trained_by(self.spec, self.folders[name]), self.device)
            self._loaded[name] = Twin(subject, self.reached(name))
        return self._loaded[name]

    def reached(self, name: str) -> Mapping[str, Any]:
        """Of a model that was compared with another one; a guided one was not."""
        file = self.folders[name] / REACHED
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.folders


@torch.no_grad()
def says(subject: Subject[Any], batch: Batch) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B K T"]]:
    found = attended(subject.model, batch)
    return subject.model.probs(found.logits), found.attention


def distance(attention: Float[Tensor, "B K T"], other: Float[Tensor, "B K T"]) -> Float[Tensor, "B"]:
    """Mean JSD over the heads."""
    return jsd(attention, other).mean(-1)


def write_reached(
    folder: Path,
    subject: Subject[Any],
    base: Subject[Any],
    examples: Sequence[Example],
    others: Mapping[str, Subject[Any]] | None = None,
) -> None:
    """On held-out texts: mean TVD and JSD from the base, which of our heads each of its heads is compared with (one
    matching for the model, by the mean JSD over the texts) and each of the `others`' heads, and the constant output
    that is nearest to the base's."""
    rows = subject.rows(examples)
    known = Outputs.of(base, rows)
    moved, distances = [], []
    with torch.no_grad():
        for batch in subject.collated(rows, EVALUATION_BATCH):
            probs, attention = says(subject, batch)
            wanted, theirs = known.laid_over(batch)
            moved.append(tvd(probs, wanted))
            distances.append(head_distances(theirs, attention))
    mean = torch.cat(distances).mean(0)
    heads = matching(mean)
    far = float(mean[torch.arange(len(heads)), heads].mean())
    constant = nearest_constant(torch.stack(list(known.probs.values()))).tolist()
    beside = {name: _heads_beside(subject, other, examples) for name, other in (others or {}).items()}
    reached = {
        "tvd": float(torch.cat(moved).mean()), "jsd": far, "heads": heads.tolist(), "heads_beside": beside,
        "constant": constant, "texts": len(examples),
    }  # fmt: skip
    write_json(folder / REACHED, reached)


def _heads_beside(subject: Subject[Any], other: Subject[Any], examples: Sequence[Example]) -> list[int]:
    """Two models that are both far from the base stand in its order of heads by chance."""
    batches = subject.batches(examples, EVALUATION_BATCH)
    distances = [head_distances(says(other, batch)[1], says(subject, batch)[1]) for batch in batches]
    return matching(torch.cat(distances).mean(0)).tolist()


def predictions(name: str, probs: Float[Tensor, "B L"], batch: Batch, *, at: float | None = None) -> Iterator[Score]:
    for text, label in zip(batch.example_ids, probs.argmax(-1).tolist(), strict=True):
        yield Score(PREDICTED, float(label), name, example_id=text, at=at)


def per_text(
    measure: str,
    values: Float[Tensor, "B"],
    batch: Batch,
    groups: Sequence[str],
    *,
    reference: str,
    subject: str = "attention",
    setting: str | None = None,
    at: float | None = None,
) -> Iterator[Score]:
    for text, group, value in zip(batch.example_ids, groups, values.tolist(), strict=True):
        yield Score(measure, value, subject, reference, text, group, setting=setting, at=at)
