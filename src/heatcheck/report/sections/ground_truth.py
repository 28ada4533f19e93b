"""Do the methods find the words that were planted? (mock data: Amini & Kosseim 2022, section 4.1)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.dots import by_method, dots, dots_table
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import measure
from heatcheck.report.methods import Body, footnotes, table
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.source import Run, Variant
from heatcheck.results import CHANCE, MODEL_RIGHT, MODEL_WRONG, RANDOM

MEASURES = ("auprc", "precision_at_k")
TEXTS = {MODEL_RIGHT: "right", MODEL_WRONG: "wrong"}  # other rows of these measures are plausibility's


def section(run: Run) -> Section | None:
    found = sorted(
        (v for v in run.means if v.measure in MEASURES and v.setting in TEXTS and by_method(run, v)),
        key=lambda v: (MEASURES.index(v.measure), list(TEXTS).index(str(v.setting))),
    )
    if not found:
        return None
    body = join(
        lead(
            "In these texts we planted the words that decide the label, so the right answer is known. AUPRC says how "
            "well a method’s whole ranking finds them, precision at k how many of its top k words were planted, k "
            "being their number. A method that is no better than chance has found nothing. ",
            tag("cite", "data: Amini & Kosseim 2022, section 4.1"),
        ),
        tag(
            "div",
            drawing("ground_truth"),
            tag("div", table("method", "mean", [_body(run, variant) for variant in found]), _apart()),
            class_="split",
        ),
        note(without_value(run, *MEASURES, settings=TEXTS)),
        footnotes(run, sorted({name for variant in found for name in by_method(run, variant)})),
    )
    chart = {"variants": [_chart(run, variant) for variant in found]}
    return Section(
        "ground_truth",
        "Planted words",
        "Do the methods find the words that were planted?",
        body,
        chart,
        "section_ground_truth.js",
    )


def _apart() -> Markup:
    return tag(
        "p",
        "Texts that the model gets wrong stand apart: there it did not use the planted words as it should have, so a "
        "faithful explanation need not find them. Only where the model is right does this tell good methods from bad.",
        class_="caption",
    )


def _name(variant: Variant) -> str:
    return f"{measure(variant.measure).short}, {variant.setting}"


def _body(run: Run, variant: Variant) -> Body:
    made = dots_table(run, variant, _name(variant))
    return made._replace(lines=[line._replace(name=CHANCE) if line.name == RANDOM else line for line in made.lines])


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    made = dots(run, variant)
    short = measure(variant.measure).short
    return {
        **made,
        "guides": [[CHANCE if name == RANDOM else name, at] for name, at in made["guides"]],
        "measure": short,
        "texts": TEXTS[str(variant.setting)],
        "axis": f"{short} (1: all planted words first)",
    }
