"""DeepLIFT's rules for PyTorch's operations (Shrikumar et al. 2017; the product rule is ours).

A `Twin` is a tensor at the text that carries its value at the baseline along. A model given a Twin runs its own
code, each operation on both values; backwards, autograd meets multipliers in place of derivatives:

- affine operations: the derivative, which is the multiplier;
- element-wise functions: (f(x) − f(x₀)) / (x − x₀), written without cancellation, so Δx = 0 needs no threshold;
- products, matrix products too: Δ(xy) = ½(y + y₀)Δx + ½(x + x₀)Δy, so gates and attention are exact;
- softmax and entmax: exp(x − τ) or its like, where Δτ is what keeps the sum at one. For softmax exp(x) times
  1 / Σ exp(x) is exact too, but has multipliers that grow with the ratio of the two sums, so by a shift of all scores
  that softmax itself does not see;
- LSTM, GRU, layer norm and self-attention: unrolled into these (unrolled.py);
- in place (`x += y`): the rule of the operation, written into both values, so that whoever shares them sees it;
- `detach`: nothing, as it changes no value. What is explained is the output, not what training would change.

Σ multiplier·(x − x₀) = f(x) − f(x₀) follows by the chain rule, whatever the model. An operation without a rule is
named in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from entmax import entmax15
from torch import Tensor
from torch.nn import functional as F

from heatcheck.explain import slopes, unrolled
from heatcheck.explain.unrolled import NoRuleError


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
        if name.endswith("_") and (name[:-1] in RULES or name[:-1] in AFFINE):
            return _in_place(name[:-1], *args, **(kwargs or {}))
        at_text = func(*_each(_text, args), **_each(_text, kwargs or {}))
        if name in CONSTANTS or not (at_text is None or _has_tensor(at_text)):  # sizes, types, devices
            return at_text
        if name not in AFFINE or at_text is None:  # None: something was changed in place
            raise _no_rule(name)
        with torch.no_grad():
            at_baseline = func(*_each(_baseline, args), **_each(_baseline, kwargs or {}))
        if isinstance(at_text, Tensor):
            return twin(at_text, at_baseline)
        return tuple(map(twin, at_text, at_baseline))


def twin(text: Tensor, baseline: Tensor) -> Twin:
    if not torch.is_grad_enabled():  # inside an autograd.Function, which goes backwards by its own derivative
        raise NoRuleError("there is no rule for a function with a derivative of its own")
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


def _in_place(name: str, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x.add_(y) is x.add(y), written into x."""
    if not isinstance(x, Twin):
        raise _no_rule(f"{name}_")  # a constant cannot become something that differs
    text, baseline = plain(getattr(Tensor, name)(x, *args, **kwargs))
    _text(x).copy_(text)
    with torch.no_grad():
        x.baseline.copy_(baseline)
    return x


def _no_rule(name: str) -> NoRuleError:
    return NoRuleError(f"there is no rule for the operation {name!r}")


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


def _einsum(equation: str, *operands: Any) -> Tensor:
    """Of one or two tensors, as they are linear in each."""
    multiply = partial(torch.einsum, equation)
    if len(operands) == 1:
        with torch.no_grad():
            at_baseline = multiply(_baseline(operands[0]))
        return twin(multiply(_text(operands[0])), at_baseline)
    if len(operands) != 2:
        raise NoRuleError(f"there is a rule for the einsum of two tensors, not of {len(operands)} ({equation})")
    return _product(multiply, *operands)


def _power(x: Tensor, exponent: Any) -> Tensor:
    if not isinstance(exponent, (int, float)) or exponent not in (2, 3):
        raise NoRuleError(f"there are rules for the powers 2 and 3, not for {exponent}")
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
    shift = x.detach().amax(dim, keepdim=True)  # changes nothing; without it a row that is masked whole would overflow
    moving = (x - shift).masked_fill(slope == 0, 0)
    return slope * (moving - (slope * moving).sum(dim, keepdim=True) / slope.sum(dim, keepdim=True))


RULES: dict[str, Callable[..., Any]] = {
    "tanh": partial(_elementwise, torch.tanh, slopes.tanh),
    "sigmoid": partial(_elementwise, torch.sigmoid, slopes.sigmoid),
    "abs": partial(_elementwise, torch.abs, slopes.absolute),
    "relu": partial(_elementwise, torch.relu, slopes.relu),
    "exp": partial(_elementwise, torch.exp, slopes.exp),
    "log": partial(_elementwise, torch.log, slopes.log),
    "reciprocal": partial(_elementwise, torch.reciprocal, slopes.reciprocal),
    "rsqrt": partial(_elementwise, torch.rsqrt, slopes.rsqrt),
    "sqrt": partial(_elementwise, torch.sqrt, slopes.sqrt),
    "detach": lambda x: x,
    "type_as": lambda x, other: x.to(other.dtype),  # a mask stays a constant, whatever has the type that it takes
    "gelu": _gelu,
    "silu": lambda x, inplace=False: x * torch.sigmoid(x),
    "mul": partial(_product, torch.mul),
    "multiply": partial(_product, torch.mul),
    "square": lambda x: x * x,
    "rmul": partial(_product, torch.mul),
    "matmul": partial(_product, torch.matmul),
    "addmm": _affine_product,
    "bmm": partial(_product, torch.bmm),
    "einsum": _einsum,
    "div": _quotient,
    "truediv": _quotient,
    "rdiv": lambda y, x: _quotient(x, y),
    "pow": _power,
    "softmax": _softmax,
    "entmax15": _entmax,  # a model has to offer it by torch.overrides.handle_torch_function
    "layer_norm": unrolled.layer_norm,
    "scaled_dot_product_attention": unrolled.attention,
    "multi_head_attention_forward": unrolled.multi_head_attention,
    "lstm": partial(unrolled.recurrent, unrolled.lstm_step),
    "gru": partial(unrolled.recurrent, unrolled.gru_step),
}
# What is affine in all its tensors together: the derivative is the multiplier. A model in eval mode has no dropout.
# fmt: off
AFFINE = frozenset({
    "add", "radd", "sub", "rsub", "neg", "sum", "mean", "linear", "conv1d", "avg_pool2d", "dropout",
    "cat", "stack", "chunk", "split", "unbind", "getitem", "gather", "index_select",
    "scatter_add", "index_add", "index_put", "pad",
    "masked_fill", "where", "transpose", "t", "T", "mT", "movedim", "permute", "reshape", "reshape_as", "view",
    "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "expand_as", "repeat", "flip", "clone", "contiguous",
    "to", "type", "float", "double", "fft_fftn", "real", "unfold", "conv2d",
})
# fmt: on
CONSTANTS = frozenset({"new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like"})
