"""Integrated gradients with Captum as its tutorials do: one text at a time, 50 steps in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from captum.attr import IntegratedGradients
from torch import Tensor, nn

STEPS = 50
LEAST_CHANGE = 0.01


@dataclass(frozen=True)
class Text:
    """Token ids and token types of one text, which tokens are words, and the class whose probability is explained."""

    name: str
    ids: Tensor
    types: Tensor
    words: Tensor
    target: int


def integrated_gradients(network: nn.Module, texts: Sequence[Text], pad_id: int) -> dict[str, tuple[np.ndarray, float]]:
    """By text: a score for each token, and by how much they miss the change in probability, as a share of it."""
    return {text.name: one(network, text, pad_id) for text in texts}


def one(network: nn.Module, text: Text, pad_id: int) -> tuple[np.ndarray, float]:
    embedding = network.get_input_embeddings()
    ids = text.ids[None]
    inputs, baseline = (embedding(i).detach() for i in (ids, ids.masked_fill(text.words[None], pad_id)))
    types = text.types[None]

    def probability(embeddings: Tensor, token_types: Tensor) -> Tensor:
        logits: Tensor = network(inputs_embeds=embeddings, token_type_ids=token_types).logits
        return torch.softmax(logits, -1)[:, text.target]

    found, missed = IntegratedGradients(probability).attribute(
        inputs, baseline, additional_forward_args=(types,), n_steps=STEPS, return_convergence_delta=True
    )
    scores = found.sum(-1)[0].detach().double()
    change = abs(float(scores.sum()) - float(missed))
    return scores.numpy(), abs(float(missed)) / max(change, LEAST_CHANGE)
