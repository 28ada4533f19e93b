"""Each procedure over a whole test set, and all of them as the battery."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain import counterfactual, importance
from benchmarks.plain.importance import Scores, by_text
from benchmarks.plain.model import PlainModel, Texts

Values = dict[str, float]  # by text


def adversary(model: PlainModel, batches: Sequence[Texts], search: counterfactual.Search, seed: int) -> Values:
    generator = torch.Generator().manual_seed(seed)
    return _per_text(batches, lambda texts: counterfactual.adversarial(model, texts, search, generator))


def permutation(model: PlainModel, batches: Sequence[Texts], permutations: int, seed: int) -> Values:
    rng = np.random.default_rng(seed)
    return _per_text(batches, lambda texts: counterfactual.permuted(model, texts, permutations, rng))


def leave_one_out(model: PlainModel, batches: Sequence[Texts]) -> Scores:
    return {n: s for texts in batches for n, s in by_text(texts, importance.leave_one_out(model, texts)).items()}


def attention_and_gradients(model: PlainModel, batches: Sequence[Texts]) -> tuple[Scores, Scores]:
    attention: Scores = {}
    gradient: Scores = {}
    for texts in batches:
        weights, slopes = importance.attention_and_gradient(model, texts)
        attention |= by_text(texts, weights)
        gradient |= by_text(texts, slopes)
    return attention, gradient


def battery(
    model: PlainModel, batches: Sequence[Texts], search: counterfactual.Search, permutations: int, seed: int
) -> dict[str, Values]:
    """Section 4 on one model: what heatcheck's experiments correlation, permutation and adversary give for each text."""
    attention, gradient = attention_and_gradients(model, batches)
    without = leave_one_out(model, batches)
    pairs = {
        "tau_gradient": (attention, gradient),
        "tau_loo": (attention, without),
        "tau_gradient_loo": (gradient, without),
    }
    found = {name: dict(zip(x, importance.kendall(x.values(), y.values())[0], strict=True)) for name, (x, y) in pairs.items()}
    found["permutation_tvd"] = permutation(model, batches, permutations, seed)
    found["adversarial_jsd"] = adversary(model, batches, search, seed)
    return found


def _per_text(batches: Sequence[Texts], measure: Callable[[Texts], Tensor]) -> Values:
    return {name: value for texts in batches for name, value in zip(texts.names, measure(texts).tolist(), strict=True)}
