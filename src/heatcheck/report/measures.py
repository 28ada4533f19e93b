"""What the report calls each measure and method, and the range a value can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

JSD_BOUND = math.log(2)


@dataclass(frozen=True)
class Measure:
    """`name` for a newcomer, `short` for a table; `compares` are the methods whose heatmaps show what it says."""

    name: str
    short: str
    low: float
    high: float
    compares: tuple[str, ...] = ("attention",)


MEASURES = {
    "tau_gradient": Measure("attention and gradients", "τ attention–gradient", -1, 1, ("attention", "gradient")),
    "tau_loo": Measure("attention and leave-one-out", "τ attention–LOO", -1, 1, ("attention", "leave_one_out")),
    "tau_gradient_loo": Measure("gradients and leave-one-out", "τ gradient–LOO", -1, 1, ("gradient", "leave_one_out")),
    "permutation_tvd": Measure("output change when attention is shuffled", "shuffle TVD", 0, 1),
    "adversarial_jsd": Measure(
        "distance to the adversarial attention", "ε-max JSD", 0, JSD_BOUND, ("attention", "adversarial_attention")
    ),
    "adversarial_tvd": Measure(
        "output change under the adversarial attention", "adversarial Δŷ", 0, 1, ("attention", "adversarial_attention")
    ),
    "f1": Measure("F1", "F1", 0, 1),
    "accuracy": Measure("accuracy", "accuracy", 0, 1),
    "roc_auc": Measure("area under the ROC curve", "ROC AUC", 0, 1),
}

METHODS = {
    "attention": "Attention",
    "adversarial_attention": "Adversarial attention",
    "gradient": "Gradient",
    "leave_one_out": "Leave-one-out",
}

SETTINGS = {"kendall": "all words", "exact": "exact", "search": "search", "published": "as published"}


def measure(name: str) -> Measure:
    """A measure this version does not know yet is shown by its own name."""
    return MEASURES.get(name, Measure(name.replace("_", " "), name.replace("_", " "), 0, 1))


def method_name(method: str) -> str:
    return METHODS.get(method, method.replace("_", " ").capitalize())


def setting_name(setting: str | None, at: float | None) -> str:
    """
    >>> setting_name("top_k", 5.0), setting_name("exact", 0.01), setting_name(None, None)
    ('top 5 words', 'exact, ε = 0.01', '')
    """
    if setting == "top_k" and at is not None:
        return f"top {at:g} words"
    name = SETTINGS.get(setting, setting.replace("_", " ")) if setting else ""
    return ", ".join(part for part in (name, f"ε = {at:g}" if at is not None else "") if part)
