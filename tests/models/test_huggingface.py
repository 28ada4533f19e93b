"""Every family: ids and embeddings give the same output, padding and order do not matter, maps are in place."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, models, processors
from transformers import AutoModelForSequenceClassification, BertConfig, PreTrainedTokenizerFast, T5GemmaConfig

from heatcheck.batch import PAIR, Example, keep_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.experiments.erasing.reading import read
from heatcheck.experiments.performance import PerformanceConfig, performance
from heatcheck.explain import method
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models.entrance import embedded, last_end, where_to_read
from heatcheck.models.given import subject_of
from heatcheck.models.huggingface import HuggingFaceClassifier, last_states, padded_maps
from heatcheck.models.network import same_output
from heatcheck.models.protocols import AttentiveClassifier, TransformerClassifier
from tests.explain.families import hooks
from tests.tiny import (
    DECODERS,
    ENCODER_DECODERS,
    FAMILIES,
    MARKS,
    OTHERS,
    SIZES,
    UNPADDED,
    VOCABULARY,
    tiny_subject,
    tiny_tokenizer,
)
from tests.toys import WORDS, random_examples


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def tokenizer_of(monkeypatch):
    """Another tokenizer than the family's own, for the models made after it."""

    def change(family, **changes):
        made = tiny_tokenizer(family)
        for name, value in changes.items():
            setattr(made, name, value)
        monkeypatch.setattr("tests.tiny.tiny_tokenizer", lambda _: made)

    return change


@pytest.mark.parametrize("family", [*FAMILIES, *ENCODER_DECODERS, *UNPADDED])
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


def test_maps_of_a_network_that_refuses_another_attention_are_those_that_it_used(tmp_path, monkeypatch, caplog):
    """Asked for weights in the attention that it has, Falcon would let every token look ahead."""
    monkeypatch.setitem(OTHERS, "falcon", ("FalconConfig", {**SIZES, "bos_token_id": 2, "eos_token_id": 3}))
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)  # to caplog
    model = (subject := tiny_subject(tmp_path, "falcon")).model
    (batch,) = subject.batches(random_examples(5), 8)
    with torch.no_grad():
        logits, maps = model.logits_and_maps(model.embed(batch), batch)
        torch.testing.assert_close(logits, model.predict(batch), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(maps.sum(-1), batch.mask[:, None, None].expand(maps.shape[:-1]).float())
    assert float(maps.triu(1).abs().max()) == 0
    assert model.network.config._attn_implementation == "sdpa"
    assert "does not support" not in caplog.text


def test_maps_of_a_model_in_training_are_those_before_dropout(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches(random_examples(5), 8)
    subject.model.train()
    maps = subject.model.logits_and_maps(subject.model.embed(batch), batch)[1]
    expected = batch.mask[:, None, None].expand(maps.shape[:-1]).float()
    torch.testing.assert_close(maps.sum(-1), expected, atol=1e-5, rtol=1e-5)
    assert maps.requires_grad


@pytest.mark.parametrize("family", [*FAMILIES, *ENCODER_DECODERS, *UNPADDED])
def test_where_padding_belongs_is_found_by_trying(tmp_path, family):
    subject = tiny_subject(tmp_path, family)
    expected = {**dict.fromkeys((*DECODERS, "xlnet"), "left"), **dict.fromkeys(UNPADDED, "none")}
    assert subject.model.side == expected.get(family, "right")
    assert subject.model.reads_one
    slow = [note for note in subject.notes if "texts are run in groups of one length, which takes longer" in note]
    assert len(slow) == (family in UNPADDED)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_model_that_reads_all_states_has_no_row_of_attention(tmp_path, monkeypatch, pooling):
    marks = {"cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}
    monkeypatch.setitem(OTHERS, "modernbert", ("ModernBertConfig", {**SIZES, **marks, "classifier_pooling": pooling}))
    subject = tiny_subject(tmp_path, "modernbert")
    assert subject.model.reads_one == (pooling == "cls")
    (batch,) = subject.batches(random_examples(3, longest=6), 3)
    with last_states(subject.model.network) as states:
        subject.model.predict(batch)
    first = states[0][0, : int(batch.mask[0].sum())]
    expected = first[0] if pooling == "cls" else first.mean(0)
    torch.testing.assert_close(read(subject.model, batch).vector[0], expected, atol=1e-5, rtol=1e-4)
    scalar = probability_of_prediction(subject.model, batch)
    for name in ("attention", "rollout", "flow", "attention_x_gradient", "value_zeroing"):
        if pooling == "cls":
            assert method(name).explain(subject.model, batch, scalar).scores.isfinite().all()
        else:
            with pytest.raises(InputError, match="decides from the states of all tokens"):
                method(name).explain(subject.model, batch, scalar)
    assert method("gradient").explain(subject.model, batch, scalar).scores.abs().sum() > 0


def test_an_output_that_is_no_number_is_named(tmp_path):
    subject = tiny_subject(tmp_path)
    texts = [Example("well", "a good film", 0), Example("ill", "a sad film", 0)]
    with torch.no_grad():
        subject.model.network.get_input_embeddings().weight[VOCABULARY.index("sad")] = float("nan")
    (batch,) = subject.batches(texts, 2)
    with pytest.raises(InputError, match="output for the text 'ill' is not finite"):
        probability_of_prediction(subject.model, batch)
    with pytest.raises(InputError, match="'ill' is not finite"):
        list(performance(subject, texts, PerformanceConfig(), generator=torch.Generator()))


@pytest.mark.parametrize("name", ["bert", "gpt2", "convbert"])
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


def test_a_model_that_padding_does_not_touch_is_padded_on_the_right(tmp_path):
    """Rounding must not decide: a network that reads the mean of its tokens is the same from both sides."""
    subject = tiny_subject(tmp_path, "bert")
    network = subject.model.network
    network.bert.pooler = None
    forward = network.bert.forward

    def mean_of_tokens(*args, attention_mask, position_ids=None, **more):
        found = forward(*args, attention_mask=attention_mask, position_ids=position_ids, **more)
        inside = attention_mask[..., None].to(found[0])
        mean = (found[0] * inside).sum(1) / inside.sum(1)
        return (found[0], mean * (1 + 1e-7 * attention_mask.shape[1]))  # rounding, larger than it is

    network.bert.forward = mean_of_tokens
    all_seen = torch.ones(1, 3)
    network.forward = lambda attention_mask=all_seen, **text: SimpleNamespace(
        logits=network.classifier(mean_of_tokens(attention_mask=attention_mask, **text)[1])
    )
    assert tried_again(subject).side == "right"


def tried_again(subject):
    settings = {name: getattr(subject.model, name) for name in ("pad_id", "mask_id", "max_length", "ordinary_ids")}
    return HuggingFaceClassifier(subject.model.network, types=None, **settings)


def test_a_model_whose_texts_change_one_another_is_refused(tmp_path):
    subject = tiny_subject(tmp_path, "fnet")
    subject.model.network.classifier.register_forward_hook(lambda module, inputs, output: output - output.mean())
    with pytest.raises(InputError, match=r"FNet\w+ gives another output for a text beside another one, .* black box"):
        tried_again(subject)


def test_a_model_that_leaves_words_unread_is_refused(tmp_path):
    """As MRA does where there is no GPU: nothing comes out of its attention, and [CLS] alone is classified."""
    network = tiny_subject(tmp_path).model.network
    with torch.no_grad():
        for layer in network.bert.encoder.layer:
            layer.attention.output.dense.weight.zero_()
    with pytest.raises(InputError, match=r"^BertForSequenceClassification says the same whatever words stand in a"):
        subject_of((network, tiny_tokenizer("bert")))


def test_a_model_that_says_something_else_of_embeddings_is_refused(tmp_path):
    subject = tiny_subject(tmp_path)
    table = subject.model.network.get_input_embeddings()
    subject.model.network.bert.embeddings.word_embeddings = torch.nn.Sequential(table, torch.nn.LayerNorm(32))
    subject.model.network.get_input_embeddings = lambda: table
    with pytest.raises(InputError, match=r"BertFor\w+ says something else when it is entered at .* black box"):
        tried_again(subject)


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_an_encoder_decoder_says_of_embeddings_what_it_says_of_ids(tmp_path, family):
    """In double precision, also beside a text with other marks and with <eos> among its words."""
    subject = tiny_subject(tmp_path, family)
    model = subject.model.double()
    (batch,) = subject.batches([Example("x", "good film", 0), Example("y", "a sad [SEP] film", 0, "bad act")], 2)
    for row, logits in enumerate(model.predict(batch)):
        own = model.network(input_ids=batch.token_ids[row : row + 1, batch.mask[row]]).logits[0]
        torch.testing.assert_close(logits, own, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_the_slope_along_an_embedding_goes_through_both_halves(tmp_path, family):
    """It is what the network's output gains when the word's row in its table moves, which both halves read."""
    subject = tiny_subject(tmp_path, family)
    model, word = subject.model.double(), VOCABULARY.index("film")
    (batch,) = subject.batches([Example("x", "good film", 0)], 1)
    embeddings = model.embed(batch).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(model.logits(embeddings, batch)[0, 0], embeddings)
    table = model.network.get_input_embeddings()
    step = 1e-3 * torch.linspace(-1, 1, 32, dtype=torch.double)
    ends = []
    with torch.no_grad():
        for move in (-step, 2 * step):
            table.weight[word] += move
            ends.append((model.embed(batch), model.network(input_ids=batch.token_ids).logits[0, 0]))
    (low, before), (high, after) = ends
    torch.testing.assert_close((slopes * (high - low)).sum(), after - before, atol=1e-12, rtol=1e-2)
    assert (after - before).abs() > 1e-6


def test_the_hooks_of_an_encoder_decoder_are_gone_after_an_error(tmp_path):
    subject = tiny_subject(tmp_path, "bart")
    (batch,) = subject.batches([Example("x", "good film", 0)], 1)
    with pytest.raises(RuntimeError):
        subject.model.logits(subject.model.embed(batch)[..., :7], batch)
    assert not hooks(subject.model.network)


def test_an_encoder_decoder_whose_tokenizer_sets_no_end_is_refused(tmp_path, monkeypatch):
    made = tiny_tokenizer("bart")
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A $B", special_tokens=[("[CLS]", 2)]
    )
    monkeypatch.setattr("tests.tiny.tiny_tokenizer", lambda _: made)
    with pytest.raises(
        InputError, match=r"BartFor\w+ reads its class at the token 3 behind a text, which its tokenizer"
    ):
        tiny_subject(tmp_path, "bart")


def test_an_encoder_decoder_whose_config_names_no_end_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"BartFor\w+ cannot be entered at its word embeddings .* black box"):
        tiny_subject(tmp_path, "bart", eos_token_id=None)


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_an_encoder_decoder_reads_a_text_of_which_nothing_is_left(tmp_path, family):
    """And a text without its <eos> is read at its last token, as if that were one."""
    subject = tiny_subject(tmp_path, family)
    (batch,) = subject.batches([Example("x", "good film", 0)], 1)
    for keep in (torch.zeros_like(batch.mask), batch.mask & (batch.token_ids != 3)):
        edited = keep_tokens(batch, keep)
        inputs = subject.model.inputs(subject.model.embed(edited), edited, None)
        assert where_to_read(subject.model.network.config, inputs)[0].tolist().count(3) == 1
        assert int(last_end(subject.model.network.config, inputs)) == max(int(edited.mask.sum()) - 1, 0)
        assert subject.model.predict(edited).isfinite().all()


@pytest.mark.parametrize("end", [3, [4, 3], None])
@pytest.mark.parametrize("marks", ["t5", "gpt2"])
def test_t5gemma_is_read_at_its_last_token(end, marks):
    """Its config may name several ends or none, and its tokenizer sets none: the last token is read, whatever it is."""
    sizes = SIZES | {"vocab_size": len(VOCABULARY), "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 0}
    config = T5GemmaConfig(encoder=sizes, decoder=sizes, vocab_size=len(VOCABULARY), eos_token_id=end, pad_token_id=0)
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(config).eval()
    subject = subject_of((network, tiny_tokenizer(marks)))
    examples = [Example("x", "good film", 0), Example("y", "a sad film", 0)]
    (batch,) = subject.batches(examples, 2)
    found = read(subject.model, batch)
    for row in range(2):
        with torch.no_grad(), last_states(network) as seen:
            own = network(input_ids=batch.token_ids[row : row + 1, batch.mask[row]]).logits[0]
        torch.testing.assert_close(found.probs[row], own.softmax(-1))
        torch.testing.assert_close(found.vector[row], seen[0][0, -1])


def test_a_tokenizer_of_two_words_is_enough():
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*MARKS, "good", "bad"])}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    network = AutoModelForSequenceClassification.from_config(BertConfig(**SIZES, vocab_size=7))
    assert subject_of((network, tokenizer)).model.side == "right"


def test_an_output_that_padding_makes_no_number_is_another_one():
    number, none = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, torch.nan]])
    assert same_output(number, number + 1e-5)
    assert not same_output(number, number + 1e-2)
    assert not same_output(number, none)
    assert same_output(none, none)  # said of its predictions, not here


def test_what_is_long_enough_is_not_copied(tmp_path):
    model = tiny_subject(tmp_path).model
    maps, table = torch.ones(1, 1, 1, 2, 2), model.network.get_input_embeddings()
    assert padded_maps(maps, 2) is maps
    assert padded_maps(maps, 3).sum(-1)[0, 0, 0].tolist() == [2, 2, 0]
    ids = torch.tensor([[2, 3]])
    assert embedded(model.network, ids).grad_fn.name() == table(ids).grad_fn.name()


def test_longformer_is_entered_and_says_that_it_has_no_maps(tmp_path):
    subject = tiny_subject(tmp_path, "longformer")
    (batch,) = subject.batches(random_examples(4, longest=9), 8)
    with torch.no_grad():
        for row, logits in enumerate(subject.model.predict(batch)):
            inside = batch.mask[row]
            alone = subject.model.network(input_ids=batch.token_ids[row, inside][None]).logits[0]
            torch.testing.assert_close(logits, alone, atol=1e-5, rtol=1e-4)
    scalar = probability_of_prediction(subject.model, batch)
    assert method("gradient").explain(subject.model, batch, scalar).scores.isfinite().all()
    for name in ("attention", "rollout", "attention_x_gradient", "value_zeroing"):
        with pytest.raises(InputError, match=r"does not let every token attend|cannot follow the attention of Long"):
            method(name).explain(subject.model, batch, scalar)


@pytest.mark.parametrize("family", ["bert", "roberta", "longformer", "mpnet", "gpt2", "electra"])
def test_as_many_tokens_as_fit_are_read_and_no_more(tmp_path, family, tokenizer_of):
    tokenizer_of(family, model_max_length=10**9)
    shifted = family in ("roberta", "longformer", "mpnet")  # two positions are never used
    subject = tiny_subject(tmp_path, family, max_position_embeddings=22 if shifted else 20, pad_token_id=1)
    assert subject.model.max_length == 20
    (batch,) = subject.batches([Example("long", "good " * 50, 0)], 1)
    assert batch.mask.sum() == subject.model.max_length
    with torch.no_grad():
        assert subject.model.predict(batch).isfinite().all()
        ids = torch.full((1, subject.model.max_length + 1), 7)
        with pytest.raises((IndexError, RuntimeError)):
            subject.model.network(input_ids=ids)


def test_the_two_texts_are_told_apart_even_where_their_token_types_are_not(tmp_path, tokenizer_of):
    """XLNet's last mark has a type of its own, and some tokenizers give both texts the same type."""
    tokenizer_of("xlnet")
    subject = tiny_subject(tmp_path / "a", "xlnet")
    (batch,) = subject.batches([Example("x", "good film", 0, "not bad")], 1)
    assert batch.segments.tolist() == [[0, 0, 0, 1, 1, 1, 1]]
    assert subject.model.types(batch).tolist() == [[0, 0, 0, 1, 1, 1, 2]]
    tokenizer_of("gpt2", model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    subject = tiny_subject(tmp_path / "b", "gpt2")
    (batch,) = subject.batches([Example("x", "good film", 0, "not bad")], 1)
    assert (batch.segments == PAIR).tolist() == [[False, False, True, True]]
    given = subject.reader.tokenizer("good film", "not bad", return_tensors="pt")
    assert subject.model.types(batch).tolist() == given["token_type_ids"].tolist()
    with torch.no_grad():
        expected = subject.model.network(**given).logits
        torch.testing.assert_close(subject.model.predict(batch), expected, atol=1e-5, rtol=1e-4)


def test_token_types_that_the_network_does_not_take_are_not_given(tmp_path, tokenizer_of):
    for family in ("roberta", "distilbert", "deberta"):
        tokenizer_of("bert")
        more = {"type_vocab_size": 1} if family == "roberta" else {}
        subject = tiny_subject(tmp_path, family, **more)
        assert subject.model.types is None
        (batch,) = subject.batches([Example("x", "good film", 0, "not bad")], 1)
        assert subject.model.predict(batch).isfinite().all()


def test_offsets_are_the_characters_of_each_token(tmp_path):
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


def test_where_memory_runs_out_fewer_texts_are_read_at_once(tmp_path, monkeypatch):
    subject = tiny_subject(tmp_path)
    model, room = subject.model, [10**9]
    forward = model.network.bert.encoder.forward

    def short_of_memory(hidden, *args, **more):
        if hidden.shape[0] * hidden.shape[1] > room[0]:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes.")
        return forward(hidden, *args, **more)

    monkeypatch.setattr(model.network.bert.encoder, "forward", short_of_memory)
    (batch,) = subject.batches(random_examples(9, longest=6), 9)
    with torch.no_grad():
        expected = model.predict(batch)
        room[0] = 2 * batch.mask.shape[1]
        torch.testing.assert_close(model.predict(batch), expected)
        room[0] = 1
        with pytest.raises(InputError, match=r"Text '\d' \(\d+ tokens\) does not fit into memory on its own"):
            model.predict(batch)


def test_an_empty_text_beside_a_second_that_fills_the_model_needs_no_window_of_its_own(tmp_path):
    subject = tiny_subject(tmp_path, max_length=7, windows=True)
    full = Example("full", "", 0, " ".join(WORDS[:4]))
    (batch,) = subject.batches([full, Example("long", " ".join(WORDS[:4] * 3), 0)], 2)
    alone = rows(batch, torch.tensor([batch.example_ids.index("full")]))
    assert int(alone.mask.sum()) == 7 < alone.mask.shape[1]
    with torch.no_grad():
        torch.testing.assert_close(subject.model.predict(alone), subject.model.predict(trim(alone)))
