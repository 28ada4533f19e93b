"""Models and data whose answers are known in closed form, or small enough to check by a plain loop."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.data.vocabulary import Vocabulary, build
from heatcheck.data.words import WordRules
from heatcheck.models.attentive import Attentive
from heatcheck.models.fit import Recipe
from heatcheck.models.protocols import Kind, distribution
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject

WORDS = [f"w{i}" for i in range(60)]


@dataclass
class LinearToy:
    """p = σ(Σ_t α_t w·e_t) with fixed word vectors and attention ∝ exp(v·e_t): everything has a formula."""

    vectors: Tensor  # V E
    w: Tensor  # E
    v: Tensor  # E
    kind: Kind = "binary"
    pad_id: int = 0
    mask_id: int = 1

    def embed(self, batch: Batch) -> Tensor:
        return self.vectors[batch.token_ids]

    def encode(self, embeddings: Tensor, batch: Batch) -> Tensor:
        return embeddings

    def attend(self, encoded: Tensor, batch: Batch) -> Tensor:
        scores = (encoded @ self.v).masked_fill(~batch.attended, -1e30)
        return (torch.softmax(scores, -1) * batch.attended)[:, None]

    def classify(self, encoded: Tensor, attention: Tensor, batch: Batch) -> Tensor:
        return attention @ encoded @ self.w

    def logits(self, embeddings: Tensor, batch: Batch) -> Tensor:
        return self.classify(embeddings, self.attend(embeddings, batch), batch)

    def predict(self, batch: Batch) -> Tensor:
        return self.logits(self.embed(batch), batch)

    def probs(self, logits: Tensor) -> Tensor:
        return distribution(self.kind, logits)


def linear_toy(vocabulary_size: int, width: int = 5, seed: int = 0) -> LinearToy:
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return LinearToy(draw(vocabulary_size, width), draw(width), draw(width))


def random_examples(
    n: int, task: str = "single", *, labels: int = 2, longest: int = 12, seed: int = 0
) -> list[Example]:
    """Texts of 1 to `longest` random words; pairs with two to all labels as candidates if `task` is "qa"."""
    rng = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    examples = []
    for i in range(n):
        label = i % labels
        pair = None if task == "single" else words(5)
        candidates = tuple(sorted({label, (label + 1) % labels})) if task == "qa" else None
        examples.append(Example(str(i), words(longest), label, pair, candidates))
    return examples


def vocabulary_of(examples: Sequence[Example], labels: int) -> Vocabulary:
    return build(examples, WordRules("whitespace"), labels)


def small_model(
    examples: Sequence[Example], encoder: str = "bilstm", attention: str = "additive", *, labels: int = 2, seed: int = 0
) -> tuple[Attentive, Vocabulary]:
    """An untrained model with weights large enough that its attention is not flat."""
    vocabulary = vocabulary_of(examples, labels)
    task = "single" if examples[0].pair is None else "pair"
    model = ModelSpec(encoder, attention, task, labels, len(vocabulary), embedding_width=12, hidden=8).build(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model.eval(), vocabulary


def small_subject(examples: Sequence[Example], encoder: str = "bilstm", *, labels: int = 2, seed: int = 0) -> Subject:
    model, vocabulary = small_model(examples, encoder, labels=labels, seed=seed)
    names = tuple(f"class {i}" for i in range(labels))
    task = "single" if examples[0].pair is None else "pair"
    spec = ModelSpec(encoder, "additive", task, labels, len(vocabulary), embedding_width=12, hidden=8)
    return Subject(f"{encoder}-additive", model, vocabulary, names, seed, spec, Recipe())


GOOD, BAD = ("great", "lovely", "superb", "moving"), ("awful", "boring", "dull", "weak")
FILLER = ["the", "film", "and", "its", "story", "of", "a", "man", "who", "came", "to", "town", "one", "day"]


def review_rows(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Reviews whose class is decided by one or two words among fillers."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        positive = i % 2 == 0
        words = rng.choices(FILLER, k=rng.randint(3, 9)) + rng.choices(GOOD if positive else BAD, k=rng.randint(1, 2))
        rng.shuffle(words)
        rows.append((" ".join(words), "good" if positive else "bad"))
    return rows


def write_reviews(path: Path, n: int = 120, seed: int = 0) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((f"{text} {number}", label) for number, (text, label) in enumerate(review_rows(n, seed)))
    return path
