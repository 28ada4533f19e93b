"""Running many rows through a model in pieces that fit into memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from heatcheck.batch import Batch, rows
from heatcheck.errors import InputError

TOKENS_AT_ONCE = 8192  # padded tokens of one forward pass: large enough to keep the processor busy
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def in_pieces(function: Callable[[Batch], Tensor], batch: Batch, tokens_at_once: int = TOKENS_AT_ONCE) -> Tensor:
    """`function(batch)`, computed some rows at a time; a piece that does not fit into memory is halved."""
    at_once = max(1, tokens_at_once // max(batch.token_ids.shape[1], 1))
    index = torch.arange(len(batch), device=batch.token_ids.device)
    pieces = [index[start : start + at_once] for start in range(0, len(index), at_once)]
    return torch.cat([part for piece in pieces for part in _halving(function, batch, piece)])


def _halving(function: Callable[[Batch], Tensor], batch: Batch, index: Int[Tensor, "N"]) -> list[Tensor]:
    try:
        return [function(rows(batch, index))]
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        if len(index) == 1:
            name, length = batch.example_ids[int(index[0])], batch.token_ids.shape[1]
            raise InputError(
                f"Text {name!r} ({length:,} tokens) does not fit into memory on its own. "
                "Shorten it with --max-length, or use a machine with more memory."
            ) from error
    half = len(index) // 2
    return [*_halving(function, batch, index[:half]), *_halving(function, batch, index[half:])]


def is_out_of_memory(error: Exception) -> bool:
    """PyTorch says so in different words for CPU, CUDA and MPS."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in OUT_OF_MEMORY)
