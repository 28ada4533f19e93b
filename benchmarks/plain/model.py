"""The BiLSTM classifier with additive attention (paper 1, section 2), from PyTorch's own layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

BATCH_SIZE = 32


@dataclass(frozen=True)
class Texts:
    """A padded batch. A text is <start> words <end>; `names` are the texts' ids in the data."""

    ids: Tensor  # B T
    lengths: Tensor  # B
    labels: Tensor  # B
    names: tuple[str, ...]

    @property
    def words(self) -> Tensor:
        """B T: what attention is spread over; start and end marks never receive any."""
        place = torch.arange(self.ids.shape[1])
        return (place > 0) & (place < self.lengths[:, None] - 1)


def padded(ids: Sequence[Tensor], labels: Sequence[int], names: Sequence[str]) -> Texts:
    lengths = torch.tensor([len(i) for i in ids])
    return Texts(pad_sequence(list(ids), batch_first=True), lengths, torch.tensor(labels), tuple(names))


def batches(ids: Sequence[Tensor], labels: Sequence[int], names: Sequence[str]) -> Iterator[Texts]:
    """Batches of 32 of similar length, as published."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), BATCH_SIZE):
        index = order[start : start + BATCH_SIZE]
        yield padded([ids[i] for i in index], [labels[i] for i in index], [names[i] for i in index])


class Encoder(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.rnn = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=embedded.shape[1])
        return hidden


class Attention(nn.Module):
    """softmax(v · tanh(W h + b)) over the words."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width // 2)
        self.outer = nn.Linear(width // 2, 1, bias=False)

    def forward(self, hidden: Tensor, words: Tensor) -> Tensor:
        scores = self.outer(torch.tanh(self.inner(hidden))).squeeze(-1)
        return torch.softmax(scores.masked_fill(~words, -torch.inf), dim=-1)


@dataclass(frozen=True)
class Encoded:
    """A batch behind the encoder: hidden states B T H, attention B T, probability B."""

    texts: Texts
    hidden: Tensor
    attention: Tensor
    probability: Tensor


class PlainModel(nn.Module):
    """Embedding and BiLSTM, attention, linear decoder with one sigmoid output."""

    def __init__(self, vocabulary: int, width: int, hidden: int) -> None:
        super().__init__()
        self.encoder = Encoder(vocabulary, width, hidden)
        self.attention = Attention(2 * hidden)
        self.decoder = nn.Linear(2 * hidden, 1)

    def decode(self, hidden: Tensor, attention: Tensor) -> Tensor:
        """Logit from the attention-weighted mean of the hidden states."""
        context = torch.bmm(attention.unsqueeze(1), hidden).squeeze(1)
        return self.decoder(context).squeeze(-1)

    def forward(self, texts: Texts) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden states, attention and logit."""
        hidden = self.encoder(self.encoder.embedding(texts.ids), texts.lengths)
        attention = self.attention(hidden, texts.words)
        return hidden, attention, self.decode(hidden, attention)

    @torch.no_grad()
    def encoded(self, texts: Texts) -> Encoded:
        hidden, attention, logit = self(texts)
        return Encoded(texts, hidden, attention, torch.sigmoid(logit))
