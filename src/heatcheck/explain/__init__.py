"""Explanation methods: scores for the tokens of a text. EXPLAINERS is the list of all there are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from heatcheck.errors import InputError
from heatcheck.explain.attention import AttentionWeights, AttentionXGradient, Flow, Rollout
from heatcheck.explain.deep_lift import DeepLift
from heatcheck.explain.deep_lift_captum import CaptumDeepLift
from heatcheck.explain.deep_shap import DeepShap
from heatcheck.explain.gradient import gradient, gradient_x_input, saliency
from heatcheck.explain.method import Method, parse
from heatcheck.explain.path import GradientShap, IntegratedGradients, SmoothGrad
from heatcheck.explain.plugins import found as entry_points
from heatcheck.explain.plugins import plugin
from heatcheck.explain.removal import Occlusion, leave_one_out
from heatcheck.explain.surrogate import KernelShap, Lime
from heatcheck.explain.value_zeroing import ValueZeroing
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor, TransformerClassifier

ATTENTION = (AttentiveClassifier, TransformerClassifier)

EXPLAINERS: dict[str, Method] = {
    "attention": Method(AttentionWeights(), ATTENTION, about="the weights themselves; a transformer's last layer"),
    "attention_x_gradient": Method(
        AttentionXGradient(), ATTENTION, about="weight × slope of the output along that weight"
    ),
    "rollout": Method(Rollout(), ATTENTION, about="attention followed down through all layers (Abnar & Zuidema 2020)"),
    "flow": Method(Flow(), ATTENTION, about="maximum flow through all layers of attention (Abnar & Zuidema 2020)"),
    "value_zeroing": Method(
        ValueZeroing(), ATTENTION, about="how far a token's value moves each layer (Mohebbi et al. 2023)"
    ),
    "gradient": Method(gradient, Classifier, about="|∂y/∂e · e|, attention held fixed where it can be (paper 1)"),
    "gradient_x_input": Method(gradient_x_input, Classifier, about="∂y/∂e · e with its sign"),
    "saliency": Method(saliency, Classifier, about="‖∂y/∂e‖, the length of the slope (Li et al. 2016)"),
    "integrated_gradients": Method(
        IntegratedGradients(), Classifier, about="slopes along the way from an empty text (Sundararajan et al. 2017)"
    ),
    "smooth_grad": Method(
        SmoothGrad(), Classifier, random=True, about="slopes averaged over noise (Smilkov et al. 2017)"
    ),
    "deep_lift": Method(DeepLift(), Classifier, about="differences from an empty text, exactly complete"),
    "deep_lift_captum": Method(
        CaptumDeepLift(), Classifier, ranked=False, about="DeepLIFT in Captum's form, as paper 5 used it: not complete"
    ),
    "deep_shap": Method(DeepShap(), Classifier, random=True, about="DeepLIFT averaged over random texts"),
    "gradient_shap": Method(
        GradientShap(), Classifier, random=True, about="slopes at random points of the way (Lundberg & Lee 2017)"
    ),
    "lime": Method(
        Lime(), Predictor, random=True, about="a linear model of the output near the text (Ribeiro et al. 2016)"
    ),
    "kernel_shap": Method(KernelShap(), Predictor, random=True, about="Shapley values (Lundberg & Lee 2017)"),
    "leave_one_out": Method(leave_one_out, Predictor, about="change of the output when the word is deleted (paper 1)"),
    "occlusion": Method(Occlusion(), Predictor, about="drop of the output when the word is masked"),
}
# Names that users of Captum and Inseq know.
ALIASES = {
    "input_x_gradient": "gradient_x_input",
    "deeplift": "deep_lift",
    "shap": "kernel_shap",
}
# What an audit compares: one or two of each family, in minutes.
AUDITED = (
    "attention",
    "rollout",
    "attention_x_gradient",
    "gradient",
    "integrated_gradients",
    "deep_lift",
    "lime(samples=300)",
    "leave_one_out",
)


def method(text: str) -> Method:
    """The method that `text` names, settings included: `lime` or `lime(samples=200)`."""
    name, settings = parse(text)
    name = ALIASES.get(name, name)
    found = plugin(name, EXPLAINERS) or EXPLAINERS.get(name)
    if found is None:
        there = [*EXPLAINERS, *entry_points(frozenset(EXPLAINERS))]
        close = difflib.get_close_matches(name.lower().replace("-", "_"), [*there, *ALIASES], n=1)
        meant = f"Did you mean {close[0]!r}? " if close else ""
        raise InputError(f"There is no explanation method {name!r}. {meant}There are: {', '.join(there)}.")
    return found.with_settings(settings, text)


def audited(model: Any) -> tuple[str, ...]:
    """Of AUDITED those that this model can serve. Of one layer of attention, rollout is the attention itself."""
    one_layer = isinstance(model, AttentiveClassifier)
    return tuple(name for name in AUDITED if method(name).serves(model) and not (one_layer and name == "rollout"))


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """
    >>> distinct(("kernel_shap", "lime", "shap", "lime"))
    ('kernel_shap', 'lime')
    """
    kept: dict[str, Method] = {}
    for name in names:
        chosen = method(name)
        if all(chosen is not other and chosen != other for other in kept.values()):
            kept[name] = chosen
    return tuple(kept)


def packages(names: Sequence[str]) -> dict[str, Any]:
    """What methods of other packages depend on: which packages, and which versions. Ours change with our own."""
    theirs = entry_points(frozenset(EXPLAINERS))
    entries = {name: theirs[plain] for name in names if (plain := parse(name)[0]) in theirs}
    known = {name: f"{entry.dist.name} {entry.dist.version}" for name, entry in entries.items() if entry.dist}
    return {"packages": known} if known else {}
