"""DeepLIFT, exactly complete (Shrikumar et al. 2017; Neely et al. 2021, section 3).

1. Run the model on the text and on its baseline side by side: the marks stay, every word is padding.
2. Go backwards with multipliers in place of derivatives (differences.py), from what is explained to the embeddings.
3. A token's score is Σ_d multiplier · (e − e₀), with its sign; the scores sum to f(text) − f(baseline).

Deviation: the paper used Captum's, which has no rule for the products in an LSTM and in attention and so misses that
sum (deep_lift_captum.py). `delta` is measured with the model as it is, not with the view of it that step 1 builds.

Which transformers: on tiny random BERT, DistilBERT, RoBERTa, ELECTRA, ALBERT, DeBERTa 1 to 3, XLNet, GPT-2, MPNet,
RoFormer, BART, mBART, ConvBERT and FNet the delta is below 1e-9 in double precision, and below 1e-3 in single
(tests/explain/test_deep_lift.py). Llama's, T5's and Funnel's are below 1e-5 in double, for they have positions or norms
in single precision always; if Llama's padding has no embedding, another token empties the text
(`models.pretrained.emptying`).
A model with an operation that has no rule gets Captum's form, with a note that names the operation and with how far it
misses. Longformer reads its windows by memory layout (`as_strided`), which a text and its baseline need not share;
BLOOM adds its positions by `baddbmm`, and has a function with a derivative of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.errors import InputError
from heatcheck.explain.contributions import averaged
from heatcheck.explain.deep_lift_captum import by_captum
from heatcheck.explain.differences import plain, twin
from heatcheck.explain.hiding import emptied
from heatcheck.explain.types import Explanation, Scalar, held
from heatcheck.explain.unrolled import NoRuleError
from heatcheck.models.protocols import Classifier


@dataclass(frozen=True)
class DeepLift:
    """Has no settings."""

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        return exact_or_captums(model, batch, [emptied(model, batch)], held(scalar, model, batch))


def exact_or_captums(model: Classifier, batch: Batch, baselines: Sequence[Batch], scalar: Scalar) -> Explanation:
    """The mean over these baselines of each text."""
    try:
        return averaged(exact, model, batch, baselines, scalar)
    except NoRuleError as error:
        missing = str(error)
    note = f"{missing}, so this is Captum's form, which misses its sum"
    try:
        return averaged(by_captum, model, batch, baselines, scalar, notes=(note,))
    except InputError as error:
        raise InputError(f"DeepLIFT: {missing}; and {error} Use integrated gradients.") from error


def multipliers(
    model: Classifier, embeddings: Float[Tensor, "B T E"], baseline: Tensor | None, batch: Batch, scalar: Scalar
) -> Float[Tensor, "B T E"]:
    """Of every number of the embeddings. Without a baseline it is that of `emptied`."""
    if baseline is None:
        baseline = model.embed(emptied(model, batch))
    start = embeddings.detach().requires_grad_()
    with torch.enable_grad():
        logits = model.logits(twin(start, baseline.detach()), batch)
        explained, _ = plain(scalar(model, logits, batch))
        (result,) = torch.autograd.grad(explained.sum(), start)
    return result


def exact(
    model: Classifier,
    embeddings: Float[Tensor, "B T E"],
    baseline: Float[Tensor, "B T E"],
    batch: Batch,
    scalar: Scalar,
) -> Float[Tensor, "B T E"]:
    return multipliers(model, embeddings, baseline, batch, scalar) * (embeddings - baseline)
