"""Tables of aggregates: the numbers the experiments computed, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heatcheck.report.figures import NONE, count, figure, interval, percent
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.source import Row, Run, Variant

Cells = dict[str, Row]
Column = tuple[str, Callable[[Cells], str]]


def _value(cells: Cells, statistic: str) -> float | None:
    value: float | None = cells[statistic]["value"] if statistic in cells else None
    return value


def _mean(cells: Cells) -> str:
    """One text does not deviate from itself. On a small screen the deviation may go below the mean, as a whole."""
    mean, deviation = _value(cells, "mean"), _value(cells, "std")
    if deviation is None or cells["std"]["n"] < 2:
        return figure(mean)
    return join(figure(mean), tag("span", f" ±\u00a0{figure(deviation)}", class_="deviation"))


def _interval(cells: Cells) -> str:
    row = cells.get("mean") or cells.get("median")
    return interval(row["low"], row["high"]) if row else NONE


def _n(cells: Cells) -> str:
    return count(max(row["n"] for row in cells.values()))


MEAN: Column = ("mean ± std", _mean)
INTERVAL: Column = ("95% interval", _interval)
MEDIAN: Column = ("median", lambda cells: figure(_value(cells, "median")))
SIGNIFICANT: Column = ("p < 0.05", lambda cells: percent(_value(cells, "significant_fraction")))
TEXTS: Column = ("texts", _n)


def aggregate_table(run: Run, variants: Sequence[Variant], columns: Sequence[Column]) -> Markup | None:
    """One body for each variant (the page shows the chosen one), one row for each class and one for all."""
    bodies = [_body(run, variant, columns) for variant in variants]
    if not any(bodies):
        return None
    heads = [tag("th", name, scope="col") for name in ("predicted", *(title for title, _ in columns))]
    table = tag("table", tag("thead", tag("tr", *heads)), *bodies, class_="numbers")
    return tag("div", table, class_="scroll")


def _body(run: Run, variant: Variant, columns: Sequence[Column]) -> Markup | None:
    groups = _groups(run, variant)
    if not groups:
        return None
    # Needed where all bodies show, in a browser without scripts; the page's script hides it.
    which = tag("tr", tag("th", variant.label, colspan=str(len(columns) + 1), scope="colgroup"), class_="which")
    rows = [_line(run, group, cells, columns) for group, cells in groups.items()]
    return tag("tbody", which, *rows, data_variant=variant.key)


def _groups(run: Run, variant: Variant) -> dict[str | None, Cells]:
    """Statistics by class, in the order of the classes, all texts last."""
    found: dict[str | None, Cells] = {name: {} for name in (*run.classes, None)}
    for row in run.aggregates:
        if (row["measure"], row["setting"], row["at"]) == variant:
            found.setdefault(row["group"], {}).setdefault(row["statistic"], row)
    return {group: cells for group, cells in found.items() if cells}


def _line(run: Run, group: str | None, cells: Cells, columns: Sequence[Column]) -> Markup:
    name = "all texts" if group is None else join(swatch(run, group), tag("bdi", shortened(group)))
    return tag(
        "tr",
        tag("th", name, scope="row"),
        *(tag("td", show(cells)) for _, show in columns),
        class_="all" if group is None else None,
    )


def shortened(name: str, most: int = 20) -> str:
    """From the middle: long class names often differ at their ends.

    >>> shortened("comp.sys.ibm.pc.hardware", 12)
    'comp.s…dware'
    """
    return name if len(name) <= most else name[: most // 2] + "…" + name[len(name) - (most - 1) // 2 :]


def swatch(run: Run, group: str) -> Markup | None:
    panel = run.panel_of.get(group)
    return None if panel is None else tag("span", class_=f"swatch panel-{panel}", aria_hidden="true")
