"""Does shuffling attention change the output? (Jain & Wallace 2019, section 4.2.1)

1. Encode once.  2. Shuffle attention over the words of the text, 100 times.  3. Change in output (TVD) each time;
   the median of them is the text's score.
Deviations: the authors' code evaluates in train mode; we evaluate in eval mode. With a linear decoder a shuffle needs
only the per-token logits, not the hidden states, which gives the same numbers at a fraction of the cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.experiments.alternatives import decider
from heatcheck.experiments.randomness import random_bits, text_seeds
from heatcheck.experiments.rows import predicted_names
from heatcheck.measure.distributions import tvd
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

# Halves of a sort key: random above, a place below. LAST is above every random half.
RANDOM, LAST, LOW_HALF = (np.uint64(x) for x in (0x7FFFFFFF_00000000, 0xFFFFFFFF_00000000, 0x00000000_FFFFFFFF))


@dataclass(frozen=True)
class PermutationConfig:
    permutations: int = 100
    batch_size: int = 64


def permutation(
    subject: Subject, examples: Sequence[Example], config: PermutationConfig, *, generator: torch.Generator
) -> Iterator[Row]:
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            encoded = subject.model.encode(subject.model.embed(batch), batch)
            attention = subject.model.attend(encoded, batch)
        seeds = text_seeds(generator, batch.example_ids)
        probs, change = change_when_shuffled(subject.model, encoded, attention, batch, config.permutations, seeds)
        groups = predicted_names(subject, probs)
        for name, group, value in zip(batch.example_ids, groups, change.quantile(0.5, dim=0).tolist(), strict=True):
            yield Score("permutation_tvd", value, "attention", "permuted", name, group)


@torch.no_grad()
def change_when_shuffled(
    model: AttentiveClassifier,
    encoded: Float[Tensor, "B T H"],
    attention: Float[Tensor, "B 1 T"],
    batch: Batch,
    permutations: int,
    seeds: Int[ndarray, "B"],
) -> tuple[Float[Tensor, "B L"], Float[Tensor, "P B"]]:
    """The model's output, and how far each shuffle of its attention moves it."""
    shuffled = shuffles(attention[:, 0].cpu().numpy(), batch.attended.cpu().numpy(), permutations, seeds)
    own_first = torch.cat([attention.transpose(0, 1), torch.from_numpy(shuffled).to(attention)])
    probs = decider(model, encoded, batch)(own_first)
    return probs[0], tvd(probs[1:], probs[0])


def shuffles(
    weights: Float[ndarray, "B T"], words: Bool[ndarray, "B T"], permutations: int, seeds: Int[ndarray, "B"]
) -> Float[ndarray, "P B T"]:
    """Each row's weights in random order over its words, `permutations` times, by the row's own seed.

    Sorting random numbers that carry a place in their low half shuffles the places, far faster than arg-sorting does.
    Non-words get the highest numbers: they come last and are then sent back to where they stand.
    """
    places = np.arange(words.size, dtype=np.uint64).reshape(words.shape)
    rank = np.where(words, words.cumsum(1), words.sum(1, keepdims=True) + (~words).cumsum(1)) - 1
    rounds = np.arange(permutations, dtype=np.uint64)[:, None, None] << np.uint64(32)
    keys = random_bits(seeds[:, None], rounds | rank.astype(np.uint64))
    keys &= np.where(words, RANDOM, np.uint64(0))
    keys |= np.where(words, places, places | LAST)
    keys.sort(axis=-1)
    keys &= LOW_HALF
    sources = keys.view(np.int64).reshape(permutations, -1).take(places[:, :1].astype(np.int64) + rank, axis=1)
    return np.asarray(weights.ravel().take(sources))
