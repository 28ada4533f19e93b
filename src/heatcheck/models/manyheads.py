"""One text read by several attention heads: each has scores of its own, and one linear layer decides on all their
means together. What the papers' one-headed models become in practice, and what their limitations ask about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.batch import Batch
from heatcheck.models.attention import Attention, weigh
from heatcheck.models.attentive import AttentionModel
from heatcheck.models.encoders import Encoder


@final
class ManyHeads(AttentionModel):
    attention: nn.ModuleList

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attentions: Sequence[Attention],
        n_labels: int,
        temperature: float = 1.0,
        weighting: str = "softmax",
    ) -> None:
        super().__init__(embedding, encoder, nn.ModuleList(attentions), temperature, weighting)
        self.heads = len(attentions)
        self.decide = nn.Linear(self.heads * encoder.width, 1 if n_labels == 2 else n_labels)
        self.kind = "binary" if n_labels == 2 else "categorical"

    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B K T"]:
        scores = torch.stack([head.score(head.project(encoded), None) for head in self._attentions], dim=1)
        words = batch.attended[:, None].expand(scores.shape)
        return weigh(scores, words, self.weighting, self.temperature)

    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B K T"], batch: Batch
    ) -> Float[Tensor, "B C"]:
        logits: Tensor = self.decide(torch.bmm(attention, encoded).flatten(1))
        return logits

    @property
    def _attentions(self) -> list[Attention]:
        return [head for head in self.attention if isinstance(head, Attention)]
