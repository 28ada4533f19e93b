"""What people call each explanation method: one place for verdicts, reports, terminals and notes. No torch here.

Tables and command lines use the name with its settings as it was typed: `lime(samples=200)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

FILE = "file:"  # weights that a file holds
METHODS = {
    "attention": "Attention",
    "adversarial_attention": "Adversarial attention",
    "trained_adversary": "Trained adversary",
    "attefa_adversary": "AtteFa’s adversary",
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
    "deep_shap": "Deep-SHAP",
    "lime": "LIME",
    "kernel_shap": "Kernel-SHAP",
    "leave_one_out": "Leave-one-out",
    "value_zeroing": "Value zeroing",
    "occlusion": "Occlusion",
}


def method_name(method: str) -> str:
    """
    >>> method_name("lime(samples=200)"), method_name("new_method"), method_name("file:a/weights.jsonl")
    ('LIME (samples=200)', 'New method', 'weights.jsonl')
    """
    if method.startswith(FILE):
        return PurePath(method.removeprefix(FILE)).name
    name, bracket, settings = method.partition("(")
    known = METHODS.get(name, name.replace("_", " ").capitalize())
    return f"{known} {bracket}{settings}" if bracket else known


ADVERSARIES = ("trained_adversary", "attefa_adversary")


def are_weights(method: str) -> bool:
    """Do its scores and those of marks like [CLS] add up to 1?

    >>> are_weights("attention(layer=2)"), are_weights("attention_x_gradient")
    (True, False)
    """
    return method.partition("(")[0] in ("attention", "adversarial_attention", *ADVERSARIES)


def is_adversary(method: str) -> bool:
    """Of a model that was trained to look elsewhere?"""
    return method.partition("(")[0] in ADVERSARIES


def listed(methods: Iterable[str]) -> str:
    """
    >>> listed(["gradient"]), listed(["gradient", "lime", "rollout"])
    ('Gradient', 'Gradient, LIME and Attention rollout')
    """
    names = [method_name(method) for method in methods]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def with_names(sentence: str, methods: Iterable[str]) -> str:
    """A sentence of a table, such as a reason, with these methods called as people call them.

    >>> with_names("undefined: lime gives every word the same score", ["lime", "gradient"])
    'undefined: LIME gives every word the same score'
    """
    longest_first = sorted(map(re.escape, methods), key=len, reverse=True)
    if not longest_first:
        return sentence
    return re.sub(rf"(?<!\w)(?:{'|'.join(longest_first)})(?![\w(])", lambda found: method_name(found[0]), sentence)
