"""Deep SHAP: DeepLIFT averaged over several baselines (Lundberg & Lee 2017, section 4.2).

1. Draw texts of random words: as long as the text, its marks in their places.
2. Average the exact DeepLIFT over these baselines; the scores sum to f(text) − mean f(baseline).

Deviation: baselines are random words in place of training texts, which have other lengths. A model that has an
operation without a rule gets the average of Captum's form, with a note and with how far it misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor, nn

from heatcheck.batch import Batch, replace_tokens
from heatcheck.data.vocabulary import MARKS
from heatcheck.errors import InputError
from heatcheck.explain.deep_lift import Contribute, attribution, exact, held, missed
from heatcheck.explain.deep_lift_captum import NOTE, by_captum
from heatcheck.explain.differences import NoRuleError
from heatcheck.explain.types import Explanation, Scalar
from heatcheck.models.protocols import Classifier
from heatcheck.randomness import text_seeds


@runtime_checkable
class HasTable(Protocol):
    """Our own models: the ids behind the marks are all words."""

    embedding: nn.Embedding


@dataclass(frozen=True)
class DeepShap:
    """`vocabulary`: words are drawn from the ids below it; by default all that the model's own table has."""

    samples: int = 5
    vocabulary: int | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InputError(f"deep_shap: samples {self.samples} is not above 0.")

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        scalar = held(scalar, model, batch)
        ids = self._random_words(model, batch, generator or torch.Generator().manual_seed(0))
        baselines = [replace_tokens(batch, batch.words, some) for some in ids]
        try:
            return _average(exact, model, batch, baselines, scalar)
        except NoRuleError:
            return _average(by_captum, model, batch, baselines, scalar, notes=(NOTE,))

    def _random_words(self, model: Classifier, batch: Batch, generator: torch.Generator) -> Int[Tensor, "N B T"]:
        """Belong to the text: the same whatever its company and padding are."""
        size, words = self._vocabulary(model), batch.words.cpu()
        ids = torch.zeros(self.samples, *words.shape, dtype=torch.long)
        for row, seed in enumerate(text_seeds(generator, batch.example_ids).tolist()):
            own = torch.Generator().manual_seed(seed % 2**63)
            ids[:, row, words[row]] = torch.randint(
                len(MARKS), size, (self.samples, int(words[row].sum())), generator=own
            )
        return ids.to(batch.token_ids.device)

    def _vocabulary(self, model: Classifier) -> int:
        size = self.vocabulary
        if size is None and isinstance(model, HasTable):
            size = model.embedding.num_embeddings
        if size is None or size <= len(MARKS):
            raise InputError(
                f"deep_shap: there are no words to draw from ({size} ids, of which {len(MARKS)} are marks). "
                "Say how many the model knows: deep_shap(vocabulary=30000)."
            )
        return size


def _average(
    contribute: Contribute,
    model: Classifier,
    batch: Batch,
    baselines: list[Batch],
    scalar: Scalar,
    notes: tuple[str, ...] = (),
) -> Explanation:
    parts = [attribution(contribute, model, batch, baseline, scalar) for baseline in baselines]
    scores, change = (torch.stack(values).mean(0) for values in zip(*parts, strict=True))
    return Explanation(scores, signed=True, delta=missed(scores, change), notes=notes)
