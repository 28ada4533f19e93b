"""What a model says of a text and how it sees it: class probabilities, and the vector that it decides from.

The vector is the one the model classifies: a transformer's last state at the token that it reads out (of one that reads
all, their mean), the attention-weighted mean of our encoders, for any other classifier the mean word embedding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.batch import Batch, trim
from heatcheck.models.encoders import masked_mean
from heatcheck.models.entrance import is_encoder_decoder, last_end
from heatcheck.models.huggingface import HuggingFaceClassifier, last_states
from heatcheck.models.inputs import Inputs, regrouped
from heatcheck.models.pieces import in_pieces
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
    embeddings, windows = model.embed(batch), model.windows(batch)
    with readout_only(model), last_states(model.network) as seen:
        probs = model.probs(model.logits(embeddings, batch))
    inputs = model.inputs(embeddings, batch, windows)
    groups = model.groups(inputs.mask)
    if len(seen) != len(groups) or seen[0].dim() != 3:  # a network that hides its body
        return Reading(probs, masked_mean(embeddings, batch.mask))
    found = [_vectors(model, states, inputs, group) for states, group in zip(seen, groups, strict=True)]
    vector = regrouped(found, groups)
    return Reading(probs, vector if windows is None else windows.mean(vector))


def _vectors(
    model: HuggingFaceClassifier, states: Float[Tensor, "N T H"], inputs: Inputs, group: Int[Tensor, "N"]
) -> Float[Tensor, "N H"]:
    """Of the texts that were run together."""
    if not model.reads_one:
        return masked_mean(states, inputs.mask[group, : states.shape[1]])
    if is_encoder_decoder(model.network):
        return states[torch.arange(len(group)), last_end(model.network.config, inputs)[group]]
    return states[:, -1 if model.left else 0]


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
