"""What the finished runs of paper 2 hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.measure.intervals import Interval
from heatcheck.reproduce.page import Finished, read_finished
from heatcheck.reproduce.paper_2 import APART, CASES, FAR, FULL_CASES, IMDB, NEAR, SST

TITLES = {"sst": "SST", "imdb-paper": "IMDB", "agnews": "AG News ¹"}
SWEPT = (SST, IMDB)
Runs = Mapping[str, Finished]


def read_runs(out: Path) -> dict[str, Finished]:
    """By data set; of one at both scales the paper's own is taken."""
    cases = (case for case in (*CASES, *FULL_CASES) if case not in (APART, FAR, NEAR))
    return {case.dataset: run for case in cases if (run := read_finished(out / case.name)) is not None}


def read_guided(out: Path) -> dict[tuple[str, float], Finished]:
    """By data set and the λ of the adversary that guides."""
    cases = (case for case in (*CASES, *FULL_CASES) if "guided_mlp" in case.experiments)
    return {(case.dataset, case.guide): run for case in cases if (run := read_finished(out / case.name)) is not None}


def models_f1(run: Finished, experiment: str) -> Mapping[tuple[str, float | None], np.ndarray]:
    """F1 of each model of an experiment, for the texts and for resamples of them."""
    rows = run.scores[run.scores["example_id"].notna() & (run.scores["experiment"] == experiment)]
    truth = run.examples.set_index("example_id")["label"].map(run.labels.index)
    return Texts(rows, truth, run.labels, seed=0).f1 if len(rows) else {}


def sweep(run: Finished) -> list[float]:
    """The λ that were trained."""
    here = run.scores[(run.scores["measure"] == "trained_adversary_jsd") & run.scores["example_id"].isna()]
    return sorted(here["at"].dropna().unique())


def at_lambda(run: Finished, weight: float, group: str | None = None) -> list[Interval | None]:
    """F1, TVD and JSD of the first adversary. F1 is of all classes."""
    found = [run.find("trained_adversary_f1", at=weight)]
    return [*found, *(run.find(f"trained_adversary_{m}", at=weight, group=group) for m in ("tvd", "jsd"))]
