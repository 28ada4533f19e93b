"""A run folder as an audit would write it: plausible numbers, English sentences, and texts made to break pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from heatcheck.results import ExampleRow, Origin, Row, Score, TokenScores, tables, write_json, write_tables

ORIGIN = Origin("movie-reviews", "bilstm-tanh", 0)
EXPERIMENTS = ("performance", "correlation", "permutation", "adversarial_attention")
CLASSES = ("negative", "positive")
EVIL = "</script><img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
EMOJI = "I 👩‍👩‍👧 loved 🎬🎬 it 😀 terribly"
NASTY = {
    "evil": EVIL,
    "emoji": EMOJI,
    "arabic": "هذا الفيلم رائع جدا ولكنه طويل",
    "hebrew": "הסרט היה \u202eנורא\u202c ומשעמם",
    "chinese": "这 部 电影 非常 好看",
    "controls": "a NUL \x00 and a bell \x07 in the text",
    "huge": "x" * 100_000 + " end of it",
    "separators": "line \u2028 and paragraph \u2029 separators & <b>tags</b>",
    "single": "Awful.",
    "spaces": "  Odd   spacing,\n\nnew   lines\tand TABS  stay  ",
}
SUBJECTS = ["The film", "This movie", "The director", "Her performance", "The script", "An otherwise clever plot"]
VERBS = ["never finds", "slowly builds", "completely wastes", "quietly earns", "almost ruins", "barely survives"]
OBJECTS = ["its own premise", "a wonderful cast", "two dull hours", "a terrible ending", "real tenderness"]
ENDINGS = ["and I would not watch it again", "but the last scene is superb", "which is a pity", "at all", "with grace"]


@dataclass(frozen=True)
class Text:
    example_id: str
    text: str
    label: str
    predicted: str
    spans: list[tuple[int, int]]


def sentence(random: np.random.Generator) -> str:
    parts = [str(random.choice(options)) for options in (SUBJECTS, VERBS, OBJECTS)]
    tail = ", " + str(random.choice(ENDINGS)) if random.random() < 0.7 else ""
    return " ".join(parts) + tail + "."


def spans(text: str) -> list[tuple[int, int]]:
    """Words as code point offsets."""
    found = []
    at = 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        found.append((start, at))
    return found


def texts(random: np.random.Generator, how_many: int, classes: Sequence[str], nasty: bool = True) -> list[Text]:
    plain = {
        f"test-{number:04d}": " ".join(sentence(random) for _ in range(random.integers(1, 5)))
        for number in range(how_many)
    }
    found = []
    for example_id, text in {**plain, **(NASTY if nasty else {})}.items():
        label = str(random.choice(classes))
        predicted = label if random.random() < 0.85 else str(random.choice(classes))
        found.append(Text(example_id, text, label, predicted, spans(text)))
    return found


def token_scores(text: Text, method: str, scores: np.ndarray) -> TokenScores:
    count = len(text.spans)
    starts, ends = zip(*text.spans, strict=True)
    words = [text.text[start:end] for start, end in text.spans]
    return TokenScores(
        text.example_id,
        method,
        text.predicted,
        [0] * count,
        list(range(count)),
        list(starts),
        list(ends),
        words,
        scores.tolist(),
    )


def aggregates(measure: str, values: dict[str, float], text_of: dict[str, Text], **common: Any) -> Iterator[Score]:
    groups: dict[str | None, list[float]] = {None: list(values.values())}
    for example, value in values.items():
        groups.setdefault(text_of[example].predicted, []).append(value)
    for group, found in groups.items():
        numbers = np.array(found)
        error = 1.96 * numbers.std() / np.sqrt(len(numbers))
        mean, median = float(numbers.mean()), float(np.median(numbers))
        shared = {**common, "group": group, "n": len(numbers)}
        yield Score(measure, mean, statistic="mean", low=mean - error, high=mean + error, **shared)
        yield Score(measure, float(numbers.std()), statistic="std", **shared)
        yield Score(measure, median, statistic="median", low=median - error, high=median + error, **shared)
        if common.get("setting") == "kendall":
            yield Score(measure, float((np.abs(numbers) > 0.3).mean()), statistic="significant_fraction", **shared)


def correlation(random: np.random.Generator, found: Sequence[Text]) -> Iterator[Row]:
    text_of = {text.example_id: text for text in found}
    for measure, centre, subject, reference in (
        ("tau_gradient", 0.32, "attention", "gradient"),
        ("tau_loo", 0.26, "attention", "leave_one_out"),
        ("tau_gradient_loo", 0.58, "gradient", "leave_one_out"),
    ):
        for setting, shift, low in (("kendall", 0.0, -1), ("top_k", -0.1, 0)):  # τ, and the distance of the top words
            common: dict[str, Any] = {"subject": subject, "reference": reference, "setting": setting}
            values = {}
            for text in found:
                row = {**common, "example_id": text.example_id, "group": text.predicted}
                if len(text.spans) < 2:
                    yield Score(measure, None, reason="a single token has no ranking", **row)
                    continue
                middle = centre + shift + (0.1 if text.predicted == CLASSES[-1] else -0.05)
                values[text.example_id] = float(np.clip(random.normal(middle, 0.22), low, 1))
                yield Score(measure, values[text.example_id], **row)
                if setting == "kendall":
                    yield Score(measure, float(random.random() ** 2), statistic="p_value", **row)
            yield from aggregates(measure, values, text_of, **common)


def permutation(random: np.random.Generator, found: Sequence[Text], peaks: dict[str, float]) -> Iterator[Row]:
    common: dict[str, Any] = {"subject": "attention", "reference": "permuted"}
    values = {text.example_id: float(random.beta(1 + 3 * peaks[text.example_id], 6)) for text in found}
    for text in found:
        yield Score(
            "permutation_tvd", values[text.example_id], example_id=text.example_id, group=text.predicted, **common
        )
    yield from aggregates("permutation_tvd", values, {text.example_id: text for text in found}, **common)


def divergence(one: np.ndarray, other: np.ndarray) -> float:
    """Jensen-Shannon, natural logarithm."""
    middle = (one + other) / 2
    parts = [np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / middle), 0).sum() for p in (one, other)]
    return float(sum(parts) / 2)


def opponent(random: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """At most two weights, mostly on words that the attention neglects: what the exact adversary looks like."""
    chosen = random.choice(np.argsort(weights)[: max(2, len(weights) // 2)], min(2, len(weights)), replace=False)
    other = np.zeros(len(weights))
    other[chosen] = random.dirichlet(np.ones(len(chosen)))
    share = random.beta(0.5, 3)
    return (1 - share) * other + share * weights


def adversarial(random: np.random.Generator, found: Sequence[Text], weights: dict[str, np.ndarray]) -> Iterator[Row]:
    others = {text.example_id: opponent(random, weights[text.example_id]) for text in found}
    for setting, loss in (("exact", 0.0), ("published", 0.06)):
        common: dict[str, Any] = {
            "subject": "attention",
            "reference": "adversarial_attention",
            "setting": setting,
            "at": 0.01,
        }
        values = {}
        for text in found:
            distance = divergence(weights[text.example_id], others[text.example_id]) - loss * random.random()
            row = {**common, "example_id": text.example_id, "group": text.predicted}
            values[text.example_id] = max(0.0, distance)
            yield Score("adversarial_jsd", values[text.example_id], **row)
            yield Score("adversarial_tvd", float(0.01 * random.random()), **row)
        yield from aggregates("adversarial_jsd", values, {text.example_id: text for text in found}, **common)
    for text in found:
        yield token_scores(text, "adversarial_attention", others[text.example_id])


def performance() -> Iterator[Row]:
    for measure, value in (("f1", 0.8137), ("accuracy", 0.8204), ("roc_auc", 0.9011)):
        yield Score(measure, value, "model", low=value - 0.021, high=value + 0.019, n=310)


def attentions(random: np.random.Generator, found: Sequence[Text]) -> dict[str, np.ndarray]:
    weights = {}
    for text in found:
        concentration = random.choice([0.08, 0.3, 1.0])
        drawn = random.gamma(concentration, size=len(text.spans)) + 1e-4
        weights[text.example_id] = drawn / drawn.sum()
    return weights


def example_rows(random: np.random.Generator, found: Sequence[Text], peaks: dict[str, float]) -> Iterator[Row]:
    for text in found:
        probability = float(0.5 + 0.5 * random.random() ** 0.4)
        yield ExampleRow(
            text.example_id,
            text.text,
            None,
            text.label,
            text.predicted,
            probability,
            None,
            len(text.spans),
            peaks[text.example_id],
        )


def run_json(experiments: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "heatcheck_version": "0.1.0",
        "command": "heatcheck audit --model bilstm-tanh --data movie-reviews",
        "status": "finished",
        "settings": {
            "permutation": {"permutations": 100},
            "adversarial_attention": {"epsilon": 0.01, "solver": "exact"},
            "batch": 32,
        },
        "seeds": {"train": 0, "permutation": 1},
        "packages": {"torch": "2.10.0", "numpy": "2.4.6"},
        "fingerprints": {"data": "sha256:9f2c51e0a7", "weights": "sha256:01ab77c39d"},
        "durations": {"train": 83.214, "correlation": 12.03, "permutation": 0.84, "adversarial_attention": 3725.0},
        "notes": [
            "3 rows were left out: they have no label (rows 17, 204, 911).",
            "Texts longer than 400 tokens were not examined (12).",
        ],
        "model": {"name": "bilstm-tanh", "description": "BiLSTM, 128 units per direction, additive attention"},
        "dataset": {
            "name": "movie-reviews",
            "task": "binary classification",
            "labels": list(classes),
            "sizes": {"train": 6355, "test": 310},
        },
        "verdict": {
            "headline": "Do not show these attention heatmaps as explanations: two of three tests fail.",
            "findings": [finding for finding in findings() if finding["experiment"] in experiments],
        },
    }


def findings() -> list[dict[str, Any]]:
    return [
        {
            "experiment": "correlation", "outcome": "fails", "question": "Does attention agree with gradients?",
            "finding": "The mean Kendall τ is 0.34 (95% interval 0.32 to 0.37), below the 0.50 we ask for.",
            "meaning": "The words the heatmap marks are often not those that move the prediction.",
            "measure": "tau_gradient", "value": 0.3417123, "low": 0.3171, "high": 0.3663, "threshold": 0.5,
        },
        {
            "experiment": "permutation", "outcome": "cannot tell",
            "question": "Does shuffling attention change the output?",
            "finding": "The median change is 0.19 (95% interval 0.17 to 0.22); the threshold 0.20 lies inside.",
            "meaning": "More texts are needed to say whether attention carries the decision.",
            "measure": "permutation_tvd", "value": 0.1934, "low": 0.1701, "high": 0.2177, "threshold": 0.2,
        },
        {
            "experiment": "adversarial_attention", "outcome": "fails",
            "question": "Could another heatmap explain the same output?",
            "finding": "The mean ε-max JSD is 0.58 of at most 0.69 (95% interval 0.57 to 0.59).",
            "meaning": "For most texts an entirely different attention gives the same prediction.",
            "measure": "adversarial_jsd", "value": 0.5812, "low": 0.5713, "high": 0.5906, "threshold": 0.35,
        },
        {
            "experiment": "performance", "outcome": "passes", "question": "Does the model do its task?",
            "finding": "F1 is 0.81 (95% interval 0.79 to 0.83).", "meaning": "It is worth explaining.",
            "measure": "f1", "value": 0.8137, "low": 0.7927, "high": 0.8327, "threshold": 0.6,
        },
    ]  # fmt: skip


def write_sample(
    folder: Path,
    experiments: Sequence[str] = EXPERIMENTS,
    how_many: int = 300,
    classes: Sequence[str] = CLASSES,
    nasty: bool = True,
) -> Path:
    random = np.random.default_rng(7)
    found = texts(random, how_many, classes, nasty)
    weights = attentions(random, found)
    peaks = {example: float(values.max()) for example, values in weights.items()}
    rows: dict[str, list[Row]] = {
        "performance": list(performance()),
        "correlation": list(correlation(random, found)),
        "permutation": list(permutation(random, found, peaks)),
        "adversarial_attention": list(adversarial(random, found, weights)),
    }
    shared: list[Row] = list(example_rows(random, found, peaks))
    for text in found:
        noise = random.gamma(0.6, size=len(text.spans))
        shared.append(token_scores(text, "attention", weights[text.example_id]))
        shared.append(token_scores(text, "gradient", 0.2 * weights[text.example_id] + 0.02 * noise))
        shared.append(token_scores(text, "leave_one_out", 0.1 * random.gamma(0.4, size=len(text.spans))))
    parts = [tables(shared, ORIGIN, "explain"), *(tables(rows[name], ORIGIN, name) for name in experiments)]
    write_tables(folder, {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]})
    write_json(folder / "run.json", run_json(experiments, classes))
    return folder
