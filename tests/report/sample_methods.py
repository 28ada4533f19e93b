"""A run folder with many explanation methods: their agreement is computed from made-up scores, the rest is made up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from heatcheck.measure.ranks import kendall
from heatcheck.results import Row, Score, tables, write_json, write_tables

from .sample import CLASSES, ORIGIN, Text, attentions, example_rows, run_json, texts, token_scores

# Method -> (family, noise): methods of a family share what they see.
METHODS = {
    "attention": ("attention", 0.2),
    "attention_x_gradient": ("attention", 0.8),
    "rollout": ("attention", 0.6),
    "flow": ("attention", 0.7),
    "gradient": ("gradient", 0.3),
    "gradient_x_input": ("gradient", 0.4),
    "integrated_gradients": ("path", 0.3),
    "smooth_grad": ("gradient", 0.7),
    "deep_lift": ("path", 0.4),
    "deep_lift_captum": ("path", 0.9),
    "gradient_shap": ("path", 0.8),
    "lime(samples=1000)": ("removal", 0.5),
    "kernel_shap(samples=500)": ("removal", 0.5),
    "leave_one_out": ("removal", 0.2),
    "value_zeroing": ("attention", 0.9),
}
SAMPLING = {"lime(samples=1000)": 1000, "kernel_shap(samples=500)": 500, "smooth_grad": 10, "gradient_shap": 5}
FLAWED = {"deep_lift_captum": "not ranked: misses the sum it promises by 45% (median)"}
EXPERIMENTS = ("agreement", "erasure", "repeatability", "randomisation", "plausibility")
Scores = dict[str, dict[str, np.ndarray]]


def method_scores(random: np.random.Generator, found: Sequence[Text], methods: Sequence[str]) -> Scores:
    scores: Scores = {name: {} for name in methods}
    for text in found:
        n = len(text.spans)
        shared = random.normal(size=n)
        families = {family: 0.4 * shared + random.normal(size=n) for family, _ in METHODS.values()}
        for name in methods:
            family, noise = METHODS[name]
            scores[name][text.example_id] = families[family] + noise * random.normal(size=n)
    return scores


def agreement(found: Sequence[Text], scores: Scores) -> Iterator[Score]:
    pairs = list(combinations(scores, 2))
    for text in found:
        common = {"example_id": text.example_id, "group": text.predicted}
        first, second = (np.abs([scores[pair[side]][text.example_id] for pair in pairs]) for side in (0, 1))
        taus = kendall(first, second, np.ones_like(first, bool)).tau
        for (one, other), tau in zip(pairs, taus.tolist(), strict=True):
            missing = "undefined: the text has fewer than two words" if np.isnan(tau) else None
            yield Score("kendall", None if missing else tau, one, other, reason=missing, **common)
            yield Score("rbo", None if missing else (1 + tau) / 2, one, other, at=0.9, reason=missing, **common)
        known = [t for t, pair in zip(taus, pairs, strict=True) if not np.isnan(t) and not set(pair) & set(FLAWED)]
        value = float(np.mean(known)) if known else None
        yield Score("kendall", value, "all methods", reason=None if known else "undefined: no pair", **common)


def repeatability(random: np.random.Generator, found: Sequence[Text], scores: Scores) -> Iterator[Score]:
    for name in scores:
        own = SAMPLING.get(name)
        budgets = [own * factor for factor in (0.5, 1, 2, 4)] if own else []
        for text in found[:40]:
            common = {"example_id": text.example_id, "group": text.predicted}

            def drawn(samples: float | None) -> float:
                noise = 0.0 if samples is None else 1 / (1 + np.sqrt(samples / 20))
                return float(np.clip(1 - noise + 0.05 * random.normal() * (noise > 0), -1, 1))

            yield Score("rank_stability", drawn(own), name, **common)
            for samples in budgets:
                yield Score("rank_stability", drawn(samples), name, setting="samples", at=samples, **common)


def erasure(random: np.random.Generator, found: Sequence[Text], scores: Scores) -> Iterator[Score]:
    quality = {name: random.uniform(0.3, 0.8) for name in scores}
    for operator, shift in (("delete", 0.0), ("mask", 0.1)):
        for text in found[:60]:
            common = {"example_id": text.example_id, "group": text.predicted, "setting": operator}
            normal = {**common, "setting": f"{operator}:normalised"}
            for name in [*scores, "random"]:
                good = 0.35 if name == "random" else quality[name] * (1 - shift * (hash_of(name) % 5))
                good += 0.15 * random.normal()
                for share in (0.01, 0.05, 0.1, 0.2, 0.5):
                    yield Score("comprehensiveness", good * share, name, at=share, **common)
                    yield Score("sufficiency", 0.5 - good * share, name, at=share, **common)
                for measure, value in (("aopc_comprehensiveness", 0.4 * good), ("aopc_sufficiency", 0.4 - 0.4 * good)):
                    yield Score(measure, value, name, **common)
                    yield Score(measure, good, name, **normal)
                    if name != "random":
                        yield Score(measure, value / 3, f"reversed {name}", **common)
                        yield Score(measure, good / 3, f"reversed {name}", **normal)
                if name != "random" and operator == "delete":
                    yield Score("tau_loo_erasure", good - 0.2, name, "leave_one_out", **common)
            for bound, value in (("worst found", -0.02), ("best found", 0.46)):
                yield Score("aopc_comprehensiveness", value, bound, **common)
                yield Score("aopc_sufficiency", 0.44 - value, bound, **common)
            yield Score("off_data", float(random.random() < 0.2 + 2 * shift), "all methods", **common)


def hash_of(name: str) -> int:
    return sum(map(ord, name))


def randomisation(random: np.random.Generator, found: Sequence[Text], scores: Scores) -> Iterator[Score]:
    for name in scores:
        stubborn = 0.95 if METHODS[name][0] == "attention" else 0.3
        for layer in range(1, 8):
            for text in found[:30]:
                value = float(np.clip(stubborn**layer + 0.1 * random.normal(), -1, 1))
                setting = "classifier" if layer == 1 else f"layer {8 - layer}"
                common = {"example_id": text.example_id, "group": text.predicted, "setting": setting}
                yield Score("randomisation_correlation", value, name, "trained model", at=float(layer), **common)


def plausibility(random: np.random.Generator, found: Sequence[Text], scores: Scores) -> Iterator[Score]:
    for number, name in enumerate([*scores, "random"]):
        for text in found[:50]:
            for measure, level in (("token_f1", 0.3), ("auprc", 0.4)):
                value = float(np.clip(level + 0.03 * (number % 7) + 0.15 * random.normal(), 0, 1))
                reference = "chance" if name == "random" else "people"
                yield Score(measure, value, name, reference, text.example_id, text.predicted)


def summary(rows: Sequence[Score]) -> Iterator[Score]:
    """Means with normal intervals, which are quicker made than the real ones."""
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows:
        values[row.measure, row.subject, row.reference, row.setting, row.at] += [] if row.value is None else [row.value]
    for (measure, subject, reference, setting, at), known in values.items():
        mean, error = float(np.mean(known)), 1.96 * float(np.std(known)) / len(known) ** 0.5
        reason = next((FLAWED[name] for name in (subject, reference) if name in FLAWED), None)
        common = {"statistic": "mean", "n": len(known)}
        yield Score(
            measure, mean, subject, reference, None, None, "mean", setting, at, mean - error, mean + error,
            len(known), reason,
        )  # fmt: skip
        if measure == "rank_stability" and at is not None and at == 2 * SAMPLING.get(subject, 0):
            needed, why = (at, None) if mean > 0.8 else (None, f"not settled: mean τ is {mean:.3f} at {at:g} samples")
            yield Score("samples_needed", needed, subject, at=0.8, reason=why, **common)


MAKERS: dict[str, Callable[[np.random.Generator, Sequence[Text], Scores], Iterator[Score]]] = {
    "agreement": lambda random, found, scores: agreement(found, scores),
    "erasure": erasure,
    "repeatability": repeatability,
    "randomisation": randomisation,
    "plausibility": plausibility,
}


def write_methods_sample(
    folder: Path,
    experiments: Sequence[str] = EXPERIMENTS,
    how_many: int = 60,
    methods: Sequence[str] = tuple(METHODS),
    nasty: bool = True,
) -> Path:
    random = np.random.default_rng(7)
    found = texts(random, how_many, CLASSES, nasty)
    weights = attentions(random, found)
    peaks = {example: float(values.max()) for example, values in weights.items()}
    scores = method_scores(random, found, methods)
    shared: list[Row] = list(example_rows(random, found, peaks))
    for name in methods:
        shared += [token_scores(text, name, scores[name][text.example_id]) for text in found]
    parts = [tables(shared, ORIGIN, "explain")]
    for experiment in experiments:
        rows = list(MAKERS[experiment](random, found, scores))
        parts.append(tables([*rows, *summary(rows)], ORIGIN, experiment))
    write_tables(folder, {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]})
    write_json(folder / "run.json", {**run_json((), CLASSES), "verdict": None})
    return folder
