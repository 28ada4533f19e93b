"""How much does attention vary by seed alone? (Wiegreffe & Pinter 2019, section 3.3, Figure 3)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import setting_name
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import DIGITS, Series, series, variants
from heatcheck.report.shapes import ATTENTION_EDGES, Values, by_attention, violin
from heatcheck.report.source import Row, Run, Variant
from heatcheck.report.trained import means, models_table, of_texts, with_interval
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import LN2

LARGEST, MEAN = "the largest", "the mean"


def section(run: Run) -> Section | None:
    jsds = {which.reference: row for which, row in means(run, "seed_jsd").items()}
    if not jsds:
        return None
    found = variants(run, "adversarial_jsd")[:1]
    own = _of_each_text(run)
    body = join(
        lead(
            "The same model trained again from another seed spreads its attention differently. How far, text by text, "
            "is what chance alone does: an adversary is impressive only if it goes farther. The distance is the "
            "Jensen–Shannon divergence (JSD), 0 for the same weights and ln 2 ≈ 0.69 for entirely other words. ",
            tag("cite", "Wiegreffe & Pinter 2019, section 3.3, Figure 3"),
        ),
        _said(jsds.get(ALL_SEEDS), _mean(run, found)),
        drawing("seed_variance"),
        tag("p", _caption(len(jsds.keys() - {ALL_SEEDS}), bool(found)), class_="caption"),
        _table(run, jsds, found),
    )
    chart = {
        "variants": [_chart(run, one, name, f"JSD, {name} of the seeds") for name, one in own.items()],
        "adversary": _adversary(run, found[0]) if found else None,
        "edges": ATTENTION_EDGES,
        "bound": round(LN2, 4),
    }
    return Section(
        "seed_variance",
        "Seeds",
        "How much does attention vary by seed alone?",
        body,
        chart,
        "section_seed_variance.js",
        series=tuple(own.values()),
    )


def _of_each_text(run: Run) -> dict[str, Series]:
    """A text has a distance for each seed; the paper's figure takes the largest."""
    by_text: dict[str, list[float]] = {}
    for found in of_texts(run, "seed_jsd").values():
        for example, value in found.items():
            by_text.setdefault(example, []).append(value)
    return {
        name: Series(
            Variant("seed_jsd", f"{name} of the seeds"), {e: round(take(v), DIGITS) for e, v in by_text.items()}, {}
        )
        for name, take in ((LARGEST, max), (MEAN, fmean))
    }


def _mean(run: Run, found: Sequence[Variant]) -> Row | None:
    rows = means(run, "adversarial_jsd")
    return (
        next((row for which, row in rows.items() if (which.setting, which.at) == found[0][1:]), None) if found else None
    )


def _said(seeds: Row | None, adversary: Row | None) -> Markup | None:
    if seeds is None or seeds["value"] is None:
        return None
    sentence = f"Another seed alone moves attention by a mean JSD of {with_interval(seeds)}."
    if adversary is not None and adversary["value"] is not None:
        sentence += f" Paper 1’s adversary moves it by {with_interval(adversary)}: {_compared(seeds, adversary)}."
    return tag("p", sentence, class_="said")


def _compared(seeds: Row, adversary: Row) -> str:
    if None in (seeds["low"], adversary["low"]):
        return "the intervals to compare them are missing"
    if adversary["low"] > seeds["high"]:
        return "farther than chance does"
    return "not as far as chance does" if adversary["high"] < seeds["low"] else "no farther than chance might"


def _caption(seeds: int, adversary: bool) -> str:
    beside = (
        " Beside them, on the same axes, paper 1’s adversary, which is free to choose for each text."
        if adversary
        else ""
    )
    return (
        f"Each shape is the distribution over the texts of one class; the bar spans the middle half, the dot is the "
        f"median. Rows go by the largest attention weight in the text. As in the paper, a text counts with the largest "
        f"of its {count(seeds, 'distance')} to other seeds, which grows with their number; the mean does not.{beside} "
        "Dashed: ln 2. Choose a shape to read its texts."
    )


def _chart(run: Run, values: Series, name: str, axis: str, methods: Sequence[str] = ("attention",)) -> dict[str, Any]:
    rows, unknown = by_attention(run, values.values)
    blind = f"{count(unknown, 'text')} without a recorded maximum attention left out." if unknown else None
    return {
        "key": values.variant.key,
        "name": name,
        "axis": axis,
        "methods": list(methods),
        "rows": [[_violin(panel) for panel in row] for row in rows],
        "missing": " ".join(filter(None, [values.missing(), blind])) or None,
    }


def _adversary(run: Run, variant: Variant) -> dict[str, Any]:
    setting = setting_name(variant.setting, variant.at)
    return _chart(run, series(run, variant), setting, f"ε-max JSD, {setting}", ("attention", "adversarial_attention"))


def _violin(values: Values) -> dict[str, Any]:
    """Of values up to ln 2, where a density up to 1 would leak over the bound."""
    drawn = violin(np.clip(values / LN2, 0, 1))
    return {key: _stretched(part) if key in ("quartiles", "grid", "points") else part for key, part in drawn.items()}


def _stretched(shares: Sequence[float]) -> list[float]:
    return [round(share * LN2, DIGITS) for share in shares]


def _table(run: Run, jsds: Mapping[str | None, Row], found: Sequence[Variant]) -> Markup | None:
    tvds = {which.reference: row for which, row in means(run, "seed_tvd").items()}
    f1 = {which.subject: row for which, row in means(run, "seed_f1").items()}
    order = [*f1, *(str(name) for name in jsds if name not in f1 and name != ALL_SEEDS)]  # that of the run
    lines: list[tuple[str, list[Row | None]]] = [
        (name, [jsds.get(name), tvds.get(name), f1.get(name)]) for name in order
    ]
    lines.append((ALL_SEEDS, [jsds.get(ALL_SEEDS), tvds.get(ALL_SEEDS), None]))
    if found:
        moved = Variant("adversarial_tvd", *found[0][1:])
        change = next(iter(run.means.get(moved, {}).values()), None)
        lines.append(("paper 1’s adversary", [_mean(run, found), change, None]))
    return models_table(("compared with", "JSD", "TVD", "F1"), lines)
