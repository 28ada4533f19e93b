"""DeepLIFT's rules for PyTorch's operations (Shrikumar et al. 2017; the product rule is ours).

A `Twin` is a tensor at the text that carries its value at the baseline along. A model given a Twin runs its own
code, each operation on both values; backwards, autograd meets multipliers in place of derivatives:

- affine operations: the derivative, which is the multiplier;
- element-wise functions: (f(x) − f(x₀)) / (x − x₀), written without cancellation, so Δx = 0 needs no threshold;
- products, matrix products too: Δ(xy) = ½(y + y₀)Δx + ½(x + x₀)Δy, so gates and attention are exact;
- softmax and entmax: exp(x − τ) or its like, where Δτ is what keeps the sum at one. For softmax exp(x) times
  1 / Σ exp(x) is exact too, but has multipliers that grow with the ratio of the two sums, so by a shift of all scores
  that softmax itself does not see;
- LSTM, GRU, layer norm and self-attention: unrolled into these.

Σ multiplier·(x − x₀) = f(x) − f(x₀) follows by the chain rule, whatever the model. An operation without a rule is
refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from entmax import entmax15
from torch import Tensor
from torch.nn import functional as F

from heatcheck.errors import InputError
from heatcheck.explain import slopes


class NoRuleError(InputError):
    """The model does something that DeepLIFT has no rule for."""


class Twin(Tensor):
    """Made by `twin` only. Behaves like the tensor at the text; `baseline` needs no graph."""

    baseline: Tensor

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        name = _name(func)
        if name in RULES:
            return RULES[name](*args, **(kwargs or {}))
        at_text = func(*_each(_text, args), **_each(_text, kwargs or {}))
        if name in CONSTANTS or not (at_text is None or _has_tensor(at_text)):  # sizes, types, devices
            return at_text
        if name not in AFFINE or at_text is None:  # None: something was changed in place
            raise NoRuleError(
                f"DeepLIFT has no rule for the operation {name!r}, which this model or what is explained uses. "
                "Use deep_lift_captum, which says how far it misses, or integrated gradients."
            )
        with torch.no_grad():
            at_baseline = func(*_each(_baseline, args), **_each(_baseline, kwargs or {}))
        if isinstance(at_text, Tensor):
            return twin(at_text, at_baseline)
        return tuple(map(twin, at_text, at_baseline))


def twin(text: Tensor, baseline: Tensor) -> Twin:
    pair = text.as_subclass(Twin)
    pair.baseline = baseline
    return pair


def plain(value: Tensor) -> tuple[Tensor, Tensor]:
    """The two values of a Twin; a constant has the same one twice."""
    return _text(value), _baseline(value)


def _name(func: Any) -> str:
    """`torch.add`, `Tensor.add` and `Tensor.__add__` are one operation; the in-place `add_` is another."""
    name: str = func.__name__
    if name == "__get__":  # of an attribute, such as x.shape or x.mT
        return str(func.__self__.__name__)
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def _text(value: Any) -> Any:
    if not isinstance(value, Twin):
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(Tensor)


def _baseline(value: Any) -> Any:
    return value.baseline if isinstance(value, Twin) else value


def _each(take: Callable[[Any], Any], values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _each(take, value) for name, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(_each(take, value) for value in values)
    return take(values)


def _has_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value))


def _carry(value: Tensor, stand_in: Tensor) -> Tensor:
    """The value of one, the gradient of the other."""
    return value.detach() + (stand_in - stand_in.detach())


# Element-wise functions


def _elementwise(function: Callable[[Tensor], Tensor], slope: Callable[..., Tensor], x: Tensor, **_: Any) -> Tensor:
    text, baseline = plain(x)
    with torch.no_grad():
        y, y0 = function(text), function(baseline)
        between = slope(text, baseline, y, y0)
    return twin(_carry(y, between * text), y0)


def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    function = partial(F.gelu, approximate=approximate)
    return _elementwise(function, partial(slopes.of_function, function), x)


# Products


def _product(multiply: Callable[[Any, Any], Tensor], x: Any, y: Any) -> Tensor:
    """Any operation that is linear in each of its two arguments."""
    if not (isinstance(x, Twin) and isinstance(y, Twin)):
        with torch.no_grad():
            at_baseline = multiply(_baseline(x), _baseline(y))
        return twin(multiply(_text(x), _text(y)), at_baseline)
    (a, a0), (b, b0) = plain(x), plain(y)
    with torch.no_grad():
        value, at_baseline, mean_a, mean_b = multiply(a, b), multiply(a0, b0), (a + a0) / 2, (b + b0) / 2
    return twin(_carry(value, multiply(a, mean_b) + multiply(mean_a, b)), at_baseline)


def _quotient(x: Any, y: Any) -> Tensor:
    return _product(torch.mul, x, y.reciprocal()) if isinstance(y, Twin) else _product(torch.div, x, y)


def _power(x: Tensor, exponent: Any) -> Tensor:
    if not isinstance(exponent, (int, float)) or exponent not in (2, 3):
        raise NoRuleError(f"DeepLIFT has rules for the powers 2 and 3, not for {exponent}, which this model uses.")
    return x * x if exponent == 2 else x * x * x


def _affine_product(bias: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return x @ y + bias


# Weights that sum to one


def _softmax(x: Tensor, dim: int, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """exp(x − τ), that is exp of the log-probabilities."""
    text, baseline = (value.to(dtype or value.dtype) for value in plain(x))
    with torch.no_grad():
        weights, weights0 = text.softmax(dim), baseline.softmax(dim)
        slope = slopes.exp(text.log_softmax(dim), baseline.log_softmax(dim), weights, weights0)
    return twin(_carry(weights, _summing_to_one(text, slope, dim)), weights0)


def _entmax(x: Tensor, dim: int = -1, k: int | None = None) -> Tensor:
    """ReLU(½x − τ)² (Peters et al. 2019, α = 1.5)."""
    text, baseline = plain(x)
    with torch.no_grad():
        weights, weights0 = entmax15(text, dim), entmax15(baseline, dim)
        above, above0 = _above(text, weights, dim), _above(baseline, weights0, dim)
        root, root0 = above.relu(), above0.relu()
        slope = (root + root0) * slopes.relu(above, above0, root, root0)
    return twin(_carry(weights, _summing_to_one(text / 2, slope, dim)), weights0)


def _above(x: Tensor, weights: Tensor, dim: int) -> Tensor:
    """½x − τ, where τ is known from the largest weight."""
    return (x - x.amax(dim, keepdim=True)) / 2 + weights.amax(dim, keepdim=True).sqrt()


def _summing_to_one(x: Tensor, slope: Tensor, dim: int) -> Tensor:
    """aₜ = f(xₜ − τ) with slopes qₜ, and Σ Δa = 0: so Δτ = Σ qΔx / Σ q and Δaₜ = qₜ(Δxₜ − Δτ)."""
    slope = torch.nan_to_num(slope)  # masked by −∞
    moving = x.masked_fill(slope == 0, 0)
    return slope * (moving - (slope * moving).sum(dim, keepdim=True) / slope.sum(dim, keepdim=True))


# Layers


def _layer_norm(x: Tensor, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dims, keepdim=True)
    normed = centred * ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    scaled = normed if weight is None else normed * weight
    return scaled if bias is None else scaled + bias


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> Tensor:
    """Of F.scaled_dot_product_attention, without dropout."""
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    elif attn_mask is not None:
        scores = scores + attn_mask.clamp(min=torch.finfo(scores.dtype).min / 2)  # −∞ has no difference
    return scores.softmax(-1) @ value


def _multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    width: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    *rest: Any,
    **also: Any,
) -> tuple[Tensor, None]:
    """Of nn.MultiheadAttention as encoders use it: one sequence attends to itself, with a padding mask."""
    if also.get("attn_mask") is not None or also.get("use_separate_proj_weight") or also.get("need_weights"):
        raise NoRuleError("DeepLIFT's rule for nn.MultiheadAttention is for self-attention with a padding mask only.")
    hidden = also["key_padding_mask"]  # B T, 0 or −∞
    length, size = query.shape[:2]
    parts = F.linear(query, weight, bias).chunk(3, dim=-1)
    split = [part.reshape(length, size, heads, -1).permute(1, 2, 0, 3) for part in parts]
    mixed = _attention(split[0], split[1], split[2], None if hidden is None else hidden[:, None, None, :])
    return F.linear(mixed.permute(2, 0, 1, 3).reshape(length, size, width), *rest[4:6]), None


def _recurrent(
    step: Callable[..., tuple[Tensor, ...]],
    inputs: Tensor,
    start: Any,
    weights: Sequence[Tensor],
    has_bias: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Of the functions behind nn.LSTM and nn.GRU, one step at a time."""
    if layers > 1 or bidirectional or not has_bias:
        raise NoRuleError(
            "DeepLIFT's rule for RNNs is for one layer, one direction, with biases; stack such modules instead."
        )
    states = tuple(state[0] for state in (start if isinstance(start, tuple) else (start,)))
    w_in, w_hidden, b_in, b_hidden = weights
    outputs = []
    for projected in F.linear(inputs, w_in, b_in).unbind(1 if batch_first else 0):
        states = step(projected, F.linear(states[0], w_hidden, b_hidden), *states)
        outputs.append(states[0])
    return torch.stack(outputs, 1 if batch_first else 0), *(state[None] for state in states)


def _lstm_step(projected: Tensor, recalled: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    keep_new, keep_old, new, show = (projected + recalled).chunk(4, dim=-1)
    cell = keep_old.sigmoid() * cell + keep_new.sigmoid() * new.tanh()
    return show.sigmoid() * cell.tanh(), cell


def _gru_step(projected: Tensor, recalled: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    reset, keep_old, new = projected.chunk(3, dim=-1)
    recalled_reset, recalled_keep, recalled_new = recalled.chunk(3, dim=-1)
    new = (new + (reset + recalled_reset).sigmoid() * recalled_new).tanh()
    return (new + (keep_old + recalled_keep).sigmoid() * (hidden - new),)


RULES: dict[str, Callable[..., Any]] = {
    "tanh": partial(_elementwise, torch.tanh, slopes.tanh),
    "sigmoid": partial(_elementwise, torch.sigmoid, slopes.sigmoid),
    "abs": partial(_elementwise, torch.abs, slopes.absolute),
    "relu": partial(_elementwise, torch.relu, slopes.relu),
    "exp": partial(_elementwise, torch.exp, slopes.exp),
    "log": partial(_elementwise, torch.log, slopes.log),
    "reciprocal": partial(_elementwise, torch.reciprocal, slopes.reciprocal),
    "rsqrt": partial(_elementwise, torch.rsqrt, slopes.rsqrt),
    "gelu": _gelu,
    "silu": lambda x, inplace=False: x * torch.sigmoid(x),
    "mul": partial(_product, torch.mul),
    "rmul": partial(_product, torch.mul),
    "matmul": partial(_product, torch.matmul),
    "addmm": _affine_product,
    "bmm": partial(_product, torch.bmm),
    "div": _quotient,
    "truediv": _quotient,
    "rdiv": lambda y, x: _quotient(x, y),
    "pow": _power,
    "softmax": _softmax,
    "entmax15": _entmax,  # a model has to offer it by torch.overrides.handle_torch_function
    "layer_norm": _layer_norm,
    "scaled_dot_product_attention": _attention,
    "multi_head_attention_forward": _multi_head_attention,
    "lstm": partial(_recurrent, _lstm_step),
    "gru": partial(_recurrent, _gru_step),
}
# What is affine in all its tensors together: the derivative is the multiplier. A model in eval mode has no dropout.
# fmt: off
AFFINE = frozenset({
    "add", "radd", "sub", "rsub", "neg", "sum", "mean", "linear", "conv1d", "dropout",
    "cat", "stack", "chunk", "split", "unbind", "getitem", "gather", "index_select",
    "scatter_add", "index_add", "index_put", "pad",
    "masked_fill", "where", "transpose", "t", "T", "mT", "movedim", "permute", "reshape", "view", "flatten",
    "unflatten", "squeeze", "unsqueeze", "expand", "expand_as", "repeat", "flip", "clone", "contiguous",
    "to", "type", "float", "double",
})
# fmt: on
CONSTANTS = frozenset({"new_zeros", "new_ones", "zeros_like", "ones_like"})
