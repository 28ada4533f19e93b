"""Running many rows through a model in pieces that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from heatcheck.batch import Batch, rows
from heatcheck.errors import InputError
from heatcheck.machine import is_out_of_memory

# Padded tokens of one forward pass: large enough to keep the processor busy. Of short texts a CPU is fastest while what
# a layer makes of them stays in its cache (measured with MiniLM: 900 to 1,600 tokens; 8,000 take a tenth longer).
TOKENS_AT_ONCE, TOKENS_ON_CPU = 8192, 1280


def in_pieces(function: Callable[[Batch], Tensor], batch: Batch, tokens_at_once: int = TOKENS_AT_ONCE) -> Tensor:
    """`function(batch)`, computed some rows at a time; a piece that does not fit into memory is halved."""
    return over_rows(lambda index: function(rows(batch, index)), batch, tokens_at_once)


def halved(function: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
    """`function(batch)` as it is, unless that does not fit into memory."""
    everything = torch.arange(len(batch), device=batch.token_ids.device)
    return torch.cat(_halving(lambda index: function(rows(batch, index)), batch, everything))


def over_rows(
    function: Callable[[Int[Tensor, "M"]], Tensor], batch: Batch, tokens_at_once: int = TOKENS_AT_ONCE
) -> Tensor:
    """`function(index)` of the numbers of all rows, some at a time: for what has to know which rows they are."""
    at_once = max(1, tokens_at_once // max(batch.token_ids.shape[1], 1))
    index = torch.arange(len(batch), device=batch.token_ids.device)
    pieces = [index[start : start + at_once] for start in range(0, len(index), at_once)]
    return torch.cat([part for piece in pieces for part in _halving(function, batch, piece)])


def by_length(function: Callable[[Int[Tensor, "M"]], Tensor], lengths: Int[Tensor, "N"]) -> Tensor:
    """`function(rows)` of rows of these lengths, some at a time: those of similar length together, so that little of
    what runs is padding."""
    order = lengths.argsort(stable=True)
    at_once = TOKENS_ON_CPU if lengths.device.type == "cpu" else TOKENS_AT_ONCE
    parts = torch.split(order, piece_sizes(lengths[order].tolist(), at_once))
    return torch.cat([function(part) for part in parts])[order.argsort()]


def piece_sizes(lengths: Sequence[int], at_once: int) -> list[int]:
    """How many rows go together, the shortest first: as many as fit, padded to the longest of them, or one.

    >>> piece_sizes([1, 1, 2, 3, 3, 9], at_once=6)
    [3, 2, 1]
    """
    sizes = [0]
    for length in lengths:
        if sizes[-1] and (sizes[-1] + 1) * length > at_once:
            sizes.append(0)
        sizes[-1] += 1
    return sizes


def _halving(function: Callable[[Int[Tensor, "M"]], Tensor], batch: Batch, index: Int[Tensor, "N"]) -> list[Tensor]:
    try:
        return [function(index)]
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


def fewer_at_once(function: Callable[[int], Tensor], at_once: int) -> Tensor:
    """`function(at_once)`, or of half as many when memory runs out: for what makes pieces itself, of a given size."""
    try:
        return function(at_once)
    except (MemoryError, RuntimeError) as error:
        if at_once == 1 or not is_out_of_memory(error):
            raise
    return fewer_at_once(function, at_once // 2)
