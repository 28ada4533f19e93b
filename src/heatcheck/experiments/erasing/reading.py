"""What a model says of a text and how it sees it: class probabilities, and the vector that it decides from.

Far from the data: a text whose vector is further from its nearest unedited texts than all but 5% of the unedited texts
are from theirs. The vector is the one the model classifies: a transformer's last state at the token that it reads out,
the attention-weighted mean of our encoders, for any other classifier the mean word embedding. Distance: Euclidean, mean
over the 5 nearest other texts of the same shard (the text that was edited is left out, as an unedited text is not its
own neighbour). So the flag, unlike all other numbers, depends on which texts are tested together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, trim
from heatcheck.explain.pieces import in_pieces
from heatcheck.models.encoders import masked_mean
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor
from heatcheck.models.readout import readout_only

NEIGHBOURS, FEWEST, SHARE_WITHIN = 5, 20, 0.95
NO_VECTOR = "the model does not show how it sees a text"
TOO_FEW = f"fewer than {FEWEST} texts to compare with"


class Reading(NamedTuple):
    probs: Float[Tensor, "B L"]
    vector: Float[Tensor, "B H"]  # of no width if the model shows none


@torch.no_grad()
def read(model: Predictor, batch: Batch) -> Reading:
    """In one pass through the model."""
    if isinstance(model, HuggingFaceClassifier):
        return _read_transformer(model, batch)
    if isinstance(model, AttentiveClassifier):
        encoded = model.encode(model.embed(batch), batch)
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


@dataclass(frozen=True)
class Unedited:
    """The texts of a shard as they are. `limit`: distances above it are far; None with a `reason` if there is none."""

    probs: Mapping[str, Float[ndarray, "L"]]
    vectors: Float[Tensor, "N H"]
    place: Mapping[str, int]
    limit: float | None
    reason: str | None

    @staticmethod
    def of(model: Predictor, batches: Sequence[Batch]) -> Unedited:
        readings = [read_in_pieces(model, batch) for batch in batches]
        names = [name for batch in batches for name in batch.example_ids]
        vectors = torch.cat([r.vector for r in readings])
        probs = torch.cat([r.probs for r in readings]).double().cpu().numpy()
        place = {name: i for i, name in enumerate(names)}
        reason = NO_VECTOR if vectors.shape[1] == 0 else TOO_FEW if len(names) < FEWEST else None
        limit = None
        if reason is None:
            limit = float(np.quantile(nearest(vectors, vectors, torch.arange(len(names))).cpu().numpy(), SHARE_WITHIN))
        return Unedited(dict(zip(names, probs, strict=True)), vectors, place, limit, reason)

    def probs_and_distance(self, model: Predictor, batch: Batch) -> Float[Tensor, "B L+1"]:
        """The probabilities of edited texts, and in the last column how far they are from unedited ones."""
        probs, vector = read(model, batch)
        if self.limit is None:
            return torch.cat([probs, probs.new_zeros(len(probs), 1)], dim=1)
        own = torch.tensor([self.place[name] for name in batch.example_ids])
        return torch.cat([probs, nearest(vector, self.vectors, own)[:, None].to(probs)], dim=1)


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


def nearest(vectors: Float[Tensor, "B H"], others: Float[Tensor, "N H"], own: Float[Tensor, "B"]) -> Float[Tensor, "B"]:
    """Mean distance to the nearest other texts; `own` is each row's place among the others, which does not count."""
    distance = torch.cdist(vectors, others).scatter(1, own.to(vectors.device)[:, None], torch.inf)
    return distance.topk(min(NEIGHBOURS, len(others) - 1), largest=False).values.mean(1)
