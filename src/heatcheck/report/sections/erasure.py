"""Does the output rest on the words that a method ranks high? (DeYoung et al. 2020, section 4)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.dots import by_method, dots, dots_table
from heatcheck.report.figures import percent
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.methods import cell, folded, footnotes, named, table
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.source import Run, Variant
from heatcheck.results import RANDOM
from heatcheck.verdict.methods import ERASED

NORMALISED = "normalised"
# Measure -> (name, axis of the measured values, whether low is good)
MEASURES = {
    "aopc_comprehensiveness": ("comprehensiveness", "comprehensiveness (AOPC): high is good", False),
    "aopc_sufficiency": ("sufficiency", "sufficiency (AOPC): low is good", True),
    "tau_loo_erasure": ("τ with leave-one-out", "Kendall τ with leave-one-out", False),
}


def section(run: Run) -> Section | None:
    found = _variants(run)
    if not found:
        return None
    bodies = [dots_table(run, variant, name(variant), lowest=_lowest(variant)) for variant in found]
    body = join(
        lead(
            "If a method is right, the output must change when its top words are erased (comprehensiveness) and must "
            "stay when only they are kept (sufficiency). Both depend on the model and the text, so each value is also "
            "set between the worst and the best order that could be found for the same text: 0 to 1. A method that "
            "is no better than random words has found nothing. One without signs, such as attention, cannot tell words "
            "for the class from words against it, which costs it here. ",
            tag("cite", "DeYoung et al. 2020, section 4"),
        ),
        _far(run),
        drawing("erasure"),
        note(without_value(run, *MEASURES)),
        footnotes(run, sorted({name for variant in found for name in by_method(run, variant)})),
        folded("The same as a table", table("method", "mean", bodies)),
    )
    chart = {"variants": [_chart(run, variant) for variant in found], "curves": _curves(run)}
    return Section(
        "erasure",
        "Erasure",
        "Does the output rest on the words a method marks?",
        body,
        chart,
        "section_erasure.js",
    )


def _variants(run: Run) -> list[Variant]:
    """Normalised first: only they can be compared between texts and models."""

    def order(variant: Variant) -> tuple[Any, ...]:
        operator, _, scale = (variant.setting or "").partition(":")
        known = list(ERASED).index(operator) if operator in ERASED else len(ERASED)
        return (list(MEASURES).index(variant.measure), not scale, known, operator)

    return sorted((v for v in run.means if v.measure in MEASURES and by_method(run, v)), key=order)


def _lowest(variant: Variant) -> bool:
    return MEASURES[variant.measure][2] and not _normalised(variant)


def _normalised(variant: Variant) -> bool:
    return (variant.setting or "").endswith(f":{NORMALISED}")


def _operator(variant: Variant) -> str:
    operator = (variant.setting or "").partition(":")[0]
    return ERASED.get(operator, operator)


def name(variant: Variant) -> str:
    """
    >>> name(Variant("aopc_sufficiency", "mask:normalised"))
    'sufficiency, worst to best, words masked'
    """
    return f"{_measure(variant)}, words {_operator(variant)}"


def _measure(variant: Variant) -> str:
    return MEASURES[variant.measure][0] + (", worst to best" if _normalised(variant) else "")


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    plain = MEASURES[variant.measure]
    axis = f"{plain[0]}: 0 worst order found, 1 best" if _normalised(variant) else plain[1]
    return {
        **dots(run, variant, lowest=_lowest(variant)),
        "measure": _measure(variant),
        "operator": _operator(variant),
        "axis": axis,
        "curve": None if variant.measure == "tau_loo_erasure" else plain[0],
    }


def _curves(run: Run) -> list[dict[str, Any]]:
    """The values by share of words, of methods and random orders, for each measure and operator."""
    found: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for variant in sorted((v for v in run.means if v.at is not None), key=lambda v: v.at or 0.0):
        if variant.measure in ("comprehensiveness", "sufficiency"):
            lines = found.setdefault((variant.measure, _operator(variant)), {})
            for (subject, _), row in run.means[variant].items():
                if row["value"] is not None:
                    lines.setdefault(subject, []).append([variant.at, variant.at, *cell(row)])
    return [
        {
            "measure": measure,
            "operator": operator,
            "lines": [
                {**about, "reference": about["id"] == RANDOM, "points": lines[about["id"]]}
                for about in named(run, sorted(lines))
            ],
        }
        for (measure, operator), lines in sorted(found.items())
    ]


def _far(run: Run) -> Markup | None:
    """Erased texts that are unlike the data: what the model says of them may say little of the words."""
    far = {
        _operator(variant): row["value"]
        for variant, rows in run.means.items()
        if variant.measure == "off_data" and variant.at is None
        for row in rows.values()
        if row["value"] is not None
    }
    if not far:
        return None
    shares = "; ".join(f"words {operator}: {percent(share)}" for operator, share in sorted(far.items()))
    return tag(
        "p",
        f"Texts whose erased versions are mostly unlike the data: {shares}. There a change of the output may come from "
        "the oddness of the text, not from the words.",
        class_="note",
    )
