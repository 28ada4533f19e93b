"""Every family: ids and embeddings give the same output, padding and order do not matter, maps are in place."""

from __future__ import annotations

import pytest
import torch

from heatcheck.batch import rows, trim
from heatcheck.models.protocols import AttentiveClassifier, TransformerClassifier
from tests.tiny import DECODERS, FAMILIES, tiny_subject
from tests.toys import random_examples


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.mark.parametrize("task", ["single", "pair"])
def test_a_batch_says_what_the_network_says_of_each_text_alone(tmp_path, family, task):
    subject = tiny_subject(tmp_path, family, ("a", "b", "c"))
    examples = random_examples(5, task, labels=3)
    (batch,) = subject.batches(examples, 8)
    with torch.no_grad():
        together = subject.model.predict(batch)
        for row, name in enumerate(batch.example_ids):
            example = next(e for e in examples if e.id == name)
            texts = [example.text] if example.pair is None else [example.text, example.pair]
            inputs = subject.reader.tokenizer(*texts, return_tensors="pt")
            alone = subject.model.network(**inputs).logits[0]
            torch.testing.assert_close(together[row], alone, atol=1e-5, rtol=1e-4)
    assert isinstance(subject.model, TransformerClassifier)
    assert not isinstance(subject.model, AttentiveClassifier)


def test_maps_are_rows_of_weights_in_the_texts_own_positions(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches(random_examples(5), 8)
    model = subject.model
    before = model.network.config._attn_implementation
    with torch.no_grad():
        logits, maps = model.logits_and_maps(model.embed(batch), batch)
        torch.testing.assert_close(logits, model.predict(batch), atol=1e-5, rtol=1e-4)
        assert model.network.config._attn_implementation == before
        expected = batch.mask[:, None, None].expand(maps.shape[:-1]).float()
        torch.testing.assert_close(maps.sum(-1), expected, atol=1e-5, rtol=1e-5)
        one = trim(rows(batch, torch.tensor([0])))
        alone = model.logits_and_maps(model.embed(one), one)[1]
        length = one.token_ids.shape[1]
        torch.testing.assert_close(maps[:1, ..., :length, :length], alone, atol=1e-5, rtol=1e-4)
    if family in DECODERS:
        assert float(maps.triu(1).abs().max()) == 0


def test_left_or_right_is_found_by_trying(tmp_path, family):
    assert tiny_subject(tmp_path, family).model.left == (family in (*DECODERS, "xlnet"))


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_text_that_fits_needs_no_window_and_a_long_one_is_the_mean_of_its_windows(tmp_path, name):
    subject = tiny_subject(tmp_path, name, max_length=12, windows=True)
    (batch,) = subject.batches(random_examples(6, longest=30, seed=3), 8)
    model = subject.model
    with torch.no_grad():
        logits, maps = model.logits_and_maps(model.embed(batch), batch)
        torch.testing.assert_close(logits, model.predict(batch), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(maps.sum(-1)[:, 0, 0], batch.mask.float(), atol=1e-5, rtol=1e-5)
    windows = model.windows(batch)
    assert windows is not None
    assert windows.place.shape[1] <= 12
    covered = torch.zeros_like(batch.mask)
    covered[windows.row[:, None].expand_as(windows.place)[windows.mask], windows.place[windows.mask]] = True
    assert (covered == batch.mask).all()


def test_offsets_are_the_characters_of_each_token(tmp_path):
    from heatcheck.batch import Example

    subject = tiny_subject(tmp_path)
    text, pair = "The films  are Sadly 映画 🎬 good", "not bad."
    (batch,) = subject.batches([Example("x", text, 0, pair)], 1)
    texts = (text, pair)
    for place in batch.words[0].nonzero().squeeze(1).tolist():
        start, end = batch.offsets[0, place].tolist()
        token = subject.reader.tokenizer.convert_ids_to_tokens(int(batch.token_ids[0, place]))
        piece = texts[int(batch.segments[0, place])][start:end].lower()
        assert token == "[UNK]" or token.removeprefix("##") == piece
    assert batch.words[0].sum() + 3 == batch.mask[0].sum()
