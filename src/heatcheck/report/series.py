"""One value per text: the series behind a chart, a sort order or a chip."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from heatcheck.method_names import with_names
from heatcheck.report.figures import count
from heatcheck.report.measures import MEASURES
from heatcheck.report.source import Run, Variant

_PREFERRED = ("kendall", "exact", "search", "published")
DIGITS = 4


@dataclass(frozen=True)
class Series:
    """Values of the texts that have one, and why the others have none."""

    variant: Variant
    values: dict[str, float]
    reasons: dict[str, str]

    def missing(self) -> str | None:
        """A sentence about the texts without a value."""
        if not self.reasons:
            return None
        why = "; ".join(
            f"{reason.rstrip('.')} ({count(n)})" for reason, n in Counter(self.reasons.values()).most_common()
        )
        return f"{count(len(self.reasons), 'text')} without a value, left out of the chart: {why}."


def variants(run: Run, *measures: str) -> list[Variant]:
    """The settings in which these measures were taken, in the order the report offers them."""
    summarised = {Variant(row["measure"], row["setting"], row["at"]) for row in run.aggregates}
    found = {variant for variant in summarised | set(run.text_rows) if variant.measure in measures}
    return sorted(found, key=lambda variant: (measures.index(variant.measure), *_order(variant)))


def _order(variant: Variant) -> tuple[int, str, float]:
    setting = variant.setting or ""
    rank = _PREFERRED.index(setting) if setting in _PREFERRED else len(_PREFERRED)
    return rank, setting, variant.at if variant.at is not None else -1.0


def all_series(run: Run) -> list[Series]:
    """Every measure that has a value per text, in the order of the measures' own list."""
    unknown = sorted({variant.measure for variant in run.text_rows} - set(MEASURES))
    return [series(run, one) for one in variants(run, *MEASURES, *unknown) if one in run.text_rows]


def series(run: Run, variant: Variant) -> Series:
    """Rounded once, here, so that the chart's bins and the page's lists see the same numbers."""
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for row in run.text_rows.get(variant, []):
        if row["value"] is None:
            methods = {row["subject"], row["reference"]} - {None}
            reasons.setdefault(row["example_id"], with_names(row["reason"] or "no reason was recorded", methods))
        else:
            values.setdefault(row["example_id"], round(row["value"], DIGITS))
    return Series(variant, values, reasons)
