"""Networks that can be run by token ids alone: the same output as the network's own, and methods that need no more."""

from __future__ import annotations

import pytest
import torch
import transformers
from transformers import CanineTokenizer, MvpConfig, PerceiverTokenizer, XmodConfig

from heatcheck.batch import Example
from heatcheck.errors import InputError
from heatcheck.experiments.explained import usable
from heatcheck.experiments.randomisation import RandomisationConfig, randomisation, stages
from heatcheck.explain import EXPLAINERS, audited
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models import entrance
from heatcheck.models.by_ids import HuggingFacePredictor
from heatcheck.models.finetune import check_learns
from heatcheck.models.given import subject_of
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.protocols import Classifier, Predictor
from heatcheck.models.quiet import quietly
from heatcheck.testing import check_explainer, check_model
from tests.tiny import (
    BY_IDS,
    OF_BART,
    OF_REFORMER,
    OTHERS,
    SIZES,
    VOCABULARY,
    tiny_folder,
    tiny_subject,
    tiny_tokenizer,
)
from tests.toys import random_examples

LEFT_OUT = "cannot be entered at its word embeddings: methods that need gradients or attention are left out ("


@pytest.fixture(params=BY_IDS)
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
            alone = subject.model.network(**subject.reader.tokenizer(*texts, return_tensors="pt")).logits[0]
            torch.testing.assert_close(together[row], alone, atol=1e-5, rtol=1e-4)
    assert isinstance(subject.model, Predictor)
    assert not isinstance(subject.model, Classifier)
    assert subject.model.side == ("none" if family in ("canine", "reformer") else "right")
    assert any(note.startswith(f"{type(subject.model.network).__name__} {LEFT_OUT}") for note in subject.notes)


def test_company_order_and_padding_do_not_matter(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    check_model(subject)
    check_model(subject.model)  # knows its words, so texts are made up


def test_explainers_keep_the_rules_on_it(tmp_path, family):
    if family == "ibert":
        pytest.skip("in training it keeps the range of its activations, as a batch norm would")
    subject = tiny_subject(tmp_path, family)
    for name in ("leave_one_out", "lime(samples=20)"):
        check_explainer(name, subject, [Example("one", "good film", 0), Example("two", "a sad film", 0, "not fun")])


def test_methods_that_need_no_more_explain_it_and_others_refuse(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches(random_examples(3), 4)
    scalar = probability_of_prediction(subject.model, batch)
    for name in ("lime(samples=20)", "kernel_shap(samples=20)", "leave_one_out", "occlusion"):
        scores = usable(subject, name).explain(subject.model, batch, scalar).scores
        assert scores.isfinite().all()
        assert scores.abs().sum() > 0
    assert audited(subject.model) == ("lime(samples=300)", "leave_one_out")
    for name, needed in (
        ("gradient", "that can be entered at its word embeddings"),
        ("rollout", "shows its attention"),
    ):
        with pytest.raises(InputError, match=rf"{name} needs .*{needed}, which {family} is not"):
            usable(subject, name)


def test_weights_are_drawn_anew_in_stages(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    found = stages(subject.model)
    assert sorted(n for names in found.values() for n in names) == sorted(
        n for n, _ in subject.model.named_parameters()
    )
    config = RandomisationConfig(("leave_one_out",))
    scores = list(randomisation(subject, random_examples(2), config, generator=torch.Generator().manual_seed(0)))
    assert {score.setting for score in scores} == set(found) >= {"head", "layer 1", "layer 2", "embeddings"}


def test_a_long_text_is_the_mean_of_its_windows(tmp_path):
    subject = tiny_subject(tmp_path, "ibert", max_length=12, windows=True)
    (batch,) = subject.batches([Example("long", "good bad film fun not the a sad " * 2, 0)], 1)
    windows = subject.model.windows(batch)
    with torch.no_grad():
        pieces = [place[inside] for place, inside in zip(windows.place, windows.mask, strict=True)]
        parts = [subject.model.network(input_ids=batch.token_ids[:1, piece]).logits for piece in pieces]
        torch.testing.assert_close(subject.model.predict(batch), torch.stack(parts).mean(0), atol=1e-5, rtol=1e-4)
    assert len(parts) > 1


def test_a_text_that_is_too_short_for_a_network_gets_padding(tmp_path):
    """CANINE makes one position of four characters, and says nothing of three."""
    subject = tiny_subject(tmp_path, "canine")
    assert subject.model.shortest == 4
    (batch,) = subject.batches([Example("x", "good", 0)], 1)
    assert batch.mask.sum() == 3
    network, ids = subject.model.network, batch.token_ids
    with torch.no_grad():
        with pytest.raises(RuntimeError):
            network(input_ids=ids)
        padded = network(
            input_ids=torch.cat([ids, ids.new_zeros(1, 1)], 1), attention_mask=torch.tensor([[1, 1, 1, 0]])
        )
        torch.testing.assert_close(subject.model.predict(batch), padded.logits)


def test_a_network_that_draws_as_it_reads_draws_the_same_each_time(tmp_path, monkeypatch):
    monkeypatch.setitem(OTHERS, "by chance", ("ReformerConfig", OF_REFORMER))
    subject = tiny_subject(tmp_path, "by chance")
    (batch,) = subject.batches(random_examples(4, longest=30), 4)
    with torch.no_grad():
        free = [subject.model.network(input_ids=batch.token_ids[:1]).logits for _ in range(5)]
        assert any(not torch.equal(free[0], other) for other in free)
        before = torch.get_rng_state()
        assert torch.equal(subject.model.predict(batch), subject.model.predict(batch))
        assert torch.equal(torch.get_rng_state(), before)
    assert any("draws random numbers as it reads: here the same ones each time" in note for note in subject.notes)
    assert not any("draws" in note for note in tiny_subject(tmp_path, "esm").notes)


def test_a_model_of_several_languages_has_to_say_which(tmp_path, monkeypatch):
    several = {**SIZES, "languages": ["en_XX", "de_DE"]}
    monkeypatch.setitem(OTHERS, "xmod", ("XmodConfig", {**several, "default_language": "de_DE"}))
    assert isinstance(tiny_subject(tmp_path / "a", "xmod").model, HuggingFaceClassifier)
    config = XmodConfig(**several, vocab_size=len(VOCABULARY), pad_token_id=0)
    network = transformers.XmodForSequenceClassification(config)
    with pytest.raises(
        InputError, match=r"which of its languages \(en_XX, de_DE\) is to be read\. Set default_language"
    ):
        subject_of((network, tiny_tokenizer("roberta")))


def test_an_encoder_decoder_is_not_run_by_ids(monkeypatch):
    """By ids it would want equally many ends in all texts. Here it says something else of embeddings."""
    config = MvpConfig(**OF_BART, decoder_start_token_id=3, vocab_size=len(VOCABULARY), pad_token_id=0)
    network = transformers.MvpForSequenceClassification(config)
    monkeypatch.setattr(entrance, "scale", lambda half: 1.0)
    with pytest.raises(InputError, match=r"MvpFor\w+, an encoder-decoder, cannot be entered at .* black box"):
        subject_of((network, tiny_tokenizer("bart")))


def test_mvp_is_entered_behind_the_scale_of_its_embeddings(tmp_path, monkeypatch):
    monkeypatch.setitem(OTHERS, "mvp", ("MvpConfig", {**OF_BART, "decoder_start_token_id": 3}))
    subject = tiny_subject(tmp_path, "mvp", ("a", "b", "c"))
    assert isinstance(subject.model, HuggingFaceClassifier)
    example = Example("one", "good film not sad", 0)
    (batch,) = subject.batches([example], 1)
    with torch.no_grad():
        own = subject.model.network(input_ids=batch.token_ids).logits
        torch.testing.assert_close(subject.model.predict(batch), own)
    check_model(subject)
    found = EXPLAINERS["deep_lift"].explain(subject.model, batch, probability_of_prediction(subject.model, batch))
    assert float(found.delta) < 1e-3


def test_a_loaded_model_comes_back_as_it_was(tmp_path):
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tiny_folder(tmp_path, "ibert")).train()
    subject = subject_of((network, tiny_tokenizer("ibert")))
    assert isinstance(subject.model, HuggingFacePredictor)
    assert network.training


@pytest.mark.parametrize(("family", "tokenizer"), [("canine", CanineTokenizer), ("perceiver", PerceiverTokenizer)])
def test_their_own_tokenizers_do_not_say_which_characters_a_token_stands_for(tmp_path, heatcheck, family, tokenizer):
    with quietly():
        folder = tiny_folder(tmp_path / family, family)
    for file in folder.glob("*token*"):
        file.unlink()
    tokenizer().save_pretrained(folder)
    code, out, err = heatcheck("explain", "good film", "--model", folder, "--method", "lime")
    assert (code, out) == (2, "")
    assert err == (
        f"heatcheck: {folder}: its tokenizer ({tokenizer.__name__}) does not say which characters a token stands for. "
        "Save a fast tokenizer (tokenizer.json) beside the model.\n"
    )


def test_commands(tmp_path, heatcheck):
    model = tiny_folder(tmp_path / "esm", "esm")
    code, out, err = heatcheck("explain", "a good film", "--model", model, "--method", "lime(samples=20),leave_one_out")
    assert code == 0
    assert f"note: EsmForSequenceClassification {LEFT_OUT}" in " ".join(err.split())
    assert "\nLIME (samples=20)\n" in out
    assert "\nLeave-one-out\n" in out
    code, _, err = heatcheck("explain", "a good film", "--model", model, "--method", "saliency")
    assert code == 2
    assert "saliency needs a model that can be entered at its word embeddings, which esm is not" in err
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\ngood film,positive\nbad film,negative\na sad act,negative\nfun not bad,positive\n")
    code, out, err = heatcheck("audit", "--model", model, "--data", texts, "--out", tmp_path / "run")
    assert code == 0, err
    assert f"note: EsmForSequenceClassification {LEFT_OUT}" in " ".join(err.split())
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_lack_of_memory_is_not_taken_for_a_network_without_embeddings(tmp_path, monkeypatch):
    def full(self):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(HuggingFaceClassifier, "check_entrance", full)
    with pytest.raises(InputError, match="BertForSequenceClassification does not fit into memory"):
        tiny_subject(tmp_path)


def test_a_lack_of_memory_is_not_taken_for_a_dislike_of_padding(tmp_path, monkeypatch):
    run = HuggingFaceClassifier._run

    def cramped(self, inputs, **more):
        if not bool(inputs.mask.all()):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return run(self, inputs, **more)

    monkeypatch.setattr(HuggingFaceClassifier, "_run", cramped)
    with pytest.raises(InputError, match="does not fit into memory"):
        tiny_subject(tmp_path)


def test_trying_whether_a_network_learns_leaves_nothing_on_it(tmp_path):
    model = tiny_subject(tmp_path, "ibert").model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    check_learns(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())
