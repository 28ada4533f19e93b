"""Scores that add up to a difference: from what each number of an embedding contributes against a baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.batch import Batch, rows
from heatcheck.explain.types import Explanation, Scalar, missed
from heatcheck.models.pieces import over_rows
from heatcheck.models.protocols import Classifier

TOKENS_AT_ONCE = 2048  # all that the way back needs is kept, for the text and for its baseline
# (model, embeddings, their baseline, batch, scalar) to what each number of each embedding contributes.
Contribute = Callable[[Classifier, Tensor, Tensor, Batch, Scalar], Float[Tensor, "B T E"]]


def averaged(
    contribute: Contribute,
    model: Classifier,
    batch: Batch,
    baselines: Sequence[Batch],
    scalar: Scalar,
    notes: tuple[str, ...] = (),
) -> Explanation:
    """Over the baselines of each text."""
    parts = [attribution(contribute, model, batch, baseline, scalar) for baseline in baselines]
    scores, change = (torch.stack(values).mean(0) for values in zip(*parts, strict=True))
    return Explanation(scores, signed=True, delta=missed(scores, change), notes=notes)


def attribution(
    contribute: Contribute, model: Classifier, batch: Batch, baseline: Batch, scalar: Scalar
) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B"]]:
    """The tokens' scores, and the change in the output that they should sum to."""

    def in_one_piece(index: Int[Tensor, "N"]) -> Float[Tensor, "N T+1"]:
        some, bare = rows(batch, index), rows(baseline, index)
        with torch.no_grad():
            embeddings, empty = model.embed(some), model.embed(bare)
            ends = [scalar(model, model.logits(e, some), some) for e in (embeddings, empty)]
        scores = contribute(model, embeddings, empty, some, scalar).sum(-1)
        return torch.cat([scores.detach(), (ends[0] - ends[1])[:, None]], dim=1)

    found = over_rows(in_one_piece, batch, TOKENS_AT_ONCE)
    return found[:, :-1], found[:, -1]
