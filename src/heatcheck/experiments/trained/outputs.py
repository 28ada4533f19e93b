"""What a model says of each text and where it looks: computed once, and laid over any batch of these texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.data.reading import Row
from heatcheck.models.heads import attended
from heatcheck.models.subject import EVALUATION_BATCH, Subject


@dataclass(frozen=True)
class Outputs:
    probs: Mapping[str, Float[Tensor, "L"]]
    attention: Mapping[str, Float[Tensor, "K T"]]

    @staticmethod
    def of(subject: Subject[Any], rows: Sequence[Row]) -> Outputs:
        probs: dict[str, Tensor] = {}
        attention: dict[str, Tensor] = {}
        with torch.no_grad():
            for batch in subject.collated(rows, EVALUATION_BATCH):
                found = attended(subject.model, batch)
                lengths = batch.mask.sum(1).tolist()
                probs |= zip(batch.example_ids, subject.model.probs(found.logits).unbind(), strict=True)
                for name, weights, n in zip(batch.example_ids, found.attention, lengths, strict=True):
                    attention[name] = weights[:, :n].clone()  # not a view, which would keep all of the batch
        return Outputs(probs, attention)

    def laid_over(self, batch: Batch) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B K T"]]:
        """Probabilities and attention of the batch's texts, padded as it is."""
        rows = [self.attention[name] for name in batch.example_ids]
        attention = rows[0].new_zeros(len(rows), rows[0].shape[0], batch.token_ids.shape[1])
        for place, row in zip(attention, rows, strict=True):
            place[:, : row.shape[1]] = row
        return torch.stack([self.probs[name] for name in batch.example_ids]), attention
