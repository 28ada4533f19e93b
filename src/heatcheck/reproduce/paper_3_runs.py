"""What the finished runs of paper 3 hold: the adversaries of a model, and AtteFa of each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxtyping import Float
from numpy import ndarray

from heatcheck.experiments.attefa import BASE, liar, ratio
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.measure.intervals import Interval
from heatcheck.measure.resampling import means, over_models
from heatcheck.models.checkpoint import DESCRIPTION
from heatcheck.reproduce.page import Finished, read_finished
from heatcheck.results import ALL_SEEDS
from heatcheck.verdict.attefa import GAVE_UP


@dataclass(frozen=True)
class Attacked:
    """A model and the adversaries trained against it, by seed. (Further base models count in `attefa` only.)"""

    run: Finished

    @cached_property
    def seeds(self) -> list[int]:
        return [int(seed.removeprefix("seed ")) for _, seed in self._own]

    @property
    def bases(self) -> int:
        """How many models were attacked."""
        return len({base for base, _ in self._attacks})

    @property
    def base_f1(self) -> Interval | None:
        return self.run.find("attefa_f1", subject=BASE)

    @property
    def attefa(self) -> Interval | None:
        """Of all adversaries, as published."""
        return self.variant("published")

    def variant(self, name: str) -> Interval | None:
        return self.run.find("attefa", subject="all", reference=ALL_SEEDS, setting=name)

    @property
    def gave_up(self) -> bool:
        """Are its adversaries no closer to it than one who has read nothing?"""
        relative = self.variant("relative")
        return relative is not None and relative.value >= GAVE_UP

    def deviation(self, source: str) -> Interval | None:
        return self.run.find("attefa", statistic="std", subject="all", reference=source, setting="published")

    @cached_property
    def f1(self) -> list[float]:
        return list(self._each("attefa_f1", by_name=True))

    @cached_property
    def tvd(self) -> list[float]:
        return list(self._each("attefa_tvd"))

    @cached_property
    def jsd(self) -> list[float]:
        return list(self._each("attefa_jsd"))

    @cached_property
    def by_seed(self) -> list[float]:
        """AtteFa of each adversary."""
        return [float(value) for value in self._ratios[0]]

    @cached_property
    def drawn(self) -> Float[ndarray, "R"]:
        """Mean AtteFa over the adversaries; row 0 for the texts themselves, the others for resamples. Two cases on the
        same texts have the same resamples of them, and each its own chance of the seeds."""
        return over_models(self._ratios, seed=zlib.crc32(self.run.folder.name.encode()))

    @cached_property
    def epochs(self) -> list[float]:
        """At which epoch each adversary was best: from what its training left in the run's folder."""
        found = dict(_trainings(self.run.folder))
        return [found[seed] for seed in self.seeds if seed in found]

    @cached_property
    def _texts(self) -> Texts:
        rows = self.run.scores[self.run.scores["example_id"].notna() & (self.run.scores["experiment"] == "attefa")]
        truth = self.run.examples.set_index("example_id")["label"].map(self.run.labels.index)
        return Texts(rows, truth, self.run.labels, seed=0)

    @cached_property
    def _attacks(self) -> list[tuple[str, str]]:
        """Each base model with each of its adversaries."""
        columns = self._texts.values("attefa_tvd", ["subject", "reference"]).columns
        return [(str(base), str(seed)) for base, seed in columns]

    @property
    def _own(self) -> list[tuple[str, str]]:
        return [(base, seed) for base, seed in self._attacks if base == BASE]

    @cached_property
    def _ratios(self) -> Float[ndarray, "R M"]:
        tables = [self._texts.values(f"attefa_{m}", ["subject", "reference"]) for m in ("tvd", "jsd")]
        places = [place for place, column in enumerate(tables[0].columns) if column in self._own]
        tvds, jsds = (means(self._texts.drawn, table.values[:, places]) for table in tables)
        return ratio(tvds, jsds)

    def _each(self, measure: str, *, by_name: bool = False) -> Iterator[float]:
        for seed in self.seeds:
            subject, reference = (liar(BASE, seed), None) if by_name else (BASE, f"seed {seed}")
            found = self.run.find(measure, subject=subject, reference=reference)
            if found is not None:
                yield found.value


def read_attacked(folder: Path) -> Attacked | None:
    run = read_finished(folder)
    return None if run is None else Attacked(run)


def _trainings(folder: Path) -> Iterator[tuple[int, float]]:
    """Seed and best epoch of each adversary, which alone is trained with patience."""
    files = sorted(folder.glob(f"steps/training-*/{DESCRIPTION}"), key=lambda file: file.stat().st_mtime)
    for file in files:
        model = json.loads(file.read_text(encoding="utf-8"))
        if model["recipe"]["patience"] is not None:
            best = max(model["history"], key=lambda epoch: epoch["selected_by"])
            yield int(model["seed"]), float(best["number"])
