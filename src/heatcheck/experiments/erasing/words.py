"""The words of a text as what can be erased, and their order by a method's scores.

A word is all its pieces: they are erased together, and its score is the sum of theirs. For unsigned methods, whose
scores are never below 0, that is the sum of absolute values too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heatcheck.batch import Batch
from heatcheck.experiments.explained import Explained

UNITS = ("word", "token")


@dataclass(frozen=True)
class Words:
    """`place[b, t]`: which word of its text token t belongs to, 0, 1, …; −1 for what is never erased."""

    place: Int[ndarray, "B T"]
    n: Int[ndarray, "B"]  # words of each text

    @staticmethod
    def of(batch: Batch, unit: str = "word", *, special_tokens: bool = False) -> Words:
        """`unit` "token": each piece on its own, for scripts without spaces whose tokenizer finds few words. With
        `special_tokens` marks like [CLS] are words too, each on its own."""
        inside = (batch.mask if special_tokens else batch.words).cpu().numpy()
        starts = inside.copy()
        if unit == "word":
            word, segment = batch.word_ids.cpu().numpy(), batch.segments.cpu().numpy()
            same = (word[:, 1:] == word[:, :-1]) & (word[:, 1:] >= 0) & (segment[:, 1:] == segment[:, :-1])
            starts[:, 1:] &= ~(same & inside[:, :-1])
        return Words(np.where(inside, starts.cumsum(1) - 1, -1), starts.sum(1))

    @property
    def real(self) -> Bool[ndarray, "B U"]:
        """Which places of a row as wide as the longest text are words."""
        return np.asarray(np.arange(max(1, self.n.max(initial=0))) < self.n[:, None])

    def scores(self, scores: Float[ndarray, "B T"]) -> Float[ndarray, "B U"]:
        """Each word's score, the sum over its pieces; 0 where no word is."""
        total = np.zeros(self.real.shape)
        row, token = np.nonzero(self.place >= 0)
        np.add.at(total, (row, self.place[row, token]), scores[row, token])
        return total

    def tokens(self, row: Int[ndarray, "N"], chosen: Bool[ndarray, "N U"]) -> Bool[ndarray, "N T"]:
        """The tokens of the chosen words of some rows."""
        place = self.place[row]
        return np.asarray(np.take_along_axis(chosen, np.maximum(place, 0), axis=1) & (place >= 0))

    def counts(self, shares: Sequence[float]) -> Int[ndarray, "B S"]:
        """How many words the top share of each text is: rounded down, but one at least (none of an empty text)."""
        wanted = np.floor(self.n[:, None] * np.asarray(shares)[None, :] + 1e-9).astype(int)
        return np.asarray(np.minimum(np.maximum(wanted, 1), self.n[:, None]))

    def ranks(self, scores: Float[ndarray, "B U"], ties: Int[ndarray, "B U"] | None = None) -> Int[ndarray, "B U"]:
        """0 for the word with the highest score; equal scores in the order of `ties`, else of the text; what is no word
        comes last."""
        then = np.broadcast_to(np.arange(scores.shape[1]), scores.shape) if ties is None else ties
        order = np.lexsort((then, np.where(self.real, -scores, np.inf)), axis=1)
        return np.argsort(order, axis=1)

    def reversed(self, ranks: Int[ndarray, "B U"]) -> Int[ndarray, "B U"]:
        return np.where(self.real, self.n[:, None] - 1 - ranks, ranks)


def word_scores(explained: Explained, batch: Batch, name: str, words: Words) -> Float[ndarray, "B U"]:
    """One method's scores for the words of a batch."""
    return words.scores(explained.scores_of(batch, name, words.place >= 0))
