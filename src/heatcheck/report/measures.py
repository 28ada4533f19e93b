"""What the report calls each measure and method, and the range a value can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

JSD_BOUND = math.log(2)


@dataclass(frozen=True)
class Measure:
    """`name` for a newcomer, `short` for a table; `compares` are the methods whose heatmaps show what it says.

    `by_method`: a text has a value for each method or pair of methods, so that there is no one number of the text,
    other than that of all methods together.
    """

    name: str
    short: str
    low: float
    high: float
    compares: tuple[str, ...] = ("attention",)
    by_method: bool = False


def _by_method(name: str, short: str, low: float, high: float) -> Measure:
    return Measure(name, short, low, high, (), by_method=True)


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
    "kendall": _by_method("Kendall τ", "mean τ of all methods", -1, 1),
    "spearman": _by_method("Spearman ρ", "Spearman ρ", -1, 1),
    "pearson": _by_method("Pearson r", "Pearson r", -1, 1),
    "topk_overlap": _by_method("overlap of the top words", "top overlap", 0, 1),
    "rbo": _by_method("rank-biased overlap", "RBO", 0, 1),
    "completeness_delta": _by_method("part of its own sum that a method misses", "completeness delta", 0, 1),
    "rank_stability": _by_method("rank stability (Kendall τ between runs)", "rank stability", -1, 1),
    "samples_needed": _by_method("samples until ranks settle", "samples needed", 0, 10_000),
    "comprehensiveness": _by_method("comprehensiveness", "comprehensiveness", -1, 1),
    "sufficiency": _by_method("sufficiency", "sufficiency", -1, 1),
    "aopc_comprehensiveness": _by_method("AOPC comprehensiveness", "comprehensiveness", -1, 1),
    "gain_over_random": _by_method("gain in comprehensiveness over random words", "gain over random words", -1, 1),
    "aopc_sufficiency": _by_method("AOPC sufficiency", "sufficiency", -1, 1),
    "tau_loo_erasure": _by_method("Kendall τ with leave-one-out", "τ with LOO", -1, 1),
    "off_data": _by_method("share of erased texts far from the data", "far from data", 0, 1),
    "randomisation_correlation": _by_method("correlation with the randomised model", "correlation", -1, 1),
    "token_f1": _by_method("token F1", "token F1", 0, 1),
    "auprc": _by_method("area under the precision–recall curve", "AUPRC", 0, 1),
}
BY_METHOD = tuple(name for name, about in MEASURES.items() if about.by_method)
ALL_METHODS = "all methods"

METHODS = {
    "attention": "Attention",
    "adversarial_attention": "Adversarial attention",
    "attention_x_gradient": "Attention × gradient",
    "rollout": "Attention rollout",
    "flow": "Attention flow",
    "gradient": "Gradient",
    "gradient_x_input": "Gradient × input",
    "integrated_gradients": "Integrated gradients",
    "smooth_grad": "SmoothGrad",
    "deep_lift": "DeepLIFT",
    "deep_lift_captum": "DeepLIFT (Captum)",
    "gradient_shap": "Grad-SHAP",
    "grad_shap": "Grad-SHAP",
    "deep_shap": "Deep-SHAP",
    "lime": "LIME",
    "kernel_shap": "Kernel-SHAP",
    "leave_one_out": "Leave-one-out",
    "value_zeroing": "Value zeroing",
    "occlusion": "Occlusion",
}

SETTINGS = {"kendall": "all words", "exact": "exact", "search": "search", "published": "as published"}


def measure(name: str) -> Measure:
    """A measure this version does not know yet is shown by its own name."""
    return MEASURES.get(name, Measure(name.replace("_", " "), name.replace("_", " "), 0, 1))


def method_name(method: str) -> str:
    """
    >>> method_name("lime(samples=200)"), method_name("new_method")
    ('LIME (samples=200)', 'New method')
    """
    name, bracket, settings = method.partition("(")
    known = METHODS.get(name, name.replace("_", " ").capitalize())
    return f"{known} {bracket}{settings}" if bracket else known


def setting_name(setting: str | None, at: float | None) -> str:
    """
    >>> setting_name("top_k", 5.0), setting_name("exact", 0.01), setting_name(None, None)
    ('top 5 words', 'exact, ε = 0.01', '')
    """
    if setting == "top_k" and at is not None:
        return f"top {at:g} words"
    name = SETTINGS.get(setting, setting.replace("_", " ")) if setting else ""
    return ", ".join(part for part in (name, f"ε = {at:g}" if at is not None else "") if part)
