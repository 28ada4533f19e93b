"""DeepLIFT, exactly complete (Shrikumar et al. 2017; Neely et al. 2021, section 3).

1. Run the model on the text and on its baseline side by side: the marks stay, every word is padding.
2. Go backwards with multipliers in place of derivatives (differences.py), from what is explained to the embeddings.
3. A token's score is Σ_d multiplier · (e − e₀), with its sign; the scores sum to f(text) − f(baseline).

Deviation: the paper used Captum's, which has no rule for the products in an LSTM and in attention and so misses that
sum (deep_lift_captum.py). `delta` is measured with the model as it is, not with the view of it that step 1 builds.

Which transformers: on tiny random BERT, DistilBERT, RoBERTa, ELECTRA, ALBERT, DeBERTa 1 to 3, XLNet, GPT-2 and MPNet
the delta is below 1e-12 in double precision, and below 3e-4 in single (tests/explain/test_deep_lift.py). Llama's is
3e-6 and 2e-5, for it turns positions in single precision always; if its padding has no embedding, another token empties
the text (`models.pretrained.emptying`). Longformer is refused: it reads its windows by memory layout (`as_strided`),
which a text and its baseline need not share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.batch import Batch, rows
from heatcheck.explain.differences import plain, twin
from heatcheck.explain.hiding import emptied
from heatcheck.explain.pieces import over_rows
from heatcheck.explain.types import Explanation, Scalar, held, missed
from heatcheck.models.protocols import Classifier

# (model, embeddings, their baseline, batch, scalar) to what each number of each embedding contributes.
TOKENS_AT_ONCE = 2048  # all that the way back needs is kept, for the text and for its baseline
Contribute = Callable[[Classifier, Tensor, Tensor, Batch, Scalar], Float[Tensor, "B T E"]]


@dataclass(frozen=True)
class DeepLift:
    """Has no settings. A model with an operation that has no rule is refused by its name."""

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        scores, change = attribution(exact, model, batch, emptied(model, batch), held(scalar, model, batch))
        return Explanation(scores, signed=True, delta=missed(scores, change))


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


def attribution(
    contribute: Contribute, model: Classifier, batch: Batch, baseline: Batch, scalar: Scalar
) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B"]]:
    """The tokens' scores, and the change in the output that they should sum to."""

    def in_one_piece(index: Int[Tensor, "N"]) -> Float[Tensor, "N T+1"]:
        some, bare = rows(batch, index), rows(baseline, index)
        with torch.no_grad():
            embeddings, empty = model.embed(some), model.embed(bare)
            ends = [scalar(model, model.logits(e, some), some) for e in (embeddings, empty)]
        scores = contribute(model, embeddings, empty, some, scalar).sum(-1)
        return torch.cat([scores.detach(), (ends[0] - ends[1])[:, None]], dim=1)

    found = over_rows(in_one_piece, batch, TOKENS_AT_ONCE)
    return found[:, :-1], found[:, -1]
