"""Do the methods mark the words that people mark? (DeYoung et al. 2020, section 4.1)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.dots import by_method, dots, dots_table
from heatcheck.report.markup import join, tag
from heatcheck.report.measures import measure, setting_name
from heatcheck.report.methods import footnotes, table
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.source import Run, Variant
from heatcheck.results import MODEL_RIGHT, MODEL_WRONG

MEASURES = ("auprc", "token_f1")
PLANTED = (MODEL_RIGHT, MODEL_WRONG)  # rows of ground_truth, which has a section of its own


def section(run: Run) -> Section | None:
    found = sorted(
        (v for v in run.means if v.measure in MEASURES and v.setting not in PLANTED and by_method(run, v)),
        key=lambda v: (MEASURES.index(v.measure), v.setting or "", v.at or 0.0),
    )
    if not found:
        return None
    body = join(
        lead(
            "People marked the words that decide each text. Token F1 compares them with the method’s top words; AUPRC "
            "with its whole ranking. This says how convincing a heatmap is to people, not whether it is true: a model "
            "may decide by words that nobody would mark. ",
            tag("cite", "DeYoung et al. 2020, section 4.1"),
        ),
        tag(
            "div",
            drawing("plausibility"),
            tag("div", table("method", "mean", [dots_table(run, v, _name(v)) for v in found])),
            class_="split",
        ),
        note(without_value(run, *MEASURES, settings={variant.setting for variant in found})),
        footnotes(run, sorted({name for variant in found for name in by_method(run, variant)})),
    )
    chart = {"variants": [_chart(run, variant) for variant in found]}
    return Section(
        "plausibility",
        "Plausibility",
        "Do the methods mark the words that people mark?",
        body,
        chart,
        "section_plausibility.js",
    )


def _name(variant: Variant) -> str:
    setting = setting_name(variant.setting, None)
    return measure(variant.measure).short + (f", {setting}" if setting else "")


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    return {**dots(run, variant), "measure": _name(variant), "axis": f"{_name(variant)} (1: just as people marked)"}
