"""Does shuffling attention change the output? (Jain & Wallace 2019, section 4.2.1)

1. Encode once.  2. Shuffle attention over the words of the text, 100 times.  3. Change in output (TVD) each time;
   the median of them is the text's score. A text of one word has nothing to shuffle, and no score.
Deviations: the authors' code evaluates in train mode; we evaluate in eval mode. With a linear decoder a shuffle needs
only the per-token logits, not the hidden states, which gives the same numbers at a fraction of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example, packing_order
from heatcheck.experiments.alternatives import decider
from heatcheck.experiments.rows import predicted_names, value_or_reason
from heatcheck.measure.distributions import tvd
from heatcheck.models.encoders import take_tokens
from heatcheck.models.protocols import AttentiveClassifier, LinearDecoder, encoded_tokens
from heatcheck.models.subject import Subject
from heatcheck.randomness import random_numbers, text_seeds
from heatcheck.results import Row, Score

RANDOM = 0xFFFFFFC0  # of 32 random bits, those that order the words: the lowest 6 make room for a place
ROOM = 64  # places that fit there; a wider batch has 64-bit keys
ONE_WORD = "undefined: the text has fewer than two words to shuffle"
AT_ONCE = 1 << 21  # weights in memory: long texts are shuffled fewer times at once


@dataclass(frozen=True)
class PermutationConfig:
    permutations: int = 100
    batch_size: int = 128


def permutation(
    subject: Subject[AttentiveClassifier],
    examples: Sequence[Example],
    config: PermutationConfig,
    *,
    generator: torch.Generator,
) -> Iterator[Row]:
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            encoded = encoded_tokens(subject.model, batch)
            attention = subject.model.attend(encoded, batch)
        seeds = text_seeds(generator, batch.example_ids)
        probs, change = change_when_shuffled(subject.model, encoded, attention, batch, config.permutations, seeds)
        groups = predicted_names(subject, probs)
        values = np.where(batch.attended.sum(1).cpu().numpy() > 1, medians(change), np.nan)
        for name, group, number in zip(batch.example_ids, groups, values.tolist(), strict=True):
            value, reason = value_or_reason(number, ONE_WORD)
            yield Score("permutation_tvd", value, "attention", "permuted", name, group, reason=reason)


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
    places = packing_order(batch.attended)  # B S: the words first
    weights, lengths = attention[:, 0].gather(1, places), batch.attended.sum(1)
    own, change = _changes(model, encoded, attention, batch, places)
    at_once = max(AT_ONCE // weights.numel() // 2 * 2, 2)  # rounds come in pairs
    slices = [range(permutations)[start : start + at_once] for start in range(0, permutations, at_once)]
    return own, torch.cat([change(shuffles(weights, lengths, rounds, seeds)) for rounds in slices])


def _changes(
    model: AttentiveClassifier,
    encoded: Float[Tensor, "B T H"],
    attention: Float[Tensor, "B 1 T"],
    batch: Batch,
    places: Int[Tensor, "B S"],
) -> tuple[Float[Tensor, "B L"], Callable[[Float[Tensor, "P B S"]], Float[Tensor, "P B"]]]:
    """The model's output, and a function: how far other weights of the tokens at `places` move it."""
    if isinstance(model, LinearDecoder):
        token_logits = take_tokens(model.token_logits(encoded), places)
        logits = _mixed(attention[:, 0].gather(1, places), token_logits)
        return model.probs(logits), lambda weights: _change(model, _mixed(weights, token_logits), logits)
    decide = decider(model, encoded, batch)
    own = decide(attention.transpose(0, 1))[0]

    def change(weights: Float[Tensor, "P B S"]) -> Float[Tensor, "P B"]:
        spread = attention.new_zeros(len(weights), *attention[:, 0].shape)
        return tvd(decide(spread.scatter_(2, places.expand(weights.shape), weights)), own)

    return own, change


def _mixed(weights: Float[Tensor, "*P B S"], token_logits: Float[Tensor, "B S C"]) -> Float[Tensor, "*P B C"]:
    """Logits of a linear decoder. For one output a product and a sum: a matrix product with a vector takes longer."""
    if token_logits.shape[-1] == 1:
        return (weights * token_logits[..., 0]).sum(-1, keepdim=True)
    return torch.einsum("...bs,bsc->...bc", weights, token_logits)


def _change(model: LinearDecoder, moved: Float[Tensor, "P B C"], own: Float[Tensor, "B C"]) -> Float[Tensor, "P B"]:
    if model.kind == "binary":  # the TVD of two Bernoullis, without making a distribution of each
        return (moved.sigmoid() - own.sigmoid()).abs_()[..., 0]
    return tvd(model.probs(moved), model.probs(own))


def shuffles(
    weights: Float[Tensor, "B S"], lengths: Int[Tensor, "B"], rounds: range, seeds: Int[ndarray, "B"]
) -> Float[Tensor, "P B S"]:
    """The first weights of each row, as many as its length says, in random order, by the row's own seed."""
    size = weights.shape[1]
    inside = np.arange(size) < lengths.cpu().numpy()[:, None]
    sources = _shuffled_places(random_numbers(seeds, rounds, size), inside)
    sources += (np.arange(inside.size).reshape(inside.shape) - np.arange(size)).astype(sources.dtype)  # row starts
    flat = torch.from_numpy(sources).to(weights.device)
    return weights.flatten().index_select(0, flat.flatten()).view(flat.shape)


def _shuffled_places(numbers: Int[ndarray, "P B S"], inside: Bool[ndarray, "B S"]) -> Int[ndarray, "P B S"]:
    """Sorting random numbers that carry a place in their lowest bits shuffles the places, far faster than arg-sorting.

    Places outside get the highest numbers and stay where they are. One pair of words in 2²⁶ draws the same bits and
    keeps its order.
    """
    narrow = inside.shape[1] <= ROOM
    keys = numbers if narrow else numbers.astype(np.uint64) << np.uint64(32)
    random = np.array(RANDOM if narrow else RANDOM << 32, dtype=keys.dtype)
    place = np.arange(inside.shape[1], dtype=keys.dtype)
    keys &= np.where(inside, random, 0)
    keys |= np.where(inside, place, place | random)
    keys.sort(axis=-1)
    keys &= ~random
    return np.asarray(keys.view(np.int32 if narrow else np.int64))


def medians(change: Float[Tensor, "P B"]) -> Float[ndarray, "B"]:
    """Over the permutations. NumPy sorts many times faster than `Tensor.quantile` does."""
    ordered = np.sort(change.cpu().numpy(), axis=0)
    return np.asarray(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
