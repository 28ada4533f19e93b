"""Methods side by side on one measure: a dot with its interval each, references as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heatcheck.report.methods import Body, Line, best_first, cell, label, named, unranked
from heatcheck.report.source import Row, Run, Variant
from heatcheck.results import ALL_METHODS, BEST, RANDOM, REVERSED, WORST

REFERENCES = (WORST, RANDOM, BEST)


def by_method(run: Run, variant: Variant) -> dict[str, Row]:
    """The methods' own rows: no references, no reversed orders, no mean over methods."""
    return {
        subject: row
        for (subject, _), row in run.means.get(variant, {}).items()
        if subject not in (*REFERENCES, ALL_METHODS) and not subject.startswith(REVERSED)
    }


def dots(run: Run, variant: Variant, *, lowest: bool = False) -> dict[str, Any]:
    """What dots.js draws. Methods that are not ranked stand below the others, whatever their value."""
    rows = by_method(run, variant)
    others = {subject: row for (subject, _), row in run.means.get(variant, {}).items() if subject not in rows}
    order = best_first(rows, unranked(run), lowest=lowest)
    lines = [
        {**about, "cell": cell(rows[name]), "reversed": _cell(others, REVERSED + name)}
        for name, about in zip(order, named(run, order), strict=True)
    ]
    guides = [[name, found[0]] for name in REFERENCES if (found := _cell(others, name)) and found[0] is not None]
    return {"key": variant.key, "rows": lines, "guides": guides}


def _cell(rows: Mapping[str, Row], name: str) -> list[Any] | None:
    return cell(rows[name]) if name in rows else None


def dots_table(run: Run, variant: Variant, title: str, *, lowest: bool = False) -> Body:
    rows, marks = by_method(run, variant), unranked(run)
    lines = [Line(label(name, marks), rows[name]) for name in best_first(rows, marks, lowest=lowest)]
    given = {subject: row for (subject, _), row in run.means.get(variant, {}).items()}
    lines += [Line(name, given[name]) for name in reversed(REFERENCES) if name in given]
    return Body(variant.key, title, lines)
