"""Numbers of trained models, for the tests of papers 2 and 3: means over all texts or those of one class, values of
single texts, and tables that hold an interval in each cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from heatcheck.report import methods, series
from heatcheck.report.figures import NONE, figure, interval
from heatcheck.report.markup import Markup, tag
from heatcheck.report.source import Row, Run


class Which(NamedTuple):
    """Which model a number is about, and how it was made."""

    subject: str
    reference: str | None
    setting: str | None = None
    at: float | None = None


def means(run: Run, measure: str, group: str | None = None) -> dict[Which, Row]:
    """Over all texts, or over those of one predicted class."""
    found: dict[Which, Row] = {}
    for row in run.aggregates:
        if row["measure"] == measure and row["statistic"] == "mean" and row["group"] == group:
            found.setdefault(Which(row["subject"], row["reference"], row["setting"], row["at"]), row)
    return found


def by_number(name: str | None) -> list[int]:
    """Seeds in order: tables have them as text.

    >>> sorted(["seed 257", "seed 50, number 2", "seed 50"], key=by_number)
    ['seed 50', 'seed 50, number 2', 'seed 257']
    """
    return [int(number) for number in re.findall(r"\d+", name or "")]


def of_texts(run: Run, measure: str) -> dict[Which, dict[str, float]]:
    """The values of single texts, by model, in the order in which the experiment gave them."""
    rows = run.details.filter(pc.and_(pc.equal(run.details["measure"], measure), pc.is_valid(run.details["value"])))
    names = ("subject", "reference", "setting", "at", "example_id", "value")
    found: dict[Which, dict[str, float]] = {}
    for *which, example, value in zip(*(rows[name].to_pylist() for name in names), strict=True):
        if example in run.by_id:
            found.setdefault(Which(*which), {}).setdefault(example, round(value, series.DIGITS))
    return found


def numbers(row: Row | None) -> list[float | None] | None:
    """[mean, low, high] for a chart."""
    if row is None or row["value"] is None:
        return None
    return [None if row[key] is None else round(row[key], methods.DIGITS) for key in ("value", "low", "high")]


def with_interval(row: Row | None) -> str:
    """
    >>> with_interval({"value": 0.3, "low": 0.25, "high": 0.35})
    '0.30 [0.25, 0.35]'
    """
    if row is None or row["value"] is None:
        return NONE
    bounds = interval(row["low"], row["high"])
    return figure(row["value"]) + ("" if bounds == NONE else f" {bounds}")


Lines = Sequence[tuple[str, Sequence[Row | None]]]


def models_table(heads: Sequence[str], lines: Lines) -> Markup | None:
    """A row for each model: its name, then numbers with their intervals. The first of `heads` is over the names."""
    return _table(heads, tag("tbody", *map(_line, lines))) if lines else None


def variants_table(heads: Sequence[str], bodies: Sequence[tuple[str, str, Lines]]) -> Markup | None:
    """The same for several variants (key, title, lines), of which the page shows the chosen one."""

    def which(title: str) -> Markup:
        # Needed where all bodies show, in a browser without scripts; the page's script hides it.
        return tag("tr", tag("th", title, colspan=str(len(heads)), scope="colgroup"), class_="which")

    return _table(heads, *(tag("tbody", which(t), *map(_line, lines), data_variant=key) for key, t, lines in bodies))


def _table(heads: Sequence[str], *bodies: Markup) -> Markup:
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in heads)))
    return tag("div", tag("table", head, *bodies, class_="numbers models"), class_="scroll")


def _line(line: tuple[str, Sequence[Row | None]]) -> Markup:
    name, rows = line
    return tag("tr", tag("th", name, scope="row"), *(_cell(row) for row in rows))


def _cell(row: Row | None) -> Markup:
    if row is None or row["value"] is None:
        return tag("td", NONE, title=None if row is None else row["reason"])
    bounds = interval(row["low"], row["high"])
    return tag("td", figure(row["value"]), None if bounds == NONE else tag("small", bounds))


def strength(at: float | None) -> str:
    """λ as people write it.

    >>> strength(1e-5), strength(0.000525), strength(0.0), strength(None)
    ('1e-5', '0.000525', '0', '–')
    """
    return NONE if at is None else f"{at:g}".replace("e-0", "e-")
