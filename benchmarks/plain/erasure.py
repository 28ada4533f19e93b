"""Comprehensiveness, sufficiency (DeYoung et al. 2020) and τ-LOO, written plainly: one forward pass for each edit.

One text, one method, one share at a time, as the definitions read; words are deleted. A text alone needs no padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.stats import kendalltau

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class PlainErasure:
    """A Hugging Face classifier, and texts as token ids with the word that each token belongs to (None: a mark)."""

    def __init__(self, network: torch.nn.Module) -> None:
        self.network = network

    @torch.no_grad()
    def probs(self, ids: Sequence[int]) -> np.ndarray:
        logits = self.network(input_ids=torch.tensor([list(ids)])).logits
        return logits.softmax(-1)[0].double().numpy()

    def without(self, ids: Sequence[int], words: Sequence[int | None], erased: set[int]) -> np.ndarray:
        return self.probs([i for i, word in zip(ids, words, strict=True) if word is None or word not in erased])

    def measures(
        self, ids: Sequence[int], words: Sequence[int | None], scores: Sequence[float]
    ) -> tuple[float, float, float]:
        """AOPC of both measures, and τ between the sizes of the scores and leave-one-out; one score for each word."""
        whole = self.probs(ids)
        predicted = int(whole.argmax())
        everything = set(range(len(scores)))
        order = sorted(everything, key=lambda word: (-scores[word], word))
        needed, enough = [0.0], [whole[predicted] - self.without(ids, words, everything)[predicted]]
        for share in SHARES:
            top = set(order[: max(1, int(share * len(scores) + 1e-9))])
            needed.append(whole[predicted] - self.without(ids, words, top)[predicted])
            enough.append(whole[predicted] - self.without(ids, words, everything - top)[predicted])
        changes = [np.abs(self.without(ids, words, {w}) - whole).sum() / 2 for w in range(len(scores))]
        tau = float(kendalltau(np.abs(scores), changes)[0])
        return float(np.mean(needed)), float(np.mean(enough)), tau
