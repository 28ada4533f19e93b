"""What happens to the output when one word is removed (Jain & Wallace 2019, algorithm 1) or hidden (occlusion)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.explain.hiding import check_hide, explained, run_hidden
from heatcheck.explain.types import Explanation, Scalar, held
from heatcheck.measure.distributions import tvd
from heatcheck.models.pieces import in_pieces
from heatcheck.models.protocols import Deletions, Predictor, SharesDeletions


@torch.no_grad()
def leave_one_out(
    model: Predictor, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
) -> Explanation:
    """TVD between the output and the output without the word, which is deleted, not masked (paper 1, algorithm 1).

    The words of both texts of a pair. A text's only word is deleted too: what is left is the empty text.
    """
    return Explanation(change_without_each(model, batch, batch.words), signed=False)


@torch.no_grad()
def change_without_each(model: Predictor, batch: Batch, words: Bool[Tensor, "B T"]) -> Float[Tensor, "B T"]:
    """TVD when one of `words` is deleted; 0 for the other tokens."""
    whole, without = logits_without_each(model, batch, words)
    change = tvd(model.probs(without), model.probs(whole)[:, None])
    return torch.where(words, change, 0)


def logits_without_each(model: Predictor, batch: Batch, words: Bool[Tensor, "B T"]) -> Deletions:
    """By the model's own shortcut for the words that it covers, else by deleting and running again."""
    shared = model.logits_without_each(batch) if isinstance(model, SharesDeletions) else None
    whole = in_pieces(model.predict, batch) if shared is None else shared.whole
    left = words if shared is None else words & ~batch.attended
    without = whole.new_zeros(*left.shape, whole.shape[1]) if shared is None else shared.without.clone()
    if bool(left.any()):
        row, keep = one_hidden(left)
        without[left] = run_hidden(model.predict, model, batch, row, keep, "delete")
    return Deletions(whole, without)


@dataclass(frozen=True)
class Occlusion:
    """How much what is explained drops when the word is hidden; negative if it rises (Zeiler & Fergus 2014; for
    words Li et al. 2016)."""

    hide: str = "mask"

    def __post_init__(self) -> None:
        check_hide(self.hide)

    @torch.no_grad()
    def __call__(
        self, model: Predictor, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        explain = explained(model, held(scalar, model, batch))
        whole = in_pieces(explain, batch)
        scores = whole.new_zeros(batch.words.shape)
        if bool(batch.words.any()):
            row, keep = one_hidden(batch.words)
            scores[batch.words] = whole[row] - run_hidden(explain, model, batch, row, keep, self.hide)
        return Explanation(scores, signed=True)


def one_hidden(words: Bool[Tensor, "B T"]) -> tuple[Int[Tensor, "N"], Bool[Tensor, "N T"]]:
    """One edit for each of `words`: the row that it is in, and all places but its own. In the order of `words`."""
    row, place = words.nonzero(as_tuple=True)
    keep = torch.arange(words.shape[1], device=words.device) != place[:, None]
    return row, keep
