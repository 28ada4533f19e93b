"""The texts that show best how a trained adversary looks elsewhere and says the same (paper 2, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pyarrow.compute as pc

from heatcheck.report.figures import count, figure
from heatcheck.report.heat import on_marks, weights_beside_marks
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.section import drawing
from heatcheck.report.source import Run
from heatcheck.report.telling import FEWEST_TOKENS, HOW_MANY

SAME_OUTPUT = 0.1  # TVD: beyond it the adversary says something else, and its heatmap is no alternative
ELSEWHERE = 0.1  # JSD: below it the adversary looks at the same words


def lies(
    run: Run, distances: Mapping[str, float], changes: Mapping[str, float], methods: Sequence[str]
) -> dict[str, Any] | None:
    """Of the texts whose output stays: those where attention was most certain and moved furthest. `methods` are the
    heatmaps to show, the adversary's last. Ties go by id."""
    drawn = set(pc.unique(run.tokens.filter(pc.equal(run.tokens["method"], methods[-1]))["example_id"]).to_pylist())
    candidates = [
        (-(row["max_attention"] or 0.0) * distances[example], example)
        for example, row in run.by_id.items()
        if example in drawn
        and distances.get(example, 0.0) >= ELSEWHERE
        and changes.get(example, 1.0) <= SAME_OUTPUT
        and (row["n_tokens"] or 0) >= FEWEST_TOKENS
    ]
    texts: list[dict[str, Any]] = [
        {"id": example, "jsd": distances[example], "tvd": changes[example]}
        for _, example in sorted(candidates)[:HOW_MANY]
    ]
    if not texts:
        return None
    overall = {"jsd": fmean(distances.values()), "tvd": fmean(changes.values())}
    beside = methods[-1] in weights_beside_marks(run)
    looked_at_marks = beside and any(on_marks(_weights(run, methods[-1], text["id"])) for text in texts)
    return {"methods": list(methods), "texts": texts, "overall": overall, "on_marks": looked_at_marks}


def _weights(run: Run, method: str, example: str) -> list[float]:
    own = pc.and_(pc.equal(run.tokens["method"], method), pc.equal(run.tokens["example_id"], example))
    found: list[float] = run.tokens.filter(own)["score"].to_pylist()
    return found


def lies_part(found: dict[str, Any] | None, name: str, who: str, but: str | None = None) -> Markup | None:
    """`name` is the place of the drawing; `who` says which adversary, `but` what the reader must know of that."""
    if found is None:
        return None
    scale = "its own largest weight" + (", or by what is on marks like [CLS]" if found["on_marks"] else "")
    return join(
        tag("h3", "The same answer from other words"),
        tag(
            "p",
            f"Heatmaps of the model and of {who}, for the {count(len(found['texts']), 'text')} (of at least "
            f"{FEWEST_TOKENS} tokens) whose output moves by at most {SAME_OUTPUT:g} (TVD), whose attention moves by at "
            f"least {ELSEWHERE:g} (JSD), and where it was most concentrated and moved furthest. They are the extremes, "
            f"not typical texts: over all, its output moves by {figure(found['overall']['tvd'])} and its attention by "
            f"{figure(found['overall']['jsd'])} on average. Each heatmap is scaled by {scale}."
            f"{f' {but}' if but else ''}",
            class_="caption",
        ),
        drawing(name),
    )
