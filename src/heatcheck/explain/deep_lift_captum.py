"""DeepLIFT as Captum computes it, which is what Neely et al. 2021 report.

Captum gives rules to activation *modules* only. A function (torch.tanh), a fused LSTM, a product of two variables
keep their derivatives, so that on our models this is gradient × (input − baseline), or close to it. Shown beside
`deep_lift` with how far it misses its sum; never ranked.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.batch import Batch, rows
from heatcheck.errors import InputError
from heatcheck.explain.captums import FromEmbeddings, attributed
from heatcheck.explain.contributions import averaged
from heatcheck.explain.hiding import emptied
from heatcheck.explain.types import Explanation, Scalar, held
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.inputs import regrouped
from heatcheck.models.protocols import Classifier

NOTE = "Captum's form, as published: not complete, not ranked"


@dataclass(frozen=True)
class CaptumDeepLift:
    """The same baseline as `DeepLift`; has no settings."""

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        return averaged(by_captum, model, batch, [emptied(model, batch)], held(scalar, model, batch), notes=(NOTE,))


def by_captum(
    model: Classifier,
    embeddings: Float[Tensor, "B T E"],
    baseline: Float[Tensor, "B T E"],
    batch: Batch,
    scalar: Scalar,
) -> Float[Tensor, "B T E"]:
    groups = model.groups(batch.mask) if isinstance(model, HuggingFaceClassifier) else []
    if len(groups) > 1:  # each is a run of its own, and Captum takes one
        parts = [by_captum(model, embeddings[g], baseline[g], rows(batch, g), scalar) for g in groups]
        return regrouped(parts, groups)
    network = FromEmbeddings(model, batch, scalar)
    index = torch.arange(len(batch), device=embeddings.device)
    with _left_as_it_was(network):
        return attributed("DeepLift", network, embeddings, baseline.detach(), additional_forward_args=index)


@contextmanager
def _left_as_it_was(network: nn.Module) -> Iterator[None]:
    """Captum warns that it sets hooks and attributes; after an error it removes only the hooks."""
    before = {module: set(vars(module)) for module in network.modules()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except RuntimeError as error:
        if "used more than once" not in str(error):
            raise
        raise InputError(
            "Captum's DeepLIFT cannot explain a model that runs one activation module twice, in two places or for "
            "windows of two lengths."
        ) from error
    finally:
        for module, names in before.items():
            for name in vars(module).keys() - names:
                delattr(module, name)
