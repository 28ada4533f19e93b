"""Gradients, leave-one-out and their agreement with attention (paper 1, section 4.1, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import Tensor

from benchmarks.plain.model import PlainModel, Texts

Scores = dict[str, np.ndarray]  # by text: the scores of its words


def attention_and_gradient(model: PlainModel, texts: Texts) -> tuple[Tensor, Tensor]:
    """α and |Σ_d ∂y/∂e_d · e_d|, the graph cut at attention; y is the probability of the predicted class."""
    embedded = model.encoder.embedding(texts.ids).detach().requires_grad_()
    hidden = model.encoder(embedded, texts.lengths)
    attention = model.attention(hidden, texts.words).detach()
    probability = torch.sigmoid(model.decode(hidden, attention))
    (slope,) = torch.autograd.grad(torch.maximum(probability, 1 - probability).sum(), embedded)
    return attention, (slope * embedded.detach()).sum(-1).abs()


@torch.no_grad()
def leave_one_out(model: PlainModel, texts: Texts) -> Tensor:
    """TVD after deleting word t, for each t: delete position t of every text of the batch and run the batch again."""
    base = torch.sigmoid(model(texts)[2])
    change = torch.zeros(texts.ids.shape)
    for position in range(1, texts.ids.shape[1] - 1):
        ids = torch.cat([texts.ids[:, :position], texts.ids[:, position + 1 :]], dim=1)
        shorter = Texts(ids, texts.lengths - 1, texts.labels, texts.names)
        change[:, position] = (torch.sigmoid(model(shorter)[2]) - base).abs()
    return change * texts.words  # texts that end before a position had nothing to delete there


def kendall(first: Iterable[np.ndarray], second: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Kendall's τ-b and its p-value, text by text."""
    results = [kendalltau(x, y) for x, y in zip(first, second, strict=True)]
    return np.array([r.statistic for r in results]), np.array([r.pvalue for r in results])


def by_text(texts: Texts, scores: Tensor) -> Scores:
    rows = zip(texts.names, scores.double(), texts.lengths.tolist(), strict=True)
    return {name: row[1 : length - 1].numpy() for name, row, length in rows}
