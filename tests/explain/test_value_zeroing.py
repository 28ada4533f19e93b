"""Value zeroing against the definition as a plain loop, in which the value vectors themselves are zeroed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cosine_similarity
from transformers import OpenAIGPTConfig, OpenAIGPTForSequenceClassification

from heatcheck.batch import keep_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain import value_zeroing
from heatcheck.explain.types import predicted_probability
from heatcheck.explain.value_zeroing import ValueZeroing, mixing_maps
from heatcheck.models.given import subject_of
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.spec import ENCODERS
from tests.edits import join
from tests.explain.families import family_subject, hooks, texts_and_pairs, two_texts_compared
from tests.tiny import DECODERS, FAMILIES, VOCABULARY, tiny_subject, tiny_tokenizer
from tests.toys import linear_toy, random_examples, small_model, vocabulary_of

# Where each family keeps its layers, and in a layer what makes the values.
LAYERS = {
    "bert": ("bert.encoder.layer", "attention.self.value"),
    "distilbert": ("distilbert.transformer.layer", "attention.v_lin"),
    "roberta": ("roberta.encoder.layer", "attention.self.value"),
    "electra": ("electra.encoder.layer", "attention.self.value"),
    "deberta": ("deberta.encoder.layer", "attention.self.value_proj"),
    "albert": ("albert.encoder.albert_layer_groups.0.albert_layers", "attention.value"),
    "xlnet": ("transformer.layer", "rel_attn"),
    "gpt2": ("transformer.h", "attn.c_attn"),
    "llama": ("model.layers", "self_attn.v_proj"),
}


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def scores(model, batch):
    return ValueZeroing()(model, batch, predicted_probability).scores


def alone(batch, row):
    return trim(rows(batch, torch.tensor([row])))


def zeroed_outputs(model, family, batch, step, token):
    """What each use of a layer gives for one text, when in one of them `token` has no value."""
    path, values = LAYERS[family]
    layers = list(model.network.get_submodule(path))
    outputs, handles = [], []

    def hook_values(module, inputs, output):
        if len(outputs) != step or token is None:
            return output
        output = output.clone()
        first = 2 * output.shape[-1] // 3 if family == "gpt2" else 0  # query, key and value side by side
        output[:, token, first:] = 0
        return output

    def hook_layer(module, inputs, output):
        states = output[0] if isinstance(output, tuple | list) else output
        outputs.append(states[:, 0] if family == "xlnet" else states[0])

    for layer in layers:
        handles.append(layer.register_forward_hook(hook_layer))
        if family != "xlnet":
            handles.append(layer.get_submodule(values).register_forward_hook(hook_values))
    cores = {layer: layer.rel_attn.rel_attn_core for layer in layers} if family == "xlnet" else {}
    for layer, core in cores.items():

        def zeroing(query, key, value, *others, core=core, **named):
            value = value.clone()
            if len(outputs) == step and token is not None:
                value[token] = 0
            return core(query, key, value, *others, **named)

        layer.rel_attn.rel_attn_core = zeroing
    try:
        model.predict(batch)
    finally:
        for handle in handles:
            handle.remove()
        for layer in cores:
            del layer.rel_attn.rel_attn_core
    return outputs


@torch.no_grad()
def by_definition(model, family, batch):
    """L T T of one text, which has no padding."""
    whole = zeroed_outputs(model, family, batch, 0, None)
    tokens = batch.token_ids.shape[1]
    maps = torch.zeros(len(whole), tokens, tokens)
    for step in range(len(whole)):
        for token in range(tokens):
            changed = zeroed_outputs(model, family, batch, step, token)[step]
            for i in range(tokens):
                maps[step, i, token] = 1 - cosine_similarity(changed[i].double(), whole[step][i].double(), dim=0)
        maps[step] /= maps[step].sum(-1, keepdim=True)
    return maps


def test_maps_are_what_happens_when_each_value_is_zeroed_in_a_loop(family):
    model = family_subject(family).model
    (batch,) = family_subject(family).batches(random_examples(3, longest=6, seed=2), 4)
    with torch.no_grad():
        ours = mixing_maps(model, batch)
    assert ours.shape[1] == 2
    for row in range(len(batch)):
        one = alone(batch, row)
        length = one.token_ids.shape[1]
        expected = by_definition(model, family, one)
        torch.testing.assert_close(ours[row, :, :length, :length], expected, atol=1e-5, rtol=1e-3)
        assert not ours[row, :, length:].any()
        assert not ours[row, :, :, length:].any()
        last = length - 1 if model.left else 0
        product = expected[1] @ expected[0]
        torch.testing.assert_close(scores(model, batch)[row, :length], product[last], atol=1e-5, rtol=1e-3)
    if family in DECODERS:
        assert float(ours.triu(1).max()) < 1e-12


def test_company_padding_and_order_change_nothing(family):
    subject, (examples, other) = family_subject(family), texts_and_pairs()
    (batch,), (longer,) = subject.batches(examples, 4), subject.batches([other], 1)
    together = scores(subject.model, join([batch, longer]))[:4, : batch.mask.shape[1]]
    torch.testing.assert_close(together.sum(1), torch.ones(4))
    assert not together[~batch.mask].any()
    backwards = scores(subject.model, rows(batch, torch.tensor([3, 2, 1, 0]))).flip(0)
    torch.testing.assert_close(backwards, together, atol=1e-5, rtol=1e-3)
    for row in range(4):
        one = scores(subject.model, alone(batch, row))[0]
        torch.testing.assert_close(one, together[row, : len(one)], atol=1e-5, rtol=1e-3)


def test_rows_as_many_as_tokens_are_not_taken_for_tokens():
    """XLNet counts tokens first: six copies and two texts make a square of eight."""
    (batch,) = family_subject("xlnet").batches(random_examples(12, longest=12, seed=1), 12)
    for row in range(len(batch)):
        one = alone(batch, row)  # as many copies as tokens, one text: always one more row than tokens
        two = rows(one, torch.tensor([0, 0]))
        torch.testing.assert_close(
            scores(family_subject("xlnet").model, two)[1], scores(family_subject("xlnet").model, one)[0]
        )
    seen = []

    def over_rows(function, copies):
        width = copies.token_ids.shape[1]
        index = torch.arange(len(copies)).split(width - 1)  # with one text behind them: as many rows as tokens
        seen.append([len(part) for part in index])
        return torch.cat([function(part) for part in index])

    with pytest.MonkeyPatch.context() as patch:
        whole = scores(family_subject("xlnet").model, one)
        patch.setattr(value_zeroing, "over_rows", over_rows)
        torch.testing.assert_close(scores(family_subject("xlnet").model, one), whole)
    assert seen[0][0] + 1 == one.token_ids.shape[1]


def test_small_pieces_give_the_same(monkeypatch):
    (batch,) = family_subject("bert").batches(random_examples(4), 4)
    whole = scores(family_subject("bert").model, batch)
    pieces = value_zeroing.over_rows
    monkeypatch.setattr(value_zeroing, "over_rows", lambda function, copies: pieces(function, copies, 40))
    torch.testing.assert_close(scores(family_subject("bert").model, batch), whole, atol=1e-6, rtol=1e-4)


def test_nothing_stays_behind_after_an_error_inside_the_network(family, monkeypatch):
    model = family_subject(family).model
    (batch,) = family_subject(family).batches(random_examples(2), 2)
    implementation, before = model.network.config._attn_implementation, hooks(model.network)
    expected = scores(model, batch)

    def broken(*args, **kwargs):
        assert len(hooks(model.network)) > len(before)
        raise ValueError("broken inside")

    path, _ = LAYERS[family]
    with monkeypatch.context() as patch:
        patch.setattr(list(model.network.get_submodule(path))[-1], "forward", broken)
        with pytest.raises(ValueError, match="broken inside"):
            scores(model, batch)
    assert hooks(model.network) == before
    assert torch._C._len_torch_function_stack() == 0
    assert model.network.config._attn_implementation == implementation
    assert not model.network.training
    assert torch.equal(scores(model, batch), expected)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_long_text_is_the_mean_over_its_windows(tmp_path, family):
    subject = tiny_subject(tmp_path, family, max_length=10, windows=True)
    (batch,) = subject.batches(random_examples(2, longest=30, seed=3)[1:], 1)
    windows = subject.model.windows(batch)
    assert windows is not None
    found = [[] for _ in range(batch.mask.shape[1])]
    for place, mask in zip(windows.place, windows.mask, strict=True):
        keep = torch.zeros_like(batch.mask)
        keep[0, place[mask]] = True
        for position, score in zip(
            place[mask].tolist(), scores(subject.model, keep_tokens(batch, keep))[0], strict=True
        ):
            found[position].append(score)
    expected = torch.stack([torch.stack(values).mean() for values in found])
    torch.testing.assert_close(scores(subject.model, batch)[0], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("pair", 3)])
def test_our_models_lose_one_state_from_the_mixture(encoder, task, labels):
    examples = random_examples(5, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, labels=labels)
    batch = vocabulary.batch(examples)
    ours = scores(model, batch)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        weights = model.attend(encoded, batch)[:, 0]
    for row in range(len(batch)):
        mixed = (weights[row, :, None] * encoded[row]).sum(0).double()
        expected = torch.zeros(batch.mask.shape[1], dtype=torch.double)
        for token in batch.attended[row].nonzero().squeeze(1).tolist():
            values = encoded[row].clone()
            values[token] = 0
            expected[token] = 1 - cosine_similarity((weights[row, :, None] * values).sum(0).double(), mixed, dim=0)
        torch.testing.assert_close(ours[row].double(), expected / expected.sum(), atol=1e-4, rtol=1e-3)
    assert not ours[~batch.attended].any()


def test_two_attended_texts_lose_a_state_of_one_of_their_mixtures():
    model, batch = two_texts_compared(random_examples(4, "pair", labels=3))
    ours = scores(model, batch)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        heads = model.attend(encoded, batch)
    expected = torch.zeros_like(ours)
    for row, token in batch.words.nonzero().tolist():
        values = encoded[row].clone()
        values[token] = 0
        whole, without = ((heads[row] @ v).flatten() for v in (encoded[row], values))
        expected[row, token] = 1 - cosine_similarity(without, whole, dim=0)
    torch.testing.assert_close(ours, expected / expected.sum(1, keepdim=True))
    assert (ours[batch.words] > 0).all()


def test_a_text_of_one_word_takes_all_from_it():
    examples = random_examples(3, longest=1)
    vocabulary = vocabulary_of(examples, 2)
    batch = vocabulary.batch(examples)
    torch.testing.assert_close(scores(linear_toy(len(vocabulary)), batch), batch.attended.double())
    (decoded,) = family_subject("gpt2").batches(examples, 3)
    torch.testing.assert_close(scores(family_subject("gpt2").model, decoded).sum(1), torch.ones(3))


def test_a_layer_whose_values_are_nothing_mixes_nothing(tmp_path):
    subject = tiny_subject(tmp_path)
    (batch,) = subject.batches(random_examples(3), 3)
    with torch.no_grad():
        for layer in subject.model.network.bert.encoder.layer:
            layer.attention.self.value.weight.zero_()
            layer.attention.self.value.bias.zero_()
    expected = torch.zeros_like(batch.mask, dtype=torch.float)
    expected[:, 0] = 1
    torch.testing.assert_close(scores(subject.model, batch), expected)


def test_a_network_that_is_built_in_another_way_is_refused_by_its_name(monkeypatch):
    model = family_subject("bert").model
    (batch,) = family_subject("bert").batches(random_examples(2), 2)
    monkeypatch.setattr(model.network.config, "num_hidden_layers", 3)
    with pytest.raises(InputError, match="cannot follow the attention of BertForSequenceClassification"):
        scores(model, batch)
    assert isinstance(model, HuggingFaceClassifier)


def openai_gpt():
    config = OpenAIGPTConfig(n_embd=32, n_layer=2, n_head=2, vocab_size=len(VOCABULARY), pad_token_id=0)
    torch.manual_seed(0)
    network = OpenAIGPTForSequenceClassification(config).eval()
    with torch.no_grad():
        for block in network.transformer.h:
            block.attn.c_attn.weight.mul_(8)
    return subject_of((network, tiny_tokenizer("gpt2")))


def test_layers_that_give_a_list_are_followed():
    """OpenAI GPT's."""
    subject = openai_gpt()
    (batch,) = subject.batches(random_examples(3, longest=6, seed=2), 4)
    with torch.no_grad():
        ours = mixing_maps(subject.model, batch)
    for row in range(len(batch)):
        one = alone(batch, row)
        length = one.token_ids.shape[1]
        expected = by_definition(subject.model, "gpt2", one)
        torch.testing.assert_close(ours[row, :, :length, :length], expected, atol=1e-5, rtol=1e-3)
        torch.testing.assert_close(
            scores(subject.model, batch)[row, :length], (expected[1] @ expected[0])[-1], atol=1e-5, rtol=1e-3
        )


def test_layers_that_give_something_else_are_refused():
    subject = openai_gpt()
    (batch,) = subject.batches(random_examples(1, longest=6), 1)
    for block in subject.model.network.transformer.h:
        block.register_forward_hook(lambda module, inputs, output: {"states": output[0]})
    with pytest.raises(InputError, match="cannot follow the attention of OpenAIGPTForSequenceClassification"):
        scores(subject.model, batch)


def test_a_model_without_attention_is_refused():
    with pytest.raises(InputError, match=r"value_zeroing needs a Hugging Face transformer .* SimpleNamespace is not"):
        scores(SimpleNamespace(), None)
