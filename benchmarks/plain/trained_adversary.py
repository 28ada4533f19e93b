"""Epochs of the trained adversary, written plainly from Wiegreffe & Pinter 2019, section 4 and appendix B.

Each batch: what the base model says of it, what the adversary says, ½|ŷ − ŷ_base| − λ·KL(α ‖ α_base) summed over the
texts, a step of an Adam for each of encoder, attention and decoder. After each epoch: both models on the held-out
texts, the same loss there, and predictions and attention written to disk, from which figures are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.plain.model import PlainModel, Texts
from benchmarks.plain.training import optimizers


def losses(model: PlainModel, base: PlainModel, texts: Texts, weight: float) -> tuple[Tensor, Tensor, Tensor]:
    """A loss for each text, and the adversary's prediction and attention."""
    with torch.no_grad():
        _, base_attention, base_logit = base(texts)
    _, attention, logit = model(texts)
    prediction = torch.sigmoid(logit)
    moved = (prediction - torch.sigmoid(base_logit)).abs() / 2
    ratio = torch.where(texts.words, attention.clamp(min=1e-30).log() - base_attention.clamp(min=1e-30).log(), 0.0)
    return moved - weight * (attention * ratio).sum(-1), prediction, attention


def train_epochs(
    model: PlainModel,
    base: PlainModel,
    batches: Sequence[Texts],
    held_out: Sequence[Texts],
    *,
    weight: float,
    epochs: int,
    dump: Path,
) -> tuple[list[float], list[float]]:
    """The loss of each batch before its step, and the mean loss of the held-out texts after each epoch."""
    steppers = optimizers(model)
    of_batches, of_epochs = [], []
    for epoch in range(epochs):
        model.train()
        for texts in batches:
            loss = losses(model, base, texts, weight)[0].sum()
            for optimizer in steppers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in steppers:
                optimizer.step()
            of_batches.append(loss.item())
        model.eval()
        of_epochs.append(evaluate(model, base, held_out, weight, dump / f"epoch-{epoch}.json"))
    return of_batches, of_epochs


@torch.no_grad()
def evaluate(model: PlainModel, base: PlainModel, held_out: Sequence[Texts], weight: float, file: Path) -> float:
    found, said = [], []
    for texts in held_out:
        loss, prediction, attention = losses(model, base, texts, weight)
        found += loss.tolist()
        said.append({"predictions": prediction.tolist(), "attention": attention.tolist()})
    file.write_text(json.dumps(said))
    return sum(found) / len(found)
