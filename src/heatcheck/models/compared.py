"""Two texts compared (Neely et al. 2022, section 4): each is read, attended and mixed alone, then both are set against
each other: [c₁; c₂; |c₁−c₂|; c₁∘c₂], one linear layer.

Two attended texts are two heads: the first spreads over the words of the first text, the second over the second's.
"""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.batch import PAIR, TEXT, Batch
from heatcheck.data.vocabulary import MARKS, PAD, UNKNOWN
from heatcheck.models.attention import Attention, weigh
from heatcheck.models.attentive import encode_segments
from heatcheck.models.encoders import Encoder
from heatcheck.models.protocols import Kind, distribution


@final
class ComparedTexts(nn.Module):
    """Satisfies `AttentiveClassifier` with two heads. One encoder and one attention serve both texts."""

    kind: Kind
    pad_id, mask_id = PAD, UNKNOWN

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: Attention,
        n_labels: int,
        temperature: float = 1.0,
        weighting: str = "softmax",
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.attention = attention
        self.compare = nn.Linear(4 * encoder.width, 1 if n_labels == 2 else n_labels)
        self.temperature, self.weighting = temperature, weighting
        self.kind = "binary" if n_labels == 2 else "categorical"

    @property
    def ordinary_ids(self) -> Int[Tensor, "V"]:
        return torch.arange(len(MARKS), self.embedding.num_embeddings)

    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]:
        embeddings: Tensor = self.embedding(batch.token_ids)
        return embeddings

    def encode(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B T H"]:
        return encode_segments(embeddings, batch, (self.encoder, self.encoder))

    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B 2 T"]:
        scores = self.attention.score(self.attention.project(encoded), None)
        words = torch.stack([batch.words & (batch.segments == segment) for segment in (TEXT, PAIR)], dim=1)
        return weigh(scores[:, None].expand(words.shape), words, self.weighting, self.temperature)

    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B 2 T"], batch: Batch
    ) -> Float[Tensor, "B C"]:
        first, second = torch.bmm(attention, encoded).unbind(1)
        logits: Tensor = self.compare(torch.cat([first, second, (first - second).abs(), first * second], dim=-1))
        return logits

    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        encoded = self.encode(embeddings, batch)
        return self.classify(encoded, self.attend(encoded, batch), batch)

    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self.logits(self.embed(batch), batch)

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return distribution(self.kind, logits)
