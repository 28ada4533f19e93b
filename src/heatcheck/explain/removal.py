"""What happens to the output when words are removed."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, rows, without_token
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.measure.distributions import tvd
from heatcheck.models.protocols import Classifier, SharesDeletions


@torch.no_grad()
def leave_one_out(
    model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """TVD between the output and the output without the word, which is deleted, not masked (paper 1, algorithm 1).

    Words of the first text only. A text's only word is deleted too: what is left is the empty text.
    """
    embeddings = model.embed(batch)
    base = model.probs(model.logits(embeddings, batch))
    without = model.probs(logits_without_each(model, embeddings, batch))
    return Explanation(tvd(without, base[:, None]) * batch.attended, signed=False)


def logits_without_each(model: Classifier, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B T C"]:
    """Logits after deleting each word; where nothing can be deleted they have no meaning."""
    if isinstance(model, SharesDeletions):
        shared = model.logits_without_each(embeddings, batch)
        if shared is not None:
            return shared
    columns = []
    for position in range(batch.token_ids.shape[1]):
        columns.append(_logits_without(model, batch, position))
    return torch.stack(columns, dim=1)


def _logits_without(model: Classifier, batch: Batch, position: int) -> Float[Tensor, "B C"]:
    """Only the rows that have a word at this position are run."""
    has = batch.attended[:, position].nonzero().squeeze(1)
    some = rows(batch, has if len(has) else torch.zeros(1, dtype=torch.long, device=has.device))
    shorter = without_token(some, torch.full((len(some),), position, device=has.device))
    logits = model.logits(model.embed(shorter), shorter)
    column = logits.new_zeros(len(batch), logits.shape[1])
    return column.index_copy(0, has, logits) if len(has) else column
