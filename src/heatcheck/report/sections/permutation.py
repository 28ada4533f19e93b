"""Does shuffling attention change the output? (Jain & Wallace 2019, section 4.2.1, Figure 3)"""

from __future__ import annotations

from typing import Any

import numpy as np

from heatcheck.report.figures import count
from heatcheck.report.markup import join, tag
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import Series, series, variants
from heatcheck.report.shapes import ATTENTION_EDGES, by_attention, violin
from heatcheck.report.source import Run
from heatcheck.report.tables import INTERVAL, MEAN, MEDIAN, TEXTS, aggregate_table

MEASURE = "permutation_tvd"


def section(run: Run) -> Section | None:
    if not run.has("permutation"):
        return None
    found = variants(run, MEASURE)
    table = aggregate_table(run, found, (MEAN, INTERVAL, MEDIAN, TEXTS))
    caption = tag(
        "p",
        "Each shape is the distribution of the median change over the texts of one class; the bar spans the middle "
        "half, the dot is the median. Rows go by the largest attention weight in the text. Choose a shape to read "
        "its texts.",
        class_="caption",
    )
    body = join(
        lead(
            "The attention weights of each text are shuffled over its words, many times (100 in the paper), and "
            "the model decides again. The output change (total variation distance, TVD) runs from 0, nothing "
            "changed, to 1, the opposite decision. If a text has one strongly attended word and yet shuffling "
            "changes little, the heatmap was not the reason. ",
            tag("cite", "Jain & Wallace 2019, section 4.2.1, Figure 3"),
        ),
        tag("div", drawing("permutation"), tag("div", table, caption), class_="split"),
    )
    chart = {"variants": [_chart(run, series(run, variant)) for variant in found], "edges": ATTENTION_EDGES}
    return Section(
        "permutation",
        "Permutation",
        "Does shuffling attention change the output?",
        body,
        chart,
        "section_permutation.js",
    )


def _chart(run: Run, values: Series) -> dict[str, Any]:
    rows, unknown = by_attention(run, values.values)
    blind = f"{count(unknown, 'text')} without a recorded maximum attention left out." if unknown else None
    return {
        "key": values.variant.key,
        "rows": [[violin(np.clip(panel, 0, 1)) for panel in row] for row in rows],
        "missing": " ".join(filter(None, [values.missing(), blind])) or None,
    }
