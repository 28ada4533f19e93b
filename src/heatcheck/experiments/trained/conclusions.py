"""From rows of texts to numbers about models: F1 of each, and means over several, with intervals."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray

from heatcheck.experiments.summary import f1_of
from heatcheck.experiments.trained.models import PREDICTED
from heatcheck.measure.intervals import Interval
from heatcheck.measure.resampling import balanced_accuracies, drawn_texts, f1_scores, interval
from heatcheck.results import ON_DEV, Score


class Table(NamedTuple):
    """A value for each text (row) and each of `columns`."""

    columns: list[tuple[Any, ...]]
    values: Float[ndarray, "N M"]


@dataclass(frozen=True)
class Texts:
    """All rows of an experiment, text by text, with the true classes. Row 0 of what is drawn is the sample itself."""

    rows: pd.DataFrame
    truth: pd.Series  # class by number, by text
    labels: tuple[str, ...]
    seed: int
    reached: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by trained model, on dev texts

    @cached_property
    def names(self) -> list[str]:
        return sorted(self.truth.index)

    @cached_property
    def drawn(self) -> Float[ndarray, "R N"]:
        return drawn_texts(len(self.names), seed=self.seed)

    @cached_property
    def classes(self) -> Int[ndarray, "N"]:
        return self.truth.loc[self.names].to_numpy()

    def values(self, measure: str, columns: Sequence[str]) -> Table:
        """A column for each combination of `columns`."""
        chosen = self.rows[(self.rows["measure"] == measure) & (self.rows["statistic"] == "value")]
        series = {
            tuple(None if part != part else part for part in key): rows.set_index("example_id")["value"]
            for key, rows in chosen.groupby(list(columns), sort=False, dropna=False)
        }
        return Table(list(series), np.stack([s.loc[self.names].to_numpy(dtype=float) for s in series.values()], axis=1))

    @cached_property
    def f1(self) -> dict[tuple[str, float | None], Float[ndarray, "R"]]:
        """F1 of each model (name and λ), for the sample and its resamples."""
        table = self.values(PREDICTED, ["subject", "at"])
        scores = f1_scores(self.drawn, self.classes, table.values.astype(int), len(self.labels))
        return {(name, at): f1 for (name, at), f1 in zip(table.columns, scores.T, strict=True)}

    def balanced_accuracy(self, measure: str, names: Sequence[str]) -> Score:
        """Mean over these models. `at`: that of one who always answers the same."""
        table = self.values(PREDICTED, ["subject"])
        places = [table.columns.index((name,)) for name in names]
        found = balanced_accuracies(self.drawn, self.classes, table.values[:, places].astype(int)).mean(1)
        chance = 1 / len(np.unique(self.classes))
        return self.score(measure, found, "models of this test", at=chance)

    @property
    def averaging(self) -> str:
        return f1_of(self.labels)

    def f1_rows(self, measure: str) -> Iterator[Score]:
        for (name, at), values in self.f1.items():
            yield self.score(measure, values, name, setting=self.averaging, at=at)

    def dev_rows(
        self,
        model: str,
        measure: str,
        subject: str,
        reference: str,
        *,
        setting: str | None = None,
        at: float | None = None,
    ) -> Iterator[Score]:
        """How far a trained model is from its base on dev texts, which decide which of several a verdict is about."""
        reached = self.reached.get(model, {})
        for what in ("jsd", "tvd"):
            if what in reached:
                yield Score(
                    f"{measure}_{what}", reached[what], subject, reference, statistic=ON_DEV, setting=setting, at=at,
                    n=reached.get("texts", 0),
                )  # fmt: skip

    def score(
        self,
        measure: str,
        values: Float[ndarray, "R"],
        subject: str,
        reference: str | None = None,
        *,
        statistic: str = "mean",
        setting: str | None = None,
        at: float | None = None,
        n: int | None = None,
    ) -> Score:
        """`n`: how many texts it is of, if not of all."""
        found = interval(values) if len(self.names) > 1 else Interval(float(values[0]), None, None)
        if np.isnan(found.value):
            return Score(measure, None, subject, reference, statistic=statistic, setting=setting, at=at, reason="0/0")
        return Score(
            measure, found.value, subject, reference, statistic=statistic, setting=setting, at=at, low=found.low,
            high=found.high, n=len(self.names) if n is None else n,
        )  # fmt: skip

    def other_seed(self, *what: str) -> int:
        return zlib.crc32(repr((self.seed, what)).encode())
