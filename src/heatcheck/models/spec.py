"""What a model is, apart from its weights: enough to build an untrained twin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from heatcheck.data.vocabulary import PAD
from heatcheck.errors import InputError
from heatcheck.models.attention import AdditiveAttention, Attention, DotAttention
from heatcheck.models.attentive import AttentionModel, SingleText, TextPair
from heatcheck.models.compared import ComparedTexts
from heatcheck.models.encoders import (
    ConvolutionalEncoder,
    Encoder,
    RecurrentEncoder,
    TokenwiseEncoder,
    TransformerEncoder,
)
from heatcheck.models.manyheads import ManyHeads

# What each name means, for `heatcheck list encoders` and error messages.
ENCODERS = {
    "bilstm": "bidirectional LSTM, hidden units per direction (papers 1 to 3, 5)",
    "gru": "bidirectional GRU",
    "cnn": "convolutions of widths 1, 3, 5, 7 with ReLU (paper 1)",
    "average": "each token alone: affine layer and ReLU (paper 1)",
    "mlp": "each token alone: affine layer and tanh (papers 2 and 3)",
    "transformer": "small transformer, 2 layers, 4 heads",
}
ATTENTIONS = {
    "additive": "v · tanh(W₁h + W₂q), Bahdanau et al. 2014",
    "dot": "h · q / √m, Vaswani et al. 2017",
}
WEIGHTINGS = {
    "softmax": "every word gets some",
    "uniform": "every word gets the same, whatever its score (papers 2 and 5)",
    "entmax": "sparse: most words get none (α = 1.5; paper 5)",
}
LEAST_HIDDEN = {"cnn": 2, "mlp": 2, "transformer": 2}  # fewer units leave a layer without any; of the others 1 will do
PAIRINGS = {
    "question": "the second text is the query for attention to the first (paper 1)",
    "comparison": "both texts are attended and then compared (paper 5)",
}


@dataclass(frozen=True)
class ModelSpec:
    """`hidden` is per direction for RNNs; other encoders get the same overall width, as in paper 1."""

    encoder: str = "bilstm"
    attention: str = "additive"
    task: str = "single"
    n_labels: int = 2
    vocabulary_size: int = 4
    embedding_width: int = 300
    hidden: int = 128
    temperature: float = 1.0
    weighting: str = "softmax"
    pairing: str = "question"
    heads: int = 1  # of attention to one text

    def __post_init__(self) -> None:
        choices = {"encoder": ENCODERS, "attention": ATTENTIONS, "weighting": WEIGHTINGS, "pairing": PAIRINGS}
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{name} {value!r} is not one of {', '.join(known)}.")
        self._check_widths()
        if not 0 < self.temperature < math.inf:
            raise InputError(f"temperature {self.temperature} is not a number above 0.")
        if self.heads < 1:
            raise InputError(f"{self.heads} attention heads are too few.")
        if self.heads > 1 and self.task != "single":
            raise InputError("Several attention heads are for single texts, not for pairs.")

    def _check_widths(self) -> None:
        least = LEAST_HIDDEN.get(self.encoder, 1)
        if self.hidden < least:
            raise InputError(f"hidden {self.hidden} is too few units: encoder {self.encoder!r} needs {least} or more.")
        if self.encoder == "transformer" and self.hidden % 2:
            raise InputError(
                f"hidden {self.hidden} is odd, and a transformer's heads share its units: give an even one."
            )
        if self.embedding_width < 1:
            raise InputError(
                f"embedding_width {self.embedding_width} is too narrow: a word's vector has 1 number or more."
            )

    @property
    def short_name(self) -> str:
        return f"{self.encoder} ({self.attention})"

    def describe(self) -> str:
        """One line for people.

        >>> ModelSpec().describe()
        'bidirectional LSTM, 128 hidden units per direction; additive attention; 2 classes'
        """
        per = " per direction" if self.encoder in ("bilstm", "gru") else ""
        kind = {"bilstm": "bidirectional LSTM", "gru": "bidirectional GRU", "cnn": "convolutional"}
        encoder = kind.get(self.encoder, self.encoder)
        softened = f" at temperature {self.temperature:g}" if self.temperature != 1 else ""
        weighted = f" with {self.weighting} weights" if self.weighting != "softmax" else ""
        many = f", {self.heads} heads" if self.heads > 1 else ""
        attention = f"{self.attention} attention{weighted}{softened}{many}"
        compared = "; two texts compared" if (self.task, self.pairing) == ("pair", "comparison") else ""
        return f"{encoder}, {self.hidden} hidden units{per}; {attention}{compared}; {self.n_labels} classes"

    def build(self, seed: int) -> AttentionModel:
        """An untrained model; the same seed gives the same weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            embedding = nn.Embedding(self.vocabulary_size, self.embedding_width, padding_idx=PAD)
            if self.task == "single":
                encoder = self._encoder()
                if self.heads > 1:
                    attentions = [self._attention(encoder) for _ in range(self.heads)]
                    return ManyHeads(embedding, encoder, attentions, *self._rest)
                return SingleText(embedding, encoder, self._attention(encoder), *self._rest)
            if self.pairing == "comparison":
                encoder = self._encoder()
                return ComparedTexts(embedding, encoder, self._attention(encoder), *self._rest)
            encoders = (self._encoder(), self._encoder())
            attention = self._attention(encoders[0], encoders[1].width)
            return TextPair(embedding, encoders, attention, *self._rest)

    @property
    def _rest(self) -> tuple[int, float, str]:
        return self.n_labels, self.temperature, self.weighting

    def _encoder(self) -> Encoder:
        match self.encoder:
            case "bilstm":
                return RecurrentEncoder(self.embedding_width, self.hidden, nn.LSTM)
            case "gru":
                return RecurrentEncoder(self.embedding_width, self.hidden, nn.GRU)
            case "cnn":
                return ConvolutionalEncoder(self.embedding_width, self.hidden // 2)
            case "average":
                return TokenwiseEncoder(self.embedding_width, 2 * self.hidden, nn.ReLU)
            case "mlp":
                return TokenwiseEncoder(self.embedding_width, self.hidden, nn.Tanh)
            case _:
                return TransformerEncoder(self.embedding_width, 2 * self.hidden)

    def _attention(self, encoder: Encoder, query_width: int | None = None) -> Attention:
        kind = AdditiveAttention if self.attention == "additive" else DotAttention
        return kind(encoder.width, query_width)
