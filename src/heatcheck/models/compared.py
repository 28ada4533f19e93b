"""Two texts compared (Neely et al. 2022, section 4): each is read, attended and mixed alone, then both are set against
each other: [c₁; c₂; |c₁−c₂|; c₁∘c₂], one linear layer.

Two attended texts are two heads: the first spreads over the words of the first text, the second over the second's.
"""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.batch import Batch
from heatcheck.models.attention import Attention, weigh
from heatcheck.models.attentive import AttentionModel, Read, segment_by_segment
from heatcheck.models.encoders import Encoder


@final
class ComparedTexts(AttentionModel):
    """One encoder and one attention serve both texts."""

    attention: Attention
    heads = 2

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: Attention,
        n_labels: int,
        temperature: float = 1.0,
        weighting: str = "softmax",
    ) -> None:
        super().__init__(embedding, encoder, attention, temperature, weighting)
        self.compare = nn.Linear(4 * encoder.width, 1 if n_labels == 2 else n_labels)
        self.kind = "binary" if n_labels == 2 else "categorical"

    def _encoded(self, read: Read, batch: Batch) -> Float[Tensor, "B T H"]:
        return segment_by_segment(read, batch, (self.encoder, self.encoder))

    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B 2 T"]:
        scores = self.attention.score(self.attention.project(encoded), None)
        words = batch.words_by_text
        return weigh(scores[:, None].expand(words.shape), words, self.weighting, self.temperature)

    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B 2 T"], batch: Batch
    ) -> Float[Tensor, "B C"]:
        first, second = torch.bmm(attention, encoded).unbind(1)
        logits: Tensor = self.compare(torch.cat([first, second, (first - second).abs(), first * second], dim=-1))
        return logits
