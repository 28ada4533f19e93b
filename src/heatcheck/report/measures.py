"""What the report calls each measure, and the range a value can have."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heatcheck.verdict.findings import LN2


@dataclass(frozen=True)
class Measure:
    """`name` for a newcomer, `short` for a table; `compares` are the methods whose heatmaps show what it says.

    `scale` says what the ends mean, where a reader would take them for something else. `digits`: behind the point, in
    the verdict's sentences and so on its cards.
    `by_method`: a text has a value for each method, pair of methods or trained model, so that there is no one number of
    the text, other than that of all methods together.
    """

    name: str
    short: str
    low: float
    high: float
    compares: tuple[str, ...] = ("attention",)
    by_method: bool = False
    scale: str = ""
    digits: int = 2


def _by_method(name: str, short: str, low: float, high: float, digits: int = 2) -> Measure:
    return Measure(name, short, low, high, (), by_method=True, digits=digits)


MEASURES = {
    "tau_gradient": Measure("attention and gradients", "τ attention–gradient", -1, 1, ("attention", "gradient")),
    "tau_loo": Measure("attention and leave-one-out", "τ attention–LOO", -1, 1, ("attention", "leave_one_out")),
    "tau_gradient_loo": Measure("gradients and leave-one-out", "τ gradient–LOO", -1, 1, ("gradient", "leave_one_out")),
    "permutation_tvd": Measure("output change when attention is shuffled", "shuffle TVD", 0, 1, digits=3),
    "adversarial_jsd": Measure(
        "distance to the adversarial attention", "ε-max JSD", 0, LN2, ("attention", "adversarial_attention")
    ),
    "adversarial_tvd": Measure(
        "output change under the adversarial attention", "adversarial Δŷ", 0, 1, ("attention", "adversarial_attention")
    ),
    "f1": Measure("F1", "F1", 0, 1),
    "accuracy": Measure("accuracy", "accuracy", 0, 1),
    "balanced_accuracy": Measure("mean recall of the classes", "mean recall", 0, 1),
    "roc_auc": Measure("area under the ROC curve", "ROC-AUC", 0, 1),
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
    "precision_at_k": _by_method("precision at k", "precision at k", 0, 1),
    # The trained tests: a value for each of several models.
    "predicted_class": _by_method("predicted class, by number", "predicted class", 0, 1),
    "uniform_f1": _by_method("F1 with and without attention", "F1", 0, 1),
    "uniform_f1_difference": _by_method("F1 that attention adds", "F1 that attention adds", -0.2, 0.2, 3),
    "uniform_balanced_accuracy": _by_method("mean recall with and without attention", "balanced accuracy", 0, 1),
    "uniform_jsd": _by_method("distance of attention to equal weights", "uniform JSD", 0, LN2),
    "uniform_tvd": _by_method("output change with equal weights", "uniform TVD", 0, 1),
    "seed_f1": _by_method("F1 of other seeds", "F1", 0, 1),
    "seed_jsd": _by_method("distance of attention to other seeds’", "seed JSD", 0, LN2),
    "seed_tvd": _by_method("output change with another seed", "seed TVD", 0, 1),
    "guided_f1": _by_method("F1 of the guided network", "F1", 0, 1),
    "guided_adversary_jsd": _by_method("distance to the guiding adversary’s attention", "guide’s JSD", 0, LN2),
    "guided_f1_difference": _by_method("F1 that a guide adds", "F1 that attention adds as a guide", -0.2, 0.2, 3),
    "guided_balanced_accuracy": _by_method("mean recall of the guided network", "balanced accuracy", 0, 1),
    "trained_adversary_uninformed_tvd": _by_method(
        "output change of one who has read nothing", "uninformed TVD", 0, 1, 3
    ),
    "trained_adversary_jsd": _by_method("distance to the trained adversary’s attention", "trained JSD", 0, LN2),
    "trained_adversary_tvd": _by_method("output change of the trained adversary", "trained TVD", 0, 1, 3),
    "trained_adversary_price": _by_method("output change that lying costs", "price of lying (TVD)", 0, 0.2, 3),
    "trained_adversary_f1": _by_method("F1 of the trained adversary", "F1", 0, 1),
    "trained_adversary_best_f1": _by_method("best F1 of an adversary that is far", "best F1", 0, 1),
    "trained_adversary_area": _by_method("mean output change along the curve", "height of the curve", 0, 1),
    "trained_adversary_curve_area": _by_method("area under the curve of TVD over JSD", "area under the curve", 0, LN2),
    "trained_adversary_apart": _by_method("distance between adversaries", "JSD between adversaries", 0, LN2),
    "attefa": _by_method("AtteFa", "AtteFa", 0, 1),
    "attefa_relative": _by_method("AtteFa, relative to no reading", "AtteFa, relative", 0, 1),
    "attefa_f1": _by_method("F1 of AtteFa’s adversary", "F1", 0, 1),
    "attefa_jsd": _by_method("distance to the attention of AtteFa’s adversary", "AtteFa JSD", 0, LN2),
    "attefa_tvd": _by_method("output change of AtteFa’s adversary", "AtteFa TVD", 0, 1),
    "attefa_uninformed_tvd": _by_method("output change of one who has read nothing", "uninformed TVD", 0, 1),
}
# Of the top of two lists paper 1 has a distance; the tables keep it under the name of the τ that it stands beside.
TOP_DISTANCES = {
    name: replace(
        MEASURES[name],
        short=MEASURES[name].short.replace("τ", "distance of the top words,"),
        low=0,
        scale="0 same order, 1 reversed",
    )
    for name in ("tau_gradient", "tau_loo", "tau_gradient_loo")
}
BY_METHOD = tuple(name for name, about in MEASURES.items() if about.by_method)

SETTINGS = {
    "kendall": "all words (τ)",
    "top_k": "top words (a distance)",
    "exact": "exact",
    "search": "search",
    "published": "as published",
}


def measure(name: str, setting: str | None = None) -> Measure:
    """A measure this version does not know yet is shown by its own name."""
    if setting == "top_k" and name in TOP_DISTANCES:
        return TOP_DISTANCES[name]
    return MEASURES.get(name, Measure(name.replace("_", " "), name.replace("_", " "), 0, 1))


def setting_name(setting: str | None, at: float | None) -> str:
    """
    >>> setting_name("top_k", 5.0), setting_name("exact", 0.01), setting_name(None, None)
    ('top 5 words', 'exact, ε = 0.01', '')
    """
    if setting == "top_k" and at is not None:
        return f"top {at:g} words"
    name = SETTINGS.get(setting, setting.replace("_", " ")) if setting else ""
    return ", ".join(part for part in (name, f"ε = {at:g}" if at is not None else "") if part)
