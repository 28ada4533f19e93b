"""The models that a test needs beside the one under test, each as a job: all that its outcome depends on.

Most are twins of the model under test, trained with another seed, with uniform attention, or to imitate it with other
attention. All are `fit` with another loss or an imposed attention (tasks.py).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.reading import Row
from heatcheck.data.vocabulary import Vocabulary
from heatcheck.errors import InputError
from heatcheck.experiments.trained.guides import guide_file, guide_weights
from heatcheck.experiments.trained.imitation import Imitation
from heatcheck.experiments.trained.models import write_reached
from heatcheck.experiments.trained.tasks import WEIGHTS, Classifying, Guided, Imitating, Task
from heatcheck.models import checkpoint, finetune
from heatcheck.models.fit import RESUME, Recipe, Watch, fit, soonest_end
from heatcheck.models.loading import load_subject, trained_by
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.models.training import training_batches, untrained

SELECTED_ON = ("dev", "test", "train")


@dataclass(frozen=True)
class Around:
    """What a job works with: the model under test, its data, and the folders of the jobs it needs, by name."""

    base: Subject[Any]
    data: Dataset
    needed: Mapping[str, Path]

    def model(self, name: str | None) -> Subject[Any]:
        if name is None:
            return self.base
        return load_subject(trained_by(self.base.spec, self.needed[name]), self.base.device)


@dataclass(frozen=True)
class Guide:
    """A method's weights for the texts that a guided model learns from. `model` None: the one under test."""

    name: str
    method: str
    model: str | None = None
    seed: int = 0

    SHARD: ClassVar[int] = 256  # texts that a kill may cost
    units: ClassVar[int] = 1
    at_least: ClassVar[int] = 1
    revision: ClassVar[int] = 1

    @property
    def needs(self) -> tuple[str, ...]:
        return () if self.model is None else (self.model,)

    @property
    def methods(self) -> tuple[str, ...]:
        """Explanation methods that it asks for."""
        return () if self.files else (self.method,)

    @property
    def files(self) -> tuple[Path, ...]:
        """What it reads beside texts and models. As the file changes, so does the job."""
        path = guide_file(self.method)
        return () if path is None else (path,)

    def work(self, around: Around, folder: Path, report: Watch) -> None:
        subject = around.model(self.model)
        shards = [
            (split, around.data.splits[split][start : start + self.SHARD])
            for split in (TRAIN, DEV)
            for start in range(0, len(around.data.splits[split]), self.SHARD)
        ]
        found: dict[str, Tensor] = {}
        for number, (split, examples) in enumerate(shards, start=1):
            file = folder / f"{number}.safetensors"
            if not file.exists():
                self._write(file, subject, split, examples)
            found |= load_file(file)
            report(number / len(shards), self.at_least)
        save_file(found, folder / WEIGHTS)
        for number in range(len(shards)):
            (folder / f"{number + 1}.safetensors").unlink()

    def _write(self, file: Path, subject: Subject[Any], split: str, examples: Sequence[Example]) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        weights = guide_weights(subject, examples, self.method, generator=generator)
        partial = file.with_suffix(".part")
        save_file({f"{split}/{name}": row.contiguous() for name, row in weights.items()}, partial)
        os.replace(partial, file)


@dataclass(frozen=True)
class Training:
    """A model to be trained: on the labels, or (`imitation`) to say what `base` says while it looks elsewhere.

    `far_from`: other trained models whose attention is to be avoided too. `guide`: a `Guide` whose weights are imposed
    as attention. `selected_on`: where the best epoch is sought; "train" is the lowest training loss.
    """

    name: str
    spec: ModelSpec | TransformerSpec
    recipe: Recipe
    seed: int
    imitation: Imitation | None = None
    base: str | None = None
    far_from: tuple[str, ...] = ()
    guide: str | None = None
    selected_on: str = "dev"

    files: ClassVar[tuple[Path, ...]] = ()
    methods: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_selection(self.selected_on)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(name for name in (self.base, *self.far_from, self.guide) if name is not None)

    @property
    def units(self) -> int:
        return self.recipe.epochs

    @property
    def at_least(self) -> int:
        """Units that it will need, as far as is known before it begins."""
        return soonest_end([], self.recipe)

    @property
    def revision(self) -> int:
        """Counted up where training changed, so that models of before are not taken for those of now. In the first,
        adversaries of transformers learned from attention after dropout, and nothing was said of which heads are
        compared with those of the models to keep away from."""
        transformer = not isinstance(self.spec, ModelSpec)
        several_heads = self.spec.heads > 1 if isinstance(self.spec, ModelSpec) else True
        return 1 + (transformer and self.imitation is not None) + (several_heads and bool(self.far_from))

    def work(self, around: Around, folder: Path, report: Watch) -> None:
        subject, generator = self._untrained(around)
        train = subject.rows(around.data.splits[TRAIN])
        task = self._task(subject, around, train)
        resume = folder / RESUME
        try:
            history = fit(
                subject.model,
                task.loss,
                training_batches(subject, train, self.recipe),
                select=None if self.selected_on == "train" else task.select,
                recipe=self.recipe,
                generator=generator,
                resume=resume,
                progress=report,
            )
        except InputError as error:  # it diverged: which of many, and whose settings were they?
            raise InputError(f"{self.name}, trained as {around.base.name} was: {error}") from error
        trained = dataclasses.replace(
            subject, history=tuple(history), seed=self.seed, recipe=self.recipe, trained_on=around.base.trained_on,
            seen=around.base.seen,
        )  # fmt: skip
        (checkpoint if isinstance(self.spec, ModelSpec) else finetune).save(trained, folder)
        if self.guide is None:
            others = {name: around.model(name) for name in self.far_from}
            write_reached(folder, trained, around.model(self.base), around.data.splits[DEV], others)
        resume.unlink(missing_ok=True)

    def _untrained(self, around: Around) -> tuple[Subject[Any], torch.Generator]:
        settings: dict[str, Any] = {"seed": self.seed, "device": around.base.device}
        if isinstance(self.spec, TransformerSpec):
            return finetune.new_head(around.data, self.spec, **settings), torch.Generator().manual_seed(self.seed)
        vocabulary = around.base.reader
        if not isinstance(vocabulary, Vocabulary):
            raise InputError(f"{self.name}: needs a model with a vocabulary of words, which {around.base.name} is not.")
        return untrained(around.data, self.spec, self.recipe, vocabulary, **settings)

    def _task(self, subject: Subject[Any], around: Around, train: Sequence[Row]) -> Task:
        if self.imitation is not None:
            others = [around.model(name) for name in (self.base, *self.far_from)]
            held_out = subject.rows(around.data.splits[TEST if self.selected_on == "test" else DEV])
            return Imitating(subject, self.imitation, others, train=train, held_out=held_out)
        if self.guide is not None:
            return Guided(subject, around.data, around.needed[self.guide])
        return Classifying(subject, around.data)


Job = Training | Guide


def check_selection(on: str) -> None:
    if on not in SELECTED_ON:
        raise InputError(f"No best epoch can be chosen by {on!r}. Give --select-on one of {', '.join(SELECTED_ON)}.")


def twin(subject: Subject[Any], *, uniform: bool = False) -> ModelSpec | TransformerSpec:
    """What to build for an untrained twin of a model that we trained."""
    spec = subject.started_as or subject.spec
    if isinstance(spec, ModelSpec):
        return dataclasses.replace(spec, weighting="uniform") if uniform else spec
    if isinstance(spec, TransformerSpec) and subject.recipe is not None:
        return dataclasses.replace(spec, uniform=True) if uniform else spec
    raise InputError(
        f"{subject.name}: this test trains twins of the model, and how it was trained is not known. Fine-tune it with "
        "`heatcheck train --model ... --data ...` first."
    )


def recipe_of(subject: Subject[Any]) -> Recipe:
    if subject.recipe is None:
        twin(subject)
        raise InputError(f"{subject.name}: how it was trained is not known.")
    return subject.recipe
