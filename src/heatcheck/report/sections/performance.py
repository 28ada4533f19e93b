"""How good the model is, and on what: a heatmap of a model that fails its task explains little."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from heatcheck.report.figures import count, figure, interval, percent, plain
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import MEASURES, measure
from heatcheck.report.section import Section, lead
from heatcheck.report.source import Row, Run
from heatcheck.results import MICRO

SPLITS = ("train", "dev", "test")


def section(run: Run) -> Section | None:
    rows = [row for row in run.aggregates if row["experiment"] == "performance" and row["group"] is None]
    # What the verdict alone reads has no name for people, and micro-F1 would show accuracy twice.
    scores = [row for row in rows if row["measure"] in MEASURES and row["setting"] != MICRO]
    if not scores and not run.examples:
        return None
    body = join(
        lead("The heatmaps of a model that fails at its task explain little: look at this before the rest."),
        tag("div", *(_big(row) for row in sorted(scores, key=_order)), class_="big-numbers") if scores else None,
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in _facts(run)), class_="facts"),
    )
    return Section("performance", "Model and data", "How good is the model, and on what?", body)


def _order(row: Row) -> int:
    return list(MEASURES).index(row["measure"])


def _big(row: Row) -> Markup:
    bounds = interval(row["low"], row["high"])
    return tag(
        "div",
        tag("strong", figure(row["value"])),
        tag("span", _name(row)),
        tag("small", row["reason"] if row["value"] is None else f"95% {bounds}"),
    )


def _name(row: Row) -> str:
    """F1 says of which class."""
    short = measure(row["measure"]).short
    return short if row["setting"] is None else f"{short} ({row['setting']})"


def _facts(run: Run) -> list[tuple[str, str | Markup]]:
    dataset = run.part("dataset")
    in_header = ("name", "description", "labels", "task")
    # Data without splits has neither sizes nor a split.
    shown = [key for key, value in dataset.items() if key not in in_header and value not in (None, {})]
    named = [(key.replace("_", " ").capitalize(), _fact(dataset[key])) for key in shown]
    return [*named, *_examined(run)]


def _fact(value: Any) -> str:
    """Sizes read better with the number first, and in the order of use: run.json has them by the alphabet."""
    if isinstance(value, dict) and all(isinstance(number, int) for number in value.values()):
        names = [name for name in SPLITS if name in value] + [name for name in value if name not in SPLITS]
        return ", ".join(f"{value[name]:,} {name}" for name in names)
    return plain(value)


def _examined(run: Run) -> list[tuple[str, str | Markup]]:
    if not run.examples:
        return []
    wrong = sum(row["label"] != row["predicted"] for row in run.examples)
    lengths = sorted(row["n_tokens"] for row in run.examples)
    middle = f"{median(lengths):,.1f}".removesuffix(".0")
    return [
        ("Texts examined", f"{count(len(run.examples))}, of which {count(wrong)} predicted wrongly"),
        ("Length", f"median {middle} tokens, from {lengths[0]:,} to {lengths[-1]:,}"),
        ("Predicted", _shares(run)),
    ]


def _shares(run: Run) -> Markup:
    frequency: Counter[Any] = Counter(row["predicted"] for row in run.examples)
    parts = [
        join(tag("span", class_=f"swatch panel-{number}", aria_hidden="true"), tag("bdi", name), f" {percent(share)}")
        for number, (name, classes) in enumerate(zip(run.panel_names, run.panels, strict=True))
        for share in [sum(frequency[one] for one in classes) / len(run.examples)]
    ]
    return join(*(tag("span", part, class_="share") for part in parts))
