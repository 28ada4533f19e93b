"""Leave-one-out and occlusion against the definition: one word edited, one text alone, run again."""

import dataclasses

import pytest
import torch

from heatcheck.batch import Batch, Example, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain.removal import Occlusion, leave_one_out
from heatcheck.explain.types import predicted_probability, probability_of_prediction
from heatcheck.measure.distributions import tvd
from heatcheck.models import blackbox
from heatcheck.models.spec import ENCODERS
from tests.edits import without_token
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import linear_toy, random_examples, small_model, vocabulary_of


def alone(batch: Batch, row: int) -> Batch:
    return trim(rows(batch, torch.tensor([row])))


@torch.no_grad()
def deleting(model, batch):
    """The definition: text by text, word by word."""
    scores = torch.zeros(batch.mask.shape, dtype=model.predict(batch).dtype)
    for row, place in batch.words.nonzero().tolist():
        text = alone(batch, row)
        if int(text.mask.sum()) == 1:  # a decoder's text of one word: nothing, which is one padding token
            shorter = dataclasses.replace(text, token_ids=torch.full_like(text.token_ids, model.pad_id))
        else:
            shorter = without_token(text, torch.tensor([place]))
        scores[row, place] = tvd(model.probs(model.predict(shorter)), model.probs(model.predict(text)))[0]
    return scores


@pytest.mark.parametrize("task", ["single", "pair"])
@pytest.mark.parametrize("family", [*FAMILIES, "mbart", "convbert"])
def test_leave_one_out_is_deleting_a_word_of_one_text_alone(tmp_path, family, task):
    subject = tiny_subject(tmp_path, family, ("a", "b", "c"))
    (batch,) = subject.batches(random_examples(4, task, labels=3, longest=6), 4)
    ours = leave_one_out(subject.model, batch, predicted_probability)
    torch.testing.assert_close(ours.scores, deleting(subject.model, batch), atol=1e-5, rtol=1e-4)
    assert float(ours.scores[batch.words].max()) > 1e-3
    assert not ours.signed


@pytest.mark.parametrize("encoder", ENCODERS)
def test_both_texts_of_a_pair_have_scores_with_and_without_the_shortcut(encoder):
    examples = random_examples(5, "pair", labels=3)
    model, vocabulary = small_model(examples, encoder, labels=3)
    batch = vocabulary.batch(examples)
    ours = leave_one_out(model, batch, predicted_probability).scores
    torch.testing.assert_close(ours, deleting(model, batch), atol=1e-5, rtol=1e-4)
    second = batch.words & ~batch.attended
    assert float(ours[second].min()) >= 0
    assert float(ours[second].max()) > 1e-3


def good_share(texts):
    """A black box: the share of good words decides."""
    share = [sum(w in ("w1", "w5", "w7") for w in text.split()) / max(len(text.split()), 1) for text in texts]
    return [[1 - p, p] for p in share]


def test_leave_one_out_of_a_black_box_is_the_change_of_its_share():
    subject = blackbox.as_subject(good_share, ("bad", "good"))
    (batch,) = subject.batches([Example("x", "w1 w2 w5 w9", 0)], 1)
    scores = leave_one_out(subject.model, batch, predicted_probability).scores
    expected = torch.tensor([1 / 2 - 1 / 3, 2 / 3 - 1 / 2, 1 / 2 - 1 / 3, 2 / 3 - 1 / 2, 0], dtype=torch.float64)
    torch.testing.assert_close(scores[0], expected, atol=1e-9, rtol=0)


def test_a_decoders_only_word_leaves_the_empty_text(tmp_path):
    subject = tiny_subject(tmp_path, "gpt2")
    (batch,) = subject.batches(random_examples(3, longest=1), 4)
    assert batch.mask.shape[1] >= 1
    assert torch.isfinite(leave_one_out(subject.model, batch, predicted_probability).scores).all()


@pytest.mark.parametrize("hide", ["mask", "pad", "delete"])
def test_occlusion_is_the_drop_of_what_is_explained(hide):
    examples = random_examples(6)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = Occlusion(hide)(model, batch, scalar)
    expected = torch.zeros_like(ours.scores)
    for row, place in batch.words.nonzero().tolist():
        text = alone(batch, row)
        if hide == "delete":
            edited = without_token(text, torch.tensor([place]))
        else:
            ids = text.token_ids.clone()
            ids[0, place] = model.mask_id if hide == "mask" else model.pad_id
            edited = dataclasses.replace(text, token_ids=ids)
        expected[row, place] = scalar(model, model.predict(text), text) - scalar(model, model.predict(edited), edited)
    torch.testing.assert_close(ours.scores, expected)
    assert ours.signed
    assert float(ours.scores.min()) < 0 < float(ours.scores.max())


def test_a_way_of_hiding_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"^hide='blank' is not one of mask, pad, delete\.$"):
        Occlusion("blank")
