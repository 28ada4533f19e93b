"""Every explanation method on every family of models: a text has the same scores alone, beside a longer text, in
another order and with more padding. On three families all public rules (heatcheck.testing.check_explainer) are tried.

Tolerance: 1e-5, or a thousandth of the score; the scores are a hundred times larger than that, so it means something.
Our encoders, with every task, are in test_explainers.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

from heatcheck.batch import Batch, Example, rows
from heatcheck.errors import InputError
from heatcheck.explain import EXPLAINERS, method
from heatcheck.explain.gradient import without_padding
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models import blackbox
from heatcheck.models.spec import ModelSpec
from heatcheck.testing import EXPLAINER_RULES, check_explainer
from heatcheck.testing.explainer import Case
from tests.explain.families import family_subject, two_texts_compared
from tests.tiny import ENCODER_DECODERS, FAMILIES, UNPADDED, tiny_subject
from tests.toys import random_examples, small_model, vocabulary_of

QUICK = {
    "lime": "lime(samples=8)",
    "kernel_shap": "kernel_shap(samples=8, exact=3)",
    "integrated_gradients": "integrated_gradients(steps=4, most_steps=4)",
    "smooth_grad": "smooth_grad(samples=2)",
    "gradient_shap": "gradient_shap(samples=2)",
    "deep_shap": "deep_shap(samples=2)",
}
MIXED = [Example("one", "good film", 0), Example("two", "a sad film", 0, "not fun")]
FULLY = ("bert", "gpt2", "bilstm")  # all rules take twice the time
OURS = ("bilstm", "bilstm of three heads", "two texts compared", "function")
OF_ATTENTION = ("attention", "attention_x_gradient", "rollout", "flow", "value_zeroing")
REFUSED = {
    **dict.fromkeys(ENCODER_DECODERS, "has three attentions .* no single row .* integrated_gradients or leave_one_out"),
    "fnet": "gives no attention weights|cannot follow the attention of FNet",
}


def good_or_not(texts: list[str]) -> list[list[float]]:
    shares = [sum(word in ("good", "fun") for word in text.split()) / (1 + len(text.split())) for text in texts]
    return [[1 - share, share] for share in shares]


@functools.cache
def model_and_texts(family: str) -> tuple[Any, Batch]:
    """One short text and one longer, which is a pair where the model takes one."""
    singles, pairs = (random_examples(2, task, labels=3, longest=5, seed=1) for task in ("single", "pair"))
    if family == "bilstm":
        model, vocabulary = small_model(singles, labels=3)
        return model, vocabulary.batch(singles)
    if family == "bilstm of three heads":
        vocabulary = vocabulary_of(singles, 3)
        spec = ModelSpec("bilstm", "additive", "single", 3, len(vocabulary), embedding_width=12, hidden=8, heads=3)
        model = spec.build(0).eval()
        torch.nn.utils.vector_to_parameters(
            2 * torch.nn.utils.parameters_to_vector(model.parameters()), model.parameters()
        )
        return model, vocabulary.batch(singles)
    if family == "two texts compared":
        return two_texts_compared(pairs)
    subject = blackbox.as_subject(good_or_not, ("no", "yes")) if family == "function" else family_subject(family)
    texts = [Example("one", "good", 0), Example("two", "a film, not fun", 0)] if family == "function" else MIXED
    (batch,) = subject.batches(texts, 2)
    return subject.model, batch


@pytest.mark.parametrize("family", [*FAMILIES, *ENCODER_DECODERS, *UNPADDED, *OURS])
@pytest.mark.parametrize("name", EXPLAINERS)
def test_company_order_and_padding_change_nothing(name, family):
    model, batch = model_and_texts(family)
    chosen = method(QUICK.get(name, name))
    if not chosen.serves(model):
        pytest.skip(f"needs {chosen.needed}")
    if name in OF_ATTENTION and family in REFUSED:
        with pytest.raises(InputError, match=REFUSED[family]):
            chosen.explain(model, batch, probability_of_prediction(model, batch))
        return
    if family in FULLY:
        check_explainer(chosen, model, batch)
    scalar = probability_of_prediction(model, batch)
    case = Case(chosen.explain, model, batch, scalar, chosen.random, promised=None, atol=1e-5, before={})
    if family not in FULLY:
        EXPLAINER_RULES["result"](case)
        EXPLAINER_RULES["invariance"](case)
    assert len(set(batch.mask.sum(1).tolist())) == 2  # one of the texts is padded
    assert float(case.run().scores.abs().amax(1).min()) > 1e-3


@pytest.mark.parametrize("name", EXPLAINERS)
def test_short_texts_out_of_a_batch_with_a_long_one_fit_the_model(name: str, tmp_path: Any) -> None:
    """As wide as that, if only by padding: rows are taken in pieces, some of them without the long text."""
    subject = tiny_subject(tmp_path, max_length=24, windows=True)
    long = Example("long", "good film . " * 100, 0)
    (batch,) = subject.batches([*random_examples(30, longest=5, seed=1), long], 31)
    chosen = method(QUICK.get(name, name))
    scores = explained(chosen, subject.model, batch)
    row = rows(batch, torch.tensor([3]))
    alone = explained(chosen, subject.model, without_padding(row))
    torch.testing.assert_close(scores[3, : alone.shape[1]], alone[0], atol=1e-5, rtol=1e-3)


def explained(chosen: Any, model: Any, batch: Batch) -> torch.Tensor:
    scalar = probability_of_prediction(model, batch)
    return chosen.explain(model, batch, scalar, generator=torch.Generator().manual_seed(0)).scores
