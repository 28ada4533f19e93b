"""Is attention needed at all? (Wiegreffe & Pinter 2019, section 3.2, Table 2)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.methods import cell, folded
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.source import Row, Run
from heatcheck.report.trained import Which, means, models_table, with_interval
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import Estimate
from heatcheck.verdict.trained import learned

ATTENTION, UNIFORM = "attention", "uniform"
UNIFORM_SEED = "uniform, "


def section(run: Run) -> Section | None:
    rows = means(run, "uniform_f1")
    added = next(iter(means(run, "uniform_f1_difference").values()), None)
    if not rows or added is None:
        return None
    body = join(
        lead(
            "If a model does as well with equal weights on all words, its attention decides nothing, and weights that "
            "decide nothing explain nothing. The model was trained again with other seeds, each time with attention "
            "and with attention frozen to equal weights. ",
            tag("cite", "Wiegreffe & Pinter 2019, section 3.2, Table 2"),
        ),
        _said(run, added),
        drawing("uniform_attention"),
        tag("p", "“Equal”: models with equal weights. Full dots: the mean of all seeds.", class_="caption"),
        folded("The same as a table", _table(run, rows, added)),
    )
    chart = {
        "f1": [_dot(which, row) for which, row in _ordered(rows)],
        "difference": [{"id": "difference", "name": "attention − equal", "why": None, "cell": cell(added)}],
        "margin": added["at"] or 0.0,
    }
    return Section(
        "uniform_attention", "Uniform", "Is attention needed at all?", body, chart, "section_uniform_attention.js"
    )


def _ordered(rows: dict[Which, Row]) -> list[tuple[Which, Row]]:
    """With attention, then without: the mean of all seeds, then each in the order of the run."""

    def order(which: Which) -> tuple[bool, bool]:
        return _is_uniform(which), which.reference != ALL_SEEDS

    return sorted(rows.items(), key=lambda item: order(item[0]))


def _is_uniform(which: Which) -> bool:
    return which.subject == UNIFORM or which.subject.startswith(UNIFORM_SEED)


def _name(which: Which) -> str:
    if which.reference == ALL_SEEDS:
        return "equal weights, all seeds" if _is_uniform(which) else "attention, all seeds"
    if which.subject == "base":
        return "this model"
    return f"equal weights, {which.subject.removeprefix(UNIFORM_SEED)}" if _is_uniform(which) else which.subject


def _dot(which: Which, row: Row) -> dict[str, Any]:
    short = _name(which).replace("equal weights", "equal").replace(ALL_SEEDS, "mean")
    return {"id": _name(which), "name": short, "why": None, "cell": cell(row), "part": which.reference != ALL_SEEDS}


def _said(run: Run, added: Row) -> Markup | None:
    """Needed, not needed, or cannot tell."""
    if added["value"] is None or added["low"] is None or added["at"] is None:
        return None
    margin = added["at"]
    answer, reason = {
        "above": ("Needed", f"the whole interval is above the margin of {margin:g}"),
        "below": ("Not needed", f"the whole interval is below the margin of {margin:g}"),
        "cannot tell": (
            "Cannot tell",
            f"the interval holds the margin of {margin:g}, so that more texts or seeds are needed",
        ),
    }[Estimate(added["value"], added["low"], added["high"], added["n"]).against(margin)]
    for recall in means(run, "uniform_balanced_accuracy").values():
        if recall["value"] is not None and not learned(recall["value"], recall["at"]):
            answer, reason = (
                "Cannot tell",
                "the models have learned nothing: one that always answers the same is as good",
            )
    sentence = f": attention adds {with_interval(added)} to F1; {reason}. The interval covers texts and seeds."
    return tag("p", tag("strong", answer), sentence, class_="said")


def _table(run: Run, rows: dict[Which, Row], added: Row) -> Markup | None:
    """How far each uniform model is from the one under test stands beside its F1."""
    jsds, tvds = (
        {which.reference: row for which, row in means(run, name).items()} for name in ("uniform_jsd", "uniform_tvd")
    )
    lines: list[tuple[str, list[Row | None]]] = [
        (_name(which), [row, jsds.get(which.subject), tvds.get(which.subject)]) for which, row in _ordered(rows)
    ]
    return models_table(
        ("model", "F1", "JSD to this model", "TVD to this model"),
        [*lines, ("attention − equal weights", [added, None, None])],
    )
