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
from heatcheck.explain.pieces import TOKENS_AT_ONCE, in_pieces
from heatcheck.explain.types import Scalar
from heatcheck.models.protocols import Predictor
from heatcheck.models.readout import readout_only

# Padded tokens of one pass. A processor is fastest while what a layer makes of them stays in its cache (measured with
# MiniLM: 1,200 to 1,600 tokens; 8,000 take a tenth longer); a GPU wants many.
ON_CPU, ELSEWHERE = 1536, TOKENS_AT_ONCE
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
        return _deleted(model, batch, gone)
    return replace_tokens(batch, gone, model.mask_id if hide == "mask" else model.pad_id)


def _deleted(model: Predictor, batch: Batch, gone: Bool[Tensor, "B T"]) -> Batch:
    """A decoder reads no marks: where nothing would be left, one padding token stands for the empty text."""
    stays = batch.mask & ~gone
    empty = ~stays.any(1, keepdim=True)
    if bool(empty.any()):
        first = torch.zeros_like(stays)
        first[:, 0] = True
        alone = first & empty
        batch = dataclasses.replace(replace_tokens(batch, alone, model.pad_id), mask=batch.mask | alone)
        stays = stays | alone
    return keep_tokens(batch, stays)


def run_hidden(
    function: Callable[[Batch], Tensor],
    model: Predictor,
    batch: Batch,
    row: Int[Tensor, "N"],
    keep: Bool[Tensor, "N T"],
    hide: str,
) -> Tensor:
    """`function` of text `row[n]` with only the words of `keep[n]`, for each n: in pieces, equal edits once. It may ask
    the model for its output, nothing else.

    Edits of similar length run together, so that little of what runs is padding.
    """
    edits, where = torch.unique(torch.cat([row[:, None], keep.to(row)], dim=1), dim=0, return_inverse=True)
    row, keep = edits[:, 0], edits[:, 1:].bool()
    lengths = (batch.mask[row] & (keep | ~batch.words[row]) if hide == "delete" else batch.mask[row]).sum(1)
    order = lengths.argsort(stable=True)
    at_once = max(1, (ON_CPU if row.device.type == "cpu" else ELSEWHERE) // max(int(lengths.max()), 1))
    with readout_only(model):
        found = [_piece(function, model, batch, row[some], keep[some], hide) for some in torch.split(order, at_once)]
    return torch.cat(found)[order.argsort()][where]


def _piece(
    function: Callable[[Batch], Tensor],
    model: Predictor,
    batch: Batch,
    row: Int[Tensor, "N"],
    keep: Bool[Tensor, "N T"],
    hide: str,
) -> Tensor:
    """Only as wide as these rows need it."""
    return in_pieces(function, trim(hidden(model, rows(batch, row), keep, hide)))


def explained(model: Predictor, scalar: Scalar) -> Callable[[Batch], Tensor]:
    return lambda batch: scalar(model, model.predict(batch), batch)
