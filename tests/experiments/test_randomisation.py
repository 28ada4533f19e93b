"""Randomised weights: the original stays, every weight is drawn anew once, and scores that ignore the model show it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from heatcheck.errors import InputError
from heatcheck.experiments.randomisation import (
    RandomisationConfig,
    cascade,
    fresh_network,
    randomisation,
    served,
    stages,
)
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation, probability_of_prediction
from heatcheck.models.protocols import Classifier
from tests.tiny import ENCODER_DECODERS, FAMILIES, tiny_subject
from tests.toys import linear_toy, random_examples, small_subject

CONFIG = RandomisationConfig(("gradient", "gradient_x_input"))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(11)


def run(subject, examples, config=CONFIG) -> pd.DataFrame:
    return pd.DataFrame([vars(s) for s in randomisation(subject, examples, config, generator=generator())])


@pytest.mark.parametrize("family", [*FAMILIES, *ENCODER_DECODERS, "fnet"])
def test_every_weight_is_in_one_stage_and_drawn_anew_while_the_original_stays(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    before = copy.deepcopy(subject.model.state_dict())
    found = stages(subject.model)
    layers = {"albert": 1, **dict.fromkeys(ENCODER_DECODERS, 4)}.get(family, 2)
    assert list(found) == ["head", *(f"layer {i}" for i in range(layers, 0, -1)), "embeddings"]
    names = [name for own in found.values() for name in own]
    assert sorted(names) == sorted(name for name, _ in subject.model.named_parameters())
    assert all(found.values())
    done: list[str] = []
    for stage, model in cascade(subject, 3):
        done += found[stage]
        for name, value in model.named_parameters():
            fresh = name in done and before[name].dim() > 1  # norms and biases start from constants, as they may be
            if name not in done:
                assert torch.equal(value, before[name]), (stage, name)
            elif fresh:
                assert not torch.equal(value, before[name]), (stage, name)
    for name, value in subject.model.state_dict().items():
        assert torch.equal(value, before[name])


def test_head_and_embeddings_are_what_they_are_called(tmp_path):
    found = stages(tiny_subject(tmp_path, "bert").model)
    assert {name.split(".")[1] for name in found["head"]} == {"bert", "classifier"}
    assert all("pooler" in name or "classifier" in name for name in found["head"])
    assert all("embeddings" in name for name in found["embeddings"])
    deep = stages(tiny_subject(tmp_path, "deberta").model)
    assert "network.deberta.encoder.rel_embeddings.weight" in deep["embeddings"]


@pytest.mark.parametrize(
    ("task", "more"), [("single", {}), ("single", {"heads": 2}), ("pair", {}), ("pair", {"pairing": "comparison"})]
)
def test_our_models_fall_apart_from_decoder_to_embedding(task, more):
    examples = random_examples(8, task, labels=3)
    subject = small_subject(examples, labels=3)
    spec = replace(subject.spec, **more)
    subject = replace(subject, spec=spec, model=spec.build(1).eval())
    before = copy.deepcopy(subject.model.state_dict())
    frame = run(subject, examples)
    assert frame.groupby("at").setting.unique().map(list).to_dict() == {
        1: ["decoder"],
        2: ["attention"],
        3: ["encoder"],
        4: ["embedding"],
    }
    names = [name for own in stages(subject.model).values() for name in own]
    assert sorted(names) == sorted(name for name, _ in subject.model.named_parameters())
    assert all(torch.equal(value, before[name]) for name, value in subject.model.state_dict().items())
    *_, (_, last) = cascade(subject, generator().initial_seed())
    untrained = subject.spec.build(generator().initial_seed())
    assert all(torch.equal(a, b) for a, b in zip(last.parameters(), untrained.parameters(), strict=True))


def test_the_correlation_is_kendalls_of_sizes_for_the_class_of_the_trained_model(tmp_path):
    subject, examples = tiny_subject(tmp_path), random_examples(6, seed=2)
    frame = run(subject, examples)
    (batch,) = subject.batches(examples, 8)
    scalar = probability_of_prediction(subject.model, batch)
    for number, (_, model) in enumerate(cascade(subject, generator().initial_seed()), start=1):
        old, new = (EXPLAINERS["gradient_x_input"].explain(m, batch, scalar).scores for m in (subject.model, model))
        for row, text in enumerate(batch.example_ids):
            words = batch.words[row]
            same = (frame["at"] == number) & (frame.subject == "gradient_x_input") & (frame.example_id == text)
            (found,) = frame[same].itertuples()
            if words.sum() < 2:
                assert found.value is None or np.isnan(found.value)
                assert found.reason
                continue
            expected = stats.kendalltau(old[row, words].abs(), new[row, words].abs())[0]
            assert found.value == pytest.approx(expected)
            assert found.group == subject.labels[scalar.classes[text]]


def by_position(model, batch, scalar, *, generator=None) -> Explanation:
    """Looks at the text only."""
    return Explanation(torch.arange(batch.mask.shape[1]) * batch.mask.double(), signed=False)


def test_a_method_that_ignores_the_model_stays_at_one_and_gradients_do_not(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPLAINERS, "by_position", Method(by_position, Classifier))
    subject, examples = tiny_subject(tmp_path), random_examples(20, seed=5)
    frame = run(subject, examples, RandomisationConfig(("by_position", "gradient")))
    last = frame[frame["at"] == frame["at"].max()].groupby("subject").value.mean()
    assert last["by_position"] == 1
    assert abs(last["gradient"]) < 0.4


def test_batches_do_not_change_the_numbers_and_the_seed_does(tmp_path):
    subject, examples = tiny_subject(tmp_path, "distilbert"), random_examples(6, seed=4)
    key = ["subject", "at", "example_id"]
    one = run(subject, examples).sort_values(key)
    other = run(subject, examples[::-1], replace(CONFIG, batch_size=2)).sort_values(key)
    np.testing.assert_allclose(one.value.astype(float), other.value.astype(float), atol=0.1)
    assert np.nanmean(np.abs(one.value.astype(float).to_numpy() - other.value.astype(float).to_numpy())) < 1e-3
    network = subject.model.network
    first, again, second = (fresh_network(network, seed).state_dict() for seed in (1, 1, 2))
    weight = "classifier.weight"
    assert torch.equal(first[weight], again[weight])
    assert not torch.equal(first[weight], second[weight])


def test_all_methods_that_a_model_serves_and_a_model_without_weights(tmp_path):
    subject, examples = tiny_subject(tmp_path), random_examples(3)
    assert "gradient" in served(subject.model)
    assert "attention" in served(subject.model)
    assert "deep_lift_captum" not in served(subject.model)
    hidden = replace(subject, model=linear_toy(200))
    with pytest.raises(InputError, match="randomisation draws a model's weights anew, and bert does not show its own"):
        run(hidden, examples)
