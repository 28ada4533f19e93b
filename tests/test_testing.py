"""The public checks: our own models pass (our methods: tests/explain/test_families), and each way to break a rule is
caught by that rule."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import nn

from heatcheck.batch import Example, replace_tokens
from heatcheck.errors import InputError
from heatcheck.explain import EXPLAINERS, method
from heatcheck.explain.method import Method
from heatcheck.explain.types import Explanation
from heatcheck.models.protocols import Classifier, Predictor, distribution
from heatcheck.testing import EXPLAINER_RULES, MODEL_RULES, check_explainer, check_model
from tests.explain.families import family_subject
from tests.toys import linear_toy, random_examples, small_subject, vocabulary_of

SINGLES = [Example("one", "good film", 0), Example("two", "a sad film, not good", 0)]
MIXED = [Example("one", "good film", 0), Example("two", "a sad film", 0, "not fun")]


def subject_of(family: str) -> Any:
    return small_subject(random_examples(8)) if family == "bilstm" else family_subject(family)


@pytest.mark.parametrize("family", ["bert", "gpt2", "bilstm", "deberta", "longformer"])
def test_our_models_keep_the_rules(family):
    check_model(subject_of(family))


def test_functions_and_bare_models_are_checked_too():
    def predict(texts: list[str]) -> list[list[float]]:
        return [[1 / (1 + len(t)), len(t) / (1 + len(t))] for t in texts]

    check_model(predict, SINGLES)
    check_explainer("occlusion", predict, SINGLES)
    check_model(subject_of("bert").model)  # knows its words, so texts are made up
    toy, batch = toy_and_batch()
    check_model(toy, batch)
    with pytest.raises(InputError, match=r"A bare model \(LinearToy\) cannot read texts. Give its Subject, or"):
        check_model(toy)
    with pytest.raises(
        InputError, match="The method needs a model that can be entered at its word embeddings, which BlackBox is not"
    ):
        check_explainer("gradient", predict, SINGLES)


def test_a_function_is_given_single_texts_unless_the_examples_are_pairs():
    asked: list[Any] = []

    def predict(texts: list[str]) -> list[list[float]]:
        """As the README's: a pair has no `lower`."""
        asked.extend(texts)
        shares = [(t.lower().count("good") + 1) / (len(t.split()) + 2) for t in texts]
        return [[1 - p, p] for p in shares]

    check_model(predict)
    check_explainer("occlusion", predict)
    assert {type(text) for text in asked} == {str}
    with pytest.raises(InputError, match="'tuple' object has no attribute 'lower'"):
        check_model(predict, MIXED)


def toy_and_batch():
    examples = random_examples(5)
    vocabulary = vocabulary_of(examples, 2)
    return linear_toy(len(vocabulary)), vocabulary.batch(examples)


@dataclass
class Toy:
    """A mean of word vectors, right in every respect; each mutant below is wrong in one."""

    vectors: torch.Tensor = field(
        default_factory=lambda: torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    )
    network: nn.Module = field(default_factory=lambda: nn.Linear(4, 3))
    kind: str = "categorical"
    pad_id: int = 0
    mask_id: int = 1

    def embed(self, batch):
        return self.vectors[batch.token_ids]

    def logits(self, embeddings, batch):
        weights = batch.mask / batch.mask.sum(1, keepdim=True)
        return self.network((embeddings * weights[..., None]).sum(1))

    def predict(self, batch):
        return self.logits(self.embed(batch), batch)

    def probs(self, logits):
        return distribution("categorical", logits)


class NotAModel(Toy):
    probs = None


class NotFinite(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings, batch) / 0


class WrongShape(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings, batch)[0]


class NotNormalised(Toy):
    def probs(self, logits):
        return torch.sigmoid(logits)


class WithDropout(Toy):
    def logits(self, embeddings, batch):
        return super().logits(nn.functional.dropout(embeddings, 0.5), batch)


class ByPlace(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings, batch) + torch.arange(len(batch))[:, None]


class ByCompany(Toy):
    def logits(self, embeddings, batch):
        logits = super().logits(embeddings, batch)
        return logits - logits.mean(0)


class ByWidth(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings, batch) / embeddings.shape[1]


class ReadsPadding(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings, batch) + (embeddings * ~batch.mask[..., None]).sum((1, 2))[:, None]

    def embed(self, batch):
        embedded = super().embed(batch)
        return torch.where((batch.token_ids == 0)[..., None], 0, embedded)


class OtherPredict(Toy):
    def predict(self, batch):
        return super().predict(batch) + 0.1


class Detached(Toy):
    def logits(self, embeddings, batch):
        return super().logits(embeddings.detach(), batch)


class Attending(Toy):
    def encode(self, embeddings, batch):
        return embeddings

    def attend(self, encoded, batch):
        return batch.mask[:, None].float()  # not shares

    def classify(self, encoded, attention, batch):
        return self.logits(encoded, batch)


class Training(Toy):
    def predict(self, batch):
        self.network.train()
        return super().predict(batch)


class Counting(Toy):
    def predict(self, batch):
        with torch.no_grad():
            self.network.bias += 1e-7
        return super().predict(batch)


MODELS = {
    NotAModel: ("protocol", "NotAModel has no probs"),
    NotFinite: ("outputs", "logit 0 of text '0' is "),
    WrongShape: ("outputs", r"shape \(3,\) for 5 texts"),
    NotNormalised: ("probabilities", "those of text '0' sum to "),
    WithDropout: ("repeatable", "asked twice"),
    ByPlace: ("order", "logits with the texts in reverse order: .* became .* \\(text '4', place 0\\)"),
    ByCompany: ("company", "logits alone"),
    ByWidth: ("padding", "logits without padding"),
    ReadsPadding: ("padding", "logits with other ids where there is padding"),
    OtherPredict: ("embeddings", "predict against logits\\(embed\\)"),
    Detached: ("slopes", "something between them is detached"),
    Attending: ("attention", "the sum of the weights"),
    Training: ("unchanged", "the mode \\(train or eval\\) of network changed from False to True"),
    Counting: ("unchanged", "the values of bias of network changed"),
}


def toy_batch():
    examples = random_examples(5)
    return vocabulary_of(examples, 2).batch(examples)


def made(kind):
    torch.manual_seed(0)
    toy = kind()
    toy.network.eval()
    return toy


def test_the_toy_that_the_mutants_are_made_of_keeps_the_rules():
    check_model(made(Toy), toy_batch())
    assert isinstance(made(Toy), Classifier)


@pytest.mark.parametrize("kind", MODELS)
def test_a_broken_model_is_caught_by_the_rule_it_breaks(kind):
    rule, found = MODELS[kind]
    with pytest.raises(AssertionError, match=f"^{rule}: .*{found}"):
        check_model(made(kind), toy_batch())


def test_every_rule_has_a_mutant_and_says_what_it_is():
    of_models = {"order", "company", "padding", "unchanged"} | MODEL_RULES.keys() - {"invariance"}
    assert {rule for rule, _ in MODELS.values()} == of_models
    of_explainers = {"order", "company", "padding"} | EXPLAINER_RULES.keys() - {"invariance"}
    assert {rule for rule, _ in MUTANTS.values()} == of_explainers
    assert all(rule.__doc__ for rule in (*MODEL_RULES.values(), *EXPLAINER_RULES.values()))


def right(model, batch, scalar, *, generator=None):
    """Gradient × input: what the mutants below change."""
    return EXPLAINERS["gradient_x_input"].explain(model, batch, scalar, generator=generator)


def changed(change):
    def mutant(model, batch, scalar, *, generator=None):
        found = right(model, batch, scalar)
        return replace(found, scores=change(found.scores, batch, generator))

    return mutant


def tensor_only(model, batch, scalar, *, generator=None):
    return right(model, batch, scalar).scores


def unsigned(model, batch, scalar, *, generator=None):
    return replace(right(model, batch, scalar), signed=False)


def lying(model, batch, scalar, *, generator=None):
    return replace(right(model, batch, scalar), delta=torch.zeros(len(batch)))


def negative_delta(model, batch, scalar, *, generator=None):
    return replace(right(model, batch, scalar), delta=-torch.ones(len(batch)))


def leaves_a_hook(model, batch, scalar, *, generator=None):
    model.embedding.register_forward_hook(lambda *_: None)
    return right(model, batch, scalar)


def leaves_a_hook_after_an_error(model, batch, scalar, *, generator=None):
    hook = model.embedding.register_forward_hook(lambda *_: None)
    found = right(model, batch, scalar)
    hook.remove()
    return found


def leaves_a_patch_after_an_error(model, batch, scalar, *, generator=None):
    model.forward = model.predict
    found = right(model, batch, scalar)
    del model.forward
    return found


def ends_in_eval(model, batch, scalar, *, generator=None):
    model.eval()
    return right(model, batch, scalar)


def thaws(model, batch, scalar, *, generator=None):
    model.requires_grad_(True)
    return right(model, batch, scalar)


def leaves_gradients(model, batch, scalar, *, generator=None):
    with torch.enable_grad():
        scalar(model, model.predict(batch), batch).sum().backward()
    return right(model, batch, scalar)


def edits_the_batch(model, batch, scalar, *, generator=None):
    found = right(model, batch, scalar)
    batch.labels.add_(1)
    return found


def seeds_everything(model, batch, scalar, *, generator=None):
    torch.manual_seed(0)
    return right(model, batch, scalar)


def patches_the_class(model, batch, scalar, *, generator=None):
    type(model.embedding).forward = lambda self, ids: nn.functional.embedding(ids, self.weight)
    return right(model, batch, scalar)


def patches_a_function(model, batch, scalar, *, generator=None):
    nn.functional.gelu = lambda x: x
    return right(model, batch, scalar)


def stays_deterministic(model, batch, scalar, *, generator=None):
    torch.use_deterministic_algorithms(True)
    return right(model, batch, scalar)


def stays_without_gradients_after_an_error(model, batch, scalar, *, generator=None):
    torch.set_grad_enabled(False)
    found = right(model, batch, scalar)
    torch.set_grad_enabled(True)
    return found


MUTANTS = {
    tensor_only: ("result", "it gives a Tensor, not a heatcheck.explain.types.Explanation"),
    unsigned: ("result", "a score is below 0, though the method says it is unsigned: -"),
    changed(lambda s, b, g: s[:, 1:]): ("result", "scores have the shape"),
    changed(lambda s, b, g: s / 0): ("result", "a score is not finite"),
    changed(lambda s, b, g: s + 1): ("result", r"a score is on padding and not 0: 1 \(text '\d', token \d+\)"),
    changed(lambda s, b, g: s * torch.rand(())): ("repeatable", "with the same generator again"),
    changed(lambda s, b, g: s * torch.arange(1, len(s) + 1)[:, None]): ("order", "scores with the texts in reverse"),
    changed(lambda s, b, g: s * torch.rand(s.shape, generator=g)): ("order", "scores with the texts in reverse"),
    changed(lambda s, b, g: s / s.abs().max()): ("company", "scores alone"),
    changed(lambda s, b, g: s / s.shape[1]): ("padding", "scores without padding"),
    changed(lambda s, b, g: s * b.token_ids.sum(1, keepdim=True)): ("padding", "scores with other ids where there is"),
    lying: ("completeness", "delta says 0 for text '.', but measured from the difference from .*, the closest of all"),
    negative_delta: ("completeness", "delta is not one number, 0 or above"),
    leaves_a_hook: ("unchanged", "after an explanation, the hooks of embedding changed"),
    ends_in_eval: ("unchanged", "of a model in train mode, the mode .* changed from True to False"),
    thaws: ("unchanged", "in train mode, requires_grad of .* changed from False to True"),
    leaves_gradients: ("unchanged", "the gradient of "),
    edits_the_batch: ("unchanged", "the batch's labels changed"),
    seeds_everything: ("unchanged", "it seeds the global random generator, or draws from it"),
    patches_the_class: ("unchanged", "the forward method of the class of embedding changed"),
    patches_a_function: ("unchanged", "the functions of torch.nn.functional changed"),
    stays_deterministic: ("unchanged", "whether algorithms are deterministic changed from False to True"),
    leaves_a_hook_after_an_error: ("cleanup", "after an error in call 1 of .*, the hooks of embedding changed"),
    leaves_a_patch_after_an_error: ("cleanup", "after an error in call 1 of .*attributes.* changed: 'forward' is new"),
    stays_without_gradients_after_an_error: ("cleanup", "whether gradients are recorded changed from True to False"),
}  # fmt: skip


@pytest.fixture
def bilstm():
    embedding, gelu = nn.Embedding.forward, nn.functional.gelu
    yield small_subject(random_examples(5))
    nn.Embedding.forward, nn.functional.gelu = embedding, gelu
    torch.use_deterministic_algorithms(False)
    torch.set_grad_enabled(True)


def test_the_method_that_the_mutants_are_made_of_keeps_the_rules(bilstm):
    check_explainer(right, bilstm, random_examples(5))


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_broken_method_is_caught_by_the_rule_it_breaks(number, bilstm):
    explainer, (rule, found) = list(MUTANTS.items())[number]
    with pytest.raises(AssertionError, match=f"^{rule}: .*{found}"):
        check_explainer(explainer, bilstm, random_examples(5))


def test_a_method_that_leaves_another_attention_implementation_is_caught():
    subject = family_subject("bert")
    model = copy.deepcopy(subject.model)

    def eager(model, batch, scalar, *, generator=None):
        model.network.set_attn_implementation("eager")
        return right(model, batch, scalar)

    with pytest.raises(AssertionError, match=r"^unchanged: after an explanation.*attention implementation"):
        check_explainer(eager, replace(subject, model=model), MIXED)


def test_a_method_not_marked_random_must_not_be(bilstm):
    """Numbers belong to the texts, so that only another seed changes them."""
    lime = method("lime(samples=20)")
    check_explainer(lime, bilstm)
    with pytest.raises(AssertionError, match=r"^repeatable: with another generator, though not marked random"):
        check_explainer(replace(lime, random=False), bilstm)


def test_a_sum_of_its_own_is_checked_against_what_the_author_says(bilstm):
    def half(model, batch, scalar, *, generator=None):
        found = EXPLAINERS["deep_lift"].explain(model, batch, scalar)
        return Explanation(found.scores / 2, signed=True, delta=found.delta)

    def half_of_it(model, batch, scalar):
        empty = replace_tokens(batch, batch.words, model.pad_id)
        return (scalar(model, model.predict(batch), batch) - scalar(model, model.predict(empty), empty)) / 2

    check_explainer(Method(half, Predictor), bilstm, random_examples(2, longest=4), promised=half_of_it)
    with pytest.raises(AssertionError, match=r"^completeness: .* If it promises another sum, give promised=\."):
        check_explainer(half, bilstm, random_examples(3))
