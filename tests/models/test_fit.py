"""The training loop: resuming, choosing the epoch, and the optimiser against the published three."""

import math

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from heatcheck.batch import Example
from heatcheck.data.dataset import Dataset
from heatcheck.data.words import WordRules
from heatcheck.errors import InputError
from heatcheck.models import fit as fitting
from heatcheck.models.fit import Epoch, Recipe, adam, fit
from heatcheck.models.spec import ModelSpec
from heatcheck.models.training import classification_loss, train
from tests.toys import review_rows, small_model

RECIPE = Recipe(epochs=4, batch_size=8, vectors="none")
SPEC = ModelSpec(embedding_width=8, hidden=6)


def reviews(n: int = 60) -> Dataset:
    examples = [Example(str(i), text, int(label == "good")) for i, (text, label) in enumerate(review_rows(n))]
    third = n // 3
    splits = {"train": examples[: 2 * third], "dev": examples[2 * third :], "test": examples[2 * third :]}
    return Dataset("reviews", "single", ("bad", "good"), splits, WordRules("whitespace"))


class KilledError(Exception):
    pass


@pytest.mark.parametrize("epoch", [0, 1, 2, 3])
def test_a_killed_training_goes_on_to_the_same_weights(tmp_path, epoch):
    data = reviews()
    whole = train(data, SPEC, RECIPE, seed=3)

    def kill(done: float, at_least: float) -> None:
        if done > epoch + 0.4:
            raise KilledError

    with pytest.raises(KilledError):
        train(data, SPEC, RECIPE, seed=3, resume=tmp_path / "resume", progress=kill)
    assert (tmp_path / "resume").exists() == (epoch > 0)
    continued = train(data, SPEC, RECIPE, seed=3, resume=tmp_path / "resume")
    assert continued.history == whole.history
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, continued.model.state_dict()[name]), name


def test_it_learns():
    data = reviews(120)
    subject = train(data, SPEC, Recipe(epochs=12, batch_size=8, vectors="none", learning_rate=0.01), seed=0)
    assert subject.history[-1].loss < subject.history[0].loss / 2
    assert max(e.selected_by for e in subject.history) > 0.95
    assert not subject.model.training


def run_with_scores(scores: list[float], recipe: Recipe) -> tuple[float, list[Epoch]]:
    """A 'model' that counts its epochs, selected by the given scores: which epoch is kept?"""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    answers = iter(scores)

    def select() -> float:
        with torch.no_grad():
            model.weight += 1
        return next(answers)

    history = fit(model, None, lambda generator: [], select=select, recipe=recipe, generator=torch.Generator())
    return float(model.weight.detach()), history


def test_the_best_epoch_is_kept_but_never_the_first():
    assert run_with_scores([0.9, 0.5, 0.7, 0.6], Recipe(epochs=4))[0] == 3
    assert run_with_scores([0.1, 0.5, 0.5, 0.4], Recipe(epochs=4))[0] == 2  # of equals the first
    assert run_with_scores([0.1], Recipe(epochs=1))[0] == 1  # unless there is no other
    assert run_with_scores([0.9, 0.5, 0.7], Recipe(epochs=3, first_eligible_epoch=1))[0] == 1


def test_of_epochs_that_dev_cannot_tell_apart_fine_tuning_keeps_the_best_fitted(monkeypatch):
    monkeypatch.setattr(fitting, "_epoch", lambda *_: next(losses))
    for optimizer, kept in (("adam", 1), ("adamw", 3)):
        losses = iter([0.69, 0.5, 0.2, 0.3])
        recipe = Recipe(epochs=4, first_eligible_epoch=1, optimizer=optimizer)
        assert run_with_scores([1.0, 0.9, 1.0, 1.0], recipe)[0] == kept


def test_one_fused_adam_equals_the_published_three():
    examples = reviews().splits["train"]
    (ours, vocabulary), (theirs, _) = small_model(examples), small_model(examples)
    recipe = Recipe()
    parts = [[*theirs.embedding.parameters(), *theirs.encoder.parameters()], [*theirs.attention.parameters()]]
    parts.append([*theirs.project.parameters()])
    decay = (recipe.weight_decay, 0.0, recipe.weight_decay)
    three = [torch.optim.Adam(p, lr=1e-3, amsgrad=True, weight_decay=d) for p, d in zip(parts, decay, strict=True)]
    one = adam(ours, recipe)
    for start in range(0, 40, 8):
        batch = vocabulary.batch(examples[start : start + 8])
        for model, optimizers in ((ours, [one]), (theirs, three)):
            model.zero_grad()
            functional.binary_cross_entropy_with_logits(model.predict(batch)[:, 0], batch.labels.float()).backward()
            for optimizer in optimizers:
                optimizer.step()
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(value, theirs.state_dict()[name], atol=1e-6, rtol=1e-5)


def test_the_positive_class_weighs_negatives_over_positives():
    examples = [Example(str(i), "w1 w2", int(i == 0)) for i in range(4)]
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    z = model.predict(batch)[:, 0].double()
    expected = -(3 * torch.sigmoid(z[0]).log() + torch.sigmoid(-z[1:]).log().sum()) / 4
    assert float(classification_loss(model, examples)(batch).detach()) == pytest.approx(
        float(expected.detach()), rel=1e-5
    )


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_epoch(tmp_path):
    model = torch.nn.Linear(1, 1)
    losses = iter([1.0, math.inf])
    batch = [None]

    def loss(_):
        return model.weight.sum() * 0 + next(losses)

    with pytest.raises(InputError, match="Training diverged in epoch 2: the loss is not finite"):
        fit(
            model, loss, lambda g: batch, select=lambda: 0.5, recipe=Recipe(), generator=torch.Generator(),
            resume=tmp_path / "resume",
        )  # fmt: skip
    assert (tmp_path / "resume").exists()


def test_a_weight_that_is_not_finite_stops_before_it_is_saved(tmp_path):
    """The last batch of an epoch may have a finite loss and a gradient that is not: sqrt at 0."""
    model = torch.nn.Linear(1, 1, bias=False)
    steps = iter([False, False, False, True])

    def loss(_):
        return model.weight.sum() ** 2 + (torch.sqrt(model.weight.sum() * 0) if next(steps) else 0)

    with pytest.raises(InputError) as error:
        fit(
            model, loss, lambda g: [None, None], select=lambda: float(model.weight.detach()), recipe=Recipe(),
            generator=torch.Generator(), resume=tmp_path / "resume",
        )  # fmt: skip
    assert str(error.value) == (
        "Training diverged in epoch 2: a weight is not finite. Train with a lower --learning-rate, which a model's "
        "adversaries have too, or give an adversary a lower λ. "
        f"Epoch 1 is kept in {tmp_path / 'resume'}."
    )
    kept = load_file(tmp_path / "resume")
    assert torch.isfinite(kept["model/weight"]).all()


def test_bad_recipes_are_refused():
    with pytest.raises(InputError, match="epochs 0 is not a number above 0"):
        Recipe(epochs=0)
    assert fitting.Recipe().epochs == 8
