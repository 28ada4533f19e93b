"""A run folder as the report sees it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heatcheck import results
from heatcheck.report.measures import BY_METHOD, TOP_DISTANCES, measure, setting_name

Row = dict[str, Any]
# More panels than this do not fit on a screen; the rarest classes then share the last one.
MOST_PANELS = 8
# Of millions of rows the page reads no more than it draws.
TOKEN_COLUMNS = ["example_id", "segment", "start", "end", "position", "method", "word", "score"]


class Variant(NamedTuple):
    """A measure in one setting, e.g. ε-max JSD by the exact solver at ε = 0.01."""

    measure: str
    setting: str | None = None
    at: float | None = None

    @property
    def key(self) -> str:
        setting = "" if self.setting is None else f"/{self.setting}"
        return self.measure + setting + ("" if self.at is None else f"@{self.at:g}")

    @property
    def label(self) -> str:
        """Short name for chips and sort orders; the usual setting goes without saying."""
        setting = "" if self.measure in TOP_DISTANCES else setting_name(self.setting, self.at)
        return measure(self.measure, self.setting).short + (f" ({setting})" if setting else "")


@dataclass(frozen=True)
class Run:
    """run.json, the rows of `scores` and `examples`, and the (large) token table as it is.

    `details` are a text's scores for each method or pair of methods, which are too many to hold as rows.
    """

    about: dict[str, Any]
    scores: list[Row]
    examples: list[Row]
    tokens: pa.Table
    details: pa.Table
    beside: tuple[Run, ...] = ()  # further runs, of other models or data

    @property
    def name(self) -> str:
        names = [str(self.part(key).get("name") or "") for key in ("model", "dataset")]
        return " on ".join(name for name in names if name) or "heatcheck report"

    @cached_property
    def by_id(self) -> dict[str, Row]:
        return {row["example_id"]: row for row in self.examples}

    @cached_property
    def classes(self) -> list[str]:
        """The data set's labels in their order, then any other class that was predicted."""
        declared = self.part("dataset").get("labels")
        named = [str(label) for label in declared] if isinstance(declared, list) else []
        seen = {row[key] for row in self.examples for key in ("predicted", "label")}
        seen |= {row["group"] for row in self.scores if row["example_id"] is not None}
        return list(dict.fromkeys(named + sorted(str(name) for name in seen - {None})))

    @cached_property
    def panels(self) -> list[list[str]]:
        """The predicted classes, one list for each panel of a chart; rare ones pooled."""
        frequency = Counter(row["predicted"] for row in self.examples)
        present = [name for name in self.classes if frequency[name]]
        if len(present) <= MOST_PANELS:
            return [[name] for name in present]
        frequent = {name for name, _ in frequency.most_common(MOST_PANELS - 1)}
        return [[name] for name in present if name in frequent] + [[name for name in present if name not in frequent]]

    @cached_property
    def panel_of(self) -> dict[str, int]:
        return {name: number for number, names in enumerate(self.panels) for name in names}

    @cached_property
    def panel_names(self) -> list[str]:
        return [names[0] if len(names) == 1 else f"{len(names)} others" for names in self.panels]

    @cached_property
    def text_rows(self) -> dict[Variant, list[Row]]:
        """The values of single texts, sorted out once because every section asks for some."""
        found: dict[Variant, list[Row]] = defaultdict(list)
        for row in self.scores:
            if row["statistic"] == "value" and row["example_id"] in self.by_id:
                found[Variant(row["measure"], row["setting"], row["at"])].append(row)
        return dict(found)

    @cached_property
    def aggregates(self) -> list[Row]:
        return [row for row in self.scores if row["example_id"] is None]

    @cached_property
    def means(self) -> dict[Variant, dict[tuple[str, str | None], Row]]:
        """Means over all texts, by what was measured, then by method and what it was compared with."""
        found: dict[Variant, dict[tuple[str, str | None], Row]] = defaultdict(dict)
        for row in self.aggregates:
            if row["statistic"] == "mean" and row["group"] is None:
                variant = Variant(row["measure"], row["setting"], row["at"])
                found[variant].setdefault((row["subject"], row["reference"]), row)
        return dict(found)

    def part(self, key: str) -> dict[str, Any]:
        """A dictionary of run.json; older or partial runs may lack it."""
        found = self.about.get(key)
        return found if isinstance(found, dict) else {}

    def has(self, experiment: str) -> bool:
        return any(row["experiment"] == experiment for row in self.scores)


def load(folder: Path) -> Run:
    about = results.read_run(folder)
    scores = results.read_table(folder, "scores").drop_columns(["dataset", "model", "seed"])
    fine = _fine(scores)
    examples = results.read_table(folder, "examples").to_pylist()
    tokens = results.read_table(folder, "tokens", TOKEN_COLUMNS)
    first_of_each = {row["example_id"]: row for row in reversed(examples)}
    rows = scores.filter(pc.invert(fine)).to_pylist()
    return Run(about, rows, list(reversed(first_of_each.values())), tokens, scores.filter(fine))


def _fine(scores: pa.Table) -> pa.ChunkedArray:
    """Which rows are of one text and one of several methods."""
    by_method = pc.is_in(scores["measure"], pa.array(BY_METHOD))
    together = pc.fill_null(pc.equal(scores["subject"], results.ALL_METHODS), False)
    return pc.and_(pc.and_(by_method, pc.is_valid(scores["example_id"])), pc.invert(together))
