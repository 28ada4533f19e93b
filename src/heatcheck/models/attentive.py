"""Our own attention classifiers: embedding, encoder, attention, decoder (Jain & Wallace 2019, section 2).

`AttentionModel` is what all of ours are. `Attentive` are those with one head: `SingleText` has no query and a linear
decoder, `TextPair` (inference, question answering) attends to the first text with the second as the query and decides
through tanh, over the candidates of the instance.
Deviation: the two encoders of a pair share one embedding table.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.batch import PAIR, TEXT, Batch, packing_order
from heatcheck.data.vocabulary import MARKS, PAD, UNKNOWN
from heatcheck.models.attention import Attention, weigh
from heatcheck.models.deletion import logits_without_each
from heatcheck.models.encoders import Encoder, take_tokens
from heatcheck.models.protocols import Decide, Deletions, Entered, Kind, distribution

Read = Callable[[Encoder, Tensor | None, Tensor], Tensor]
"""What an encoder makes of the tokens in an order (None: as they stand), and which of these are real."""


class AttentionModel(nn.Module, abc.ABC):
    """Satisfies `AttentiveClassifier`: embed, encode, attend, classify; and `ReadsTokens`."""

    kind: Kind
    heads = 1
    pad_id, mask_id = PAD, UNKNOWN

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: nn.Module,
        temperature: float,
        weighting: str,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.attention = attention
        self.temperature = temperature
        self.weighting = weighting

    def _encoded(self, read: Read, batch: Batch) -> Float[Tensor, "B T H"]:
        """The one text by the one encoder; models of two texts say which encoder reads which."""
        return read(self.encoder, None, batch.mask)

    @abc.abstractmethod
    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B K T"]: ...

    @abc.abstractmethod
    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B K T"], batch: Batch
    ) -> Float[Tensor, "B C"]: ...

    @property
    def ordinary_ids(self) -> Int[Tensor, "V"]:
        return torch.arange(len(MARKS), self.embedding.num_embeddings)

    @final
    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]:
        embeddings: Tensor = self.embedding(batch.token_ids)
        return embeddings

    @final
    def encode(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B T H"]:
        def read(encoder: Encoder, order: Tensor | None, mask: Tensor) -> Tensor:
            encoded: Tensor = encoder(embeddings if order is None else take_tokens(embeddings, order), mask)
            return encoded

        return self._encoded(read, batch)

    @final
    def read(self, batch: Batch) -> Float[Tensor, "B T H"]:
        words, places = torch.unique(batch.token_ids, return_inverse=True)
        vectors = self.embedding(words)

        def read(encoder: Encoder, order: Tensor | None, mask: Tensor) -> Tensor:
            return encoder.read(vectors, places if order is None else places.gather(1, order), mask)

        return self._encoded(read, batch)

    @final
    def enter(self, batch: Batch) -> Entered:
        words, places = torch.unique(batch.token_ids, return_inverse=True)
        vectors, parts = self.embedding(words).detach(), list[tuple[Entered, Tensor, Tensor]]()

        def read(encoder: Encoder, order: Tensor | None, mask: Tensor) -> Tensor:
            order = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape) if order is None else order
            entered = encoder.enter(vectors, places.gather(1, order), mask)
            parts.append((entered, order, mask))
            return entered.encoded

        def times_input(slopes: Sequence[Tensor]) -> Float[Tensor, "B T"]:
            found = slopes[0].new_zeros(batch.mask.shape)
            for (entered, order, mask), slope in zip(parts, slopes, strict=True):
                found.scatter_add_(1, order, entered.times_input([slope]) * mask)
            return found

        encoded = self._encoded(read, batch)
        return Entered(encoded, tuple(taken for entered, _, _ in parts for taken in entered.taken), times_input)

    @final
    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        encoded = self.encode(embeddings, batch)
        return self.classify(encoded, self.attend(encoded, batch), batch)

    @final
    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        encoded = self.read(batch)
        return self.classify(encoded, self.attend(encoded, batch), batch)

    @final
    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return distribution(self.kind, logits)


class Attentive(AttentionModel):
    """One head. `Σ α·project(h)`, then `finish`: every decoder here is linear up to the weighted mean, so tokens are
    projected first and mixed after."""

    attention: Attention

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: Attention,
        decoder_width: int,
        temperature: float,
        weighting: str,
    ) -> None:
        super().__init__(embedding, encoder, attention, temperature, weighting)
        self.project = nn.Linear(encoder.width, decoder_width)

    @abc.abstractmethod
    def query(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B H"] | None: ...

    @abc.abstractmethod
    def finish(
        self, mixed: Float[Tensor, "*N B D"], query: Float[Tensor, "B H"] | None, batch: Batch
    ) -> Float[Tensor, "*N B C"]:
        """The attention-weighted mean of projected tokens, to logits."""

    @final
    def attend(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B K T"]:
        projected = self.attention.project(encoded).transpose(0, 1)
        scores = self.attention.score(projected, self.query(encoded, batch)).transpose(0, 1)
        return weigh(scores, batch.attended, self.weighting, self.temperature)[:, None]

    @final
    def classify(
        self, encoded: Float[Tensor, "B T H"], attention: Float[Tensor, "B K T"], batch: Batch
    ) -> Float[Tensor, "B C"]:
        mixed = torch.bmm(attention, self.project(encoded)).squeeze(1)
        return self.finish(mixed, self.query(encoded, batch), batch)

    @final
    def decoder(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Decide:
        projected, query = self.project(encoded), self.query(encoded, batch)
        return lambda attentions: self.finish((attentions.transpose(0, 1) @ projected).transpose(0, 1), query, batch)

    @final
    def logits_without_each(self, batch: Batch) -> Deletions | None:
        return logits_without_each(self, batch) if self.weighting == "softmax" else None


@final
class SingleText(Attentive):
    """One text; logits are the attention-weighted mean of per-token logits."""

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: Attention,
        n_labels: int,
        temperature: float = 1.0,
        weighting: str = "softmax",
    ) -> None:
        super().__init__(embedding, encoder, attention, 1 if n_labels == 2 else n_labels, temperature, weighting)
        self.kind = "binary" if n_labels == 2 else "categorical"

    def query(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> None:
        return None

    def finish(
        self, mixed: Float[Tensor, "*N B D"], query: Float[Tensor, "B H"] | None, batch: Batch
    ) -> Float[Tensor, "*N B C"]:
        return mixed

    def token_logits(self, encoded: Float[Tensor, "B T H"]) -> Float[Tensor, "B T C"]:
        """The logits if all the attention were on that token."""
        if self.project.out_features > 1:
            logits: Tensor = self.project(encoded)
            return logits
        weight = self.project.weight.t().expand(len(encoded), -1, 1)
        return torch.baddbmm(self.project.bias, encoded, weight)  # one column: in half the time of a linear layer


@final
class TextPair(Attentive):
    """A text and a question or hypothesis; logits = Linear(tanh(W_p c + W_q q)), other candidates ruled out."""

    kind: Kind = "categorical"

    def __init__(
        self,
        embedding: nn.Embedding,
        encoders: tuple[Encoder, Encoder],
        attention: Attention,
        n_labels: int,
        temperature: float = 1.0,
        weighting: str = "softmax",
    ) -> None:
        encoder, question_encoder = encoders
        super().__init__(embedding, encoder, attention, encoder.width // 2, temperature, weighting)
        self.question_encoder = question_encoder
        self.ask = nn.Linear(question_encoder.width, encoder.width // 2, bias=False)
        self.output = nn.Linear(encoder.width // 2, n_labels)

    def _encoded(self, read: Read, batch: Batch) -> Float[Tensor, "B T H"]:
        return segment_by_segment(read, batch, (self.encoder, self.question_encoder))

    def query(self, encoded: Float[Tensor, "B T H"], batch: Batch) -> Float[Tensor, "B H"]:
        order, mask = _segment(batch, PAIR)
        return self.question_encoder.summary(take_tokens(encoded, order), mask)

    def finish(
        self, mixed: Float[Tensor, "*N B D"], query: Float[Tensor, "B H"] | None, batch: Batch
    ) -> Float[Tensor, "*N B C"]:
        logits: Tensor = self.output(torch.tanh(mixed + self.ask(query)))
        if batch.candidates is None:
            return logits
        return logits.masked_fill(~batch.candidates, torch.finfo(logits.dtype).min)


def segment_by_segment(read: Read, batch: Batch, encoders: tuple[Encoder, Encoder]) -> Float[Tensor, "B T H"]:
    """Each of the two texts read alone by its encoder, and put back where its tokens stand."""
    orders, parts = [], []
    for segment, encoder in zip((TEXT, PAIR), encoders, strict=True):
        order, mask = _segment(batch, segment)
        orders.append(order)
        parts.append(read(encoder, order, mask) * mask[..., None])
    # Positions behind a short segment's end name other tokens: what is added to those is zero.
    order, both = torch.cat(orders, dim=1), torch.cat(parts, dim=1)
    empty = both.new_zeros(*batch.mask.shape, both.shape[-1])
    return empty.scatter_add(1, order[..., None].expand(both.shape), both)


def _segment(batch: Batch, segment: int) -> tuple[Tensor, Bool[Tensor, "B S"]]:
    """Where a segment's tokens stand, packed to the left, and which of these places are real."""
    inside = batch.mask & (batch.segments == segment)
    order = packing_order(inside)
    return order, inside.gather(1, order)
