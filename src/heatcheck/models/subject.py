"""A trained model with all that is needed to use it, and how it is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import accuracy_score, roc_auc_score
from torch import Tensor
from torch.nn import functional

from heatcheck.batch import Batch, Example
from heatcheck.data import vocabulary as vocabularies
from heatcheck.data.dataset import DEV, TRAIN, Dataset, text_fingerprint
from heatcheck.data.vectors import load_vectors
from heatcheck.data.vocabulary import Row, Vocabulary
from heatcheck.errors import InputError
from heatcheck.models.attentive import Attentive
from heatcheck.models.fit import Epoch, Loss, Recipe, fit
from heatcheck.models.spec import ModelSpec

EVALUATION_BATCH = 128


@dataclass(frozen=True)
class Subject:
    """What an audit is about: `spec.build(seed)` gives an untrained twin, `recipe` says how it was trained."""

    name: str
    model: Attentive
    spec: ModelSpec
    recipe: Recipe
    vocabulary: Vocabulary
    labels: tuple[str, ...]
    seed: int
    trained_on: str = ""  # fingerprint of the data set
    seen: frozenset[str] = frozenset()  # fingerprints of the texts it learned or was selected on
    history: tuple[Epoch, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batches(self, examples: Sequence[Example], size: int) -> Iterator[Batch]:
        for batch in vocabularies.batches(examples, self.vocabulary, size):
            yield batch.to(self.device)


def train(
    data: Dataset,
    spec: ModelSpec,
    recipe: Recipe,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    resume: Path | None = None,
    progress: Callable[[int, float], None] = lambda epoch, part: None,
) -> Subject:
    """Train one of our models on the data's training split, choosing the epoch on its dev split.

    `spec` says what to build; its sizes for this data (labels, vocabulary, embedding width) are filled in here.
    """
    check_trainable(data)
    vocabulary = vocabularies.build(
        data.splits[TRAIN],
        data.rules,
        len(data.labels),
        min_frequency=recipe.min_frequency or data.min_frequency,
        max_length=recipe.max_length,
    )
    generator = torch.Generator().manual_seed(seed)
    vectors = load_vectors(recipe.vectors, vocabulary.words, generator=generator, size=spec.embedding_width)
    spec = fitted_spec(spec, data, vocabulary, vectors.values.shape[1])
    model = spec.build(seed)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.from_numpy(vectors.values))
    subject = Subject(
        f"{spec.encoder}-{spec.attention}",
        model.to(device),
        spec,
        recipe,
        vocabulary,
        data.labels,
        seed,
        trained_on=data.fingerprint(),
        seen=frozenset(text_fingerprint(e) for split in (TRAIN, DEV) for e in data.splits[split]),
    )
    history = fit(
        model,
        classification_loss(model, data.splits[TRAIN]),
        _shuffled([vocabulary.row(e) for e in data.splits[TRAIN]], vocabulary.n_labels, recipe.batch_size, device),
        select=lambda: _selection_score(subject, data.splits[DEV]),
        recipe=recipe,
        generator=generator,
        resume=resume,
        progress=progress,
    )
    note = f"{vectors.found:,} of {len(vocabulary):,} words have a pretrained vector ({recipe.vectors})."
    return dataclasses.replace(subject, history=tuple(history), notes=(note,))


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


def fitted_spec(spec: ModelSpec, data: Dataset, vocabulary: Vocabulary, embedding_width: int) -> ModelSpec:
    return ModelSpec(
        encoder=spec.encoder,
        attention=spec.attention,
        task="single" if data.task == "single" else "pair",
        n_labels=len(data.labels),
        vocabulary_size=len(vocabulary),
        embedding_width=embedding_width,
        hidden=spec.hidden,
        temperature=spec.temperature,
    )


def classification_loss(model: Attentive, examples: Sequence[Example]) -> Loss:
    """Cross-entropy; for two classes the positive one weighs n_negative / n_positive, as in paper 1's code."""
    if model.kind == "categorical":
        return lambda batch: functional.cross_entropy(model(batch), batch.labels)
    positives = sum(e.label for e in examples)
    weight = torch.tensor((len(examples) - positives) / max(positives, 1))

    def loss(batch: Batch) -> Tensor:
        target = batch.labels.to(torch.float32)
        return functional.binary_cross_entropy_with_logits(model(batch)[:, 0], target, pos_weight=weight.to(target))

    return loss


def _shuffled(
    rows: Sequence[Row], n_labels: int, size: int, device: torch.device | str
) -> Callable[[torch.Generator], list[Batch]]:
    """Each epoch: texts of similar length together, equal lengths and the batches themselves in random order."""

    def batches(generator: torch.Generator) -> list[Batch]:
        shuffled = [rows[i] for i in torch.randperm(len(rows), generator=generator).tolist()]
        groups = vocabularies.by_length(shuffled, size)
        order = torch.randperm(len(groups), generator=generator).tolist()
        return [vocabularies.collate(groups[i], n_labels).to(device) for i in order]

    return batches


def predict(subject: Subject, examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """Class distributions and labels of the examples, in the order of their batches."""
    probs, labels = [], []
    with torch.no_grad():
        for batch in subject.batches(examples, EVALUATION_BATCH):
            probs.append(subject.model.probs(subject.model(batch)).cpu())
            labels.append(batch.labels.cpu())
    return torch.cat(probs).numpy(), torch.cat(labels).numpy()


def _selection_score(subject: Subject, examples: Sequence[Example]) -> float:
    probs, labels = predict(subject, examples)
    if subject.model.kind == "binary" and len(set(labels.tolist())) == 2:
        return float(roc_auc_score(labels, probs[:, 1]))
    return float(accuracy_score(labels, probs.argmax(1)))
