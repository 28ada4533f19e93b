"""How different can attention be for the same output? (Jain & Wallace 2019, section 4.2.2, Figures 4 and 5)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import setting_name
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import series, variants
from heatcheck.report.shapes import JSD_EDGES, by_panel, histogram
from heatcheck.report.source import Run, Variant
from heatcheck.report.tables import INTERVAL, MEAN, MEDIAN, TEXTS, aggregate_table
from heatcheck.report.telling import FEWEST_TOKENS, telling
from heatcheck.verdict.findings import LN2

_MEANING = {
    "exact": "The exact solver finds the most distant attention there is: these values are certificates.",
    "search": "Found by search: the most distant attention may be further still, so these values are lower bounds.",
    "published": "Found by the authors’ gradient search: the most distant attention may be further still, so these "
    "values are lower bounds.",
}


def section(run: Run) -> Section | None:
    if not run.has("adversarial_attention"):
        return None
    found = variants(run, "adversarial_jsd")
    shown = telling(run, found[0]) if found else []
    chart = {"variants": [_chart(run, variant) for variant in found], "bound": round(LN2, 4), "telling": shown}
    return Section(
        "adversarial_attention",
        "Adversary",
        "How different can attention be for the same output?",
        join(_charts(run, found), _telling(shown)),
        chart,
        "section_adversarial.js",
        tuple(shown),
    )


def _charts(run: Run, found: list[Variant]) -> Markup:
    return join(
        lead(
            "For each text we look for the attention that differs most from the model’s own while the output "
            "changes by at most ε. The difference is the Jensen–Shannon divergence (JSD): 0 means the same "
            "weights, ln 2 ≈ 0.69 means entirely other words. Mass near 0.69 means that another heatmap would have "
            "explained the same decision. ",
            tag("cite", "Jain & Wallace 2019, section 4.2.2, Figures 4 and 5"),
        ),
        drawing("adversarial_attention"),
        aggregate_table(run, found, (MEAN, INTERVAL, MEDIAN, TEXTS)),
    )


def _telling(shown: list[str]) -> Markup | None:
    if not shown:
        return None
    return join(
        tag("h3", "The same decision, another heatmap"),
        tag(
            "p",
            f"The {count(len(shown), 'text')} (of at least {FEWEST_TOKENS} tokens) where the attention was most "
            "concentrated and could be moved furthest: the largest products of maximum attention and JSD. They are "
            "the extremes, not typical texts. Each heatmap is scaled by its own largest weight.",
            class_="caption",
        ),
        drawing("telling"),
    )


def _chart(run: Run, variant: Variant) -> dict[str, Any]:
    values = series(run, variant)
    return {
        "key": variant.key,
        "change": Variant("adversarial_tvd", variant.setting, variant.at).key,
        "setting": setting_name(variant.setting, variant.at),
        "meaning": _MEANING.get(variant.setting or "", ""),
        "histogram": histogram(by_panel(run, values.values), JSD_EDGES),
        "missing": values.missing(),
    }
