"""Fine-tuning: it learns, resumes to the same weights, and its folder loads in transformers and here."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
import torch

from heatcheck.batch import Example
from heatcheck.data.dataset import Dataset
from heatcheck.errors import InputError
from heatcheck.models import finetune
from heatcheck.models.finetune import FINE_TUNING, fine_tune
from heatcheck.models.fit import Epoch, Recipe, soonest_end
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import predict, selection_score
from heatcheck.models.training import train
from heatcheck.models.uniform import uniform_attention
from tests.tiny import ENCODER_DECODERS, FAMILIES, UNPADDED, tiny_folder

ZERO_WIDTH = Example("zero", "\u200b", 0)
RECIPE = replace(FINE_TUNING, epochs=4, learning_rate=2e-3, batch_size=16)


def reviews(n: int, seed: int) -> list[Example]:
    """`good` and `fun` are positive, `bad` and `sad` negative, the rest says nothing."""
    rng = random.Random(seed)
    words = {0: ["bad", "sad"], 1: ["good", "fun"]}
    return [
        Example(f"{seed}-{i}", " ".join(rng.sample(["the", "film", "a", "act", rng.choice(words[i % 2])], 5)), i % 2)
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def data():
    splits = {name: reviews(n, i) for i, (name, n) in enumerate({"train": 128, "dev": 32, "test": 64}.items())}
    return Dataset("toy", "single", ("no", "yes"), splits)


def accuracy(subject, examples) -> float:
    probs, labels = predict(subject, subject.rows(examples))
    return float((probs.argmax(1) == labels).mean())


@pytest.mark.parametrize("family", ["bert", "bart", "t5", "fnet", "ibert"])
def test_it_learns_and_its_folder_gives_the_same_outputs(tmp_path, data, family):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body", family, ("x", "y", "z"))))
    subject = fine_tune(data, spec, RECIPE, seed=0)
    assert selection_score(subject, subject.rows(data.splits["test"])) > 0.9
    finetune.save(subject, tmp_path / "tuned")
    loaded = load_subject(TransformerSpec(str(tmp_path / "tuned")))
    assert loaded.labels == ("no", "yes")
    assert (loaded.seen, loaded.history, loaded.recipe) == (subject.seen, subject.history, RECIPE)
    (batch,) = loaded.batches(data.splits["test"][:8], 8)
    torch.testing.assert_close(loaded.model.predict(batch), subject.model.predict(batch))


@pytest.mark.parametrize("family", [*FAMILIES, *ENCODER_DECODERS, *UNPADDED])
def test_a_head_for_as_many_classes_is_dropped_too(tmp_path, data, family):
    spec = TransformerSpec(str(tiny_folder(tmp_path, family)))  # two classes, as the data
    own = load_subject(spec).model.network
    one, again, other = (finetune.new_head(data, spec, seed=s, device="cpu").model.network for s in (1, 1, 2))
    for (name, old), *new in zip(own.named_parameters(), *(n.parameters() for n in (one, again, other)), strict=True):
        drawn = not name.startswith(f"{own.base_model_prefix}.") and old.dim() > 1
        assert torch.equal(new[0], new[1])
        assert torch.equal(new[0], old) != drawn
        assert torch.equal(new[0], new[2]) != drawn


def test_a_network_that_does_not_learn_from_texts_as_they_are_is_refused(tmp_path, data):
    """In training, Reformer pads nothing by itself."""
    spec = TransformerSpec(str(tiny_folder(tmp_path, "reformer")))
    before = torch.get_rng_state()
    with pytest.raises(
        InputError, match=r"ReformerFor\w+ cannot be trained on texts as they are \(.* multiple of .*\)\. Fine-tune it"
    ):
        fine_tune(data, spec, RECIPE, seed=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_training_text_without_a_token_is_refused(tmp_path, data):
    blank = Dataset("toy", "single", data.labels, {**data.splits, "train": [*data.splits["train"], ZERO_WIDTH]})
    with pytest.raises(InputError, match=r"toy: 1 of 161 training texts have no word .* \(first: 'zero'\)\. Remove"):
        fine_tune(blank, TransformerSpec(str(tiny_folder(tmp_path, "gpt2"))), RECIPE, seed=0)


def test_training_texts_that_were_cut_are_noted_and_the_note_is_kept(tmp_path, data):
    folder = str(tiny_folder(tmp_path / "body"))
    few = {"train": data.splits["train"][:16], "dev": data.splits["dev"][:8]}
    longer = [replace(e, text=f"{e.text} " * 9) for e in few["train"][:3]]
    cut = replace(data, splits={**few, "train": [*longer, *few["train"][3:]]})
    once = replace(RECIPE, epochs=1)
    subject = fine_tune(cut, TransformerSpec(folder, max_length=16), once, seed=0)
    note = "3 of 24 training texts have more words, or a longer one, than the model takes: cut."
    assert subject.notes == (note,)
    finetune.save(subject, tmp_path / "tuned")
    assert load_subject(TransformerSpec(str(tmp_path / "tuned"))).notes == (note,)
    assert fine_tune(cut, TransformerSpec(folder, max_length=16, windows=True), once, seed=0).notes == ()
    file = tmp_path / "tuned" / "heatcheck.json"
    known = json.loads(file.read_text())
    del known["notes"]  # as those written before
    file.write_text(json.dumps(known))
    assert load_subject(TransformerSpec(str(tmp_path / "tuned"))).notes == ()


def test_a_killed_training_resumes_to_the_same_weights(tmp_path, data):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body")))
    whole = fine_tune(data, spec, replace(RECIPE, epochs=3), seed=1)
    half = replace(RECIPE, epochs=1)
    fine_tune(data, spec, half, seed=1, resume=tmp_path / "state")
    resumed = fine_tune(data, spec, replace(RECIPE, epochs=3), seed=1, resume=tmp_path / "state")
    for name, value in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], value, atol=0, rtol=0)


def test_products_of_half_the_digits_train_weights_of_all_of_them(tmp_path, data):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body")))
    exact, rounded = (fine_tune(data, spec, replace(RECIPE, precision=p), seed=0) for p in ("float32", "bfloat16"))
    assert {p.dtype for p in rounded.model.parameters()} == {torch.float32}
    assert accuracy(rounded, data.splits["test"]) > 0.9
    assert 0 < abs(exact.history[0].loss - rounded.history[0].loss) < 0.02


def test_precision_is_of_fine_tuning_and_one_of_two(data):
    with pytest.raises(InputError, match=r"precision 'float16' is not one of float32, bfloat16\."):
        replace(FINE_TUNING, precision="float16")
    with pytest.raises(InputError, match="precision bfloat16 is for fine-tuning; our models"):
        train(data, ModelSpec(), Recipe(precision="bfloat16", vectors="none"), seed=0)


def test_training_stops_early_where_it_does_not_get_better(tmp_path, data):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body")))
    still = replace(FINE_TUNING, learning_rate=1e-20, batch_size=16)
    assert [e.number for e in fine_tune(data, spec, still, seed=0).history] == [1, 2]
    assert still.epochs > 2


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "electra", "albert", "gpt2", "llama"])
def test_uniform_attention_is_equal_weights_on_what_a_token_may_see(tmp_path, data, family):
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body", family)), uniform=True)
    subject = load_subject(spec)
    (batch,) = subject.batches(data.splits["test"][:4], 4)
    _, maps = subject.model.logits_and_maps(subject.model.embed(batch), batch)
    length = int(batch.mask[0].sum())
    if family in ("gpt2", "llama"):
        expected = torch.tril(torch.ones(length, length))
        expected = expected / expected.sum(-1, keepdim=True)
    else:
        expected = torch.full((length, length), 1 / length)
    torch.testing.assert_close(maps[0, 0, 0, :length, :length], expected)
    torch.testing.assert_close(maps[0, -1, -1, :length, :length], expected)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_uniform_attention_mixes_each_head_s_values_alike(groups, training):
    query, value = torch.randn(2, 4, 5, 3), torch.randn(2, groups, 5, 3)
    mask = torch.zeros(2, 1, 5, 5)
    mask[1, ..., 3:] = -1e30  # two tokens of padding
    mixed, weights = uniform_attention(torch.nn.Module().train(training), query, value, value, mask)
    for text, length in enumerate((5, 3)):
        for head in range(4):
            mean = value[text, head * groups // 4, :length].mean(0)
            torch.testing.assert_close(mixed[text, :, head], mean.expand(5, -1))
    assert weights.shape == (2, 4, 5, 5)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_uniform_attention_trains_in_bfloat16_with_padding(tmp_path, data, family):
    """A decoder's padding stands in front and may look at nothing: its row of the mask has no largest number."""
    mixed = [replace(e, text=e.text + " film" * (i % 3)) for i, e in enumerate(data.splits["train"])]
    uneven = replace(data, splits={**data.splits, "train": mixed})
    spec = TransformerSpec(str(tiny_folder(tmp_path / "body", family)), uniform=True)
    history = fine_tune(uneven, spec, replace(RECIPE, epochs=1, precision="bfloat16"), seed=0).history
    assert 0 < history[0].loss < 2


def test_uniform_attention_is_refused_where_it_cannot_be_imposed(tmp_path):
    with pytest.raises(InputError, match="attention of its own"):
        load_subject(TransformerSpec(str(tiny_folder(tmp_path / "x", "xlnet")), uniform=True))


def test_training_stops_when_it_does_not_improve():
    history = [Epoch(i + 1, 1.0, score) for i, score in enumerate((0.5, 0.8, 0.7, 0.8))]
    ends = [soonest_end(history[:n], Recipe(patience=2, first_eligible_epoch=1)) for n in range(1, 5)]
    assert ends == [3, 4, 4, 4]  # equal is not better
    assert soonest_end(history, Recipe()) == Recipe().epochs
