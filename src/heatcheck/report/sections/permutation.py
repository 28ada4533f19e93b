"""Does shuffling attention change the output? (Jain & Wallace 2019, section 4.2.1, Figure 3)"""

from __future__ import annotations

from typing import Any

import numpy as np

from heatcheck.report.figures import count
from heatcheck.report.markup import join, tag
from heatcheck.report.sections.section import Section, drawing, lead
from heatcheck.report.series import Series, series, variants
from heatcheck.report.shapes import ATTENTION_EDGES, by_panel, violin
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
    peaks = {example: run.by_id[example]["max_attention"] for example in values.values}
    known = {example: value for example, value in values.values.items() if peaks[example] is not None}
    rows = []
    for number in range(len(ATTENTION_EDGES) - 1):
        inside = {example: value for example, value in known.items() if _row(peaks[example]) == number}
        rows.append([violin(np.clip(panel, 0, 1)) for panel in by_panel(run, inside)])
    unknown = len(values.values) - len(known)
    blind = f"{count(unknown, 'text')} without a recorded maximum attention left out." if unknown else None
    return {
        "key": values.variant.key,
        "rows": rows,
        "missing": " ".join(filter(None, [values.missing(), blind])) or None,
    }


def _row(peak: float) -> int:
    """The bin of a maximum attention; the page, which sees four digits, must sort texts the same way."""
    return int(np.clip(np.searchsorted(ATTENTION_EDGES, round(peak, 4), side="right") - 1, 0, len(ATTENTION_EDGES) - 2))
