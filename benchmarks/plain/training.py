"""One epoch of training with the published settings (paper 1, section 3 and its code's recipe).

Adam with AMSGrad, learning rate 1e-3; L2 of 1e-5 on all but attention, hence an optimiser for each of encoder,
attention and decoder; binary cross-entropy with the positive class weighted by n_negative / n_positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from benchmarks.plain.model import PlainModel, Texts

LEARNING_RATE, L2 = 1e-3, 1e-5


def optimizers(model: PlainModel) -> list[torch.optim.Optimizer]:
    parts = ((model.encoder, L2), (model.attention, 0.0), (model.decoder, L2))
    return [
        torch.optim.Adam(part.parameters(), lr=LEARNING_RATE, weight_decay=decay, amsgrad=True) for part, decay in parts
    ]


def train_epoch(model: PlainModel, batches: Sequence[Texts], positive_weight: float) -> list[float]:
    """The loss of each batch, before its step."""
    steppers = optimizers(model)
    loss_of = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(positive_weight))
    losses = []
    model.train()
    for texts in batches:
        loss = loss_of(model(texts)[2], texts.labels.float())
        for optimizer in steppers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in steppers:
            optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses
