"""What an audit is about: a model with all that is needed to use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from sklearn.metrics import accuracy_score, roc_auc_score

from heatcheck.batch import Batch, Example
from heatcheck.data import reading
from heatcheck.data.reading import Reader, Row
from heatcheck.models.fit import Epoch, Recipe
from heatcheck.models.protocols import Predictor

EVALUATION_BATCH = 128
Model = TypeVar("Model", bound=Predictor, covariant=True)


class Spec(Protocol):
    """What a model is, apart from its weights. A dataclass; `task` is "single", "pair", or "any" if it takes both."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def task(self) -> str: ...

    def describe(self) -> str: ...


@dataclass(frozen=True)
class Subject(Generic[Model]):
    """A model, what splits texts into its tokens, and where it comes from."""

    name: str
    model: Model
    reader: Reader
    labels: tuple[str, ...]
    seed: int
    spec: Spec
    recipe: Recipe | None = None  # how it was trained, if we know
    started_as: Spec | None = None  # what training began with, where that is not `spec`: a pretrained body
    fingerprint: str = ""  # of weights and tokenizer
    device: torch.device | str = "cpu"
    trained_on: str = ""  # fingerprint of the data set
    seen: frozenset[str] = frozenset()  # fingerprints of the texts it learned or was selected on
    history: tuple[Epoch, ...] = ()
    notes: tuple[str, ...] = ()

    def batches(self, examples: Sequence[Example], size: int) -> Iterator[Batch]:
        return self.collated(self.rows(examples), size)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        return [self.reader.row(e) for e in examples]

    def collated(self, rows: Sequence[Row], size: int) -> Iterator[Batch]:
        for batch in reading.batches(rows, self.reader.n_labels, size):
            yield batch.to(self.device)


def predict(subject: Subject[Predictor], rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Class distributions and labels of texts, in the order of their batches."""
    probs, labels = [], []
    with torch.no_grad():
        for batch in subject.collated(rows, EVALUATION_BATCH):
            probs.append(subject.model.probs(subject.model.predict(batch)).cpu())
            labels.append(batch.labels.cpu())
    return torch.cat(probs).numpy(), torch.cat(labels).numpy()


def selection_score(subject: Subject[Predictor], rows: Sequence[Row]) -> float:
    return goodness(*predict(subject, rows))


def goodness(probs: Float[ndarray, "N L"], labels: Int[ndarray, "N"]) -> float:
    """What the best epoch is chosen by: ROC-AUC for two classes, else accuracy."""
    if probs.shape[1] == 2 and len(set(labels.tolist())) == 2:
        return float(roc_auc_score(labels, probs[:, 1]))
    return float(accuracy_score(labels, probs.argmax(1)))
