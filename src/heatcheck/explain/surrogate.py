"""Linear stand-ins for a model, fitted to texts in which some of the words are hidden: LIME and Kernel-SHAP.

Both are random unless every coalition of words is run; the numbers drawn belong to the text, so that the same seed
gives the same scores whatever else is in the batch. What is fitted is float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.batch import Batch, rows
from heatcheck.errors import InputError
from heatcheck.explain.hiding import check_hide, explained, run_hidden
from heatcheck.explain.types import Explanation, Scalar, held, missed
from heatcheck.models.protocols import Predictor
from heatcheck.randomness import random_numbers, text_seeds


@dataclass(frozen=True)
class Lime:
    """LIME (Ribeiro et al. 2016) with the settings of Neely et al. 2021.

    1. Draw `samples` masks: each word stays with probability ½; marks always stay.  2. Run the text with the other
    words hidden.  3. Fit Σ w(m) (f(m) − b − β·m)² + alpha |β|², where w(m) = exp(−d² / 2 width²) and d is the cosine
    distance between the mask and the whole text's; β are the scores.
    Deviation: Captum's kernel measures d between token ids unless told otherwise, which means nothing for words.
    """

    samples: int = 1000
    width: float = 1.0
    alpha: float = 1.0
    hide: str = "mask"

    def __post_init__(self) -> None:
        check_hide(self.hide)
        for name, value in (("samples", self.samples), ("width", self.width), ("alpha", self.alpha)):
            if not value > 0:
                raise InputError(f"lime: {name}={value} is not above 0.")

    @torch.no_grad()
    def __call__(
        self, model: Predictor, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        scores = torch.zeros(batch.words.shape, dtype=torch.float64)
        for row, seed in enumerate(text_seeds(generator or _default(), batch.example_ids)):
            n = int(batch.words[row].sum())
            if n == 0:
                continue
            masks = coin_masks(seed, self.samples, n)
            values = values_of_masks(model, batch, row, masks, scalar, self.hide)
            scores[row, batch.words[row].cpu()] = ridge(masks, values, similarity(masks, self.width), self.alpha)
        return Explanation(scores.to(batch.token_ids.device, torch.get_default_dtype()), signed=True)


@dataclass(frozen=True)
class KernelShap:
    """Kernel-SHAP (Lundberg & Lee 2017, section 4.1): Shapley values as a weighted regression.

    1. A text of up to `exact` words: every coalition, with the Shapley kernel as its weight, which gives the Shapley
    values themselves. A longer one: `samples` coalitions, drawn by that kernel in pairs of complements, which halves
    the noise at least (Covert & Lee 2021).  2. Run the text with the other words hidden.  3. Fit a linear model whose
    coefficients, the scores, sum to f(text) − f(all words hidden).
    Deviations from Captum's: it draws without pairs and never all coalitions, and it meets the sum approximately, by
    giving those two texts a weight of a million.
    """

    samples: int = 1000
    hide: str = "mask"
    exact: int = 11

    def __post_init__(self) -> None:
        check_hide(self.hide)
        if self.samples < 2:
            raise InputError(f"kernel_shap: samples={self.samples} is below 2, a coalition and its complement.")
        if not 1 <= self.exact <= 20:
            raise InputError(f"kernel_shap: exact={self.exact} words is not 1 to 20 (2^20 is a million coalitions).")

    @torch.no_grad()
    def __call__(
        self, model: Predictor, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        scores = torch.zeros(batch.words.shape, dtype=torch.float64)
        change = torch.zeros(len(batch), dtype=torch.float64)
        for row, seed in enumerate(text_seeds(generator or _default(), batch.example_ids)):
            n = int(batch.words[row].sum())
            if n == 0:
                continue
            masks, weights = self.coalitions(seed, n)
            values = values_of_masks(model, batch, row, masks, scalar, self.hide)
            change[row] = values[-1] - values[-2]
            scores[row, batch.words[row].cpu()] = shapley_fit(
                masks[:-2], values[:-2] - values[-2], weights, change[row]
            )
        device, dtype = batch.token_ids.device, torch.get_default_dtype()
        delta = missed(scores, change).to(device, dtype)
        return Explanation(scores.to(device, dtype), signed=True, delta=delta, notes=self._notes(batch))

    def coalitions(self, seed: int, n: int) -> tuple[Bool[Tensor, "M+2 N"], Float[Tensor, "M"]]:
        """Masks, last of them no word and all words; and the weights of those before."""
        if n <= self.exact:
            masks = every_coalition(n)
            weights = shapley_kernel(n)[masks.sum(1)]
        else:
            masks = drawn_coalitions(seed, self.samples, n)
            weights = torch.ones(len(masks), dtype=torch.float64)
        ends = torch.tensor([[False], [True]]).expand(2, n)
        return torch.cat([masks, ends]), weights

    def _notes(self, batch: Batch) -> tuple[str, ...]:
        """No numbers: what is said of many batches is said once."""
        many = bool((batch.words.sum(1) > max(self.samples, self.exact)).any())
        return ("a text has more words than coalitions were drawn: raise samples",) if many else ()


def _default() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def values_of_masks(
    model: Predictor, batch: Batch, row: int, masks: Bool[Tensor, "S N"], scalar: Scalar, hide: str
) -> Float[Tensor, "S"]:
    """What is explained, with the words of each mask alone. Columns of `masks` are the words of the text in order."""
    text = rows(batch, torch.tensor([row], device=batch.token_ids.device))
    keep = text.mask.repeat(len(masks), 1)
    keep[:, text.words[0]] = masks.to(keep.device)
    same = torch.zeros(len(masks), dtype=torch.long, device=keep.device)
    explain = explained(model, held(scalar, model, text))
    return run_hidden(explain, model, text, same, keep, hide).cpu().double()


def coin_masks(seed: int, samples: int, n: int) -> Bool[Tensor, "S N"]:
    numbers = random_numbers(np.array([seed], dtype=np.uint64), range(samples), n)[:, 0]
    return torch.from_numpy(numbers >> 31 == 1)


def similarity(masks: Bool[Tensor, "S N"], width: float) -> Float[Tensor, "S"]:
    """The cosine of a mask of k words with that of all n is √(k/n)."""
    distance = 1 - masks.double().mean(1).sqrt()
    return torch.exp(-(distance**2) / (2 * width**2))


def ridge(
    masks: Bool[Tensor, "S N"], values: Float[Tensor, "S"], weights: Float[Tensor, "S"], alpha: float
) -> Float[Tensor, "N"]:
    """Weighted ridge regression with an intercept, which is not penalised: its coefficients.

    >>> masks = torch.tensor([[False, False], [True, False], [False, True], [True, True]])
    >>> ridge(masks, torch.tensor([1.0, 3.0, 0.0, 2.0]).double(), torch.ones(4).double(), alpha=1e-12)
    tensor([ 2.0000, -1.0000], dtype=torch.float64)
    """
    share = weights / weights.sum()
    x, y = masks.double(), values
    x, y = x - share @ x, y - share @ y
    weighted = x * weights[:, None]
    coefficients: Tensor = torch.linalg.solve(
        weighted.T @ x + alpha * torch.eye(x.shape[1], dtype=x.dtype), weighted.T @ y
    )
    return coefficients


def shapley_kernel(n: int) -> Float[Tensor, "N+1"]:
    """By the size of the coalition: (n − 1) / (C(n, k) k (n − k)). None and all words have no weight but a constraint.

    >>> shapley_kernel(3)
    tensor([0.0000, 0.3333, 0.3333, 0.0000], dtype=torch.float64)
    """
    inside = [(n - 1) / (math.comb(n, k) * k * (n - k)) for k in range(1, n)]
    return torch.tensor([0.0, *inside, 0.0], dtype=torch.float64)


def every_coalition(n: int) -> Bool[Tensor, "M N"]:
    """All but none and all words."""
    numbers = torch.arange(1, max(2**n - 1, 1))
    return (numbers[:, None] >> torch.arange(n)) % 2 == 1


def drawn_coalitions(seed: int, samples: int, n: int) -> Bool[Tensor, "M N"]:
    """Each size as often as the kernel weighs all coalitions of that size; each of them with its complement."""
    numbers = random_numbers(np.array([seed], dtype=np.uint64), range(samples // 2), n + 1)[:, 0]
    sizes = np.arange(1, n)
    mass = np.cumsum(1 / (sizes * (n - sizes)))
    size = 1 + np.searchsorted(mass, numbers[:, 0] / 2**32 * mass[-1], side="right")
    rank = numbers[:, 1:].argsort(axis=1, kind="stable").argsort(axis=1)
    chosen = torch.from_numpy(rank < size[:, None])
    return torch.cat([chosen, ~chosen])


def shapley_fit(
    masks: Bool[Tensor, "M N"], gains: Float[Tensor, "M"], weights: Float[Tensor, "M"], total: Float[Tensor, ""]
) -> Float[Tensor, "N"]:
    """The φ of least Σ w (gain − φ·mask)² among those with Σφ = total; where many are, the evenest."""
    n = masks.shape[1]
    even = (total / n).expand(n)
    x = masks.double()
    weighted = x * weights[:, None]
    level = torch.eye(n, dtype=x.dtype) - 1 / n  # takes away what would change the sum
    curvature = level @ (weighted.T @ x) @ level
    inverse: Tensor = torch.linalg.pinv(curvature, hermitian=True)
    return even + inverse @ level @ (weighted.T @ (gains - x @ even))
