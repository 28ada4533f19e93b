"""How our own attention models are trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from heatcheck.batch import Batch, Example
from heatcheck.data import vocabulary as vocabularies
from heatcheck.data.dataset import DEV, TRAIN, Dataset, text_fingerprint
from heatcheck.data.reading import Row, by_length, collate
from heatcheck.data.vectors import load_vectors
from heatcheck.data.vocabulary import Vocabulary
from heatcheck.errors import InputError
from heatcheck.models.attentive import AttentionModel
from heatcheck.models.fit import Batches, DivergedError, Loss, Recipe, Watch, fit
from heatcheck.models.protocols import Predictor
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject, selection_score


def train(
    data: Dataset,
    spec: ModelSpec,
    recipe: Recipe,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    resume: Path | None = None,
    progress: Watch = lambda done, at_least: None,
) -> Subject[AttentionModel]:
    """Train one of our models on the data's training split, choosing the epoch on its dev split.

    `spec` says what to build; its sizes for this data (labels, vocabulary, embedding width) are filled in here.
    """
    check_trainable(data)
    if recipe.precision != "float32":
        raise InputError(f"precision {recipe.precision} is for fine-tuning; our models are small and train in float32.")
    vocabulary = vocabularies.build(
        data.splits[TRAIN],
        data.rules,
        len(data.labels),
        min_frequency=recipe.min_frequency or data.min_frequency,
        max_length=recipe.max_length,
    )
    subject, generator = untrained(data, spec, recipe, vocabulary, seed=seed, device=device)
    train, dev = (subject.rows(data.splits[split]) for split in (TRAIN, DEV))
    subject = dataclasses.replace(subject, notes=(*subject.notes, *cut_in_training([*train, *dev])))
    return fitted(subject, data, (train, dev), recipe, generator=generator, resume=resume, progress=progress)


def fitted(
    subject: Subject[Any],
    data: Dataset,
    rows: tuple[Sequence[Row], Sequence[Row]],
    recipe: Recipe,
    *,
    generator: torch.Generator,
    resume: Path | None,
    progress: Watch,
) -> Subject[Any]:
    """The subject, trained on the first of the rows and selected on the second. One that diverged is handed on too, by
    the error, as it was before."""
    train, dev = rows
    try:
        history = fit(
            subject.model,
            classification_loss(subject.model, data.splits[TRAIN]),
            training_batches(subject, train, recipe),
            select=lambda: selection_score(subject, dev),
            recipe=recipe,
            generator=generator,
            resume=resume,
            progress=progress,
        )
    except DivergedError as error:
        raise UnfinishedError(str(error), dataclasses.replace(subject, history=tuple(error.history))) from error
    return dataclasses.replace(subject, history=tuple(history))


class UnfinishedError(InputError):
    """A training that diverged, and the model of its best epoch; without a history there was none."""

    def __init__(self, message: str, subject: Subject[Any]) -> None:
        super().__init__(message)
        self.subject = subject


def untrained(
    data: Dataset,
    spec: ModelSpec,
    recipe: Recipe,
    vocabulary: Vocabulary,
    *,
    seed: int,
    device: torch.device | str = "cpu",
) -> tuple[Subject[AttentionModel], torch.Generator]:
    """The model as training finds it, and the generator that goes on to shuffle the texts."""
    generator = torch.Generator().manual_seed(seed)
    vectors = load_vectors(recipe.vectors, vocabulary.words, generator=generator, size=spec.embedding_width)
    spec = fitted_spec(spec, data, len(vocabulary), vectors.values.shape[1])
    model = spec.build(seed)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.from_numpy(vectors.values))
    note = f"{vectors.found:,} of {len(vocabulary):,} words have a pretrained vector ({recipe.vectors})."
    subject = Subject(
        name="-".join([spec.encoder, spec.attention, *([spec.weighting] if spec.weighting != "softmax" else [])]),
        model=model.to(device),
        reader=vocabulary,
        labels=data.labels,
        seed=seed,
        spec=spec,
        recipe=recipe,
        device=device,
        trained_on=data.fingerprint(),
        seen=texts_seen(data),
        notes=(note,),
    )
    return subject, generator


def training_batches(subject: Subject[Any], rows: Sequence[Row], recipe: Recipe) -> Batches:
    return shuffled_batches(rows, subject.reader.n_labels, recipe.batch_size, subject.device)


def cut_in_training(rows: Sequence[Row]) -> list[str]:
    if cut := sum(row.cut for row in rows):
        return [f"{cut:,} of {len(rows):,} training texts have more words, or a longer one, than the model takes: cut."]
    return []


def texts_seen(data: Dataset) -> frozenset[str]:
    """Fingerprints of the texts that a model trained on `data` learned from or was selected on."""
    return frozenset(text_fingerprint(e) for split in (TRAIN, DEV) for e in data.splits[split])


def check_trainable(data: Dataset) -> None:
    for split in (TRAIN, DEV):
        if not data.splits.get(split):
            raise InputError(
                f"{data.name}: there are no {split} texts to train with. Give more rows, or a trained --model to test."
            )
    present = {e.label for e in data.splits[TRAIN]}
    if len(present) < 2:
        raise InputError(
            f"{data.name}: all train texts have the label {data.labels[present.pop()]!r}. Training needs two classes."
        )


def fitted_spec(spec: ModelSpec, data: Dataset, vocabulary_size: int, embedding_width: int) -> ModelSpec:
    return dataclasses.replace(
        spec,
        task="single" if data.task == "single" else "pair",
        n_labels=len(data.labels),
        vocabulary_size=vocabulary_size,
        embedding_width=embedding_width,
    )


def classification_loss(model: Predictor, examples: Sequence[Example]) -> Loss:
    """Cross-entropy; for two classes the positive one weighs n_negative / n_positive, as in paper 1's code."""
    entropy = cross_entropy(model, examples)
    return lambda batch: entropy(model.predict(batch), batch.labels)


def cross_entropy(model: Predictor, examples: Sequence[Example]) -> Callable[[Tensor, Tensor], Tensor]:
    """From logits and labels to `classification_loss`."""
    if model.kind == "categorical":
        return functional.cross_entropy
    positives = sum(e.label for e in examples)
    weight = torch.tensor((len(examples) - positives) / max(positives, 1))

    def entropy(logits: Float[Tensor, "B 1"], labels: Int[Tensor, "B"]) -> Tensor:
        target = labels.to(torch.float32)
        return functional.binary_cross_entropy_with_logits(logits[:, 0], target, pos_weight=weight.to(target))

    return entropy


def shuffled_batches(
    rows: Sequence[Row], n_labels: int, size: int, device: torch.device | str
) -> Callable[[torch.Generator], list[Batch]]:
    """Each epoch: texts of similar length together, equal lengths and the batches themselves in random order."""

    def batches(generator: torch.Generator) -> list[Batch]:
        shuffled = [rows[i] for i in torch.randperm(len(rows), generator=generator).tolist()]
        groups = by_length(shuffled, size)
        order = torch.randperm(len(groups), generator=generator).tolist()
        return [collate(groups[i], n_labels).to(device) for i in order]

    return batches
