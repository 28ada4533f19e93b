"""Does it depend on the way of erasing which method comes first? Reads the aggregates of a run."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from heatcheck.method_names import method_name
from heatcheck.results import BEST, RANDOM, REVERSED, WORST
from heatcheck.verdict.methods import ERASED

BASELINES = (RANDOM, BEST, WORST)


class First(NamedTuple):
    """The method with the best normalised AOPC, and whether its interval reaches the next method's mean."""

    name: str
    mean: float
    clear: bool


def winner_by_operator(aggregates: pd.DataFrame) -> str | None:
    """A sentence if different operators put different methods first; None if they agree, or there is one operator.

    `aggregates` are `scores` rows without an example_id, of the erasure experiment; rows that carry a reason (methods
    that are not to be ranked) do not compete.
    """
    sentences = []
    for measure in ("comprehensiveness", "sufficiency"):
        firsts = {operator: _first(rows) for operator, rows in _by_operator(aggregates, f"aopc_{measure}")}
        found = {operator: first for operator, first in firsts.items() if first is not None}
        if len({first.name for first in found.values()}) > 1:
            sentences.append(_sentence(measure, found))
    return " ".join(sentences) or None


def _by_operator(aggregates: pd.DataFrame, measure: str) -> list[tuple[str, pd.DataFrame]]:
    a = aggregates
    rows = a[(a["measure"] == measure) & (a["statistic"] == "mean") & a["group"].isna() & a["value"].notna()]
    rows = rows[rows["setting"].str.endswith(":normalised", na=False)]
    rows = rows[~rows["subject"].isin(BASELINES) & ~rows["subject"].str.startswith(REVERSED)]
    if "reason" in rows:
        rows = rows[rows["reason"].isna()]
    return [(str(setting).partition(":")[0], members) for setting, members in rows.groupby("setting", sort=True)]


def _first(rows: pd.DataFrame) -> First | None:
    if len(rows) < 2:
        return None
    ordered = rows.sort_values(["value", "subject"], ascending=[False, True])
    top, second = ordered.iloc[0], ordered.iloc[1]
    return First(str(top["subject"]), float(top["value"]), bool(top["low"] > second["value"]))


def _sentence(measure: str, firsts: dict[str, First]) -> str:
    parts = [
        f"{method_name(name)} when words are {ERASED[by]} ({mean:.2f}{'' if clear else ', no clear lead'})"
        for by, (name, mean, clear) in firsts.items()
    ]
    return (
        f"Which method comes first in {measure} depends on how words are erased: {'; '.join(parts)}. "
        "Do not name one best method from this."
    )
