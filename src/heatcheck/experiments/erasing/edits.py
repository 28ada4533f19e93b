"""Erased texts: by edits of token ids only, never by decoding and tokenising again; equal edits run once.

delete   the tokens of the word go, what stays closes up
mask     each of them becomes the model's mask token (its unknown word if it has no mask)
pad      each of them becomes the pad token, which the model reads like any other token here
sample   each of them becomes a token drawn from the words of other texts (reference.py); the mean over several draws.
         A black box's tokens hold the white space in front of their word: that stays, and the word is exchanged
A text without any token left is one pad token, as no model can read nothing (only models without marks meet that).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, keep_tokens, replace_tokens, rows, trim
from heatcheck.experiments.erasing.words import Words
from heatcheck.explain.hiding import never_empty
from heatcheck.models.blackbox import BlackBox
from heatcheck.models.pieces import by_length, in_pieces
from heatcheck.models.protocols import Predictor

OPERATORS = ("delete", "mask", "pad", "sample")
Run = Callable[[Batch], Float[Tensor, "B V"]]


class Eraser:
    """Outputs for the texts of a batch without some of their words. Remembers them: equal edits run once, whatever
    method, share or search asks."""

    def __init__(
        self,
        run: Run,
        batch: Batch,
        words: Words,
        operator: str,
        *,
        pad_id: int,
        mask_id: int,
        drawn: Int[Tensor, "D B T"] | None = None,
    ) -> None:
        self.batch, self.words, self.operator = batch, words, operator
        self._run, self._pad_id, self._mask_id, self._drawn = run, pad_id, mask_id, drawn
        self._known: dict[tuple[int, bytes], Float[ndarray, "V"]] = {}
        self.edits_run = 0

    def __call__(self, row: Int[ndarray, "N"], erased: Bool[ndarray, "N U"]) -> Float[ndarray, "N V"]:
        """What `run` gives for row `row[i]` of the batch without its words `erased[i]`."""
        keys = list(zip(row.tolist(), map(bytes, np.packbits(erased, axis=1)), strict=True))
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        if new:
            index = np.fromiter(new.values(), int)
            self._known.update(zip(new, self._outputs(row[index], erased[index]), strict=True))
        return np.stack([self._known[key] for key in keys])

    def _outputs(self, row: Int[ndarray, "N"], erased: Bool[ndarray, "N U"]) -> Float[ndarray, "N V"]:
        device = self.batch.token_ids.device
        index, where = (torch.from_numpy(x).to(device) for x in (row, self.words.tokens(row, erased)))
        lengths = self.batch.mask.sum(1)[index] - (where.sum(1) if self.operator == "delete" else 0)
        self.edits_run += len(row)
        return by_length(lambda some: self._several(index[some], where[some]), lengths).cpu().numpy()

    def _several(self, row: Int[Tensor, "N"], where: Bool[Tensor, "N T"]) -> Float[Tensor, "N V"]:
        """The mean over draws, for operators that draw."""
        draws: Sequence[Tensor | None] = [None] if self._drawn is None else list(self._drawn)
        found = [in_pieces(self._run, trim(self._edited(row, where, drawn))) for drawn in draws]
        return torch.stack(found).double().mean(0)

    def _edited(self, row: Int[Tensor, "N"], where: Bool[Tensor, "N T"], drawn: Tensor | None) -> Batch:
        some = rows(self.batch, row)
        if self.operator == "delete":
            return never_empty(keep_tokens(some, ~where), self._pad_id)
        if drawn is not None:
            return replace_tokens(some, where, drawn[row])
        return replace_tokens(some, where, self._mask_id if self.operator == "mask" else self._pad_id)


def eraser(
    run: Run, model: Predictor, batch: Batch, words: Words, operator: str, drawn: Int[Tensor, "D B T"] | None
) -> Eraser:
    if drawn is not None and isinstance(model, BlackBox):
        drawn = model.in_place(batch, drawn)
    return Eraser(run, batch, words, operator, pad_id=model.pad_id, mask_id=model.mask_id, drawn=drawn)
