"""Does attention agree with other measures of importance? (Jain & Wallace 2019, section 4.1, Figure 2 and Table 2)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.markup import join, tag
from heatcheck.report.measures import measure, setting_name
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import series, variants
from heatcheck.report.shapes import TAU_EDGES, by_panel, histogram
from heatcheck.report.source import Run, Variant
from heatcheck.report.tables import INTERVAL, MEAN, SIGNIFICANT, TEXTS, aggregate_table

TAUS = ("tau_gradient", "tau_loo", "tau_gradient_loo")


def section(run: Run) -> Section | None:
    if not run.has("correlation"):
        return None
    found = variants(run, *TAUS)
    table = aggregate_table(run, found, (MEAN, INTERVAL, SIGNIFICANT, TEXTS))
    caption = tag(
        "p",
        "Each bar is the share of the class’s texts with a τ in that range; choose a bar to read them. “p < 0.05” is "
        "the share of texts whose own τ differs significantly from 0.",
        class_="caption",
    )
    body = join(
        lead(
            "Attention ranks the words of a text; so do gradients, and so does leaving each word out (LOO). "
            "Kendall’s τ says how far two such rankings agree: 1 the same order, 0 no relation, −1 the reverse "
            "order. A heatmap that explains the prediction should agree. ",
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


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    values = series(run, variant)
    return {
        "key": variant.key,
        "measure": measure(variant.measure).name,
        "setting": setting_name(variant.setting, variant.at),
        "methods": measure(variant.measure).compares,
        "histogram": histogram(by_panel(run, values.values), TAU_EDGES),
        "missing": values.missing(),
    }
