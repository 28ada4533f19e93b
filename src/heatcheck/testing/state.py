"""What using a model must leave as it was: weights, modes, hooks, patches, the attention implementation."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from heatcheck.batch import Batch
from heatcheck.models.protocols import TransformerClassifier

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
State = dict[str, Any]


def modules_of(model: Any) -> Iterator[tuple[str, nn.Module]]:
    """All modules of a model, or of the networks that it holds."""
    held = {"": model} if isinstance(model, nn.Module) else getattr(model, "__dict__", {})
    for name, network in held.items():
        if isinstance(network, nn.Module):
            yield from (
                (f"{name}.{part}".strip(".") or "the model", module) for part, module in network.named_modules()
            )


@torch.no_grad()
def settle(model: Any, batch: Batch) -> None:
    """transformers puts hooks of its own into a network the first time it is asked for attention weights."""
    if isinstance(model, TransformerClassifier):
        with contextlib.suppress(Exception):  # a network that has none says so when it is asked
            model.logits_and_maps(model.embed(batch), batch)


def state_of(model: Any, batch: Batch) -> State:
    """Each fact by what it is called in a sentence."""
    found: State = {
        "whether gradients are recorded": torch.is_grad_enabled(),
        "whether cuDNN is used": torch.backends.cudnn.enabled,
        "whether oneDNN is used": torch.backends.mkldnn.enabled,
        "the default dtype": torch.get_default_dtype(),
        "whether algorithms are deterministic": torch.are_deterministic_algorithms_enabled(),
        "the functions of torch.nn.functional": [f for f in vars(functional).values() if callable(f)],
        "the model's attributes": sorted(getattr(model, "__dict__", {})),
    }
    fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    found |= {f"the batch's {name}": x.clone() for name, x in fields.items() if isinstance(x, torch.Tensor)}
    for name, module in modules_of(model):
        found |= {f"{fact} of {name}": value for fact, value in _facts(module).items()}
    return found


def _facts(module: nn.Module) -> State:
    weights = {**dict(module.named_parameters(recurse=False)), **dict(module.named_buffers(recurse=False))}
    facts: State = {
        "the mode (train or eval)": module.training,
        "the hooks": [list(vars(module).get(kind) or {}) for kind in HOOKS],
        "the attributes": sorted(vars(module)),
        "the class": type(module),
        "the forward method of the class": type(module).forward,
        "the attention implementation": getattr(getattr(module, "config", None), "_attn_implementation", None),
        "the parameters and buffers": sorted(weights),
    }
    for name, weight in weights.items():
        facts[f"the values of {name}"] = weight.detach().clone()
        facts[f"requires_grad of {name}"] = weight.requires_grad
        facts[f"the gradient of {name}"] = None if weight.grad is None else weight.grad.detach().clone()
    return facts


def difference(before: State, after: State) -> str | None:
    """The first fact that is not what it was, as a sentence."""
    for what in before.keys() | after.keys():
        one, other = before.get(what), after.get(what)
        if not _equal(one, other):
            return f"{what} changed{_how(one, other)}"
    return None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())
    return type(one) is type(other) and bool(one == other)


def _how(one: Any, other: Any) -> str:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return ""
    if isinstance(one, list) and isinstance(other, list):
        new = [x for x in other if x not in one]
        return f": {new[0]!r} is new" if new else ": something is gone"
    return f" from {one!r} to {other!r}"


def leaf_calls(model: Any, visit: Callable[[], None]) -> list[Any]:
    """Hooks that call `visit` after each module without parts of its own has run. The caller removes them."""
    leaves = [module for _, module in modules_of(model) if not list(module.children())]
    return [leaf.register_forward_hook(lambda *_: visit()) for leaf in leaves]
