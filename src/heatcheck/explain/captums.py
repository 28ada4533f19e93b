"""Captum's attribution methods on our batches: it is given what is explained as a function of embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.batch import Batch, rows
from heatcheck.explain.types import Scalar
from heatcheck.models.protocols import Classifier


class FromEmbeddings(nn.Module):
    """What is explained, as a function of the batch's embeddings; or of some rows' (`row`), which Captum repeats as it
    repeats the embeddings."""

    def __init__(self, model: Classifier, batch: Batch, scalar: Scalar) -> None:
        super().__init__()
        self.model, self.batch, self.scalar = model, batch, scalar

    def forward(self, embeddings: Float[Tensor, "N T E"], row: Int[Tensor, "N"] | None = None) -> Float[Tensor, "N"]:
        batch = self.batch if row is None else rows(self.batch, row)
        return self.scalar(self.model, self.model.logits(embeddings, batch), batch)


def attributed(
    name: str,
    explained: Callable[..., Float[Tensor, "N"]],
    embeddings: Float[Tensor, "N T E"],
    *baseline: Float[Tensor, "N T E"],
    **settings: Any,
) -> Float[Tensor, "N T E"]:
    """What `captum.attr.<name>` says of each number of the embeddings. Nothing is left on the model's weights."""
    import captum.attr  # takes more than half a second, and matplotlib

    start = embeddings.detach().requires_grad_()
    with plain_kernels():
        found: Tensor = getattr(captum.attr, name)(explained).attribute(start, *baseline, **settings)
    return found.detach()


@contextmanager
def plain_kernels() -> Iterator[None]:
    """PyTorch's own RNN kernels: cuDNN's cannot go backwards in eval mode, and oneDNN's always compute the slopes of
    the weights too, which nobody asked for."""
    one_dnn = torch.backends.mkldnn
    was_on, one_dnn.enabled = one_dnn.enabled, False  # type: ignore[assignment]
    try:
        with torch.backends.cudnn.flags(enabled=False):
            yield
    finally:
        one_dnn.enabled = was_on
