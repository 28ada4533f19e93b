"""The data that erased texts are compared with, and that sampled words come from: texts of the run, unedited.

One sample for the whole run, so that a text's numbers are the same whatever texts are in its step: all texts, or 1,000
of them chosen by their ids, which bounds memory and time.

Far from the data: a text whose vector (reading.py) is further from its nearest unedited texts than all but 5% of the
unedited texts are from theirs. Distance: Euclidean, mean over the 5 nearest other texts (the text that was edited is
left out, as an unedited text is not its own neighbour).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.experiments.erasing.reading import read, read_in_pieces
from heatcheck.models.protocols import Predictor
from heatcheck.models.subject import Subject
from heatcheck.randomness import random_numbers, text_seeds

MOST, AT_ONCE = 1000, 64
NEIGHBOURS, FEWEST, SHARE_WITHIN = 5, 20, 0.95
NO_VECTOR = "the model does not show how it sees a text"
TOO_FEW = f"fewer than {FEWEST} texts to compare with"


@dataclass(frozen=True)
class Reference:
    """`limit`: distances above it are far; None with a `reason` if there is none."""

    pool: Pool
    vectors: Float[Tensor, "N H"]
    place: Mapping[str, int]  # of each text of the sample among the vectors
    limit: float | None
    reason: str | None

    @staticmethod
    def of(subject: Subject[Predictor], examples: Sequence[Example]) -> Reference:
        batches = list(subject.batches(chosen(examples), AT_ONCE))
        names = [name for batch in batches for name in batch.example_ids]
        vectors = torch.cat([read_in_pieces(subject.model, batch).vector for batch in batches])
        reason = NO_VECTOR if vectors.shape[1] == 0 else TOO_FEW if len(names) < FEWEST else None
        limit = None
        if reason is None:
            limit = float(np.quantile(nearest(vectors, vectors, torch.arange(len(names))).cpu().numpy(), SHARE_WITHIN))
        return Reference(Pool.of(batches), vectors, {name: i for i, name in enumerate(names)}, limit, reason)

    def probs_and_distance(self, model: Predictor, batch: Batch) -> Float[Tensor, "B L+1"]:
        """The probabilities of edited texts, and in the last column how far they are from unedited ones."""
        probs, vector = read(model, batch)
        if self.limit is None:
            return torch.cat([probs, probs.new_zeros(len(probs), 1)], dim=1)
        own = torch.tensor([self.place.get(name, -1) for name in batch.example_ids])
        return torch.cat([probs, nearest(vector, self.vectors, own)[:, None].to(probs)], dim=1)


def chosen(examples: Sequence[Example]) -> list[Example]:
    """The sample: by the texts' ids alone, so that neither their order nor a seed matters."""
    seeds = text_seeds(torch.Generator().manual_seed(0), [example.id for example in examples])
    return [examples[place] for place in np.argsort(seeds, kind="stable")[:MOST]]


def nearest(vectors: Float[Tensor, "B H"], others: Float[Tensor, "N H"], own: Int[Tensor, "B"]) -> Float[Tensor, "B"]:
    """Mean distance to the nearest other texts; `own` is each row's place among the others, which does not count, or −1
    if it is not among them."""
    distance = torch.cdist(vectors, others, compute_mode="donot_use_mm_for_euclid_dist")  # whatever B is, the same
    own = own.to(vectors.device)
    row = (own >= 0).nonzero().squeeze(1)
    distance[row, own[row]] = torch.inf
    return distance.topk(min(NEIGHBOURS, len(others) - 1), largest=False).values.mean(1)


@dataclass(frozen=True)
class Pool:
    """The tokens that the sample's words consist of, to draw from in proportion to how often they occur."""

    ids: Int[ndarray, "V"]
    counts: Int[ndarray, "V"]
    texts: frozenset[str]  # whose words these are

    @staticmethod
    def of(batches: Sequence[Batch]) -> Pool:
        ids = [batch.token_ids[batch.words].cpu().numpy() for batch in batches]
        found, counts = np.unique(np.concatenate(ids), return_counts=True)
        return Pool(found, counts, frozenset(name for batch in batches for name in batch.example_ids))

    def drawn(self, batch: Batch, draws: int, generator: torch.Generator) -> Int[Tensor, "D B T"]:
        """For each token of each text, tokens of the other texts. A text's draws are its own, by its own seed."""
        seeds = text_seeds(generator, [f"{name}\x1fsample" for name in batch.example_ids])  # not those of random orders
        numbers = random_numbers(seeds, range(draws), batch.token_ids.shape[1]) / 2**32
        found = np.empty(numbers.shape, np.int64)
        for row, name in enumerate(batch.example_ids):
            up_to = self._others(batch.token_ids[row, batch.words[row]].cpu().numpy(), name).cumsum()
            found[:, row] = self.ids[np.searchsorted(up_to, numbers[:, row] * up_to[-1], side="right")]
        return torch.from_numpy(found).to(batch.token_ids.device)

    def _others(self, own: Int[ndarray, "T"], name: str) -> Int[ndarray, "V"]:
        """How often each token occurs in the other texts; in its own, in other places, if it stands alone."""
        if name not in self.texts:
            return self.counts
        others = self.counts - np.bincount(np.searchsorted(self.ids, own), minlength=len(self.ids))
        return others if others.any() else self.counts
