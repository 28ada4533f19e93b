"""Leaving out what nobody reads changes no output, and nothing of it stays behind."""

import pytest
import torch

from heatcheck.models.readout import READ_FIRST, readout_only
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import random_examples, small_model

SHORT = ("bert", "roberta", "electra")


def hooks(model):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_output_is_the_same(tmp_path, family, windows):
    subject = tiny_subject(tmp_path, family, ("a", "b", "c"), max_length=12 if windows else None, windows=windows)
    (batch,) = subject.batches(random_examples(5, labels=3, longest=24), 8)
    with torch.no_grad():
        expected = subject.model.predict(batch)
        with readout_only(subject.model):
            assert hooks(subject.model) == (family in SHORT)
            torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)
    assert hooks(subject.model) == 0


def test_the_last_feed_forward_sees_the_first_position_alone(tmp_path):
    subject = tiny_subject(tmp_path)
    (batch,) = subject.batches(random_examples(4), 8)
    seen = []
    for layer in subject.model.network.base_model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda m, i, o: seen.append(i[0].shape[1]))
    with torch.no_grad(), readout_only(subject.model):
        subject.model.predict(batch)
    assert seen == [batch.mask.shape[1], 1]


def test_the_hook_is_gone_after_an_error(tmp_path):
    subject = tiny_subject(tmp_path)
    with pytest.raises(KeyError), readout_only(subject.model):
        raise KeyError
    assert hooks(subject.model) == 0


def test_every_name_in_the_table_is_a_class_that_exists():
    import importlib

    for name in READ_FIRST:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), cls), type)


def test_other_models_run_as_ever():
    model, _ = small_model(random_examples(3))
    with readout_only(model):
        assert hooks(model) == 0
