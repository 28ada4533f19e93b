"""What a training minimises, and by what its best epoch is chosen: the labels, the labels under imposed attention, or
another model's outputs with other attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.data.dataset import DEV, TRAIN, Dataset
from heatcheck.data.reading import Row
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
        self.subject, self.dev = subject, subject.rows(data.splits[DEV])
        self.loss = classification_loss(subject.model, data.splits[TRAIN])

    def select(self) -> float:
        return selection_score(self.subject, self.dev)


class Guided:
    """The labels, with imposed attention."""

    def __init__(self, subject: Subject[Any], data: Dataset, guide: Path) -> None:
        self.subject, self.rows = subject, subject.rows(data.splits[DEV])
        weights = load_file(guide / WEIGHTS)
        self.train, self.dev = (_below(weights, split) for split in (TRAIN, DEV))
        self.entropy = cross_entropy(subject.model, data.splits[TRAIN])

    def loss(self, batch: Batch) -> Tensor:
        return self.entropy(guided_logits(self.subject.model, batch, self.train), batch.labels)

    def select(self) -> float:
        probs, labels = [], []
        with torch.no_grad():
            for batch in self.subject.collated(self.rows, EVALUATION_BATCH):
                logits = guided_logits(self.subject.model, batch, self.dev)
                probs.append(self.subject.model.probs(logits).cpu())
                labels.append(batch.labels.cpu())
        return goodness(torch.cat(probs).numpy(), torch.cat(labels).numpy())


class Imitating:
    """What the first of `others` says, with attention far from all of theirs. Their outputs are computed once. All read
    texts alike: `train` and `held_out` are rows of each of them."""

    def __init__(
        self,
        subject: Subject[Any],
        imitation: Imitation,
        others: Sequence[Subject[Any]],
        *,
        train: Sequence[Row],
        held_out: Sequence[Row],
    ) -> None:
        self.subject, self.imitation, self.held_out = subject, imitation, held_out
        self.in_training, self.in_selection = (
            [Outputs.of(other, rows) for other in others] for rows in (train, held_out)
        )

    def loss(self, batch: Batch) -> Tensor:
        return self.imitation.reduced(self._losses(batch, self.in_training))

    def select(self) -> float:
        with torch.no_grad():
            batches = self.subject.collated(self.held_out, EVALUATION_BATCH)
            losses = [self._losses(batch, self.in_selection) for batch in batches]
        return -float(torch.cat(losses).mean())

    def _outputs(self, batch: Batch) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B K T"]]:
        found = attended(self.subject.model, batch)
        return self.subject.model.probs(found.logits), found.attention

    def _losses(self, batch: Batch, known: Sequence[Outputs]) -> Float[Tensor, "B"]:
        laid = [outputs.laid_over(batch) for outputs in known]
        return self.imitation.losses(*self._outputs(batch), laid[0][0], [attention for _, attention in laid])


def _below(weights: Mapping[str, Tensor], split: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{split}/"): row for name, row in weights.items() if name.startswith(f"{split}/")}
