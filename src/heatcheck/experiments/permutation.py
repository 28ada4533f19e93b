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
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.experiments.alternatives import classify_alternatives
from heatcheck.experiments.rows import predicted_names
from heatcheck.measure.distributions import tvd
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score


@dataclass(frozen=True)
class PermutationConfig:
    permutations: int = 100
    batch_size: int = 64


def permutation(
    subject: Subject, examples: Sequence[Example], config: PermutationConfig, *, generator: torch.Generator
) -> Iterator[Row]:
    rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    for batch in subject.batches(examples, config.batch_size):
        probs, change = permuted_change(subject.model, batch, config.permutations, rng)
        groups = predicted_names(subject, probs)
        for name, group, value in zip(batch.example_ids, groups, change.median(0).values.tolist(), strict=True):
            yield Score("permutation_tvd", value, "attention", "permuted", name, group)


@torch.no_grad()
def permuted_change(
    model: AttentiveClassifier, batch: Batch, permutations: int, rng: np.random.Generator
) -> tuple[Float[Tensor, "B L"], Float[Tensor, "P B"]]:
    """The model's output, and how far each shuffle of its attention moves it."""
    encoded = model.encode(model.embed(batch), batch)
    attention = model.attend(encoded, batch)
    base = model.probs(model.classify(encoded, attention, batch))
    shuffled = shuffles(attention[:, 0].cpu().numpy(), batch.attended.cpu().numpy(), permutations, rng)
    logits = classify_alternatives(model, encoded, torch.from_numpy(shuffled).to(attention), batch)
    return base, tvd(model.probs(logits), base)


def shuffles(
    weights: Float[ndarray, "B T"], words: Bool[ndarray, "B T"], permutations: int, rng: np.random.Generator
) -> Float[ndarray, "P B T"]:
    """Each row's weights in random order over its words, `permutations` times.

    A random key with the position in its low bits sorts faster than it can be arg-sorted.
    """
    bits = max(int(words.shape[1]).bit_length(), 1)
    keys = rng.integers(0, 2 ** (62 - bits), size=(permutations, *words.shape), dtype=np.int64)
    places = np.arange(words.shape[1], dtype=np.int64)
    keys = (keys << bits) | places
    keys[:, ~words] = np.iinfo(np.int64).max  # non-words sort to the end
    keys.sort(axis=-1)
    order = keys & (2**bits - 1)
    packed = np.argsort(~words, axis=1, kind="stable")  # where each row's words stand, in order
    inside = np.take_along_axis(words, packed, axis=1)
    drawn = np.take_along_axis(np.broadcast_to(weights, order.shape), np.minimum(order, words.shape[1] - 1), axis=-1)
    shuffled = np.zeros_like(drawn)
    np.put_along_axis(shuffled, np.broadcast_to(packed, order.shape), drawn * inside, axis=-1)
    return shuffled
