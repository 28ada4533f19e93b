"""The texts that show best what the adversary can do."""

from __future__ import annotations

import pyarrow.compute as pc

from heatcheck.report.series import series
from heatcheck.report.source import Run, Variant

HOW_MANY = 8
# In a text of two or three words, moving the attention says little.
FEWEST_TOKENS = 5


def telling(run: Run, variant: Variant) -> list[str]:
    """Texts where attention was most certain and yet could be moved furthest: the largest products of maximum
    attention and JSD. Ties go by id."""
    distances = series(run, variant).values
    drawn = set(
        pc.unique(run.tokens.filter(pc.equal(run.tokens["method"], "adversarial_attention"))["example_id"]).to_pylist()
    )
    candidates = [
        (-(row["max_attention"] or 0.0) * distances[example], example)
        for example, row in run.by_id.items()
        if example in drawn and example in distances and (row["n_tokens"] or 0) >= FEWEST_TOKENS
    ]
    return [example for _, example in sorted(candidates)[:HOW_MANY]]
