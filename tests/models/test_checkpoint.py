"""Checkpoints: identical outputs after loading; what cannot be loaded is named in one sentence."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from heatcheck.errors import InputError
from heatcheck.models import checkpoint
from heatcheck.models.spec import ENCODERS
from tests.toys import random_examples, small_subject


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("pair", 3)])
def test_a_loaded_model_gives_identical_outputs(tmp_path, encoder, task, labels):
    examples = random_examples(8, task, labels=labels)
    subject = small_subject(examples, encoder, labels=labels)
    checkpoint.save(subject, tmp_path / "model")
    loaded = checkpoint.load(tmp_path / "model")
    before, after = (s.model.predict(next(s.batches(examples, 8))) for s in (subject, loaded))
    assert torch.equal(before, after)
    assert (loaded.labels, loaded.reader, loaded.spec) == (subject.labels, subject.reader, subject.spec)


@pytest.fixture
def folder(tmp_path):
    checkpoint.save(small_subject(random_examples(4)), tmp_path / "model")
    return tmp_path / "model"


def refused(path, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        checkpoint.load(path)


def test_missing_files(folder, tmp_path):
    refused(tmp_path / "nowhere", "nowhere: no such folder. Give one that `heatcheck train` wrote, a Hugging Face")
    (folder / "model.safetensors").unlink()
    refused(folder, "model.safetensors is missing. Copy the folder again or train with `heatcheck train`.")


def test_truncated_files(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    refused(folder, "model.safetensors: truncated or changed since it was written")
    description = folder / "heatcheck.json"
    description.write_text(description.read_text()[:50])
    refused(folder, "heatcheck.json: truncated or not JSON")


def test_pickles_are_refused(folder, tmp_path):
    refused(tmp_path / "model.pt", "model.pt: pickled weights can run code when loaded and are refused.")
    (folder / "heatcheck.json").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04N.")
    refused(folder, "holds pytorch_model.bin, a pickle, which can run code when loaded and is refused.")


def changed(folder, change):
    description = folder / "heatcheck.json"
    content = json.loads(description.read_text())
    change(content)
    description.write_text(json.dumps(content))


def test_another_vocabulary_is_refused(folder):
    """The weights know which words they were trained with."""
    changed(folder, lambda content: content["vocabulary"]["words"].reverse())
    refused(
        folder, "heatcheck.json: its words are not those that the weights were trained with. Changed, or written by"
    )


def test_a_vocabulary_of_another_size_is_refused_even_where_the_weights_know_no_words(folder):
    """Checkpoints of before say nothing of their words; they are read all the same."""
    weights = load_file(folder / "model.safetensors")
    save_file(weights, folder / "model.safetensors")
    changed(folder, lambda c: c.update(weights_sha256=checkpoint.fingerprint(folder / "model.safetensors")))
    assert checkpoint.load(folder).reader
    changed(folder, lambda content: content["vocabulary"]["words"].append("surplus"))
    refused(folder, "words for a model of")


def test_another_format_is_refused(folder):
    description = folder / "heatcheck.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "format": 99}))
    refused(folder, "format 99, this heatcheck reads 1. Train anew.")
