"""Random numbers of a text: SplitMix64 as published, and the same in any company."""

import numpy as np
import torch

from heatcheck.randomness import random_numbers, text_seeds

ALL = 2**64 - 1


def split_mix(seed, counter):
    """The definition, in Python's own integers: the counter-th number of the stream that starts at `seed`."""
    z = (seed + counter * 0x9E3779B97F4A7C15) & ALL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL
    return z ^ (z >> 31)


def test_split_mix_is_the_published_one():
    assert [split_mix(1234567, k) for k in (1, 2, 3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_numbers_are_the_halves_of_split_mix():
    seeds = np.array([7, ALL], dtype=np.uint64)
    numbers = random_numbers(seeds, range(5), 3)
    assert numbers.shape == (5, 2, 3)
    for (turn, row, item), number in np.ndenumerate(numbers):
        both = split_mix(int(seeds[row]), (turn // 2 << 32) + item + 1)
        assert number == (both & 0xFFFFFFFF if turn % 2 else both >> 32)


def test_numbers_do_not_depend_on_how_many_are_asked_for():
    seeds = np.array([3, 4, 5], dtype=np.uint64)
    many = random_numbers(seeds, range(9), 8)
    assert (random_numbers(seeds[1:], range(4), 5) == many[:4, 1:, :5]).all()
    assert (random_numbers(seeds[1:], range(2, 7), 5) == many[2:7, 1:, :5]).all()


def test_a_texts_seed_is_its_own():
    first, second = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)
    together = text_seeds(first, ["a", "b", "\ud800"])
    assert len(set(together.tolist())) == 3
    assert text_seeds(first, ["b"]).tolist() == together[1:2].tolist()
    assert text_seeds(second, ["b"]).tolist() != together[1:2].tolist()
