"""Which methods may be ranked: one that misses its own sum, or changes its mind with the seed, is shown but marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pandas as pd

from heatcheck.explain import method
from heatcheck.results import NOT_RANKED, Score
from heatcheck.verdict.checks import LEAST_STABILITY

LARGEST_DELTA = 0.05  # share of the promised sum that the median text may miss
EQUAL = 1e-9  # how far below 1 a τ of equal rankings may be


def unranked(scores: pd.DataFrame, methods: Iterable[str]) -> dict[str, str]:
    """Why each of these methods must not be ranked; `scores` are values per text."""
    delta = scores[scores["measure"] == "completeness_delta"].groupby("subject")["value"].median()
    stable = scores[(scores["measure"] == "rank_stability") & scores["at"].isna()].groupby("subject")["value"].mean()
    found = {}
    for name in methods:
        if not method(name).ranked:
            found[name] = f"{NOT_RANKED}: shown as published, with its flaw"
        if delta.get(name, 0.0) > LARGEST_DELTA:
            found[name] = f"{NOT_RANKED}: misses the sum it promises by {delta[name]:.0%} (median)"
        elif method(name).random and name in stable and pd.isna(stable[name]):
            found[name] = f"{NOT_RANKED}: what another seed would do is not known"
        elif stable.get(name, 1.0) < LEAST_STABILITY:
            found[name] = f"{NOT_RANKED}: another seed gives another ranking (mean τ {stable[name]:.2f})"
    return found


def twins(scores: pd.DataFrame) -> dict[str, str]:
    """Methods that rank the words of every text as another one does, which stands before them: in a mean over pairs of
    methods they are one. `scores` are the values per text of `agreement`."""
    taus = scores[(scores["measure"] == "kendall") & scores["setting"].isna() & scores["reference"].notna()]
    least = taus.groupby(["subject", "reference"], sort=False)["value"].min()
    found: dict[str, str] = {}
    for one, other in least[least > 1 - EQUAL].index:
        if one not in found:
            found.setdefault(other, f"{NOT_RANKED}: ranks the words of every text as {one} does, and counts once")
    return found


def marked(rows: Iterable[Score], reasons: dict[str, str]) -> Iterator[Score]:
    """Aggregates of such a method keep their value and say why it does not count."""
    for row in rows:
        named = [reasons[name] for name in (row.subject, row.reference) if name in reasons]
        yield replace(row, reason=named[0]) if named and row.reason is None else row
