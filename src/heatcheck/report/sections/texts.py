"""Every text with every heatmap, to search, filter and sort."""

from __future__ import annotations

from heatcheck.report.markup import join
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.source import Run


def section(run: Run) -> Section | None:
    if not run.examples:
        return None
    body = join(
        lead(
            "Every number above comes from these texts. A heatmap colours each word by its score, from no colour "
            "for 0 to full colour for the largest score of that text and method: compare words within a text, not "
            "colours between texts."
        ),
        drawing("texts"),
    )
    return Section("texts", "Texts", "The texts", body, {}, "section_texts.js")
