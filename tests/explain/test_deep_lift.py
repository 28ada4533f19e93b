"""DeepLIFT by hand, in closed form, and exactly complete whatever the model; Captum's beside it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from entmax import entmax15
from torch import nn
from torch.overrides import handle_torch_function
from transformers import DistilBertConfig, DistilBertForSequenceClassification

from heatcheck.batch import Example, rows, trim
from heatcheck.errors import InputError
from heatcheck.experiments.ranking import LARGEST_DELTA
from heatcheck.explain import contributions, slopes
from heatcheck.explain.deep_lift import DeepLift, multipliers
from heatcheck.explain.deep_lift_captum import NOTE, CaptumDeepLift
from heatcheck.explain.deep_shap import DeepShap
from heatcheck.explain.differences import Twin, plain, twin
from heatcheck.explain.hiding import emptied
from heatcheck.explain.path import IntegratedGradients
from heatcheck.explain.types import ProbabilityOf, predicted_probability
from heatcheck.explain.unrolled import NoRuleError
from heatcheck.models.protocols import distribution
from heatcheck.models.spec import ATTENTIONS, ENCODERS
from tests.edits import join
from tests.tiny import DECODERS, ENCODER_DECODERS, FAMILIES, OTHERS, SIZES, UNPADDED, VOCABULARY, tiny_subject
from tests.toys import WORDS, linear_toy, random_examples, small_model, vocabulary_of

TASKS = [("single", 2), ("single", 4), ("pair", 3), ("qa", 5)]


def setting(encoder="bilstm", attention="additive", task="single", labels=2, n=6):
    examples = random_examples(n, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, attention, labels=labels)
    return model.double(), vocabulary.batch(examples), vocabulary


def first_logit(model, logits, batch):
    return logits[:, 0]


def slope_of(function, x, x0):
    """The multipliers that the rules give to a sum of outputs."""
    start = x.clone().requires_grad_()
    (found,) = torch.autograd.grad(plain(function(twin(start, x0)))[0].sum(), start)
    return found


# The rules


@pytest.mark.parametrize(
    ("function", "identity"),
    [
        (torch.tanh, slopes.tanh),
        (torch.sigmoid, slopes.sigmoid),
        (torch.relu, slopes.relu),
        (torch.abs, slopes.absolute),
        (torch.exp, slopes.exp),
        (torch.reciprocal, slopes.reciprocal),
        (torch.rsqrt, slopes.rsqrt),
        (torch.sqrt, slopes.sqrt),
        (torch.log, slopes.log),
    ],
)
def test_slopes_are_those_of_the_line_through_two_points(function, identity):
    x = torch.tensor([0.3, 2.0, 5.0, 30.0], dtype=torch.float64)
    x0 = torch.tensor([1.1, 2.5, 0.4, 29.0], dtype=torch.float64)
    y, y0 = function(x), function(x0)
    torch.testing.assert_close(identity(x, x0, y, y0), (y - y0) / (x - x0), rtol=1e-9, atol=1e-14)
    close = x + 1e-9  # here the quotient has lost most of its digits
    halfway = (x + 0.5e-9).requires_grad_()
    (derivative,) = torch.autograd.grad(function(halfway).sum(), halfway)
    torch.testing.assert_close(identity(close, x, function(close), y), derivative, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(identity(x, x, y, y), derivative, rtol=1e-7, atol=1e-14)


def test_a_relu_that_is_crossed_has_a_slope_between_zero_and_one():
    x, x0 = torch.tensor([3.0, -1.0, -2.0]), torch.tensor([-1.0, 3.0, -3.0])
    assert slope_of(torch.relu, x, x0).tolist() == [0.75, 0.75, 0.0]


def test_a_product_is_shared_equally():
    """Δ(xy) = ½(y + y₀)Δx + ½(x + x₀)Δy: from (1, 4) to (3, 10), 26 = 14 + 12."""
    values, baseline = torch.tensor([3.0, 10.0]), torch.tensor([1.0, 4.0])
    found = slope_of(lambda v: v[0] * v[1], values, baseline)
    assert found.tolist() == [7.0, 2.0]
    assert (found * (values - baseline)).tolist() == [14.0, 12.0]


def test_softmax_does_not_see_a_shift_of_all_scores():
    x, x0 = (torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    values = torch.arange(5.0, dtype=torch.float64)
    here = slope_of(lambda v: v.softmax(-1) @ values, x, x0)
    shifted = slope_of(lambda v: v.softmax(-1) @ values, x + 200, x0)
    torch.testing.assert_close(shifted, here)
    torch.testing.assert_close(here @ (x - x0), (x.softmax(-1) - x0.softmax(-1)) @ values)


def test_softmax_at_the_baseline_has_its_derivative_and_of_two_is_a_sigmoid():
    x = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    weights = x.softmax(-1)
    expected = weights[0] * (torch.tensor([1.0, 0, 0], dtype=torch.float64) - weights)
    torch.testing.assert_close(slope_of(lambda v: v.softmax(-1)[0], x, x), expected)
    two, two0 = torch.tensor([0.0, 1.5], dtype=torch.float64), torch.tensor([0.0, -2.0], dtype=torch.float64)
    sigmoid = (torch.sigmoid(two[1]) - torch.sigmoid(two0[1])) / 3.5
    torch.testing.assert_close(slope_of(lambda v: v.softmax(-1)[1], two, two0), torch.stack([-sigmoid, sigmoid]))


def test_softmax_gives_nothing_to_what_is_masked():
    x, x0 = torch.tensor([1.0, -math.inf, 2.0]), torch.tensor([0.0, -math.inf, 0.5])
    found = slope_of(lambda v: v.softmax(-1)[0], x, x0)
    assert found[1] == 0
    assert torch.isfinite(found).all()


def test_entmax_sums_to_its_change_and_at_the_baseline_has_its_derivative():
    x, x0 = (torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(s)) * 2 for s in (1, 2))
    x[:, 5], x0[:, 5] = -1e9, -1e9  # masked
    values = torch.arange(6.0, dtype=torch.float64)

    def mean(v):
        return (
            handle_torch_function(entmax15, (v,), v, dim=-1) if isinstance(v, Twin) else entmax15(v, dim=-1)
        ) @ values

    found = slope_of(mean, x, x0)
    torch.testing.assert_close((found * (x - x0)).sum(-1), mean(x) - mean(x0))
    assert (entmax15(x, dim=-1) == 0).sum() > 3
    start = x.clone().requires_grad_()
    (derivative,) = torch.autograd.grad(mean(start).sum(), start)
    torch.testing.assert_close(slope_of(mean, x, x), derivative)


def add_to_itself(v):
    """As DeBERTa adds up its attention scores."""
    total = 0 + v * 2
    total += v * v
    return total


def fill_a_view(v):
    """What shares its values with the changed tensor changes too."""
    total = v * 3
    total[1:].masked_fill_(torch.tensor([True, False]), 7.0)
    return total


@pytest.mark.parametrize(
    ("function", "slopes_by_hand", "change"),
    [  # from (1, 4, 2) to (3, 10, 5)
        (add_to_itself, [6.0, 16.0, 9.0], [12.0, 96.0, 27.0]),
        (fill_a_view, [3.0, 0.0, 3.0], [6.0, 0.0, 9.0]),
        (lambda v: (v * 1).mul_(v), [4.0, 14.0, 7.0], [8.0, 84.0, 21.0]),
        (lambda v: v.detach() * 2, [2.0, 2.0, 2.0], [4.0, 12.0, 6.0]),
        (torch.square, [4.0, 14.0, 7.0], [8.0, 84.0, 21.0]),
        (lambda v: torch.multiply(v, v), [4.0, 14.0, 7.0], [8.0, 84.0, 21.0]),
        (lambda v: torch.fft.fftn(v).real[0], [1.0, 1.0, 1.0], 11.0),
        (lambda v: torch.einsum("i,i->i", v, v), [4.0, 14.0, 7.0], [8.0, 84.0, 21.0]),
        (lambda v: torch.einsum("i,ji->j", v, torch.eye(3)), [1.0, 1.0, 1.0], [2.0, 6.0, 3.0]),
        (lambda v: torch.einsum("i->", v), [1.0, 1.0, 1.0], 11.0),
    ],
)
def test_in_place_detached_and_einsum_by_hand(function, slopes_by_hand, change):
    values, baseline = torch.tensor([3.0, 10.0, 5.0]), torch.tensor([1.0, 4.0, 2.0])
    at_text, at_baseline = plain(function(twin(values.clone(), baseline.clone())))
    assert (at_text - at_baseline).tolist() == change
    assert at_text.tolist() == function(values).tolist()
    assert slope_of(function, values, baseline).tolist() == slopes_by_hand


def test_what_is_changed_in_place_must_be_able_to_differ():
    def into_a_constant(v):
        return torch.zeros(3).add_(v)

    def of_three(v):
        return torch.einsum("i,i,i->i", v, v, v)

    pair = twin(torch.ones(3), torch.zeros(3))
    with pytest.raises(NoRuleError, match="no rule for the operation 'add_'"):
        into_a_constant(pair)
    with pytest.raises(NoRuleError, match=r"einsum of two tensors, not of 3 \(i,i,i->i\)"):
        of_three(pair)


def test_one_step_of_an_lstm_by_hand():
    """h = σ(o) tanh(c), c = σ(i) tanh(g), each gate a multiple of x: two products, three slopes, one more for c."""
    lstm = nn.LSTM(1, 1, batch_first=True).double()
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.tensor([[0.5], [9.0], [-1.5], [2.0]]))
        for parameter in (lstm.weight_hh_l0, lstm.bias_ih_l0, lstm.bias_hh_l0):
            parameter.zero_()

    def sigmoid(z):
        return 1 / (1 + math.exp(-z))

    x, x0 = 0.8, -0.3
    i, i0, g, g0 = sigmoid(0.5 * x), sigmoid(0.5 * x0), math.tanh(-1.5 * x), math.tanh(-1.5 * x0)
    o, o0, c, c0 = sigmoid(2 * x), sigmoid(2 * x0), i * g, i0 * g0
    to_cell = (g + g0) / 2 * (i - i0) / (x - x0) + (i + i0) / 2 * (g - g0) / (x - x0)
    through_cell = (o + o0) / 2 * (math.tanh(c) - math.tanh(c0)) / (c - c0) * to_cell
    through_gate = (math.tanh(c) + math.tanh(c0)) / 2 * (o - o0) / (x - x0)
    text, baseline = torch.tensor([[[x]]], dtype=torch.float64), torch.tensor([[[x0]]], dtype=torch.float64)
    found = slope_of(lambda v: lstm(v)[0], text, baseline)
    assert found.item() == pytest.approx(through_cell + through_gate, rel=1e-12)
    assert found.item() * (x - x0) == pytest.approx(o * math.tanh(c) - o0 * math.tanh(c0), rel=1e-12)


# Whole models


def test_a_linear_model_is_gradient_times_difference_and_has_a_formula():
    """Uniform attention: z = mean of w·e, so a word's share is w·(e − e₀)/n, times the slope of σ for p."""
    examples = random_examples(6)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    model.v.zero_()
    difference = model.embed(batch) - model.embed(emptied(model, batch))
    expected = difference @ model.w / batch.attended.sum(1, keepdim=True)
    torch.testing.assert_close(DeepLift()(model, batch, first_logit).scores, expected)
    start = model.embed(batch).requires_grad_()
    (gradient,) = torch.autograd.grad(model.logits(start, batch).sum(), start)
    torch.testing.assert_close((gradient * difference).sum(-1), expected)
    z, z0 = model.predict(batch)[:, 0], model.predict(emptied(model, batch))[:, 0]
    slope = (torch.sigmoid(z) - torch.sigmoid(z0)) / (z - z0)
    positive = ProbabilityOf(dict.fromkeys(batch.example_ids, 1))
    torch.testing.assert_close(DeepLift()(model, batch, positive).scores, slope[:, None] * expected)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(("task", "labels"), TASKS)
def test_the_view_is_the_model_and_scores_sum_to_the_change(encoder, attention, task, labels):
    model, batch, _ = setting(encoder, attention, task, labels)
    model.temperature = 0.7
    text, baseline = model.embed(batch).detach(), model.embed(emptied(model, batch)).detach()
    views = plain(model.logits(twin(text, baseline), batch))
    for view, embeddings in zip(views, (text, baseline), strict=True):
        torch.testing.assert_close(view, model.logits(embeddings, batch), atol=1e-9, rtol=1e-9)
    scalar = ProbabilityOf({name: i % labels for i, name in enumerate(batch.example_ids)})
    explained = DeepLift()(model, batch, scalar)
    change = scalar(model, model.predict(batch), batch) - scalar(model, model.predict(emptied(model, batch)), batch)
    torch.testing.assert_close(explained.scores.sum(1), change.detach(), atol=1e-9, rtol=1e-9)
    assert explained.signed
    assert explained.delta.abs().max() < 1e-9
    assert (explained.scores[~batch.words] == 0).all()
    single = DeepLift()(model.float(), batch, scalar)
    torch.testing.assert_close(single.scores.sum(1), change.detach().float(), atol=2e-6, rtol=1e-4)


def test_a_transformer_from_elsewhere_is_complete_too():
    examples = random_examples(4)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = Distil.of(len(vocabulary)), vocabulary.batch(examples)
    assert DeepLift()(model, batch, predicted_probability).delta.abs().max() < 1e-9
    assert CaptumDeepLift()(model, batch, predicted_probability).delta.abs().max() > 0.1


@dataclass
class Distil:
    network: nn.Module
    kind: str = "categorical"
    pad_id: int = 0
    mask_id: int = 1

    @classmethod
    def of(cls, vocabulary_size):
        config = DistilBertConfig(vocab_size=vocabulary_size, dim=8, n_heads=2, n_layers=2, hidden_dim=16)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            network = DistilBertForSequenceClassification(config).eval().double()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(5)  # far from linear
        return cls(network)

    def embed(self, batch):
        return self.network.get_input_embeddings()(batch.token_ids)

    def logits(self, embeddings, batch):
        return self.network(inputs_embeds=embeddings, attention_mask=batch.mask.long()).logits

    def predict(self, batch):
        return self.logits(self.embed(batch), batch)

    def probs(self, logits):
        return distribution("categorical", logits)


RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}
FUNNEL = {"block_sizes": [1, 1], "d_model": 32, "n_head": 2, "d_head": 16, "d_inner": 37}
V3 = {"share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {  # a family of tests/tiny.py, and what is else in its config
    **{family: (family, {}) for family in (*FAMILIES, *ENCODER_DECODERS, *UNPADDED)},
    "mpnet": ("mpnet", {}),
    "roformer": ("roformer", {}),
    "funnel": ("funnel", {}),
    "funnel with factorised positions": ("funnel", {"attention_type": "factorized"}),
    "deberta version 1": ("deberta-v1", {"position_biased_input": False}),
    "deberta version 2 xlarge": ("deberta", {**V3, "conv_kernel_size": 3, "conv_act": "gelu"}),
    "deberta version 3": ("deberta", V3),
    "xlnet with a memory": ("xlnet", {"mem_len": 3}),
    "xlnet summarised by index": ("xlnet", {"summary_type": "cls_index"}),
}


@pytest.mark.parametrize("network", NETWORKS)
def test_every_family_of_transformers_is_complete(network, tmp_path, monkeypatch):
    monkeypatch.setitem(OTHERS, "deberta-v1", ("DebertaConfig", {**SIZES, **RELATIVE, "max_relative_positions": 16}))
    monkeypatch.setitem(OTHERS, "roformer", ("RoFormerConfig", {**SIZES, "embedding_size": 32}))
    monkeypatch.setitem(OTHERS, "funnel", ("FunnelConfig", FUNNEL))
    family, more = NETWORKS[network]
    model, batch = transformer_and_texts(tmp_path, family, **more)
    found = DeepLift()(model, batch, predicted_probability)
    assert found.scores.abs().sum(1).max() > 0.01
    assert found.delta.max() < 1e-3  # in single precision, of a change that is small for some of these
    assert found.notes == ()
    monkeypatch.setattr(torch.Tensor, "float", lambda tensor: tensor)  # DeBERTa 1 has norms in single precision always
    exact = DeepLift()(model.double(), batch, predicted_probability)
    single = family in ("llama", "funnel", "t5")  # which have positions or norms in single precision always
    assert exact.delta.max() < (1e-5 if single else 1e-9)
    torch.testing.assert_close(found.scores.double(), exact.scores, atol=1e-5, rtol=1e-3)


def transformer_and_texts(folder, family, *, texts=None, **more):
    subject = tiny_subject(folder, family, ("a", "b", "c"), **more)
    both = random_examples(3, longest=12) + [replace(e, id=f"pair {e.id}") for e in random_examples(3, "pair")]
    (batch,) = subject.batches(texts or both, 6)
    return subject.model, batch


GEMMA = {**SIZES, "num_key_value_heads": 1, "head_dim": 16, "bos_token_id": 2, "eos_token_id": 3}


def decoder_and_texts(folder, monkeypatch, family, *, texts=None):
    monkeypatch.setitem(OTHERS, "gemma", ("GemmaConfig", GEMMA))
    monkeypatch.setattr("tests.tiny.DECODERS", (*DECODERS, "gemma"))
    return transformer_and_texts(folder, family, texts=texts)


@pytest.mark.parametrize("family", ["llama", "gemma"])
def test_padding_without_an_embedding_is_not_what_a_text_is_emptied_with(tmp_path, monkeypatch, family):
    """The baseline of a text would be zero in every layer, and the norm of nothing but zeros is too steep."""
    model, batch = decoder_and_texts(tmp_path, monkeypatch, family)
    assert not model.network.get_input_embeddings().weight[0].any()
    assert model.pad_id == VOCABULARY.index("[SEP]")  # its end token
    found = DeepLift()(model, batch, predicted_probability)
    assert found.delta.max() < 1e-3
    assert IntegratedGradients()(model, batch, predicted_probability).delta.max() < LARGEST_DELTA
    model.pad_id = 0
    assert DeepLift()(model, batch, predicted_probability).delta.max() > LARGEST_DELTA


@pytest.mark.parametrize("family", ["llama", "gemma"])
def test_padding_in_front_that_sees_nothing_does_not_overflow(tmp_path, monkeypatch, family):
    """Its scores are all the lowest number there is; a tenth of it, ten times, is −∞."""
    texts = [Example(f"{n} words", " ".join(WORDS[:n]), 0) for n in (7, 10)]
    model, batch = decoder_and_texts(tmp_path, monkeypatch, family, texts=texts)
    assert batch.mask.sum(1).tolist() == [7, 10]
    assert DeepLift()(model, batch, predicted_probability).delta.max() < 1e-4


def test_the_predicted_class_is_that_of_the_text_for_the_baseline_too():
    model, batch, _ = setting(labels=4)
    predicted = model.probs(model.predict(batch)).argmax(-1).tolist()
    named = ProbabilityOf(dict(zip(batch.example_ids, predicted, strict=True)))
    torch.testing.assert_close(
        DeepLift()(model, batch, predicted_probability).scores, DeepLift()(model, batch, named).scores
    )


def test_multipliers_take_the_empty_text_when_no_baseline_is_given():
    model, batch, _ = setting()
    text, empty = model.embed(batch), model.embed(emptied(model, batch))
    given = multipliers(model, text, empty, batch, first_logit)
    torch.testing.assert_close(multipliers(model, text, None, batch, first_logit), given)


def test_nothing_is_left_in_the_model():
    model, batch, _ = setting()
    DeepLift()(model, batch, first_logit)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert type(model.predict(batch)) is torch.Tensor


def cosine(model, logits, batch):
    return logits[:, 0].cos()


@pytest.mark.parametrize("explainer", [DeepLift(), DeepShap(samples=2)])
def test_where_a_rule_is_missing_captums_form_stands_in_and_says_so(explainer):
    model, batch, _ = setting()
    found = explainer(model, batch, cosine)
    assert found.notes == ("there is no rule for the operation 'cos', so this is Captum's form, which misses its sum",)
    assert found.delta.median() > LARGEST_DELTA
    if explainer == DeepLift():
        torch.testing.assert_close(found.scores, CaptumDeepLift()(model, batch, cosine).scores)


@pytest.mark.parametrize("explainer", [DeepLift(), DeepShap(samples=2)])
def test_where_captums_form_cannot_stand_in_it_is_a_sentence(explainer):
    model, batch, _ = setting("mlp", task="pair", labels=3)
    model.question_encoder.activation = model.encoder.activation
    with pytest.raises(InputError) as error:
        explainer(model, batch, cosine)
    assert str(error.value) == (
        "DeepLIFT: there is no rule for the operation 'cos'; and Captum's DeepLIFT cannot explain a model that runs "
        "one activation module twice, in two places or for windows of two lengths. Use integrated gradients."
    )


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, slope):
        return 2 * slope


def test_a_function_with_a_derivative_of_its_own_has_no_rule():
    with pytest.raises(NoRuleError, match="no rule for a function with a derivative of its own"):
        slope_of(Doubled.apply, torch.ones(3), torch.zeros(3))


@pytest.mark.parametrize(("family", "operation"), [("longformer", "as_strided"), ("bloom", "baddbmm")])
def test_transformers_without_a_rule_get_captums_form(tmp_path, monkeypatch, family, operation):
    sizes = {"hidden_size": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 2, "eos_token_id": 3}
    monkeypatch.setitem(OTHERS, "bloom", ("BloomConfig", sizes))
    monkeypatch.setattr("tests.tiny.DECODERS", (*DECODERS, "bloom"))
    model, batch = transformer_and_texts(tmp_path, family)
    found = DeepLift()(model, batch, predicted_probability)
    assert found.notes[0].startswith(f"there is no rule for the operation '{operation}', so this is Captum's form")
    assert found.delta.median() > LARGEST_DELTA


@pytest.mark.parametrize("explainer", [DeepLift(), CaptumDeepLift(), DeepShap(samples=2)])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), [("single", 2), ("qa", 5)])
def test_company_padding_and_order_do_not_change_an_explanation(explainer, encoder, task, labels):
    model, batch, vocabulary = setting(encoder, task=task, labels=labels, n=4)
    together = explainer(model, batch, predicted_probability).scores
    reversed_ = explainer(model, rows(batch, torch.arange(3, -1, -1)), predicted_probability).scores.flip(0)
    torch.testing.assert_close(reversed_, together)
    alone = explainer(model, trim(rows(batch, torch.tensor([2]))), predicted_probability).scores[0]
    torch.testing.assert_close(together[2, : len(alone)], alone)
    other = [replace(e, id="other") for e in random_examples(1, task, labels=labels, longest=40, seed=7)]
    longer = explainer(model, join([batch, vocabulary.batch(other)]), predicted_probability).scores
    torch.testing.assert_close(longer[:4, : together.shape[1]], together)


# Captum's


@pytest.mark.parametrize("explainer", [DeepLift(), DeepShap(samples=2)])
def test_every_piece_has_the_baselines_of_its_own_texts(explainer, monkeypatch):
    """Deep SHAP's are other words for each text."""
    model, batch, _ = setting()
    whole = explainer(model, batch, predicted_probability)
    monkeypatch.setattr(contributions, "TOKENS_AT_ONCE", 2 * batch.mask.shape[1])
    in_pieces = explainer(model, batch, predicted_probability)
    torch.testing.assert_close(in_pieces.scores, whole.scores)
    torch.testing.assert_close(in_pieces.delta, whole.delta, atol=1e-12, rtol=1e-6)


def test_captums_is_gradient_times_difference_on_an_lstm_and_far_from_its_sum():
    model, batch, _ = setting()
    captums = CaptumDeepLift()(model, batch, predicted_probability)
    start = model.embed(batch).detach().requires_grad_()
    explained = predicted_probability(model, model.logits(start, batch), batch)
    (gradient,) = torch.autograd.grad(explained.sum(), start)
    expected = gradient * (start - model.embed(emptied(model, batch)))
    torch.testing.assert_close(captums.scores, expected.sum(-1).detach())
    assert captums.delta.abs().median() > 0.2
    assert DeepLift()(model, batch, predicted_probability).delta.abs().max() < 1e-9
    assert captums.notes == (NOTE,)


def test_captums_hooks_and_attributes_are_gone_also_after_an_error(monkeypatch):
    model, batch, _ = setting("mlp")
    activation = model.encoder.activation

    def untouched():
        hooks = (activation._forward_hooks, activation._forward_pre_hooks, activation._backward_hooks)
        return not any(hooks) and not {"input", "output"} & set(vars(activation))

    def fails(model, logits, batch):
        if activation._forward_hooks:
            raise ZeroDivisionError
        return logits[:, 0]

    with pytest.raises(ZeroDivisionError):
        CaptumDeepLift()(model, batch, fails)
    assert untouched()
    CaptumDeepLift()(model, batch, first_logit)
    assert untouched()


def test_captum_cannot_explain_an_activation_that_is_used_twice():
    model, batch, _ = setting("mlp", task="pair", labels=3)
    model.question_encoder.activation = model.encoder.activation
    with pytest.raises(InputError) as error:
        CaptumDeepLift()(model, batch, predicted_probability)
    assert str(error.value).startswith(
        "Captum's DeepLIFT cannot explain a model that runs one activation module twice,"
    )
    assert DeepLift()(model, batch, predicted_probability).delta.abs().max() < 1e-9


def test_captums_form_of_windows_that_cannot_be_padded_is_refused(tmp_path):
    subject = tiny_subject(tmp_path, "fnet", ("a", "b"), windows=True, max_length=8)
    (batch,) = subject.batches(random_examples(1, longest=30, seed=3), 1)
    with pytest.raises(InputError, match="for windows of two lengths"):
        CaptumDeepLift()(subject.model, batch, predicted_probability)


# Deep SHAP


def test_deep_shap_is_the_mean_over_texts_of_random_words():
    model, batch, _ = setting()
    scalar = ProbabilityOf(dict.fromkeys(batch.example_ids, 1))
    ids = DeepShap()._random_words(model, batch, torch.Generator().manual_seed(3))
    assert len(ids) == 5
    assert ids[:, batch.words].min() >= 4
    parts, ends = [], []
    for some in ids:
        other = torch.where(batch.words, some, batch.token_ids)
        text, baseline = model.embed(batch), model.embedding(other)
        parts.append((multipliers(model, text, baseline, batch, scalar) * (text - baseline)).sum(-1))
        ends.append(scalar(model, model.logits(baseline, batch), batch))
    explained = DeepShap()(model, batch, scalar, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(explained.scores, torch.stack(parts).mean(0).detach())
    change = scalar(model, model.predict(batch), batch) - torch.stack(ends).mean(0)
    torch.testing.assert_close(explained.scores.sum(1), change.detach(), atol=1e-9, rtol=1e-9)
    assert explained.delta.abs().max() < 1e-9
    another = DeepShap()(model, batch, scalar, generator=torch.Generator().manual_seed(4))
    assert not torch.allclose(another.scores, explained.scores)


def test_deep_shap_says_what_it_needs():
    with pytest.raises(InputError) as error:
        DeepShap(samples=0)
    assert str(error.value) == "deep_shap: samples=0 is not above 0."
    examples = random_examples(2)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    with pytest.raises(InputError) as error:
        DeepShap()(model, batch, first_logit)
    assert str(error.value) == "deep_shap: LinearToy does not say which words there are to draw from."
