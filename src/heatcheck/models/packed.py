"""Linear layers that read many texts on the CPU with less work: in one pass, and what is the same only once.

PyTorch hands a linear layer to a matrix product that rearranges the weights on every call, and adds the bias and
applies the activation in passes of their own. With the weights laid out once as oneDNN reads them all of that is one
pass. And of many edits of one text, the first layer sees the same few words again and again. Together a fifth less time
with MiniLM; the same outputs up to rounding. While it lasts these weights are in memory twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.models.network import HuggingFaceModel
from heatcheck.models.protocols import Predictor
from heatcheck.models.readout import is_plain_linear, is_untouched

WORTHWHILE = 2000  # tokens: to lay out the weights takes as long as to read some hundreds
AT_ONCE = 1024  # rows, which the layout may depend on; any number of them can be multiplied

Forward = Callable[[Tensor], Tensor]


@contextmanager
def packed_weights(model: Predictor, tokens: int) -> Iterator[None]:
    """Inside, no slope goes through the model. Where few `tokens` will be read, and models of ours, run as ever: those
    have too few weights to gain by it."""
    changed: list[nn.Module] = []
    try:
        if isinstance(model, HuggingFaceModel) and tokens >= WORTHWHILE and _can_pack():
            for module, forward in list(_shortcuts(model)):
                module.forward = forward  # of this one module: it hides the method of its class
                changed.append(module)
        yield
    finally:
        for module in changed:
            del module.forward


def _can_pack() -> bool:
    one_dnn = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]
    return one_dnn and not torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def _shortcuts(model: nn.Module) -> Iterator[tuple[nn.Module, Forward]]:
    """The layers that can run in one pass, and how."""
    repeats, inside = Repeats(), set[nn.Module]()
    for module in model.modules():
        if (fused := _then_gelu(module)) is not None:
            inside |= set(module.children())
            yield module, fused
        elif module not in inside and (linear := _linear(module, repeats)) is not None:
            yield module, linear


def _linear(module: Any, repeats: Repeats) -> Forward | None:
    run = None if "forward" in vars(module) else _one_pass(module, "none")
    if run is None:
        return None

    def forward(input: Tensor) -> Tensor:  # as nn.Linear calls it
        found = repeats(input)
        return run(input) if found is None else run(found.rows)[found.where]

    return forward


def _one_pass(module: Any, activation: str) -> Forward | None:
    """A plain linear layer and what is behind it."""
    if not is_plain_linear(module) or not module.weight.numel():
        return None
    if (module.weight.device.type, module.weight.dtype) != ("cpu", torch.float32):
        return None
    packed = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), AT_ONCE)
    run = torch.ops.mkldnn._linear_pointwise
    return lambda inputs: run(inputs, packed, module.bias, activation, [], "none")


def _then_gelu(module: Any) -> Forward | None:
    """A linear layer and a GELU behind it, as the family of BERT has it: tried, for others may do something else."""
    parts: dict[str, Any] = dict(module.named_children())
    if set(parts) != {"dense", "intermediate_act_fn"} or not all(map(is_untouched, (module, *parts.values()))):
        return None
    fused, values = _one_pass(parts["dense"], "gelu"), torch.linspace(-6, 6, 1000)
    if fused is None:
        return None
    trial = torch.linspace(-3, 3, parts["dense"].in_features).expand(1, 2, -1)
    try:
        gelu = torch.allclose(parts["intermediate_act_fn"](values), nn.functional.gelu(values), atol=1e-6)
        return fused if gelu and torch.allclose(fused(trial), module(trial), atol=1e-5) else None
    except (TypeError, ValueError, RuntimeError):
        return None


class Distinct(NamedTuple):
    rows: Float[Tensor, "U H"]
    where: Int[Tensor, "B T"]  # rows[where] is what they are of


class Repeats:
    """Finds the distinct vectors among those of many texts; queries, keys and values ask of the same ones."""

    def __init__(self) -> None:
        self.asked: tuple[Tensor, int] | None = None
        self.found: Distinct | None = None
        self.useless = False

    def __call__(self, vectors: Tensor) -> Distinct | None:
        """None where little would be saved. Two texts' last vectors are equal only before the model has mixed words."""
        if self.useless or vectors.dim() != 3 or len(vectors) < 2 or not vectors.shape[1] or vectors.is_inference():
            return None
        if not torch.equal(vectors[0, -1], vectors[1, -1]):
            return None
        if self.asked is None or self.asked[0] is not vectors or self.asked[1] != vectors._version:
            self.asked, self.found = (vectors, vectors._version), distinct(vectors)
            self.useless = self.found is None
        return self.found


def distinct(vectors: Float[Tensor, "B T H"]) -> Distinct | None:
    """By a number that equal vectors share; None where different ones share it too, or most are different."""
    flat = vectors.flatten(0, 1)
    key = flat.double() @ torch.linspace(1, 2, flat.shape[1], dtype=torch.float64).sqrt()
    keys, where = torch.unique(key, return_inverse=True)
    rows = flat[where.new_empty(len(keys)).scatter_(0, where, torch.arange(len(where)))]
    if 2 * len(rows) > len(flat) or not torch.equal(rows[where], flat):
        return None
    return Distinct(rows, where.view(vectors.shape[:2]))
