"""What happens to the output when words are removed."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, rows, without_token
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.measure.distributions import tvd
from heatcheck.models.protocols import Deletions, Predictor, SharesDeletions


@torch.no_grad()
def leave_one_out(
    model: Predictor, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """TVD between the output and the output without the word, which is deleted, not masked (paper 1, algorithm 1).

    Words of the first text only. A text's only word is deleted too: what is left is the empty text.
    """
    whole, without = logits_without_each(model, batch)
    change = tvd(model.probs(without), model.probs(whole)[:, None])
    return Explanation(change * batch.attended, signed=False)


def logits_without_each(model: Predictor, batch: Batch) -> Deletions:
    """By the model's own shortcut if it has one, else by deleting and running again."""
    if isinstance(model, SharesDeletions):
        shared = model.logits_without_each(model.embed(batch), batch)
        if shared is not None:
            return shared
    columns = [_logits_without(model, batch, position) for position in range(batch.token_ids.shape[1])]
    return Deletions(model.predict(batch), torch.stack(columns, dim=1))


def _logits_without(model: Predictor, batch: Batch, position: int) -> Float[Tensor, "B C"]:
    """Only the rows that have a word at this position are run."""
    has = batch.attended[:, position].nonzero().squeeze(1)
    some = rows(batch, has if len(has) else torch.zeros(1, dtype=torch.long, device=has.device))
    shorter = without_token(some, torch.full((len(some),), position, device=has.device))
    logits = model.predict(shorter)
    column = logits.new_zeros(len(batch), logits.shape[1])
    return column.index_copy(0, has, logits) if len(has) else column
