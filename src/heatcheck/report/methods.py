"""Numbers by explanation method: names with their marks, cells for charts, and the tables beneath them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from heatcheck.method_names import method_name
from heatcheck.report.figures import NONE, count, figure, interval
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.source import Row, Run
from heatcheck.results import NOT_RANKED

DAGGER = "†"
Pairs = dict[tuple[str, str], Row]  # means by the two methods compared
DIGITS = 6  # two or three are shown, and rounding twice would give other ones than the tables have


def cell(row: Row) -> list[Any]:
    """[mean, low, high, texts] for a chart, or [null, reason]."""
    if row["value"] is None:
        return [None, row["reason"] or "no reason was recorded"]
    return [round(row["value"], DIGITS), *(_rounded(row[side]) for side in ("low", "high")), row["n"]]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def unranked(run: Run) -> dict[str, str]:
    """Methods that the run marks as not to be ranked, and why.

    The mark of a pair may be due to either. So a method's own rows decide, one mark is enough; only if it has none do
    its pairs, and then all must be marked.
    """
    own = own_marks(run)
    pairs: dict[str, list[str]] = defaultdict(list)
    for rows in run.means.values():
        for (subject, reference), row in rows.items():
            for name in (subject, reference) if reference else ():
                pairs[name].append(mark(row))
    marks = own | {name: reasons[0] for name, reasons in pairs.items() if name not in own and all(reasons)}
    return {name: reason for name, reason in sorted(marks.items()) if reason}


def own_marks(run: Run) -> dict[str, str]:
    """Of the methods that have rows of their own: why they are not to be ranked, or "" if they are."""
    found: dict[str, str] = {}
    for rows in run.means.values():
        for (subject, reference), row in rows.items():
            if reference is None:
                found[subject] = max(found.get(subject, ""), mark(row))
    return found


def left_out(pairs: Pairs, own: dict[str, str]) -> dict[str, str]:
    """Methods that the mean over pairs does without, and why: those that are marked in their `own` rows, and those that
    rank as another method does, which stands before them. Only pairs have a mark for these; it belongs to the second of
    the two, unless that has a pair without a mark."""
    ranked = {name for pair, row in pairs.items() if row["reason"] is None for name in pair}
    marks = {name: own[name] for pair in pairs for name in pair if own.get(name)}
    for (one, other), row in pairs.items():
        if mark(row) and not marks.keys() & {one, other}:
            marks[one if other in ranked else other] = mark(row)
    return marks


def mark(row: Row) -> str:
    """Why this row does not count in a ranking; "" if it does."""
    reason = row["reason"] or ""
    return reason if reason.startswith(NOT_RANKED) else ""


def named(run: Run, names: Iterable[str], marks: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """What a chart needs to label methods; `why` only for those that are not ranked. Without `marks`: the run's."""
    marks = unranked(run) if marks is None else marks
    return [{"id": name, "name": method_name(name), "why": marks.get(name)} for name in names]


def label(name: str, marks: dict[str, str]) -> str:
    return method_name(name) + (DAGGER if name in marks else "")


def footnotes(run: Run, names: Iterable[str], marks: dict[str, str] | None = None) -> Markup | None:
    """Why each marked method is not to be ranked. Without `marks`: the run's."""
    marks = unranked(run) if marks is None else marks
    notes = [tag("li", f"{DAGGER} {method_name(name)}: {marks[name]}.") for name in names if name in marks]
    return tag("ul", *notes, class_="footnotes") if notes else None


class Line(NamedTuple):
    """A row of a table."""

    name: str
    row: Row


class Body(NamedTuple):
    """The rows of one variant; the page shows the chosen variant's."""

    key: str
    title: str
    lines: Sequence[Line]


def table(first: str, value: str, bodies: Sequence[Body]) -> Markup | None:
    """Name, mean, interval, number of texts."""
    if not any(body.lines for body in bodies):
        return None
    heads = [tag("th", title, scope="col") for title in (first, value, "95% interval", "texts")]
    written = tag("table", tag("thead", tag("tr", *heads)), *(_body(body) for body in bodies), class_="numbers long")
    return tag("div", written, class_="scroll")


def folded(summary: str, *content: Markup | None) -> Markup | None:
    """Long tables wait until they are asked for."""
    inside = join(*content)
    return tag("details", tag("summary", summary), inside, class_="folded") if inside else None


def _body(body: Body) -> Markup:
    # Needed where all bodies show, in a browser without scripts; the page's script hides it.
    which = tag("tr", tag("th", body.title, colspan="4", scope="colgroup"), class_="which")
    return tag("tbody", which, *(_line(line) for line in body.lines), data_variant=body.key)


def _line(line: Line) -> Markup:
    row = line.row
    if row["value"] is None:
        cells = [tag("td", NONE), tag("td", row["reason"] or "no reason was recorded", colspan="2", class_="why")]
    else:
        texts = (figure(row["value"]), interval(row["low"], row["high"]), count(row["n"]))
        cells = [tag("td", text) for text in texts]
    return tag("tr", tag("th", line.name, scope="row"), *cells)


def best_first(rows: dict[str, Row], marks: dict[str, str], *, lowest: bool = False) -> list[str]:
    """Ranked methods from best to worst, then the others by name: they have no place in the order."""

    def order(name: str) -> tuple[Any, ...]:
        value = rows[name]["value"]
        if name in marks or value is None:
            return (1, name)
        return (0, value if lowest else -value, name)

    return sorted(rows, key=order)
