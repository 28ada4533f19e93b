"""Explainers against closed forms, Captum and the definition as a plain loop; and what must not change them."""

from dataclasses import replace

import pytest
import torch
from captum.attr import DeepLift, InputXGradient, IntegratedGradients, Saliency

from heatcheck.batch import rows, trim
from heatcheck.errors import InputError
from heatcheck.explain import EXPLAINERS, method
from heatcheck.explain.types import predicted_probability
from heatcheck.measure.distributions import tvd
from heatcheck.models.spec import ENCODERS
from heatcheck.verdict.methods import UNSIGNED
from tests.edits import join, without_token
from tests.toys import linear_toy, random_examples, small_model, vocabulary_of

TASKS = [("single", 2), ("single", 4), ("pair", 3)]


def test_gradient_of_a_linear_model_is_its_formula():
    """p = σ(Σ α_t w·e_t) with α fixed: ∂p/∂e_t · e_t = p(1−p) α_t (w·e_t)."""
    examples = random_examples(6)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    attention = model.attend(model.embed(batch), batch)[:, 0]
    p = model.probs(model.logits(model.embed(batch), batch))[:, 1:]
    expected = (p * (1 - p) * attention * (model.embed(batch) @ model.w)).abs()
    ours = EXPLAINERS["gradient"].explain(model, batch, predicted_probability).scores
    torch.testing.assert_close(ours, expected)


def test_leave_one_out_of_a_linear_model_is_its_formula():
    examples = random_examples(6)
    vocabulary = vocabulary_of(examples, 2)
    model, batch = linear_toy(len(vocabulary)), vocabulary.batch(examples)
    attention = model.attend(model.embed(batch), batch)[:, 0]
    values = model.embed(batch) @ model.w
    total = (attention * values).sum(1, keepdim=True)
    without = (total - attention * values) / (1 - attention)
    expected = (torch.sigmoid(without) - torch.sigmoid(total)).abs()
    ours = EXPLAINERS["leave_one_out"].explain(model, batch, predicted_probability).scores
    several = batch.attended & (batch.attended.sum(1, keepdim=True) > 1)
    torch.testing.assert_close(ours[several], expected[several], atol=1e-9, rtol=1e-9)


SLOPES = {  # ours, Captum's, and how a word's dimensions become its score
    "gradient_x_input": (InputXGradient, lambda found: found.sum(-1)),
    "saliency": (Saliency, lambda found: found.norm(dim=-1)),
}


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_slopes_are_those_of_each_text_alone(name, encoder):
    """By autograd, a text at a time: Captum has no part in what is expected here."""
    examples = random_examples(6, "pair", labels=3)
    model, vocabulary = small_model(examples, encoder, labels=3)
    ours = EXPLAINERS[name].explain(model, vocabulary.batch(examples), predicted_probability).scores
    for row, example in enumerate(examples):
        alone = vocabulary.batch([example])
        embeddings = model.embed(alone).detach().requires_grad_()
        predicted_probability(model, model.logits(embeddings, alone), alone).sum().backward()
        slope = embeddings.grad
        expected = slope.norm(dim=-1) if name == "saliency" else (slope * embeddings.detach()).sum(-1)
        torch.testing.assert_close(ours[row, : expected.shape[1]], expected[0], atol=1e-6, rtol=1e-4)


COMPUTED_BY_CAPTUM = {
    "saliency": Saliency,
    "gradient_x_input": InputXGradient,
    "integrated_gradients": IntegratedGradients,
    "deep_lift_captum": DeepLift,
    "smooth_grad": Saliency,
    "gradient_shap": Saliency,
}


@pytest.mark.parametrize("name", COMPUTED_BY_CAPTUM)
def test_what_captum_takes_in_batches_is_captums(monkeypatch, name):
    examples = random_examples(6)
    model, vocabulary = small_model(examples)
    called, attribute = [], COMPUTED_BY_CAPTUM[name].attribute

    def counted(self, inputs, *more, **settings):
        called.append(len(inputs))
        return attribute(self, inputs, *more, **settings)

    monkeypatch.setattr(COMPUTED_BY_CAPTUM[name], "attribute", counted)
    EXPLAINERS[name].explain(model, vocabulary.batch(examples), predicted_probability)
    assert sum(called) >= len(examples)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize(("task", "labels"), TASKS)
def test_slopes_equal_captums(name, task, labels):
    examples = random_examples(6, task, labels=labels)
    model, vocabulary = small_model(examples, labels=labels)
    batch, (captums, score) = vocabulary.batch(examples), SLOPES[name]
    captum = captums(lambda e: predicted_probability(model, model.logits(e, batch), batch))
    expected = score(captum.attribute(model.embed(batch).detach().requires_grad_())) * batch.mask
    ours = EXPLAINERS[name].explain(model, batch, predicted_probability)
    assert ours.signed == (name == "gradient_x_input")
    torch.testing.assert_close(ours.scores, expected.detach())


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), TASKS)
def test_leave_one_out_is_the_change_when_the_word_is_deleted(encoder, task, labels):
    examples = random_examples(5, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, labels=labels)
    batch = vocabulary.batch(examples)
    ours = EXPLAINERS["leave_one_out"].explain(model, batch, predicted_probability).scores
    with torch.no_grad():
        base = model.probs(model.predict(batch))
        for t in range(batch.mask.shape[1]):
            changed = model.probs(model.predict(without_token(batch, torch.full((len(batch),), t))))
            here = batch.words[:, t]
            torch.testing.assert_close(ours[here, t], tvd(changed, base)[here], atol=1e-5, rtol=1e-5)
    assert (ours[~batch.words] == 0).all()


FAST = {
    "lime": "lime(samples=30)",
    "kernel_shap": "kernel_shap(samples=30, exact=5)",
    "deep_shap": "deep_shap(samples=2)",
    "integrated_gradients": "integrated_gradients(steps=6, tolerance=1.0)",
}


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), TASKS)
def test_company_padding_and_order_do_not_change_an_explanation(name, encoder, task, labels):
    examples = random_examples(6, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, labels=labels)
    batch = vocabulary.batch(examples)

    explainer = method(FAST.get(name, name)).explain

    def explain(some):
        return explainer(model, some, predicted_probability).scores

    together = explain(batch)
    reversed_ = explain(rows(batch, torch.arange(5, -1, -1))).flip(0)
    torch.testing.assert_close(reversed_, together, atol=1e-5, rtol=1e-4)
    for i in range(6):
        alone = explain(trim(rows(batch, torch.tensor([i]))))[0]
        torch.testing.assert_close(together[i, : len(alone)], alone, atol=1e-5, rtol=1e-4)
    (other,) = random_examples(1, task, labels=labels, longest=40, seed=7)
    longer = join([batch, vocabulary.batch([replace(other, id="other")])])
    torch.testing.assert_close(explain(longer)[:6, : together.shape[1]], together, atol=1e-5, rtol=1e-4)


def switches() -> tuple[bool, bool]:
    return torch.backends.cudnn.enabled, torch.backends.mkldnn.enabled


def test_gradients_never_ask_cudnn_for_an_rnn_in_eval_mode(monkeypatch):
    """cuDNN refuses to go backwards through an RNN in eval mode; there is no GPU here, so watch the switch. oneDNN,
    which would compute the weights' slopes too, is off as well."""
    examples = random_examples(3)
    model, vocabulary = small_model(examples)
    seen = []
    enter, encode = model.enter, model.encode
    monkeypatch.setattr(model, "enter", lambda b: (seen.append(switches()), enter(b))[1])
    monkeypatch.setattr(model, "encode", lambda e, b: (seen.append(switches()), encode(e, b))[1])
    before = switches()
    for name in ("gradient", "gradient_x_input"):
        EXPLAINERS[name].explain(model, vocabulary.batch(examples), predicted_probability)
    assert seen == [(False, False)] * 2
    assert switches() == before
    assert not model.training


def test_a_text_of_one_word_has_scores():
    examples = random_examples(4, longest=1)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    for explainer in EXPLAINERS.values():
        assert torch.isfinite(explainer.explain(model, batch, predicted_probability).scores).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lyme", "There is no explanation method 'lyme'. Did you mean 'lime'? There are: attention, "),
        ("Integrated-Gradient", "'Integrated-Gradient'. Did you mean 'integrated_gradients'? There"),
        ("salience(x=1)", "There is no explanation method 'salience'. Did you mean 'saliency'? There"),
        ("xyz", "There is no explanation method 'xyz'. There are: attention, "),
        ("lime(samples=True)", "Method 'lime(samples=True)': samples is True, which is no int."),
        ("lime(sample=3)", "Method 'lime(sample=3)': there is no setting 'sample'. It has: samples, "),
        ("lime(samples='a')", "Method \"lime(samples='a')\": samples is 'a', which is no int."),
        ("gradient(x=1)", "Method 'gradient(x=1)': there is no setting 'x'. It has none."),
        ("lime(__import__('os'))", "is not of the form name or name(setting=value, ...)."),
        ("integrated_gradients(steps=0)", "steps 0 is not between 1 and most_steps 400"),
    ],
)
def test_a_method_that_does_not_exist_is_answered_with_what_there_is(text, sentence):
    with pytest.raises(InputError) as error:
        method(text)
    assert sentence in str(error.value)


def test_a_method_is_known_by_the_names_of_other_libraries_too():
    assert method("input_x_gradient") == EXPLAINERS["gradient_x_input"]
    assert (
        method("lime(samples=7, width=2)").settings() | {"samples": 7, "width": 2}
        == method("lime(samples=7, width=2)").settings()
    )


def test_a_verdict_knows_which_methods_have_no_sign():
    examples = random_examples(2)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    found = {name: chosen.explain(model, batch, predicted_probability) for name, chosen in EXPLAINERS.items()}
    assert set(UNSIGNED) == {name for name, explanation in found.items() if not explanation.signed}
