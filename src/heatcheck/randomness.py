"""Random numbers that belong to a text: the same whatever other texts are tested beside it, in whatever order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch

# SplitMix64 (Steele, Lea & Flood 2014): each step adds the first number, then mixes with the others.
STEP, MIX_1, MIX_2 = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def text_seeds(generator: torch.Generator, example_ids: Sequence[str]) -> Int[ndarray, "B"]:
    """A seed for each text, from the generator's own seed and the text's id."""
    seed = generator.initial_seed()
    return np.frombuffer(b"".join(_seed(seed, name) for name in example_ids), dtype="<u8")


def _seed(seed: int, name: str) -> bytes:
    data = f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest()


def random_numbers(seeds: Int[ndarray, "B"], rounds: range, items: int) -> Int[ndarray, "R B N"]:
    """32 random bits for each round and item of each seed: the halves of SplitMix64's numbers serve two rounds.

    A round's k-th number is the same whatever else is asked for. `rounds` starts at an even one.
    """
    item = np.arange(1, items + 1, dtype=np.uint64)
    pair = np.arange(rounds.start // 2, (rounds.stop + 1) // 2, dtype=np.uint64)[:, None, None] << np.uint64(32)
    bits = _mixed(pair * STEP + (seeds[:, None] + item * STEP))
    halves = np.empty((len(rounds), *bits.shape[1:]), dtype=np.uint32)
    halves[1::2] = bits[: len(rounds) // 2]
    bits >>= np.uint64(32)
    halves[0::2] = bits
    return halves


def _mixed(bits: Int[ndarray, "*N"]) -> Int[ndarray, "*N"]:
    """In place, as new memory would take longer than the arithmetic."""
    shifted = np.empty_like(bits)
    for shift, factor in ((30, MIX_1), (27, MIX_2)):
        bits ^= np.right_shift(bits, np.uint64(shift), out=shifted)
        bits *= factor
    bits ^= np.right_shift(bits, np.uint64(31), out=shifted)
    return bits


def normal_noise(batch: Batch, generator: torch.Generator, copies: int) -> Float[Tensor, "K B T"]:
    """Standard normal numbers for the words of each text; 0 elsewhere."""
    noise = torch.zeros(copies, *batch.token_ids.shape)
    words = batch.attended.cpu()
    for row, seed in enumerate(text_seeds(generator, batch.example_ids).tolist()):
        own = torch.Generator().manual_seed(seed % 2**63)
        noise[:, row, words[row]] = torch.randn(copies, int(words[row].sum()), generator=own)
    return noise.to(batch.token_ids.device)
