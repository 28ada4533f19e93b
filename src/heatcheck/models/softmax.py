"""The attention weights inside a network while it runs: to read, to differentiate by, or to change.

Every family of transformers has its own attention code, some keep only a copy of their weights, and in training what
they give away has been through dropout. What all of them share is the softmax that makes the weights: it is watched
here, without a hook or a patch in the network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

SOFTMAXES: tuple[Any, ...] = (functional.softmax, torch.softmax, Tensor.softmax)


@final
class Tap(TorchFunctionMode):
    """As a context: what `visit` returns takes the place of the weights of each attention over `length` tokens.

    The network must be in eager attention: fused kernels have no softmax to see.
    """

    def __init__(self, length: int, visit: Callable[[Float[Tensor, "N H T T"]], Float[Tensor, "N H T T"]]) -> None:
        super().__init__()
        self.square, self.visit = (length, length), visit

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        seen = func in SOFTMAXES and result.dim() == 4 and result.shape[-2:] == self.square
        return self.visit(result) if seen else result
