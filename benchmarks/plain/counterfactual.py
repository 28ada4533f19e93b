"""Permuted and adversarial attention (paper 1, section 4.2, algorithms 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain.model import Encoded, PlainModel


@torch.no_grad()
def permuted(model: PlainModel, text: Encoded, permutations: int, rng: np.random.Generator) -> Tensor:
    """Median TVD over the permutations of each text's attention; the hidden states are decoded each time."""
    changes = []
    for _ in range(permutations):
        attention = shuffled(text.attention, text.texts.lengths, rng)
        changes.append((torch.sigmoid(model.decode(text.hidden, attention)) - text.probability).abs())
    return torch.from_numpy(np.median(torch.stack(changes).numpy(), axis=0))


def shuffled(attention: Tensor, lengths: Tensor, rng: np.random.Generator) -> Tensor:
    """The words' weights of each text in random order."""
    weights = attention.numpy().copy()
    for row, length in zip(weights, lengths.tolist(), strict=True):
        row[1 : length - 1] = rng.permutation(row[1 : length - 1])
    return torch.from_numpy(weights)


@dataclass(frozen=True)
class Search:
    """Published settings. What is kept must be within ε, as in the paper's text (its code keeps TVD ≤ 0.05)."""

    attentions: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    penalty: float = 500.0
    noise: float = 3.0
    epsilon: float = 0.01


def adversarial(model: PlainModel, text: Encoded, search: Search, generator: torch.Generator) -> Tensor:
    """ε-max JSD by gradient ascent from log-uniform attention plus noise."""
    texts, hidden, attention, base = text.texts, text.hidden, text.attention, text.probability
    noise = torch.randn((search.attentions, *attention.shape), generator=generator)
    uniform = -torch.log((texts.lengths - 2).float())[:, None]
    scores = (uniform + search.noise * noise).masked_fill(~texts.words, -torch.inf).requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=search.learning_rate, amsgrad=True)
    for _ in range(search.steps):
        found = torch.softmax(scores, dim=-1)
        moved = (torch.sigmoid(decode_all(model, hidden, found)) - base).abs()
        loss = search.penalty * torch.relu(moved - search.epsilon).mean(0) - spread(found, attention)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    with torch.no_grad():
        found = torch.softmax(scores, dim=-1)
        moved = (torch.sigmoid(decode_all(model, hidden, found)) - base).abs()
        return torch.where(moved <= search.epsilon, jsd(found, attention), 0.0).amax(0)


def decode_all(model: PlainModel, hidden: Tensor, attentions: Tensor) -> Tensor:
    """K B T attentions on B T H hidden states: K B logits, in one multiplication per text."""
    context = torch.bmm(attentions.transpose(0, 1), hidden)  # B K H
    return model.decoder(context).squeeze(-1).t()


def spread(found: Tensor, attention: Tensor) -> Tensor:
    """Equation 2: far from the model's attention, and from each other."""
    k = len(found)
    first, second = torch.triu_indices(k, k, offset=1)
    return jsd(found, attention).sum(0) + jsd(found[first], found[second]).sum(0) / (k * (k - 1))


def jsd(p: Tensor, q: Tensor) -> Tensor:
    tiny = torch.finfo(p.dtype).tiny
    log_p, log_q, log_m = (x.clamp(min=tiny).log() for x in (p, q, (p + q) / 2))
    return (p * (log_p - log_m) + q * (log_q - log_m)).sum(-1) / 2
