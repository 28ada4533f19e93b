"""Integrated gradients, Grad-SHAP and SmoothGrad: closed forms, Captum, completeness, and what must not change them."""

from __future__ import annotations

import math
import sys

import captum.attr
import numpy as np
import pytest
import torch
from benchmarks.cases_gradients import integrated_gradients

from heatcheck.batch import replace_tokens, rows, trim
from heatcheck.errors import InputError
from heatcheck.explain.gradient import gradient, gradient_x_input
from heatcheck.explain.path import GradientShap, IntegratedGradients, Noise, SmoothGrad, uniform_numbers
from heatcheck.explain.types import predicted_probability, probability_of_prediction
from heatcheck.models.spec import ENCODERS
from tests.edits import join
from tests.tiny import FAMILIES, tiny_subject
from tests.toys import linear_toy, random_examples, small_model, vocabulary_of

EXACT_STEPS = IntegratedGradients(steps=50, most_steps=50)
METHODS = {
    "gradient": gradient,
    "gradient_x_input": gradient_x_input,
    "integrated_gradients": IntegratedGradients(steps=4, most_steps=16),
    "gradient_shap": GradientShap(),
    "smooth_grad": SmoothGrad(samples=3, noise=0.1),
}
TASKS = [("single", 2), ("single", 4), ("pair", 3)]


@pytest.fixture(scope="module")
def tiny_subjects(tmp_path_factory):
    made = {}

    def get(family):
        if family not in made:
            made[family] = tiny_subject(tmp_path_factory.mktemp(family), family, ("a", "b", "c"))
        return made[family]

    return get


def toy(n=6):
    examples = random_examples(n)
    vocabulary = vocabulary_of(examples, 2)
    model = linear_toy(len(vocabulary))
    model.v.zero_()  # attention is flat: what is left is p = σ(mean w·e)
    return model, vocabulary.batch(examples)


def logit(model, logits, batch):
    return logits[:, 0]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_of_a_linear_output_a_word_adds_its_own_term():
    """y = mean of w·e_t: every slope is w/n, so one step or one draw is enough, and a word adds w·(e_t − e_pad)/n."""
    model, batch = toy()
    n = batch.attended.sum(1, keepdim=True)
    pad = model.vectors[model.pad_id]
    expected = ((model.embed(batch) - pad) @ model.w / n) * batch.attended
    for explainer in (IntegratedGradients(steps=1, most_steps=1), GradientShap(samples=1)):
        ours = explainer(model, batch, logit, generator=generator())
        torch.testing.assert_close(ours.scores, expected)
        assert ours.signed
        assert float(ours.delta.max()) < 1e-12
    smooth = SmoothGrad(samples=2, noise=0.5)(model, batch, logit, generator=generator())
    torch.testing.assert_close(smooth.scores, (model.embed(batch) @ model.w / n * batch.attended).abs())
    assert not smooth.signed
    assert smooth.delta is None


def test_of_a_sigmoid_the_words_share_the_change_by_their_terms():
    """Along a line σ's argument moves evenly, so the change of p is split as the logit's is."""
    model, batch = toy()
    scalar = probability_of_prediction(model, batch)
    terms = IntegratedGradients(steps=1, most_steps=1)(model, batch, logit).scores
    empty = replace_tokens(batch, batch.words, model.pad_id)
    change = [scalar(model, model.predict(b), b) for b in (batch, empty)]
    expected = terms / terms.sum(1, keepdim=True) * (change[0] - change[1])[:, None]
    torch.testing.assert_close(EXACT_STEPS(model, batch, scalar).scores, expected, atol=1e-10, rtol=1e-8)
    many = GradientShap(samples=5_000)(model, batch, scalar, generator=generator())
    torch.testing.assert_close(many.scores, expected, atol=4e-3, rtol=0.04)


def test_smooth_grad_of_a_square_is_its_formula_up_to_the_mean_of_the_noise():
    """y = Σ_t |e_t|²: the slope at e + z is 2(e + z), so the score is |2e·(e + mean z)|."""
    model, batch = toy()
    model.logits = lambda e, b: ((e**2).sum(-1) * b.mask).sum(1, keepdim=True)
    e = model.embed(batch)
    real = [e[i, batch.mask[i]] for i in range(len(batch))]
    spread = torch.stack([0.3 * (r.max() - r.min()) for r in real])[:, None, None]
    noise = Noise.of(batch, generator(5), 4)
    index = torch.arange(len(batch))
    mean = torch.stack([noise.like(e, index, torch.full_like(index, k)) for k in range(4)]).mean(0) * spread
    expected = (2 * e * (e + mean)).sum(-1).abs() * batch.mask
    ours = SmoothGrad(samples=4, noise=0.3)(model, batch, logit, generator=generator(5)).scores
    torch.testing.assert_close(ours, expected)
    assert float(mean.abs().max()) > 0.1


def test_noise_is_standard_normal_and_differs_between_copies():
    _, batch = toy()
    clean = torch.zeros(2, batch.mask.shape[1], 400)
    longest = int(batch.mask.sum(1).argmax())
    noise = Noise.of(batch, generator(), 2).like(clean, torch.tensor([longest] * 2), torch.tensor([0, 1]))
    drawn = noise[:, batch.mask[longest]]
    assert abs(float(drawn.mean())) < 0.05
    assert abs(float(drawn.std()) - 1) < 0.05
    assert abs(float((drawn[0] * drawn[1]).mean())) < 0.05
    assert (noise[:, ~batch.mask[longest]] == 0).all()


def captums_integral(model, batch, scalar, **settings):
    def output(e):
        many = rows(batch, torch.arange(len(e)) % len(batch))
        return scalar(model, model.logits(e, many), many)

    start = model.embed(replace_tokens(batch, batch.words, model.pad_id)).detach()
    captums = captum.attr.IntegratedGradients(output)
    found, delta = captums.attribute(model.embed(batch).detach(), start, return_convergence_delta=True, **settings)
    return found.sum(-1).detach() * batch.mask, delta.detach()


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("task", "labels"), TASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_integrated_gradients_equal_captums_on_our_models(encoder, task, labels, dtype):
    examples = random_examples(4, task, labels=labels)
    model, vocabulary = small_model(examples, encoder, labels=labels)
    model, batch = model.to(dtype), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = EXACT_STEPS(model, batch, scalar)
    theirs, missed = captums_integral(model, batch, scalar, n_steps=50)
    # Captum rounds the steps' weights to 32 bits, whatever the model's precision is.
    tolerance = {"atol": 1e-8, "rtol": 1e-7} if dtype == torch.float64 else {"atol": 1e-5, "rtol": 1e-5}
    torch.testing.assert_close(ours.scores, theirs, **tolerance)
    promised = theirs.sum(1) - missed
    torch.testing.assert_close(ours.delta, missed.abs() / promised.abs().clamp(min=0.01), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("family", [*FAMILIES, "bart", "fnet"])
def test_integrated_gradients_equal_captums_on_transformers(tiny_subjects, family):
    subject = tiny_subjects(family)
    (batch,) = subject.batches(random_examples(3, "pair", labels=3), 8)
    scalar = probability_of_prediction(subject.model, batch)
    theirs, _ = captums_integral(subject.model, batch, scalar, n_steps=50)
    ours = EXACT_STEPS(subject.model, batch, scalar)
    torch.testing.assert_close(ours.scores, theirs, atol=1e-5, rtol=1e-4)
    assert float(theirs.abs().max()) > 1e-3


def test_integrated_gradients_of_a_transformer_in_double_precision(tmp_path):
    subject = tiny_subject(tmp_path)
    model = subject.model.double()
    (batch,) = subject.batches(random_examples(3), 8)
    scalar = probability_of_prediction(model, batch)
    theirs, _ = captums_integral(model, batch, scalar, n_steps=50)
    torch.testing.assert_close(EXACT_STEPS(model, batch, scalar).scores, theirs, atol=1e-8, rtol=1e-7)


@pytest.mark.parametrize("method", ["riemann_left", "riemann_middle", "riemann_right"])
def test_other_rules_are_captums(method):
    examples = random_examples(3)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    theirs, _ = captums_integral(model, batch, scalar, n_steps=7, method=method)
    ours = IntegratedGradients(steps=7, most_steps=7, method=method)(model, batch, scalar).scores
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_gradient_shap_equals_captums_for_the_same_draws(monkeypatch):
    """Captum repeats each text `n_samples` times and draws a place for each; here it is dealt ours."""
    examples = random_examples(4)
    model, vocabulary = small_model(examples)
    model, batch = model.double(), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = GradientShap(samples=6)(model, batch, scalar, generator=generator(3))
    places = uniform_numbers(batch, generator(3), 6)
    empty = model.embed(replace_tokens(batch, batch.words, model.pad_id)).detach()
    for row in range(len(batch)):
        many = rows(batch, torch.full((6,), row))
        monkeypatch.setattr(np.random, "uniform", lambda low, high, size, row=row: places[row].numpy())
        captums = captum.attr.GradientShap(lambda e, many=many: scalar(model, model.logits(e, many), many))
        found = captums.attribute(model.embed(batch).detach()[[row]], empty[[row]], n_samples=6)
        torch.testing.assert_close(ours.scores[row], found.sum(-1)[0].detach(), atol=1e-12, rtol=1e-9)


def test_smooth_grad_equals_captums_for_the_same_noise(monkeypatch):
    examples = random_examples(4)
    model, vocabulary = small_model(examples)
    model, batch = model.double(), vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = SmoothGrad(samples=3, noise=0.2)(model, batch, scalar, generator=generator(3)).scores
    noise = Noise.of(batch, generator(3), 3)
    e = model.embed(batch).detach()
    for row in range(len(batch)):
        real = e[row, batch.mask[row]]
        spread = 0.2 * float(real.max() - real.min())
        texts, many = torch.full((3,), row), rows(batch, torch.full((3,), row))
        drawn = noise.like(e[texts], texts, torch.arange(3)) * spread
        monkeypatch.setattr(torch, "normal", lambda mean, std, drawn=drawn: drawn)
        slopes = captum.attr.Saliency(lambda x, many=many: scalar(model, model.logits(x, many), many))
        tunnel = captum.attr.NoiseTunnel(slopes)
        found = tunnel.attribute(e[[row]], nt_type="smoothgrad", nt_samples=3, stdevs=spread, abs=False)
        torch.testing.assert_close(ours[row], (found[0] * e[row]).sum(-1).abs() * batch.mask[row])


@pytest.mark.parametrize("encoder", ENCODERS)
def test_scores_sum_to_the_change_of_the_output(encoder):
    examples = random_examples(8)
    model, vocabulary = small_model(examples, encoder)
    batch = vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    few = IntegratedGradients(steps=2, most_steps=2)(model, batch, scalar)
    ours = IntegratedGradients(steps=2, most_steps=1024, tolerance=1e-2)(model, batch, scalar)
    with torch.no_grad():
        empty = replace_tokens(batch, batch.words, model.pad_id)
        promised = scalar(model, model.predict(batch), batch) - scalar(model, model.predict(empty), batch)
    missed = (ours.scores.sum(1) - promised).abs()
    assert (missed <= 1e-2 * promised.abs().clamp(min=0.01) + 1e-6).all()
    assert float(few.delta.max()) > 1e-2
    torch.testing.assert_close(ours.delta, missed / promised.abs().clamp(min=0.01), atol=1e-5, rtol=1e-3)


def test_steps_are_added_where_the_sum_is_missed_and_nowhere_else(monkeypatch):
    examples = random_examples(12)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    fixed = {n: IntegratedGradients(steps=n, most_steps=n)(model, batch, scalar) for n in (1, 2, 4, 6)}
    ran = []
    logits = model.logits
    monkeypatch.setattr(type(model), "logits", lambda self, e, b: (ran.append(len(b)), logits(e, b))[1])
    ours = IntegratedGradients(steps=1, most_steps=6, tolerance=0.02)(model, batch, scalar)
    used = [next((n for n in fixed if fixed[n].delta[i] <= 0.02), 6) for i in range(12)]
    assert len(set(used)) > 1
    for i, n in enumerate(used):
        torch.testing.assert_close(ours.scores[i], fixed[n].scores[i], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(ours.delta[i], fixed[n].delta[i], atol=1e-5, rtol=1e-3)
    ladder = {1: 1, 2: 3, 4: 7, 6: 13}
    assert sum(ran) == 12 + sum(ladder[n] for n in used)  # 12: the empty texts


def test_no_step_is_added_beyond_the_most():
    model, batch = toy()
    scalar = probability_of_prediction(model, batch)
    few = IntegratedGradients(steps=2, most_steps=3, tolerance=0)(model, batch, scalar)
    three = IntegratedGradients(steps=3, most_steps=3)(model, batch, scalar)
    torch.testing.assert_close(few.scores, three.scores)


@pytest.mark.parametrize("baseline", ["pad", "mask", "zero"])
def test_baselines(baseline):
    """The marks' scores are 0 unless they too are emptied."""
    examples = random_examples(5)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    ours = IntegratedGradients(baseline=baseline)(model, batch, scalar)
    assert float(ours.delta.max()) <= 0.01
    marks = ours.scores[batch.special & batch.mask]
    assert bool((marks == 0).all()) == (baseline != "zero")
    assert GradientShap(baseline=baseline)(model, batch, scalar).scores.shape == batch.mask.shape


def test_smooth_grad_without_noise_is_gradient_x_input():
    examples = random_examples(5)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    quiet = SmoothGrad(samples=2, noise=0)(model, batch, predicted_probability).scores
    torch.testing.assert_close(quiet, gradient_x_input(model, batch, predicted_probability).scores.abs())


def test_the_predicted_class_is_that_of_the_whole_text():
    examples = random_examples(8)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    scalar = probability_of_prediction(model, batch)
    empty = replace_tokens(batch, batch.words, model.pad_id)
    assert probability_of_prediction(model, empty).classes != scalar.classes
    for explainer in (EXACT_STEPS, GradientShap(), SmoothGrad()):
        said = explainer(model, batch, predicted_probability).scores
        torch.testing.assert_close(said, explainer(model, batch, scalar).scores)


def check_invariance(explainer, model, batch, other):
    def explain(some):
        found = explainer(model, some, probability_of_prediction(model, some), generator=generator(1))
        assert torch.isfinite(found.scores).all()
        assert (found.scores[~some.mask] == 0).all()
        return found.scores

    together = explain(batch)
    backwards = torch.arange(len(batch) - 1, -1, -1)
    torch.testing.assert_close(explain(rows(batch, backwards))[backwards], together, atol=1e-5, rtol=1e-3)
    for i in range(len(batch)):
        alone = explain(trim(rows(batch, torch.tensor([i]))))[0]
        torch.testing.assert_close(together[i, : len(alone)], alone, atol=1e-5, rtol=1e-3)
    company = explain(join([batch, other]))[: len(batch), : together.shape[1]]
    torch.testing.assert_close(company, together, atol=1e-5, rtol=1e-3)
    assert float(together.abs().max()) > 1e-4


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_company_padding_and_order_change_nothing_on_our_models(name, encoder):
    """Pairs; test_explainers has every task."""
    examples = random_examples(4, "pair", labels=3)
    model, vocabulary = small_model(examples, encoder, labels=3)
    other = [e.__class__("other", e.text, 0, e.pair) for e in random_examples(1, "pair", longest=30, seed=7)]
    check_invariance(METHODS[name], model, vocabulary.batch(examples), vocabulary.batch(other))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", ["single", "pair"])
def test_company_padding_and_order_change_nothing_on_transformers(tiny_subjects, name, family, task):
    subject = tiny_subjects(family)
    (batch,) = subject.batches(random_examples(3, task, labels=3), 8)
    other = [e.__class__("other", e.text, 0, e.pair) for e in random_examples(1, task, longest=20, seed=7)]
    (longer,) = subject.batches(other, 1)
    check_invariance(METHODS[name], subject.model, batch, longer)


@pytest.mark.parametrize("name", ["gradient_shap", "smooth_grad"])
def test_another_seed_gives_other_scores_and_the_same_seed_the_same(tiny_subjects, name):
    subject = tiny_subjects("bert")
    (batch,) = subject.batches(random_examples(3), 8)
    scalar = probability_of_prediction(subject.model, batch)
    first, again, other = (
        METHODS[name](subject.model, batch, scalar, generator=generator(seed)).scores for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first, other, rtol=1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_left_on_the_model(tiny_subjects, name):
    subject = tiny_subjects("bert")
    (batch,) = subject.batches(random_examples(3), 8)
    model = subject.model
    frozen = next(model.parameters())
    frozen.requires_grad_(False)
    before = [(p.requires_grad, p.grad) for p in model.parameters()]
    training = [m.training for m in model.modules()]
    weights = [p.clone() for p in model.parameters()]
    with torch.no_grad():  # as experiments may call it
        found = METHODS[name](model, batch, probability_of_prediction(model, batch))
    assert [(p.requires_grad, p.grad) for p in model.parameters()] == before
    assert all(torch.equal(p, w) for p, w in zip(model.parameters(), weights, strict=True))
    assert not any(m._forward_hooks or m._backward_hooks or m._forward_pre_hooks for m in model.modules())
    assert [m.training for m in model.modules()] == training
    assert not found.scores.requires_grad
    assert found.delta is None or not found.delta.requires_grad
    frozen.requires_grad_(True)


@pytest.mark.parametrize("family", ["bert", "gpt2", "mbart", "convbert"])
@pytest.mark.parametrize("name", METHODS)
def test_long_texts_in_windows(tmp_path, family, name):
    subject = tiny_subject(tmp_path, family, max_length=12, windows=True)
    (batch,) = subject.batches(random_examples(3, longest=30, seed=3), 8)
    assert subject.model.windows(batch) is not None
    scalar = probability_of_prediction(subject.model, batch)
    found = METHODS[name](subject.model, batch, scalar, generator=generator())
    assert (found.scores[batch.words] != 0).all()
    if name == "integrated_gradients":
        whole = IntegratedGradients(steps=64, most_steps=128)(subject.model, batch, scalar)
        assert float(whole.delta.max()) <= 0.01


@pytest.mark.parametrize("name", METHODS)
def test_small_pieces_and_a_lack_of_memory_change_nothing(monkeypatch, name):
    examples = random_examples(5)
    model, vocabulary = small_model(examples)
    batch = vocabulary.batch(examples)
    explain = lambda: METHODS[name](model, batch, predicted_probability, generator=generator()).scores  # noqa: E731
    whole = explain()
    sizes = []

    def cramped(read):
        def read_few(*given):
            if len(given[-1]) > 2:
                raise RuntimeError("CUDA out of memory.")
            sizes.append(len(given[-1]))
            return read(*given)

        return read_few

    with monkeypatch.context() as patch:
        scalar = probability_of_prediction(model, batch)
        for read in ("encode", "enter"):
            patch.setattr(type(model), read, cramped(getattr(type(model), read)))
        found = METHODS[name](model, batch, scalar, generator=generator()).scores
    torch.testing.assert_close(found, whole, atol=1e-6, rtol=1e-4)
    assert set(sizes) == {1, 2}
    for explainer in (gradient, IntegratedGradients):
        monkeypatch.setattr(sys.modules[explainer.__module__], "TOKENS_AT_ONCE", 1)
    torch.testing.assert_close(explain(), whole, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("family", ["bert", "bart"])
@pytest.mark.parametrize("name", METHODS)
def test_after_an_error_nothing_is_left_on_the_model(tiny_subjects, name, family):
    subject = tiny_subjects(family)
    (batch,) = subject.batches(random_examples(3), 8)
    scalar = probability_of_prediction(subject.model, batch)

    def fails(model, logits, some):
        if logits.requires_grad:
            raise KeyError("in the middle")
        return scalar(model, logits, some)

    with pytest.raises(KeyError):
        METHODS[name](subject.model, batch, fails)
    assert not any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in subject.model.modules())


def test_the_benchmark_compares_like_with_like(tiny_subjects):
    compared = integrated_gradients(tiny_subjects("bert"), random_examples(5), repetitions=1)
    assert compared.correct, compared.checks


def test_a_class_whose_probability_does_not_move_has_a_finite_delta():
    model, batch = toy()
    model.w.zero_()
    found = IntegratedGradients()(model, batch, probability_of_prediction(model, batch))
    assert (found.delta == 0).all()
    assert (found.scores == 0).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: IntegratedGradients(steps=0),
            "integrated_gradients: steps 0 is not between 1 and most_steps 400. Change one of them.",
        ),
        (
            lambda: IntegratedGradients(steps=500),
            "integrated_gradients: steps 500 is not between 1 and most_steps 400. Change one of them.",
        ),
        (
            lambda: IntegratedGradients(method="simpson"),
            "integrated_gradients: method 'simpson' is not one of gausslegendre, riemann_left, riemann_middle, "
            "riemann_right.",
        ),
        (
            lambda: IntegratedGradients(steps=1, method="riemann_left"),
            "integrated_gradients: riemann_left needs 2 steps or more.",
        ),
        (lambda: IntegratedGradients(tolerance=math.nan), "integrated_gradients: tolerance nan is not 0 or more."),
        (lambda: GradientShap(baseline="none"), "gradient_shap: baseline 'none' is not one of pad, mask, zero."),
        (lambda: GradientShap(samples=0), "gradient_shap: samples=0 is not above 0."),
        (lambda: SmoothGrad(samples=-1), "smooth_grad: samples=-1 is not above 0."),
        (lambda: SmoothGrad(noise=-0.1), "smooth_grad: noise -0.1 is not 0 or more."),
    ],
)
def test_settings_that_cannot_be(make, sentence):
    with pytest.raises(InputError) as error:
        make()
    assert str(error.value) == sentence
