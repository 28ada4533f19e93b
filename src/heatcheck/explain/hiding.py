"""Hiding words of a text, and running many texts with hidden words: what LIME, SHAP and occlusion share.

A word is hidden by editing token ids, never by writing a new text and splitting that into tokens again. Marks stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.batch import Batch, keep_tokens, replace_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain.types import Scalar
from heatcheck.models.packed import packed_weights
from heatcheck.models.pieces import by_length, in_pieces
from heatcheck.models.protocols import Predictor
from heatcheck.models.readout import readout_only

HIDING = {
    "mask": "the model's mask token stands in the word's place",
    "pad": "the padding token stands there, and is read",
    "delete": "the word is taken out and the text closes up",
}


def check_hide(hide: str) -> None:
    if hide not in HIDING:
        raise InputError(f"hide={hide!r} is not one of {', '.join(HIDING)}.")


def hidden(model: Predictor, batch: Batch, keep: Bool[Tensor, "B T"], hide: str) -> Batch:
    """Only the words of `keep` are still there."""
    gone = batch.words & ~keep
    if hide == "delete":
        return never_empty(keep_tokens(batch, ~gone), model.pad_id)
    return replace_tokens(batch, gone, model.mask_id if hide == "mask" else model.pad_id)


def emptied(model: Predictor, batch: Batch, hide: str = "pad") -> Batch:
    """Without any word; marks stay. The usual baseline: paper 5's."""
    return hidden(model, batch, torch.zeros_like(batch.mask), hide)


def never_empty(batch: Batch, pad_id: int) -> Batch:
    """A decoder reads no marks: where nothing is left, one padding token stands for the empty text."""
    first = torch.zeros_like(batch.mask)
    first[:, 0] = ~batch.mask.any(1)
    return dataclasses.replace(replace_tokens(batch, first, pad_id), mask=batch.mask | first)


def run_hidden(
    function: Callable[[Batch], Tensor],
    model: Predictor,
    batch: Batch,
    row: Int[Tensor, "N"],
    keep: Bool[Tensor, "N T"],
    hide: str,
) -> Tensor:
    """`function` of text `row[n]` with only the words of `keep[n]`, for each n: in pieces, equal edits once. It may ask
    the model for its output, nothing else."""
    edits, where = torch.unique(torch.cat([row[:, None], keep.to(row)], dim=1), dim=0, return_inverse=True)
    row, keep = edits[:, 0], edits[:, 1:].bool()
    lengths = (batch.mask[row] & (keep | ~batch.words[row]) if hide == "delete" else batch.mask[row]).sum(1)

    def some(index: Int[Tensor, "M"]) -> Tensor:
        return in_pieces(function, trim(hidden(model, rows(batch, row[index]), keep[index], hide)))

    with readout_only(model), packed_weights(model, int(lengths.sum())):
        return by_length(some, lengths)[where]


def explained(model: Predictor, scalar: Scalar) -> Callable[[Batch], Tensor]:
    return lambda batch: scalar(model, model.predict(batch), batch)
