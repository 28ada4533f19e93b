"""Attention weights, their slopes, rollout and flow, against plain loops on every family and on our models."""

from __future__ import annotations

from types import SimpleNamespace

import networkx
import pytest
import torch

from heatcheck.batch import keep_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain import EXPLAINERS, tap
from heatcheck.explain.attention import (
    FIRST_TEXT,
    ONE_LAYER,
    AttentionWeights,
    AttentionXGradient,
    Flow,
    Rollout,
    over_heads,
)
from heatcheck.explain.method import Method
from heatcheck.explain.types import predicted_probability, probability_of_prediction
from heatcheck.explain.value_zeroing import ValueZeroing
from heatcheck.models.heads import attended
from heatcheck.models.huggingface import eager_attention
from heatcheck.models.protocols import AttentiveClassifier
from heatcheck.models.uniform import impose_uniform_attention
from heatcheck.testing import check_model
from tests.edits import join
from tests.explain.families import family_subject, hooks, texts_and_pairs, two_texts_compared
from tests.tiny import DECODERS, FAMILIES, OTHERS, SIZES, VOCABULARY, tiny_subject
from tests.toys import linear_toy, random_examples, small_model, vocabulary_of

METHODS = [AttentionWeights(), AttentionXGradient(), Rollout(), Flow()]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def scores(method, model, batch):
    return method(model, batch, probability_of_prediction(model, batch)).scores


def alone(batch, row):
    return trim(rows(batch, torch.tensor([row])))


@torch.no_grad()
def maps_of_one(family, batch):
    """L H T T of a text alone, from the network itself."""
    network = family_subject(family).model.network
    inputs = {"input_ids": batch.token_ids, "attention_mask": batch.mask.long()}
    types = family_subject(family).model.types
    if types is not None:
        inputs["token_type_ids"] = types(batch)
    with eager_attention(network):
        return torch.cat(network(**inputs, output_attentions=True).attentions)


def by_loop(maps):
    """Mean over heads, plus the identity, rows normalised: L T T."""
    layers, heads, tokens, _ = maps.shape
    graph = torch.zeros(layers, tokens, tokens)
    for layer in range(layers):
        for i in range(tokens):
            for j in range(tokens):
                graph[layer, i, j] = sum(maps[layer, h, i, j] for h in range(heads)) / heads + (i == j)
            graph[layer, i] /= graph[layer, i].sum()
    return graph


def max_flow(graph, start, end):
    network = networkx.DiGraph()
    for layer, weights in enumerate(graph.tolist()):
        for i, row in enumerate(weights):
            for j, weight in enumerate(row):
                network.add_edge((layer + 1, i), (layer, j), capacity=weight)
    return networkx.maximum_flow_value(network, (len(graph), start), (0, end))


def test_weights_rollout_and_flow_are_the_loops(family):
    subject = family_subject(family)
    (batch,) = subject.batches(random_examples(3, labels=3, longest=6, seed=2), 4)
    weights, product, flows = (scores(method, subject.model, batch) for method in (METHODS[0], Rollout(), Flow()))
    layer_0_head_1 = scores(AttentionWeights(layer=0, head=1), subject.model, batch)
    for row in range(len(batch)):
        one = alone(batch, row)
        length = one.token_ids.shape[1]
        maps = maps_of_one(family, one)
        read = length - 1 if family in (*DECODERS, "xlnet") else 0
        same = {"atol": 1e-5, "rtol": 1e-4}
        torch.testing.assert_close(weights[row, :length], maps[-1].mean(0)[read], **same)
        torch.testing.assert_close(layer_0_head_1[row, :length], maps[0, 1, read], **same)
        graph = by_loop(maps)
        torch.testing.assert_close(product[row, :length], (graph[1] @ graph[0])[read], **same)
        expected = torch.tensor([max_flow(graph, read, token) for token in range(length)])
        torch.testing.assert_close(flows[row, :length], expected, **same)


def test_attention_x_gradient_is_the_change_when_a_weight_changes(family, monkeypatch):
    """∂y/∂A from two runs with that weight moved a little, through every family's own attention code."""
    subject = family_subject(family)
    (batch,) = subject.batches(random_examples(4, labels=3, longest=4, seed=3), 4)
    one, model = alone(batch, int(batch.mask.sum(1).argmax())), subject.model
    # Llama's softmax and norms are in single precision always.
    step, same = (2e-3, {"atol": 1e-5, "rtol": 1e-2}) if family == "llama" else (1e-5, {"atol": 1e-8, "rtol": 1e-5})
    network, tokens = model.network.double(), one.token_ids.shape[1]
    try:
        for layer in (0, -1):
            ours = scores(AttentionXGradient(layer), model, one)
            expected = torch.zeros(tokens, dtype=torch.double)
            read = tokens - 1 if model.left else 0
            maps = maps_of_one(family, one)[layer]
            for head in range(2):
                for token in range(tokens):
                    slope = nudged_slope(model, one, layer % 2, (head, read, token), step, monkeypatch)
                    expected[token] += maps[head, read, token] * slope / 2
            torch.testing.assert_close(ours[0].double(), expected, **same)
            assert expected.abs().max() > 1e-4
    finally:
        network.float()


@torch.no_grad()
def nudged_slope(model, batch, layer, place, step, monkeypatch):
    """By replacing torch's softmax with one that nudges a single weight in the layer-th square of four dimensions."""
    softmax, scalar = torch.nn.functional.softmax, probability_of_prediction(model, batch)

    def explained(change):
        seen = []

        def nudging(*args, **kwargs):
            weights = softmax(*args, **kwargs)
            if weights.dim() == 4:
                seen.append(None)
                if len(seen) - 1 == layer:
                    weights = weights.double()
                    weights[(0, *place)] += change
            return weights

        with monkeypatch.context() as patch, eager_attention(model.network):
            patch.setattr(torch.nn.functional, "softmax", nudging)
            value = scalar(model, model.predict(batch), batch)
        assert len(seen) == 2
        return float(value)

    return (explained(step) - explained(-step)) / (2 * step)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_company_padding_and_order_change_nothing(family, method):
    subject, (examples, other) = family_subject(family), texts_and_pairs()
    (batch,), (longer,) = subject.batches(examples, 4), subject.batches([other], 1)
    together = scores(method, subject.model, join([batch, longer]))[:4, : batch.mask.shape[1]]
    assert not together[~batch.mask].any()
    assert not together.requires_grad
    backwards = scores(method, subject.model, rows(batch, torch.tensor([3, 2, 1, 0]))).flip(0)
    torch.testing.assert_close(backwards, together, atol=1e-5, rtol=1e-3)
    for row in range(4):
        one = scores(method, subject.model, alone(batch, row))[0]
        torch.testing.assert_close(one, together[row, : len(one)], atol=1e-5, rtol=1e-3)


def test_flow_in_a_pair_counts_marks_as_part_of_the_graph():
    subject = family_subject("bert")
    (batch,) = subject.batches(random_examples(2, "pair", labels=3), 2)
    found = scores(Rollout(), subject.model, batch)
    torch.testing.assert_close(found.sum(1), torch.ones(2))
    assert (found[batch.special & batch.mask] > 0).all()


def test_settings_are_named_and_wrong_ones_told():
    subject = family_subject("bert")
    (batch,) = subject.batches(random_examples(2, labels=3), 2)
    method = Method(AttentionWeights(), object)
    assert method.settings() == {"layer": -1, "head": None}
    first = method.with_settings({"layer": 0}, "attention(layer=0)").explain
    assert torch.equal(scores(first, subject.model, batch), scores(AttentionWeights(layer=-2), subject.model, batch))
    network = "BertForSequenceClassification has 2, numbered 0 to 1, or back from -1"
    for wrong, what in [(AttentionWeights(2), "layer 2"), (AttentionWeights(-3), "layer -3")]:
        with pytest.raises(InputError, match=f"There is no attention {what}: {network}"):
            scores(wrong, subject.model, batch)
    with pytest.raises(InputError, match=f"There is no attention head 2: {network}"):
        scores(AttentionWeights(head=2), subject.model, batch)
    with pytest.raises(InputError, match=f"There is no attention head True: {network}"):
        scores(AttentionWeights(head=True), subject.model, batch)
    with pytest.raises(InputError, match=f"There is no attention head 'x': {network}"):
        scores(AttentionWeights(head="x"), subject.model, batch)
    with pytest.raises(InputError, match=f"There is no attention layer 5: {network}"):
        scores(AttentionXGradient(5), subject.model, batch)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_nothing_stays_behind_after_an_error_inside_the_network(family, method, monkeypatch):
    model = family_subject(family).model
    (batch,) = family_subject(family).batches(random_examples(2, labels=3), 2)
    before, expected = model.network.config._attn_implementation, scores(method, model, batch)
    scalar, seen, known = probability_of_prediction(model, batch), [], hooks(model.network)
    run = type(model.network).forward

    def broken(*args, **kwargs):
        run(model.network, *args, **kwargs)
        seen.append(model.network.config._attn_implementation)
        raise ValueError("broken inside")

    with monkeypatch.context() as patch:
        patch.setattr(model.network, "forward", broken)
        with pytest.raises(ValueError, match="broken inside"):
            method(model, batch, scalar)
    assert seen == ["eager"]
    assert model.network.config._attn_implementation == before
    assert torch._C._len_torch_function_stack() == 0
    assert not model.network.training
    assert hooks(model.network) == known  # transformers has some of its own
    assert torch.equal(scores(method, model, batch), expected)


def test_frozen_networks_have_slopes_too():
    model = family_subject("distilbert").model
    (batch,) = family_subject("distilbert").batches(random_examples(2, labels=3), 2)
    expected = scores(AttentionXGradient(), model, batch)
    try:
        model.requires_grad_(False)
        torch.testing.assert_close(scores(AttentionXGradient(), model, batch), expected)
    finally:
        model.requires_grad_()
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_imposed_uniform_attention_stays_imposed_and_has_slopes(tmp_path, name):
    """A weight that depends on nothing can be differentiated by all the same."""
    model = tiny_subject(tmp_path, name).model
    (batch,) = family_subject(name).batches(random_examples(3), 3)
    impose_uniform_attention(model.network)
    weights, products = scores(AttentionWeights(), model, batch), scores(AttentionXGradient(0), model, batch)
    torch.testing.assert_close(weights, batch.mask / batch.mask.sum(1, keepdim=True))
    assert (products[batch.mask] != 0).any()
    assert not products[~batch.mask].any()
    assert model.network.config._attn_implementation == "heatcheck_uniform"


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2"])
def test_slopes_of_imposed_uniform_attention_are_means_over_heads(tmp_path, name, monkeypatch):
    """∂y/∂A from two runs with that weight of the last layer moved a little in all heads at once."""
    model = tiny_subject(tmp_path, name).model
    (batch,) = family_subject(name).batches(random_examples(1, longest=4, seed=3), 1)
    impose_uniform_attention(model.network.double())
    products, scalar = scores(AttentionXGradient(-1), model, batch), probability_of_prediction(model, batch)
    length, softmax, step = batch.mask.shape[1], torch.softmax, 1e-5
    read = length - 1 if model.left else 0

    def explained(token, change):
        seen = []

        def nudging(*args, **kwargs):
            weights = softmax(*args, **kwargs)
            seen.append(weights)
            if len(seen) == 2:
                weights[0, :, read, token] += change
            return weights

        with monkeypatch.context() as patch, torch.no_grad():
            patch.setattr(torch, "softmax", nudging)
            return float(scalar(model, model.predict(batch), batch))

    for token in range(length):
        slope = (explained(token, step) - explained(token, -step)) / (2 * step)
        weight = 1 / (read + 1 if name == "gpt2" else length)
        assert float(products[0, token]) == pytest.approx(weight * slope / 2, rel=1e-4, abs=1e-7)
    assert products.abs().max() > 1e-4


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_long_text_is_the_mean_over_its_windows(tmp_path, method, name):
    subject = tiny_subject(tmp_path, name, max_length=10, windows=True)
    (batch,) = subject.batches(random_examples(2, longest=30, seed=3), 2)
    model, windows = subject.model, subject.model.windows(batch)
    assert windows is not None
    scalar = probability_of_prediction(model, batch)
    total, held = torch.zeros(batch.mask.shape), torch.zeros(batch.mask.shape)
    for row, place, mask in zip(windows.row.tolist(), windows.place, windows.mask, strict=True):
        keep = torch.zeros_like(batch.mask)
        keep[row, place[mask]] = True
        one = keep_tokens(rows(batch, torch.tensor([row])), keep[[row]])
        total[row, place[mask]] += method(model, one, scalar).scores[0]
        held[row, place[mask]] += 1
    found = method(model, batch, scalar).scores
    torch.testing.assert_close(found, total / held.clamp(min=1), atol=1e-5, rtol=1e-4)
    assert held.max() > 1


def test_the_predicted_class_is_that_of_the_whole_text_in_every_window(tmp_path):
    subject = tiny_subject(tmp_path, max_length=10, windows=True)
    (batch,) = subject.batches(random_examples(10, longest=30, seed=3), 10)
    model, windows = subject.model, subject.model.windows(batch)
    by_window = model._run(model.inputs(model.embed(batch), batch, windows)).logits.argmax(-1)
    assert (by_window != model.predict(batch).argmax(-1)[windows.row]).any()
    found = AttentionXGradient()(model, batch, predicted_probability).scores
    torch.testing.assert_close(found, scores(AttentionXGradient(), model, batch))


def test_pieces_are_bounded_by_all_the_weights_that_they_keep(monkeypatch):
    """Two layers of two heads: four maps of tokens² each."""
    subject = family_subject("bert")
    (batch,) = subject.batches(random_examples(6, labels=3, longest=10), 6)
    whole, sizes = scores(Rollout(), subject.model, batch), []
    maps = subject.model.logits_and_maps
    monkeypatch.setattr(tap, "WEIGHTS_AT_ONCE", 2 * 4 * batch.mask.shape[1] ** 2)
    monkeypatch.setattr(subject.model, "logits_and_maps", lambda e, b: (sizes.append(len(b)), maps(e, b))[1])
    torch.testing.assert_close(scores(Rollout(), subject.model, batch), whole, atol=1e-6, rtol=1e-4)
    assert sizes == [2, 2, 2]


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("single", 4), ("pair", 3)])
def test_our_models_weights_are_all_there_is_to_roll_out(task, labels):
    examples = random_examples(5, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        expected = model.attend(model.encode(model.embed(batch), batch), batch)[:, 0]
    for method in (AttentionWeights(), AttentionWeights(0, 0), Rollout(), Flow()):
        found = method(model, batch, predicted_probability)
        torch.testing.assert_close(found.scores, expected)
        assert (ONE_LAYER in found.notes) == isinstance(method, Rollout | Flow)
    with pytest.raises(InputError, match=r"no attention layer 1: \w+ has 1, numbered 0 to 0"):
        scores(AttentionWeights(layer=1), model, batch)
    with pytest.raises(InputError, match="no attention layer 1"):
        scores(AttentionXGradient(layer=1), model, batch)
    with pytest.raises(InputError, match="no attention head 1"):
        scores(AttentionWeights(head=1), model, batch)


def test_attention_x_gradient_of_a_linear_model_is_its_formula():
    """p = σ(Σ α_t w·e_t): α_t ∂p/∂α_t = p(1−p) α_t (w·e_t), negative for the other class."""
    examples = random_examples(6)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    weights, p = model.attend(model.embed(batch), batch)[:, 0], model.probs(model.predict(batch))
    sign = torch.where(p[:, 1:] > 0.5, 1, -1)
    expected = sign * p[:, :1] * p[:, 1:] * weights * (model.embed(batch) @ model.w)
    found = AttentionXGradient()(model, batch, probability_of_prediction(model, batch))
    assert found.signed
    torch.testing.assert_close(found.scores, expected)


@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("pair", 3)])
def test_attention_x_gradient_of_our_models_is_the_change_when_a_weight_changes(task, labels):
    examples = random_examples(3, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch, model = vocabulary.batch(examples), model.double()
    scalar, found = probability_of_prediction(model, batch), scores(AttentionXGradient(), model, batch)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        weights = model.attend(encoded, batch)
        for token in range(batch.mask.shape[1]):
            ends = [weights.clone(), weights.clone()]
            ends[0][:, 0, token] += 1e-5
            ends[1][:, 0, token] -= 1e-5
            up, down = (scalar(model, model.classify(encoded, end, batch), batch) for end in ends)
            torch.testing.assert_close(found[:, token], weights[:, 0, token] * (up - down) / 2e-5, atol=1e-9, rtol=1e-5)
    assert not found[~batch.attended].any()


def test_heads_of_one_text_are_averaged_and_heads_of_two_texts_stand_side_by_side():
    examples = random_examples(3, "pair", labels=3)
    batch = vocabulary_of(examples, 3).batch(examples)
    first, second = batch.attended.float(), (batch.words & ~batch.attended).float()
    first, second = first / first.sum(1, keepdim=True), second / second.sum(1, keepdim=True)
    two_texts, one_text = torch.stack([first, second], 1), torch.stack([first, first**2], 1)
    torch.testing.assert_close(over_heads(two_texts, two_texts, batch), first + second)
    torch.testing.assert_close(over_heads(one_text, one_text, batch), (first + first**2) / 2)


@pytest.mark.parametrize("method", [AttentionWeights(), AttentionXGradient(), Rollout(), Flow(), ValueZeroing()])
def test_a_second_text_that_is_only_the_query_has_no_scores_and_a_note_says_so(method):
    examples = random_examples(4, "pair", labels=3)
    query, vocabulary = small_model(examples, labels=3)
    compared, _ = two_texts_compared(examples)
    for model, unseen in ((query, True), (compared.float(), False)):
        found = method(model, vocabulary.batch(examples), predicted_probability)
        assert (FIRST_TEXT in found.notes) == unseen
    single = random_examples(4)
    model, vocabulary = small_model(single)
    assert FIRST_TEXT not in method(model, vocabulary.batch(single), predicted_probability).notes


@pytest.mark.parametrize("weighting", ["softmax", "uniform", "entmax"])
def test_two_attended_texts_both_have_scores(weighting):
    examples = random_examples(4, "pair", labels=3)
    model, batch = two_texts_compared(examples, weighting)
    scalar = probability_of_prediction(model, batch)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        heads = model.attend(encoded, batch)
        expected = torch.zeros(batch.mask.shape, dtype=torch.double)
        for token in range(batch.mask.shape[1]):
            ends = [heads.clone(), heads.clone()]
            ends[0][:, :, token] += 1e-6 * (heads[:, :, token] > 0)
            ends[1][:, :, token] -= 1e-6 * (heads[:, :, token] > 0)
            up, down = (scalar(model, model.classify(encoded, end, batch), batch) for end in ends)
            expected[:, token] = heads[:, :, token].sum(1) * (up - down) / 2e-6
    for method in (AttentionWeights(), Rollout(), Flow()):
        torch.testing.assert_close(scores(method, model, batch), heads[:, 0] + heads[:, 1])
    torch.testing.assert_close(scores(AttentionWeights(head=1), model, batch), heads[:, 1])
    torch.testing.assert_close(scores(AttentionXGradient(), model, batch), expected, atol=1e-7, rtol=1e-4)


def test_what_is_not_a_weight_is_not_taken_for_one(tmp_path, monkeypatch):
    """SqueezeBERT gives its scores from before the softmax."""
    squeezed = ("SqueezeBertConfig", {**SIZES, "embedding_size": 32, "intermediate_size": 40})
    monkeypatch.setitem(OTHERS, "squeezebert", squeezed)
    subject = tiny_subject(tmp_path, "squeezebert")
    (batch,) = subject.batches(random_examples(2), 2)
    check_model(subject)
    sentence = "^SqueezeBertForSequenceClassification gives numbers for its attention that are not shares of the text"
    for method in (AttentionWeights(), Rollout(), Flow()):
        with pytest.raises(InputError, match=sentence):
            scores(method, subject.model, batch)
    with pytest.raises(InputError, match=sentence):
        attended(subject.model, batch)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_model_without_attention_is_refused(method):
    with pytest.raises(InputError, match=r"needs a .*, which SimpleNamespace is not\. Leave it out"):
        method(SimpleNamespace(), None, predicted_probability)
    assert not isinstance(SimpleNamespace(), AttentiveClassifier)


OF_TEXTS = {**SIZES, "num_key_value_heads": 1, "head_dim": 16, "vocab_size": len(VOCABULARY), "pad_token_id": None}
OF_IMAGES = {**SIZES, "image_size": 28, "patch_size": 14}
HYBRID = {
    **{"layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 2},
    **{"linear_key_head_dim": 8, "linear_value_head_dim": 8},
}


@pytest.fixture
def that_see_images(monkeypatch):
    sizes = {"text_config": OF_TEXTS, "vision_config": OF_IMAGES, "bos_token_id": 2, "eos_token_id": 3}
    monkeypatch.setitem(OTHERS, "gemma3", ("Gemma3Config", sizes))
    seen = {"depth": 1, "num_heads": 2, "hidden_size": 32, "intermediate_size": 32, "out_hidden_size": 32}
    hybrid = {"text_config": {**OF_TEXTS, **HYBRID}, "vision_config": seen, "bos_token_id": 2, "eos_token_id": 3}
    monkeypatch.setitem(OTHERS, "qwen3_5", ("Qwen3_5Config", hybrid))


def test_a_network_that_sees_images_too_is_explained_by_its_texts(tmp_path, that_see_images):
    subject = tiny_subject(tmp_path, "gemma3", ("a", "b", "c"))
    (batch,) = subject.batches(random_examples(3, labels=3), 4)
    assert subject.model.left
    check_model(subject)
    for name in ("attention", "rollout", "flow", "attention_x_gradient", "value_zeroing", "integrated_gradients"):
        found = EXPLAINERS[name].explain(subject.model, batch, probability_of_prediction(subject.model, batch))
        assert found.scores.isfinite().all()
        assert found.scores.abs().sum() > 0


def test_what_follows_all_layers_is_refused_where_some_have_no_attention(tmp_path, that_see_images):
    subject = tiny_subject(tmp_path, "qwen3_5")
    (batch,) = subject.batches(random_examples(2), 2)
    scalar = probability_of_prediction(subject.model, batch)
    assert EXPLAINERS["attention"].explain(subject.model, batch, scalar).scores.abs().sum() > 0
    for name in ("rollout", "flow", "attention_x_gradient", "value_zeroing"):
        with pytest.raises(
            InputError, match=f"^{name} cannot follow the attention of Qwen3_5ForSequenceClassification"
        ):
            EXPLAINERS[name].explain(subject.model, batch, scalar)
