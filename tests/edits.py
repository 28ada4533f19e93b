"""Edits of batches that only tests make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from heatcheck.batch import TOKEN_FIELDS, Batch, keep_tokens


def without_token(batch: Batch, position: Tensor) -> Batch:
    """One token of each row is deleted."""
    return keep_tokens(batch, torch.ones_like(batch.mask).scatter(1, position[:, None], value=False))


def join(batches: Sequence[Batch]) -> Batch:
    """Batches of different widths below each other; the narrower are padded on the right."""
    width = max(batch.mask.shape[1] for batch in batches)
    wide = [_widened(batch, width) for batch in batches]
    tensors = [f.name for f in fields(Batch) if isinstance(getattr(wide[0], f.name), Tensor)]
    stacked = {name: torch.cat([getattr(batch, name) for batch in wide]) for name in tensors}
    return replace(wide[0], example_ids=tuple(name for batch in wide for name in batch.example_ids), **stacked)


def _widened(batch: Batch, width: int) -> Batch:
    extra = width - batch.mask.shape[1]
    found = {name: getattr(batch, name) for name in TOKEN_FIELDS}
    return replace(batch, **{n: torch.cat([v, v.new_zeros(len(v), extra, *v.shape[2:])], 1) for n, v in found.items()})
