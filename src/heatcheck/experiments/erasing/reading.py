"""What a model says of a text and how it sees it: class probabilities, and the vector that it decides from.

The vector is the one the model classifies: a transformer's last state at the token that it reads out, the
attention-weighted mean of our encoders, for any other classifier the mean word embedding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, trim
from heatcheck.explain.pieces import in_pieces
from heatcheck.models.encoders import masked_mean
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor, encoded_tokens
from heatcheck.models.readout import readout_only


class Reading(NamedTuple):
    probs: Float[Tensor, "B L"]
    vector: Float[Tensor, "B H"]  # of no width if the model shows none


@torch.no_grad()
def read(model: Predictor, batch: Batch) -> Reading:
    """In one pass through the model."""
    if isinstance(model, HuggingFaceClassifier):
        return _read_transformer(model, batch)
    if isinstance(model, AttentiveClassifier):
        encoded = encoded_tokens(model, batch)
        attention = model.attend(encoded, batch)
        return Reading(model.probs(model.classify(encoded, attention, batch)), (attention @ encoded).mean(1))
    probs = model.probs(model.predict(batch))
    if isinstance(model, Classifier):
        return Reading(probs, masked_mean(model.embed(batch), batch.mask))
    return Reading(probs, probs.new_zeros(len(probs), 0))


def _read_transformer(model: HuggingFaceClassifier, batch: Batch) -> Reading:
    with readout_only(model), last_states(model.network) as seen:
        probs = model.probs(model.predict(batch))
    if not seen or seen[0].dim() != 3:  # a network that hides its body
        return Reading(probs, masked_mean(model.embed(batch), batch.mask))
    vector = seen[0][:, -1 if model.left else 0]
    windows = model.windows(batch)
    return Reading(probs, vector if windows is None else windows.mean(vector))


@contextlib.contextmanager
def last_states(network: Any) -> Iterator[list[Tensor]]:
    """Collects what the body hands to the head, in the model's own layout."""
    seen: list[Tensor] = []
    hook = network.base_model.register_forward_hook(lambda module, inputs, output: seen.append(output[0]))
    try:
        yield seen
    finally:
        hook.remove()


def read_in_pieces(model: Predictor, batch: Batch) -> Reading:
    width = 0

    def both(piece: Batch) -> Tensor:
        nonlocal width
        probs, vector = read(model, trim(piece))
        width = vector.shape[1]
        return torch.cat([probs, vector.to(probs)], dim=1)

    found = in_pieces(both, batch)
    classes = found.shape[1] - width
    return Reading(found[:, :classes], found[:, classes:])
