"""From what a user asks for to the settings of the experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from heatcheck.data.rationales import KINDS
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.repeatability import IN_AUDITS
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.explain import AUDITED, method
from heatcheck.explain.method import split
from heatcheck.single import canonical

AUDITS: Mapping[str, Any] = {"repeatability": IN_AUDITS}  # settings of experiments that are cheaper in an audit


def explaining_configs(
    methods: str | None,
    *,
    special_tokens: bool = False,
    rationales: Path | None = None,
    kind: str = "eraser",
    operators: str | None = None,
    unit: str | None = None,
    audit: bool = False,
) -> dict[str, Any]:
    """The settings of every experiment that compares explanations, with these changes; those of an audit, if asked."""
    if kind not in KINDS:
        raise InputError(f"--rationale-format {kind!r} is not one of {', '.join(KINDS)}.")
    changes: dict[str, Any] = {"special_tokens": special_tokens, "unit": unit}
    if operators is not None:
        changes["operators"] = tuple(name.strip() for name in operators.split(",") if name.strip())
    if rationales is not None:
        changes |= {"rationales": str(rationales), "format": kind}
    if methods is not None:
        changes["methods"] = tuple(map(canonical, split(methods)))
        if not changes["methods"]:
            raise InputError("--methods names none. Leave it out, or name some of `heatcheck list explainers`.")
    found = {}
    for name, experiment in EXPERIMENTS.items():
        known = {f.name for f in fields(experiment.config)}
        here = {key: value for key, value in changes.items() if key in known and value not in (None, False)}
        if here:
            usual = AUDITS.get(name) if audit else None
            found[name] = replace(usual or experiment.config(), **here)
    return found


def with_stability(
    experiments: tuple[str, ...], configs: Mapping[str, Any]
) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """A method that draws at random is ranked only if another draw ranks alike: where tests compare methods, that is
    asked beside them, in the form that audits have."""
    comparing = [name for name in experiments if name in EXPERIMENTS and EXPERIMENTS[name].explained]
    if not comparing or "repeatability" in experiments:
        return experiments, configs
    chosen = [configs.get(name) or EXPERIMENTS[name].config() for name in comparing]
    if not any(method(name).random for config in chosen for name in config.methods or AUDITED):
        return experiments, configs
    methods = tuple(dict.fromkeys(name for config in chosen for name in config.methods))
    marks = any(getattr(config, "special_tokens", False) for config in chosen)
    stability = replace(IN_AUDITS, methods=methods, special_tokens=marks)
    return (*experiments, "repeatability"), {**configs, "repeatability": stability}


FLAGS: dict[str, tuple[str, Callable[[Any], Any]]] = {  # of tests that train: the setting's name, and how it is read
    "seeds": ("seeds", lambda text: numbers(text, int, "--seeds")),
    "bases": ("bases", lambda text: numbers(text, int, "--bases")),
    "lambdas": ("lambdas", lambda text: weights(numbers(text, float, "--lambdas"), "--lambdas")),
    "guide-lambda": ("lambdas", lambda weight: weights((float(weight),), "--guide-lambda")),
    "guides": ("guides", split),
    "margin": ("margin", float),
    "apart": ("apart", int),
    "adversary-epochs": ("epochs", int),
    "adversary-patience": ("patience", int),
    "stop-at": ("stop_at", float),
    "select-on": ("selected_on", str),
    "one-seed": ("one_seed", bool),
}

OF_GUIDES = ("guide-lambda",)  # of the adversary that guides alone
OF_ADVERSARIES = ("adversary-epochs", "adversary-patience", "select-on")  # of that one too


def trained_configs(experiments: Sequence[str], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of tests that train, from the flags that were given; each has to be for one of them at least."""
    given = {flag: value for flag, value in flags.items() if value is not None}
    known = [name for name in experiments if name in EXPERIMENTS]
    found = {name: _heard(name, given) for name in known if given}
    for flag in given:
        if known and not any(flag in heard for heard, _ in found.values()):
            raise InputError(f"--{flag} is not for {' or '.join(known)}. Leave it out.")
    return {name: config for name, (heard, config) in found.items() if heard}


def _heard(experiment: str, given: Mapping[str, Any]) -> tuple[set[str], Any]:
    """Which flags are for this test, and its settings with them. guided_mlp passes on those of its adversary, which is
    one: a sweep of λ is another test's."""
    config = EXPERIMENTS[experiment].config()
    inner = getattr(config, "adversary", None)
    own, passed, heard = {}, {}, set()
    for flag, value in given.items():
        name, read = FLAGS[flag]
        if EXPERIMENTS[experiment].models is not None and hasattr(config, name) and flag not in OF_GUIDES:
            own[name] = read(value)
        elif inner is not None and (flag in OF_GUIDES or flag in OF_ADVERSARIES):
            passed[name] = read(value)
        else:
            continue
        heard.add(flag)
    if inner is not None and passed:
        own["adversary"] = replace(inner, **passed)
    made = replace(config, **own)
    if heard & set(OF_GUIDES) and "adversary" not in made.guides:
        raise InputError(f"--{OF_GUIDES[0]} is for an adversary that guides, and --guides names none. Leave one out.")
    return heard, made


def weights(given: tuple[float, ...], flag: str) -> tuple[float, ...]:
    """Two flags give λ, and the settings, which check it too, cannot tell which."""
    try:
        for weight in given:
            Imitation("kl", weight)
    except InputError as error:
        raise InputError(f"{flag}: {error}") from error
    return given


def numbers(text: str, kind: type[int] | type[float], flag: str) -> tuple[Any, ...]:
    """
    >>> numbers("0, 1e-3", float, "--lambdas")
    (0.0, 0.001)
    """
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{flag} {text!r}: not {what} with commas between them.") from error
