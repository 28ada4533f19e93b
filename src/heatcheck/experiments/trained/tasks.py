"""What a training minimises, and by what its best epoch is chosen: the labels, the labels under imposed attention, or
another model's outputs with other attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.experiments.trained.guides import guided_logits
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.outputs import Outputs
from heatcheck.models.heads import attended
from heatcheck.models.subject import EVALUATION_BATCH, Subject, goodness, selection_score
from heatcheck.models.training import classification_loss, cross_entropy

WEIGHTS = "weights.safetensors"


class Task(Protocol):
    def loss(self, batch: Batch) -> Tensor: ...

    def select(self) -> float:
        """Highest for the best epoch."""
        ...


class Classifying:
    def __init__(self, subject: Subject[Any], data: Dataset) -> None:
        self.subject, self.examples = subject, data.splits[DEV]
        self.loss = classification_loss(subject.model, data.splits[TRAIN])

    def select(self) -> float:
        return selection_score(self.subject, self.examples)


class Guided:
    """The labels, with imposed attention."""

    def __init__(self, subject: Subject[Any], data: Dataset, guide: Path) -> None:
        self.subject, self.examples = subject, data.splits[DEV]
        weights = load_file(guide / WEIGHTS)
        self.train, self.dev = (_below(weights, split) for split in (TRAIN, DEV))
        self.entropy = cross_entropy(subject.model, data.splits[TRAIN])

    def loss(self, batch: Batch) -> Tensor:
        return self.entropy(guided_logits(self.subject.model, batch, self.train), batch.labels)

    def select(self) -> float:
        probs, labels = [], []
        with torch.no_grad():
            for batch in self.subject.batches(self.examples, EVALUATION_BATCH):
                logits = guided_logits(self.subject.model, batch, self.dev)
                probs.append(self.subject.model.probs(logits).cpu())
                labels.append(batch.labels.cpu())
        return goodness(torch.cat(probs).numpy(), torch.cat(labels).numpy())


class Imitating:
    """What the first of `others` says, with attention far from all of theirs. Their outputs are computed once."""

    def __init__(
        self, subject: Subject[Any], data: Dataset, imitation: Imitation, others: Sequence[Subject[Any]], on: str
    ) -> None:
        self.subject, self.imitation = subject, imitation
        self.examples = data.splits[TEST if on == "test" else DEV]
        self.known = [Outputs.of(other, data.splits[TRAIN]) for other in others]
        self.held_out = [Outputs.of(other, self.examples) for other in others]

    def loss(self, batch: Batch) -> Tensor:
        return self.imitation.reduced(self._losses(batch, self.known))

    def select(self) -> float:
        with torch.no_grad():
            losses = [self._losses(batch, self.held_out) for batch in self._batches()]
        return -float(torch.cat(losses).mean())

    def _batches(self) -> Iterator[Batch]:
        return self.subject.batches(self.examples, EVALUATION_BATCH)

    def _outputs(self, batch: Batch) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B K T"]]:
        found = attended(self.subject.model, batch)
        return self.subject.model.probs(found.logits), found.attention

    def _losses(self, batch: Batch, known: Sequence[Outputs]) -> Float[Tensor, "B"]:
        laid = [outputs.laid_over(batch) for outputs in known]
        return self.imitation.losses(*self._outputs(batch), laid[0][0], [attention for _, attention in laid])


def _below(weights: Mapping[str, Tensor], split: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{split}/"): row for name, row in weights.items() if name.startswith(f"{split}/")}
