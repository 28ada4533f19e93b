"""Do attention's weights help a model that sees no context? (Wiegreffe & Pinter 2019, section 3.4, Table 3)"""

from __future__ import annotations

from typing import Any

from heatcheck.method_names import method_name
from heatcheck.report.markup import join, tag
from heatcheck.report.methods import best_first, cell, folded
from heatcheck.report.section import Section, drawing, lead
from heatcheck.report.source import Row, Run
from heatcheck.report.trained import means, models_table, with_interval
from heatcheck.report.visible import for_chart
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.price import FAR

# Guide -> (name beside a dot, name in a table)
GUIDES = {
    "uniform": ("Equal weights", "Equal weights"),
    "mlp": ("Learned by itself", "Weights it learned by itself"),
    "base": ("This model’s", "This model’s attention"),
    "adversary": ("An adversary’s", "A trained adversary’s attention"),
}


def section(run: Run) -> Section | None:
    rows = means(run, "guided_f1")
    f1 = {which.subject: row for which, row in rows.items() if which.reference == ALL_SEEDS}
    if not f1:
        return None
    added = {which.subject: row for which, row in means(run, "guided_f1_difference").items()}
    order = best_first(f1, {})
    by_seed = {which.subject: row for which, row in rows.items() if which.reference is None}
    body = join(
        lead(
            "A small network reads each word alone and is told how much each counts. If this model’s attention says "
            "which words matter, the network does better with those weights than with equal ones. An adversary whose "
            "weights are no help is no alternative explanation, however well it imitates. ",
            tag("cite", "Wiegreffe & Pinter 2019, section 3.4, Table 3"),
        ),
        drawing("guided_mlp"),
        models_table(
            ("told", "F1", "more than equal weights"), [(guide_name(g), [f1[g], added.get(g)]) for g in order]
        ),
        tag(
            "p",
            "Intervals cover texts and seeds. Explanation methods guide by the scores they give this model’s "
            f"decisions, as shares.{_how_far(run)}",
            class_="caption",
        ),
        folded("Each seed", models_table(("told", "F1"), [(_seed_name(name), [row]) for name, row in by_seed.items()])),
    )
    chart = {
        "f1": [_dot(guide, f1[guide]) for guide in order],
        "difference": [_dot(guide, added[guide]) for guide in order if guide in added],
    }
    return Section(
        "guided_mlp",
        "Guides",
        "Do attention’s weights help a model that sees no context?",
        body,
        chart,
        "section_guided_mlp.js",
    )


def _how_far(run: Run) -> str:
    """Where the adversary looks, without which its row cannot be read."""
    found = next(iter(means(run, "guided_adversary_jsd").items()), None)
    if found is None:
        return ""
    which, row = found
    said = f" The adversary (λ = {which.at:g}) has a mean JSD of {with_interval(row)} from this model’s attention"
    if row["value"] < FAR:
        return f"{said}: below {FAR:g} it looks at much the same words, and its row says nothing of one that is far."
    return f"{said}."


def guide_name(guide: str) -> str:
    """
    >>> guide_name("base"), guide_name("lime(samples=200)"), guide_name("file:/a/b/weights.jsonl")
    ('This model’s attention', 'LIME (samples=200)', 'weights.jsonl')
    """
    return GUIDES[guide][1] if guide in GUIDES else method_name(guide)


def _seed_name(model: str) -> str:
    guide, _, seed = model.rpartition(", seed ")
    return f"{guide_name(guide)}, seed {seed}"


def _dot(guide: str, row: Row) -> dict[str, Any]:
    name = GUIDES[guide][0] if guide in GUIDES else guide_name(guide)
    return {"id": guide, "name": for_chart(name), "why": None, "cell": cell(row)}
