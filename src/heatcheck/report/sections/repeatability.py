"""Does a method say the same when it is asked again, and how many samples does that take?"""

from __future__ import annotations

from typing import Any

from heatcheck.method_names import method_name
from heatcheck.report.dots import by_method, dots
from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.methods import Body, Line, best_first, cell, folded, footnotes, label, named, table, unranked
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.source import Row, Run, Variant
from heatcheck.verdict.checks import LEAST_STABILITY

STABILITY = Variant("rank_stability")
SAMPLES = "samples"


def section(run: Run) -> Section | None:
    rows = by_method(run, STABILITY)
    if not rows:
        return None
    budgets = _budgets(run)
    body = join(
        lead(
            "LIME, SHAP and SmoothGrad draw random samples. Each text was explained several times with other seeds; "
            "the rank stability is the mean Kendall τ between two such explanations of the same text: 1, always the "
            "same order. Where it is low, part of the heatmap is chance. Methods that draw nothing, where they are "
            "here, were run twice and must be equal."
        ),
        tag(
            "div",
            drawing("repeatability"),
            drawing("repeatability-samples") if budgets else None,
            class_="pair",
        ),
        _settled(run),
        note(without_value(run, STABILITY.measure)),
        footnotes(run, rows),
        folded("The same as a table", table("method", "stability", [_body(run, rows, budgets)])),
    )
    chart = {
        "dots": dots(run, STABILITY),
        "curves": _curves(run, budgets),
        "mark": _mark(run),
        "least": LEAST_STABILITY,
    }
    return Section(
        "repeatability",
        "Repeatability",
        "Does a method say the same when asked again?",
        body,
        chart,
        "section_repeatability.js",
    )


def _budgets(run: Run) -> dict[str, dict[float, Row]]:
    """Each sampling method's stability by its number of samples."""
    found: dict[str, dict[float, Row]] = {}
    for variant in run.means:
        if variant.measure == STABILITY.measure and variant.setting == SAMPLES and variant.at is not None:
            for name, row in by_method(run, variant).items():
                found.setdefault(name, {})[variant.at] = row
    return {name: dict(sorted(rows.items())) for name, rows in sorted(found.items())}


def _needed(run: Run) -> dict[str, Row]:
    return {
        name: row
        for variant in run.means
        if variant.measure == "samples_needed"
        for name, row in by_method(run, variant).items()
    }


def _mark(run: Run) -> float:
    """The stability at which ranks count as settled: what the run used, or the default."""
    return next((row["at"] for row in _needed(run).values() if row["at"] is not None), 0.9)


def _settled(run: Run) -> Markup | None:
    needed = _needed(run)
    if not needed:
        return None
    items = [tag("li", f"{method_name(name)}: {_sentence(row)}.") for name, row in sorted(needed.items())]
    return join(tag("h3", f"Samples until the ranks settle (mean τ of {_mark(run):g})"), tag("ul", *items))


def _sentence(row: Row) -> str:
    if row["value"] is None:
        return str(row["reason"])
    return f"{count(round(row['value']), 'sample')}"


def _curves(run: Run, budgets: dict[str, dict[float, Row]]) -> list[dict[str, Any]]:
    """Methods draw very different numbers of samples: the first budget of each stands at 1."""
    return [
        {**about, "points": [[at / min(rows), at, *cell(row)] for at, row in rows.items() if row["value"] is not None]}
        for about, rows in zip(named(run, budgets), budgets.values(), strict=True)
    ]


def _body(run: Run, rows: dict[str, Row], budgets: dict[str, dict[float, Row]]) -> Body:
    marks = unranked(run)
    lines = []
    for name in best_first(rows, marks):
        lines.append(Line(label(name, marks), rows[name]))
        lines += [Line(f"– with {count(round(at), 'sample')}", row) for at, row in budgets.get(name, {}).items()]
    return Body(STABILITY.key, "rank stability", lines)
