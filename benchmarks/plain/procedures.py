"""Each procedure over a whole test set, and all of them as the battery."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain import counterfactual, importance
from benchmarks.plain.importance import Scores, by_text
from benchmarks.plain.model import Encoded, PlainModel, Texts

Values = dict[str, float]  # by text


def adversary(model: PlainModel, encoded: Sequence[Encoded], search: counterfactual.Search, seed: int) -> Values:
    generator = torch.Generator().manual_seed(seed)
    return _per_text(encoded, lambda text: counterfactual.adversarial(model, text, search, generator))


def permutation(model: PlainModel, encoded: Sequence[Encoded], permutations: int, seed: int) -> Values:
    rng = np.random.default_rng(seed)
    return _per_text(encoded, lambda text: counterfactual.permuted(model, text, permutations, rng))


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
    """Section 4 on one model: what heatcheck's correlation, permutation and adversary give for each text."""
    attention, gradient = attention_and_gradients(model, batches)
    without = leave_one_out(model, batches)
    pairs = {
        "tau_gradient": (attention, gradient),
        "tau_loo": (attention, without),
        "tau_gradient_loo": (gradient, without),
    }
    found: dict[str, Values] = {}
    for name, (x, y) in pairs.items():
        tau, _ = importance.kendall(x.values(), y.values())
        found[name] = dict(zip(x, tau.tolist(), strict=True))
    encoded = [model.encoded(texts) for texts in batches]
    found["permutation_tvd"] = permutation(model, encoded, permutations, seed)
    found["adversarial_jsd"] = adversary(model, encoded, search, seed)
    return found


def _per_text(encoded: Sequence[Encoded], measure: Callable[[Encoded], Tensor]) -> Values:
    rows = ((text.texts.names, measure(text).tolist()) for text in encoded)
    return {name: value for names, values in rows for name, value in zip(names, values, strict=True)}
