"""What a network is given: its texts whole, in windows, turned around or in groups of one length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from heatcheck.batch import PAIR, Batch
from heatcheck.errors import InputError


class Inputs(NamedTuple):
    """A row for each text or window."""

    embeddings: Float[Tensor, "B T E"]
    mask: Bool[Tensor, "B T"]
    token_ids: Int[Tensor, "B T"]
    types: Int[Tensor, "B T"] | None = None

    def at(self, row: Int[Tensor, "N #S"], place: Int[Tensor, "#N S"]) -> Inputs:
        """The tokens at these places of these rows."""
        at = (row, place)
        types = None if self.types is None else self.types[at]
        return Inputs(self.embeddings[at], self.mask[at], self.token_ids[at], types)

    def of_one_length(self, rows: Int[Tensor, "N"]) -> Inputs:
        """Rows that are equally long, without padding; of an empty text one pad is left."""
        length = max(int(self.mask[rows[0]].sum()), 1)
        return self.at(rows[:, None], torch.arange(length, device=rows.device)[None])

    def at_least(self, width: int) -> Inputs:
        """With padding behind the tokens if there is not room for so many."""
        missing = max(width - self.mask.shape[1], 0)
        if not missing:
            return self
        mask, token_ids = (functional.pad(field, (0, missing)) for field in (self.mask, self.token_ids))
        types = None if self.types is None else functional.pad(self.types, (0, missing))
        return Inputs(functional.pad(self.embeddings, (0, 0, 0, missing)), mask, token_ids, types)

    def padded_in_front(self) -> Inputs:
        return self.at(torch.arange(len(self.mask), device=self.mask.device)[:, None], padding_first(self.mask))


def padding_first(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Each row's positions with the padding in front, the tokens behind it in their order."""
    return torch.sort(mask.to(torch.uint8), dim=1, stable=True).indices


def equally_long(mask: Bool[Tensor, "B T"]) -> list[Int[Tensor, "N"]]:
    """The rows of each length."""
    lengths = mask.sum(1)
    return [(lengths == length).nonzero().squeeze(1) for length in sorted(set(lengths.tolist()))]


def regrouped(parts: Sequence[Tensor], groups: Sequence[Int[Tensor, "N"]]) -> Tensor:
    """What was found for groups of rows, in the order of the rows."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))[torch.cat(list(groups)).argsort()]


@dataclass(frozen=True)
class Windows:
    """Overlapping pieces of long texts. Each holds all marks and the whole second text, and a stretch of the first."""

    row: Int[Tensor, "W"]  # the row that a window is from
    place: Int[Tensor, "W S"]  # its positions in that row, padded on the right
    mask: Bool[Tensor, "W S"]
    shape: tuple[int, int]

    @staticmethod
    def of(batch: Batch, max_length: int) -> Windows:
        rows, places = [], []
        for row in range(len(batch)):
            for place in window_positions(batch, row, max_length):
                rows.append(row)
                places.append(place)
        lengths = torch.tensor([len(p) for p in places])
        device = batch.token_ids.device
        padded = nn.utils.rnn.pad_sequence(places, batch_first=True).to(device)
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).to(device)
        return Windows(torch.tensor(rows, device=device), padded, mask, (len(batch), batch.token_ids.shape[1]))

    def take(self, whole: Inputs) -> Inputs:
        return whole.at(self.row[:, None], self.place)._replace(mask=self.mask)

    def mean(self, values: Float[Tensor, "W C"]) -> Float[Tensor, "B C"]:
        total = values.new_zeros(self.shape[0], values.shape[1]).index_add(0, self.row, values)
        return total / torch.bincount(self.row, minlength=self.shape[0])[:, None]

    def spread(self, maps: Float[Tensor, "W L H S S"]) -> Float[Tensor, "B L H T T"]:
        """Onto the whole text: a token's row is the mean over the windows that hold it."""
        n, length = self.shape
        whole = maps.new_zeros(n, length, length, *maps.shape[1:3])
        index = (self.row[:, None, None], self.place[:, :, None], self.place[:, None, :])
        real = (self.mask[:, :, None] & self.mask[:, None, :])[..., None, None]
        whole = whole.index_put(index, maps.permute(0, 3, 4, 1, 2) * real, accumulate=True)
        held = maps.new_zeros(n, length).index_put((self.row[:, None], self.place), self.mask.to(maps), accumulate=True)
        return (whole / held.clamp(min=1)[:, :, None, None, None]).permute(0, 3, 4, 1, 2)


def window_positions(batch: Batch, row: int, max_length: int) -> Iterator[Int[Tensor, "S"]]:
    """Each window's positions. Neighbours overlap by half, so that every word is seen with words on both sides."""
    real = batch.mask[row].cpu()
    stays = real & (batch.special[row] | (batch.segments[row] == PAIR)).cpu()
    moving = (real & ~stays).nonzero().squeeze(1)
    room = max_length - int(stays.sum())
    if room < 0 or (room < 1 and len(moving)):
        raise InputError(
            f"Text {batch.example_ids[row]!r}: its second text alone fills the model's {max_length} tokens. Shorten it."
        )
    start = 0
    while True:
        here = torch.cat([stays.nonzero().squeeze(1), moving[start : start + room]])
        yield here.sort().values
        if start + room >= len(moving):
            return
        start += max(room // 2, 1)
