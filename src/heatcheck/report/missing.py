"""Texts without a value: a mean over the others must say how many were left out of it, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from heatcheck.method_names import with_names
from heatcheck.report.dots import REFERENCES
from heatcheck.report.figures import count
from heatcheck.report.source import Run
from heatcheck.results import CHANCE, PEOPLE, PLANTED

NO_METHODS = {None, *REFERENCES, PEOPLE, PLANTED, CHANCE}  # what methods are compared with
SHOWN = 4  # reasons that are said; a flat output has one for every two methods


def without_value(run: Run, *measures: str, settings: Collection[str | None] | None = None) -> str | None:
    """A sentence on the texts that have no value of these measures for at least one method; `settings`: only in these,
    where two sections share a measure."""
    rows = run.details.filter(pc.is_in(run.details["measure"], pa.array(measures, pa.string())))
    if settings is not None:
        rows = rows.filter(pc.is_in(rows["setting"], pa.array(list(settings), pa.string())))
    named = {name for column in ("subject", "reference") for name in pc.unique(rows[column]).to_pylist()}
    rows = rows.filter(pc.is_null(rows["value"]))
    texts: dict[str, set[str]] = defaultdict(set)
    for example, reason in zip(rows["example_id"].to_pylist(), rows["reason"].to_pylist(), strict=True):
        texts[with_names(reason or "no reason was recorded", named - NO_METHODS)].add(example)
    if not texts:
        return None
    common = sorted(texts, key=lambda reason: (-len(texts[reason]), reason))
    why = [f"{reason.rstrip('.')} ({count(len(texts[reason]))})" for reason in common[:SHOWN]]
    why += ["other reasons"] if len(common) > SHOWN else []
    missing = len(set().union(*texts.values()))
    return (
        f"{count(missing)} of {count(len(run.examples), 'text')} {'has' if missing == 1 else 'have'} no value for at "
        f"least one method and {'is' if missing == 1 else 'are'} left out of its means: {'; '.join(why)}."
    )
