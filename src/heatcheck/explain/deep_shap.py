"""Deep SHAP: DeepLIFT averaged over several baselines (Lundberg & Lee 2017, section 4.2).

1. Draw texts of random words: as long as the text, its marks in their places.
2. Average the exact DeepLIFT over these baselines; the scores sum to f(text) − mean f(baseline).

Deviation: baselines are random words in place of training texts, which have other lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.batch import Batch, replace_tokens
from heatcheck.errors import InputError
from heatcheck.explain.deep_lift import exact_or_captums
from heatcheck.explain.path import check_samples
from heatcheck.explain.types import Explanation, Scalar, held
from heatcheck.models.protocols import Classifier, KnowsWords
from heatcheck.randomness import text_seeds


@dataclass(frozen=True)
class DeepShap:
    """`samples` baselines."""

    samples: int = 5

    def __post_init__(self) -> None:
        check_samples("deep_shap", self.samples)

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        return exact_or_captums(model, batch, self._baselines(model, batch, generator), held(scalar, model, batch))

    @torch.no_grad()
    def promised(
        self, model: Classifier, batch: Batch, scalar: Scalar, generator: torch.Generator | None = None
    ) -> Float[Tensor, "B"]:
        """What the scores of each text sum to, where they are complete."""
        scalar = held(scalar, model, batch)
        others = [scalar(model, model.predict(b), b) for b in self._baselines(model, batch, generator)]
        return scalar(model, model.predict(batch), batch) - torch.stack(others).mean(0)

    def _baselines(self, model: Classifier, batch: Batch, generator: torch.Generator | None) -> list[Batch]:
        ids = self._random_words(model, batch, generator or torch.Generator().manual_seed(0))
        return [replace_tokens(batch, batch.words, some) for some in ids]

    def _random_words(self, model: Classifier, batch: Batch, generator: torch.Generator) -> Int[Tensor, "N B T"]:
        """Belong to the text: the same whatever its company and padding are."""
        if not isinstance(model, KnowsWords) or not len(model.ordinary_ids):
            raise InputError(f"deep_shap: {type(model).__name__} does not say which words there are to draw from.")
        vocabulary, words = model.ordinary_ids.cpu(), batch.words.cpu()
        ids = torch.zeros(self.samples, *words.shape, dtype=torch.long)
        for row, seed in enumerate(text_seeds(generator, batch.example_ids).tolist()):
            own = torch.Generator().manual_seed(seed % 2**63)
            drawn = torch.randint(len(vocabulary), (self.samples, int(words[row].sum())), generator=own)
            ids[:, row, words[row]] = vocabulary[drawn]
        return ids.to(batch.token_ids.device)
