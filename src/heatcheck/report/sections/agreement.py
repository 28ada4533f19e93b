"""Do the methods agree with each other? (Neely et al. 2022, tables 1 and 2, figure 1)"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heatcheck.report.clusters import clustered
from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import measure
from heatcheck.report.methods import (
    Body,
    Line,
    Pairs,
    cell,
    folded,
    footnotes,
    label,
    left_out,
    named,
    own_marks,
    table,
)
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.series import series
from heatcheck.report.shapes import TAU_EDGES, by_panel, histogram
from heatcheck.report.source import Run, Variant

KENDALL = Variant("kendall")
MEASURES = ("kendall", "spearman", "pearson", "topk_overlap", "rbo")
LEAST_AGREED = 8  # texts shown
PER_PAIR = 3  # texts behind each cell


def section(run: Run) -> Section | None:
    found = _pairs(run)
    if KENDALL not in found:
        return None
    methods = _in_clusters(found[KENDALL])
    marks = left_out(found[KENDALL], own_marks(run))
    least = _least_agreed(run, marks)
    behind = _behind(run)
    chart = {
        "methods": named(run, methods[0], marks),
        "tree": methods[1],
        "variants": [_chart(variant, pairs, methods[0]) for variant, pairs in found.items()],
        "behind": behind,
        "mean": _means(run),
        "least": least,
    }
    shows = [text["id"] for text in least] + [example for texts in behind.values() for example in texts]
    return Section(
        "agreement",
        "Agreement",
        "Do the methods agree with each other?",
        _body(run, found, methods[0], marks, least),
        chart,
        "section_agreement.js",
        tuple(dict.fromkeys(shows)),
    )


def _pairs(run: Run) -> dict[Variant, Pairs]:
    """The comparisons of two methods, in the order in which they are offered."""
    rows = {
        variant: {(one, other): row for (one, other), row in cells.items() if other is not None}
        for variant, cells in run.means.items()
        if variant.measure in MEASURES
    }
    order = sorted(rows, key=lambda v: (MEASURES.index(v.measure), v.setting is not None, v.setting or "", v.at or 0))
    return {variant: rows[variant] for variant in order if rows[variant]}


def _in_clusters(pairs: Pairs) -> tuple[list[str], list[Any]]:
    names = sorted({name for pair in pairs for name in pair})
    matrix = np.eye(len(names))
    for (one, other), row in pairs.items():
        a, b = names.index(one), names.index(other)
        matrix[a, b] = matrix[b, a] = np.nan if row["value"] is None else row["value"]
    found = clustered(matrix)
    joins = [[list(j.places), [round(g, 4) for g in j.grown], round(j.at, 4)] for j in found.joins]
    return [names[place] for place in found.order], joins


def _chart(variant: Variant, pairs: Pairs, methods: list[str]) -> dict[str, Any]:
    """Cells in the order of all pairs of the clustered methods."""
    about = measure(variant.measure)
    cells = []
    for one, other in combinations(methods, 2):
        row = pairs.get((one, other)) or pairs.get((other, one))
        cells.append([None, "not compared"] if row is None else cell(row))
    return {"key": variant.key, "name": title(variant), "low": about.low, "cells": cells}


def title(variant: Variant) -> str:
    """
    >>> title(Variant("kendall")), title(Variant("kendall", "top_k", 0.25)), title(Variant("rbo", None, 0.9))
    ('Kendall τ', 'Kendall τ, top 25%', 'rank-biased overlap, p = 0.9')
    """
    name = measure(variant.measure).name
    if variant.at is None:
        return name
    return f"{name}, p = {variant.at:g}" if variant.measure == "rbo" else f"{name}, top {variant.at:.0%}"


def _means(run: Run) -> dict[str, Any] | None:
    values = series(run, KENDALL)
    if not values.values:
        return None
    return {
        "key": KENDALL.key,
        "histogram": histogram(by_panel(run, values.values), TAU_EDGES),
        "missing": values.missing(),
    }


def _least_agreed(run: Run, marks: dict[str, str]) -> list[dict[str, Any]]:
    """The texts with the lowest mean τ, each with the two methods that differ most on it."""
    values = series(run, KENDALL).values
    lowest = sorted(values, key=lambda example: (values[example], example))[:LEAST_AGREED]
    worst: dict[str, tuple[float, list[str]]] = {}
    for value, example, *pair in _taus(run, lowest):
        if not marks.keys() & set(pair):
            worst[example] = min(worst.get(example, (2.0, [])), (value, sorted(pair)))
    return [{"id": example, "methods": worst.get(example, (0.0, []))[1]} for example in lowest]


def _behind(run: Run) -> dict[str, list[str]]:
    """For each pair the texts on which the two differ most."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for value, example, one, other in _taus(run):
        if example in run.by_id:
            found["/".join(sorted((one, other)))].append((value, example))
    return {pair: [example for _, example in sorted(texts)[:PER_PAIR]] for pair, texts in sorted(found.items())}


def _taus(run: Run, examples: list[str] | None = None) -> list[tuple[float, str, str, str]]:
    """τ, text, method and method, of some texts or of all."""
    rows = run.details.filter(pc.equal(run.details["measure"], "kendall"))
    rows = rows.filter(pc.and_(pc.is_null(rows["setting"]), pc.is_valid(rows["value"])))
    if examples is not None:
        rows = rows.filter(pc.is_in(rows["example_id"], pa.array(examples, pa.string())))
    columns = [rows[name].to_pylist() for name in ("value", "example_id", "subject", "reference")]
    return [row for row in zip(*columns, strict=True) if row[3] is not None]


def _body(
    run: Run, found: dict[Variant, Pairs], methods: list[str], marks: dict[str, str], least: list[dict[str, Any]]
) -> Markup:
    bodies = [Body(variant.key, title(variant), _lines(pairs, marks)) for variant, pairs in found.items()]
    return join(
        lead(
            "Every method ranks the words of a text by importance. Each cell compares two methods over the same texts: "
            "1 the same order, 0 no relation, −1 the reverse. Methods that agree stand side by side. Low agreement "
            "does not say who is right, only that a reader who is shown another method’s heatmap is told another "
            "story. ",
            tag("cite", "Neely et al. 2022, section 3.3, Tables 1 and 2"),
        ),
        drawing("agreement"),
        note(without_value(run, *MEASURES)),
        footnotes(run, methods, marks),
        folded(f"The same as a table: {count(len(found[KENDALL]), 'pair')}", table("methods", "mean", bodies)),
        tag("h3", "Text by text") if least else None,
        tag("p", f"{_averaged(methods, marks)} Choose a bar to read its texts.", class_="caption") if least else None,
        drawing("agreement-texts") if least else None,
        _least(least),
    )


def _averaged(methods: list[str], marks: dict[str, str]) -> str:
    """
    >>> _averaged(["gradient", "lime"], {"lime": "not ranked: changes"})
    'The mean τ over all pairs of methods that are ranked (without LIME†) for each text.'
    """
    without = ", ".join(label(name, marks) for name in methods if name in marks)
    return (
        f"The mean τ over all pairs of methods {f'that are ranked (without {without}) ' * bool(without)}for each text."
    )


def _lines(pairs: Pairs, marks: dict[str, str]) -> list[Line]:
    def order(pair: tuple[str, str]) -> tuple[Any, ...]:
        value = pairs[pair]["value"]
        return (value is None, -(value or 0.0), pair)

    return [Line(" – ".join(label(name, marks) for name in pair), pairs[pair]) for pair in sorted(pairs, key=order)]


def _least(least: list[dict[str, Any]]) -> Markup | None:
    if not least:
        return None
    return join(
        tag("h3", "Where the methods agree least"),
        tag(
            "p",
            f"The {count(len(least), 'text')} with the lowest mean τ, and the two methods that differ most on each. "
            "They are the extremes, not typical texts. Figure 1 of the paper shows two such texts.",
            class_="caption",
        ),
        drawing("agreement-least"),
    )
