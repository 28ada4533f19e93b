"""Encoders: embeddings to contextual vectors, one per token, and a summary of a whole sequence.

The summary is what a question or hypothesis gives to attention as its query (paper 1: the last
hidden state; for encoders without one, the mean over real tokens).
"""

from __future__ import annotations

import abc
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from heatcheck.models.protocols import Entered
from heatcheck.models.recurrence import bidirectional, entered_at_gates


class Encoder(nn.Module, abc.ABC):
    """`width` is the size of a token's vector."""

    width: int

    @abc.abstractmethod
    def forward(self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        """Vectors of the real tokens, which are packed to the left; what stands at padding has no meaning."""

    def read(
        self, vectors: Float[Tensor, "V E"], places: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T H"]:
        """The same from the vectors of the distinct words: `places` says which of them stands where."""
        encoded: Tensor = self(functional.embedding(places, vectors), mask)
        return encoded

    def enter(self, vectors: Float[Tensor, "V E"], places: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Entered:
        """`read`, so that slopes can be taken."""
        return Entered.at(functional.embedding(places, vectors), lambda embeddings: self(embeddings, mask))

    @abc.abstractmethod
    def summary(self, encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]: ...


def take_tokens(tokens: Float[Tensor, "B T H"], order: Int[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
    """Each row's tokens in another order. Whole vectors are copied, which `gather` does number by number."""
    starts = torch.arange(len(tokens), device=order.device)[:, None] * tokens.shape[1]
    return tokens.flatten(0, 1).index_select(0, (starts + order).flatten()).view(*order.shape, tokens.shape[-1])


def masked_mean(encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
    weights = mask.to(encoded.dtype)
    return (encoded * weights[..., None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1)


def mirrored(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Each text's places from its last to its first; padding, which is behind the text, stays where it is."""
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)


class RecurrentEncoder(Encoder):
    """Bidirectional LSTM or GRU, `hidden` units per direction.

    The second direction reads each text mirrored within its own length. So padding is always behind the text, where it
    cannot reach it, and nothing needs packing, which costs time in training.
    """

    def __init__(self, embedding_width: int, hidden: int, cell: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.forwards = cell(embedding_width, hidden, batch_first=True)
        self.backwards = cell(embedding_width, hidden, batch_first=True)
        self.width = 2 * hidden

    def forward(self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        mirror = mirrored(mask)
        behind = take_tokens(self.backwards(take_tokens(embeddings, mirror))[0], mirror)
        return torch.cat([self.forwards(embeddings)[0], behind], dim=-1)

    def read(
        self, vectors: Float[Tensor, "V E"], places: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T H"]:
        match self.forwards, self.backwards:
            case nn.LSTM() as forwards, nn.LSTM() as backwards if vectors.device.type == "cpu":
                return bidirectional(forwards, backwards, vectors, places, mask)
        return super().read(vectors, places, mask)

    def enter(self, vectors: Float[Tensor, "V E"], places: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Entered:
        match self.forwards, self.backwards:
            case nn.LSTM() as forwards, nn.LSTM() as backwards if vectors.device.type == "cpu":
                return entered_at_gates(forwards, backwards, vectors, places, mask)
        return super().enter(vectors, places, mask)

    def summary(self, encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
        """Last state of each direction: the forward one at the last token, the backward one at the first."""
        last = (mask.sum(1) - 1).clamp(min=0)
        rows = torch.arange(len(encoded), device=encoded.device)
        half = self.width // 2
        return torch.cat([encoded[rows, last, :half], encoded[:, 0, half:]], dim=-1)


class ConvolutionalEncoder(Encoder):
    """Convolutions of widths 1, 3, 5 and 7 with ReLU; 64 filters each is the paper's text, 32 its code."""

    def __init__(self, embedding_width: int, filters: int, kernels: tuple[int, ...] = (1, 3, 5, 7)) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(embedding_width, filters, k, padding=k // 2) for k in kernels)
        self.width = filters * len(kernels)

    def forward(self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        channels = (embeddings * mask[..., None]).transpose(1, 2)  # padding must look like the end of the text
        return torch.cat([torch.relu(c(channels)) for c in self.convolutions], dim=1).transpose(1, 2)

    def summary(self, encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
        return masked_mean(encoded, mask)


class TokenwiseEncoder(Encoder):
    """Each token alone through an affine layer: paper 1's "average" (ReLU, 256), papers 2 and 3's MLP (tanh, 128)."""

    def __init__(self, embedding_width: int, width: int, activation: type[nn.ReLU] | type[nn.Tanh] = nn.ReLU) -> None:
        super().__init__()
        self.projection = nn.Linear(embedding_width, width)
        self.activation = activation()
        self.width = width

    def forward(self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        encoded: Tensor = self.activation(self.projection(embeddings))
        return encoded

    def read(
        self, vectors: Float[Tensor, "V E"], places: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T H"]:
        """A word is the same wherever it stands."""
        return functional.embedding(places, self(vectors, mask))

    def summary(self, encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
        return masked_mean(encoded, mask)


class TransformerEncoder(Encoder):
    """A small pre-norm transformer with sinusoidal positions, without dropout as all encoders here."""

    def __init__(self, embedding_width: int, width: int, *, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.projection = nn.Linear(embedding_width, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.width = width

    def forward(self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        placed = self.projection(embeddings) + positions(embeddings.shape[1], self.width).to(embeddings)
        visible = mask.clone()
        visible[:, 0] = True  # a row without any token would make its softmax 0/0
        encoded: Tensor = self.layers(placed, src_key_padding_mask=~visible)
        return encoded

    def summary(self, encoded: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
        return masked_mean(encoded, mask)


def positions(length: int, width: int) -> Float[Tensor, "T H"]:
    """Sinusoidal positions: sines in the even columns, cosines in the odd ones."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(length)[:, None] * rates[None, :]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
