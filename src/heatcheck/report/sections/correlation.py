"""Does attention agree with other measures of importance? (Jain & Wallace 2019, section 4.1, Figure 2 and Table 2)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from heatcheck.report.markup import join, tag
from heatcheck.report.measures import measure, setting_name
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import series, variants
from heatcheck.report.shapes import DISTANCE_EDGES, TAU_EDGES, by_panel, histogram
from heatcheck.report.source import Run, Variant
from heatcheck.report.tables import INTERVAL, MEAN, SIGNIFICANT, TEXTS, aggregate_table


class Axis(NamedTuple):
    """`title` is written below it, `value` is what a number on it is called."""

    title: str
    value: str
    reading: str
    edges: list[float]
    ticks: list[float]


TAU = Axis(
    "Kendall τ of {}",
    "τ",
    "Kendall τ: 1 the same order, 0 no relation, −1 the reverse order.",
    TAU_EDGES,
    [-1, -0.5, 0, 0.5, 1],
)
DISTANCE = Axis(
    "distance of the top words",
    "distance of the top words",
    "Distance of the top words: 0 the same order, 1 the reverse order.",
    DISTANCE_EDGES,
    [0, 0.25, 0.5, 0.75, 1],
)
TAUS = ("tau_gradient", "tau_loo", "tau_gradient_loo")


def section(run: Run) -> Section | None:
    if not run.has("correlation"):
        return None
    found = variants(run, *TAUS)
    table = aggregate_table(run, found, (MEAN, INTERVAL, SIGNIFICANT, TEXTS))
    caption = tag(
        "p",
        "Each bar is the share of the class’s texts with a value in that range; choose a bar to read them. “p < 0.05” "
        "is the share of texts whose own τ differs significantly from 0.",
        class_="caption",
    )
    body = join(
        lead(
            "Attention ranks the words of a text; so do gradients, and so does leaving each word out (LOO). "
            "Kendall’s τ says how far two such rankings agree: 1 the same order, 0 no relation, −1 the reverse "
            f"order. {_of_the_top(found)}A heatmap that explains the prediction should agree. ",
            tag("cite", "Jain & Wallace 2019, section 4.1, Figure 2"),
        ),
        tag("div", drawing("correlation"), tag("div", table, caption), class_="split"),
    )
    return Section(
        "correlation",
        "Correlation",
        "Does attention agree with other importance measures?",
        body,
        {"variants": [_chart(run, variant) for variant in found]},
        "section_correlation.js",
    )


def _of_the_top(found: Sequence[Variant]) -> str:
    if not any(_axis(variant) is DISTANCE for variant in found):
        return ""
    return "As in the paper, the top words alone are compared by a distance: 0 the same order, 1 the reverse order. "


def _axis(variant: Variant) -> Axis:
    return DISTANCE if variant.setting == "top_k" else TAU


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    values, about, axis = series(run, variant), measure(variant.measure, variant.setting), _axis(variant)
    return {
        "key": variant.key,
        "measure": about.name,
        "setting": setting_name(variant.setting, variant.at),
        "methods": about.compares,
        "histogram": histogram(by_panel(run, values.values), axis.edges),
        "missing": values.missing(),
        "axis": axis.title.format(about.name),
        "label": f"Histogram of the {axis.value} of {about.name}, by predicted class",
        "ticks": axis.ticks,
        "value": axis.value,
        "reading": axis.reading,
    }
