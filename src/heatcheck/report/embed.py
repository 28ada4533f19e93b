"""The data inside the page: which texts, their numbers, their heatmaps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute as pc

from heatcheck.method_names import method_name
from heatcheck.report import heat
from heatcheck.report.measures import measure
from heatcheck.report.series import Series, all_series
from heatcheck.report.source import Row, Run
from heatcheck.report.visible import for_chart

# What opens without a wait on a laptop: about 8 MB in all.
MOST_TEXTS = 2000
MOST_CHARACTERS = 6_000_000
_CHARACTERS_PER_TOKEN = 8  # where it stands, and two more for the score of each method


def chosen(run: Run, first: Iterable[str]) -> list[str]:
    """The texts that go into the page: those a section shows, then others by a hash, so that the choice is arbitrary
    but always the same. In the order of the table."""
    arbitrary = sorted(run.by_id, key=lambda example: hashlib.sha256(example.encode()).digest())
    kept: set[str] = set()
    room = MOST_CHARACTERS
    per_token = _CHARACTERS_PER_TOKEN + 2 * len(pc.unique(run.tokens["method"]))
    for example in dict.fromkeys([*first, *arbitrary]):
        size = _size(run.by_id[example], per_token)
        if len(kept) < MOST_TEXTS and size <= room:
            kept.add(example)
            room -= size
    return [example for example in run.by_id if example in kept]


def _size(row: Row, per_token: int) -> int:
    return len(row["text"] or "") + len(row["pair"] or "") + per_token * (row["n_tokens"] or 0)


def payload(run: Run, examples: Sequence[str], charts: dict[str, Any], own: Sequence[Series] = ()) -> dict[str, Any]:
    """`own`: numbers of the texts that sections made themselves."""
    entries = heat.packed(run, examples)
    methods = sorted({method for entry in entries.values() for method in entry["methods"]})
    signed = heat.signed_methods(run)
    series = [*all_series(run), *own]
    return {
        "classes": [for_chart(name) for name in run.classes],
        "panels": [
            {"name": for_chart(name), "classes": [for_chart(one) for one in classes]}
            for name, classes in zip(run.panel_names, run.panels, strict=True)
        ],
        "total": len(run.examples),
        "texts": _columns(run, [run.by_id[example] for example in examples]),
        "heat": [entries.get(example) for example in examples],
        "methods": [
            {"id": method, "name": method_name(method), "signed": method in signed} for method in _ordered(methods)
        ],
        "series": [_series(one, examples) for one in series],
        "charts": charts,
    }


def _columns(run: Run, rows: Sequence[Row]) -> dict[str, list[Any]]:
    number = {name: index for index, name in enumerate(run.classes)}
    return {
        "id": [row["example_id"] for row in rows],
        "text": [row["text"] or "" for row in rows],
        "pair": [row["pair"] for row in rows],
        "label": [number.get(row["label"]) for row in rows],
        "predicted": [number.get(row["predicted"]) for row in rows],
        "probability": [_rounded(row["probability"]) for row in rows],
        "tokens": [row["n_tokens"] for row in rows],
        "max_attention": [_rounded(row["max_attention"]) for row in rows],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _ordered(methods: Sequence[str]) -> list[str]:
    """Attention first: it is what the others are compared with."""
    return sorted(methods, key=lambda method: ("attention" not in method, method == "adversarial_attention", method))


def _series(one: Series, examples: Sequence[str]) -> dict[str, Any]:
    kinds = sorted(set(one.reasons.values()))
    return {
        "key": one.variant.key,
        "label": one.variant.label,
        "scale": measure(one.variant.measure, one.variant.setting).scale,
        "values": [one.values.get(example) for example in examples],
        "reasons": kinds,
        "reason": {
            str(index): kinds.index(one.reasons[example])
            for index, example in enumerate(examples)
            if example in one.reasons
        },
    }
