"""Can one trained model lie about attention on every text? (Wiegreffe & Pinter 2019, section 4, Figures 2, 5 and 6,
Tables 4 and 5)"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow.compute as pc

from heatcheck.report.figures import figure
from heatcheck.report.lies import lies, lies_part
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.methods import folded
from heatcheck.report.plane import curves, kinds, marks
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.series import Series
from heatcheck.report.source import Row, Run, Variant
from heatcheck.report.trained import Which, by_number, means, models_table, of_texts, strength, with_interval
from heatcheck.report.visible import for_chart
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.findings import LN2
from heatcheck.verdict.price import FAR, best_liar, heatmap_name

ALONE = "trained_adversary"  # older runs do not say whose heatmaps they keep: of the first seed's λ nearest to SHOWN
SHOWN = 0.001


def section(run: Run) -> Section | None:
    if not means(run, "trained_adversary_jsd"):
        return None
    which, method = _shown(run)
    own = _series(run, which) if which else ()
    found = _lies(run, own, method)
    views = _views(run)
    chart = {"views": views, "bound": round(LN2, 4), "lies": found}
    body = join(
        lead(
            "Adversaries, twins of this model, are trained to give the same outputs from other words. The larger λ, "
            "the more other attention counts. Each point is one of them: how far its attention is from this model’s "
            "(JSD, to the right) and how far its output (TVD, up), on average. A curve that stays low means that "
            "attention can be moved at no price: the weights shown are one story of several. ",
            tag("cite", "Wiegreffe & Pinter 2019, section 4, Figures 5 and 6", _attefa_cited(views)),
        ),
        drawing("trained_adversary"),
        _numbers(run),
        folded("All adversaries (the paper’s Table 5)", _table(run)),
        _apart(run),
        lies_part(found, "trained_adversary-lies", _who(which), _another(run, which)),
    )
    return Section(
        "trained_adversary",
        "Trained adversary",
        "Can a trained twin lie about attention on every text?",
        body,
        chart,
        "section_trained_adversary.js",
        tuple(text["id"] for text in found["texts"]) if found else (),
        own,
    )


def _views(run: Run) -> list[dict[str, Any]]:
    """All texts, then those of each predicted class."""
    classes = [names[0] for names in run.panels if len(names) == 1]
    groups = {"all texts": None} | (
        {f"predicted {for_chart(name)}": name for name in classes} if len(classes) > 1 else {}
    )
    found = []
    for name, group in groups.items():
        others = marks(run, group)
        lines = curves(run, group)
        if lines:
            found.append({"name": name, "lines": lines, "marks": others, "kinds": kinds(others)})
    return found


def _numbers(run: Run) -> Markup:
    """The curve in two numbers, and Table 4."""
    heights, areas = (
        {which.setting: row for which, row in means(run, f"trained_adversary_{name}").items()}
        for name in ("area", "curve_area")
    )
    chosen = ALL_SEEDS if ALL_SEEDS in heights else next(iter(heights), None)
    items = []
    if chosen is not None:
        items.append(
            f"Mean height of the curve, from this model to its farthest adversary ({chosen}): "
            f"{with_interval(heights[chosen])}. 0 would mean that attention moves for free."
        )
    if chosen in areas:  # runs of before have the height alone
        items.append(f"Area under it, which grows with how far the adversaries went: {with_interval(areas[chosen])}.")
    items += [_best(run, which, row) for which, row in means(run, "trained_adversary_best_f1").items()]
    note = (
        "TVD is the true one, from 0 to 1. For two classes the papers print half of it: divide by 2 to compare. "
        "Numbers beside points are λ, where there is room for them; the table has all."
    )
    return join(tag("ul", *(tag("li", item) for item in items), class_="sentences"), tag("p", note, class_="caption"))


def _best(run: Run, which: Which, row: Row) -> str:
    if row["value"] is None:
        return f"Best F1 of a far adversary (Table 4): none, as {row['reason']}."
    own = next((r for w, r in means(run, "f1").items() if w.subject == "model"), None)
    beside = f"; this model has {figure(own['value'])}" if own is not None and own["value"] is not None else ""
    return (
        f"Best F1 of an adversary with a mean JSD above {FAR:g} (the paper’s Table 4): {with_interval(row)} "
        f"({which.subject}, λ = {strength(which.at)}){beside}."
    )


def _table(run: Run) -> Markup | None:
    """By seed, then λ."""
    jsds, tvds = (means(run, f"trained_adversary_{name}") for name in ("jsd", "tvd"))
    f1 = {(which.subject, which.at): row for which, row in means(run, "trained_adversary_f1").items()}
    several = len({which.setting for which in jsds}) > 1
    lines = [
        (
            f"{strength(which.at)}{f', {which.setting}' if several else ''}",
            [f1.get((which.setting or "", which.at)), tvds.get(which), row],
        )
        for which, row in sorted(jsds.items(), key=lambda item: (by_number(item[0].setting), item[0].at or 0.0))
    ]
    return models_table(("λ", "F1", "TVD", "JSD"), lines)


def _apart(run: Run) -> Markup | None:
    """Several adversaries for one λ, which stay away from each other too."""
    rows = means(run, "trained_adversary_apart")
    if not rows:
        return None
    several = len({which.setting for which in rows}) > 1
    lines = [
        (f"{strength(w.at)}{f', {w.setting}' if several else ''}", f"{w.subject} and {w.reference}", row)
        for w, row in sorted(rows.items(), key=lambda item: (item[0].at or 0.0, item[0].setting or "", *item[0][:2]))
    ]
    pairs = list(dict.fromkeys(pair for _, pair, _ in lines))
    cells = {(name, pair): row for name, pair, row in lines}
    return join(
        tag("h3", "Several adversaries, told to keep away from each other"),
        tag(
            "p",
            "For each λ more than one adversary was trained, each told to keep away from this model’s attention and "
            "from that of those before it. The mean JSD between them: near 0.69, they tell stories that share no "
            "words. The paper names this as future work.",
            class_="caption",
        ),
        models_table(
            ("λ", *pairs),
            [
                (name, [cells.get((name, pair)) for pair in pairs])
                for name in dict.fromkeys(name for name, _, _ in lines)
            ],
        ),
    )


def _attefa_cited(views: list[dict[str, Any]]) -> str | None:
    there = any(kind == "attefa" for view in views for kind, _ in view["kinds"])
    return "; AtteFa’s mark: Amini & Kosseim 2022, Figure 2" if there else None


def _shown(run: Run) -> tuple[Which | None, str]:
    """The adversary whose heatmaps are in the run, and their name there."""
    found = list(of_texts(run, "trained_adversary_jsd"))
    kept = set(pc.unique(run.tokens["method"]).to_pylist())
    for which in found:
        name = heatmap_name(which.setting, which.at or 0.0)
        if name in kept:
            return which, name
    first = [which for which in found if which.setting == found[0].setting]
    return min(first, key=lambda which: abs((which.at or 0.0) - SHOWN), default=None), ALONE


def _who(which: Which | None) -> str:
    return f"the adversary with λ = {strength(which.at)} ({which.setting})" if which else "the adversary"


def _another(run: Run, which: Which | None) -> str | None:
    """If the verdict is about another one."""
    liar = best_liar(pd.DataFrame(run.aggregates))
    if liar is None or which is None or (liar.name, liar.at) == (which.setting, which.at):
        return None
    return f"The verdict is about λ = {strength(liar.at)} ({liar.name}), whose heatmaps the run did not keep."


def _series(run: Run, which: Which) -> tuple[Series, Series]:
    made = [
        Series(Variant(measure, f"λ = {strength(which.at)}"), of_texts(run, measure).get(which, {}), {})
        for measure in ("trained_adversary_jsd", "trained_adversary_tvd")
    ]
    return made[0], made[1]


def _lies(run: Run, own: tuple[Series, ...], method: str) -> dict[str, Any] | None:
    if not own:
        return None
    jsd, tvd = own
    return lies(run, jsd.values, tvd.values, ("attention", "adversarial_attention", method))
