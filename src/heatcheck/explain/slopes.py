"""Slopes of the line through two points of a function: DeepLIFT's rescale rule without cancellation.

(f(x) − f(x₀)) / (x − x₀) loses its digits where x and x₀ are close. Each function here has an identity that does
not, so nothing needs a threshold below which the derivative stands in. `y` is f(x), `y0` is f(x₀).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def _over(numerator: Tensor, difference: Tensor, limit: Tensor | float) -> Tensor:
    """numerator / difference, and its limit where there is no difference."""
    same = difference == 0
    return torch.where(same, limit, numerator / torch.where(same, 1, difference))


def tanh(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    """tanh x − tanh x₀ = tanh(x − x₀) · (1 − tanh x tanh x₀)."""
    return _over(torch.tanh(x - x0), x - x0, 1.0) * (1 - y * y0)


def sigmoid(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    """σ(x) = ½(1 + tanh ½x), and 1 − (2y − 1)(2y₀ − 1) = 2(y(1 − y₀) + y₀(1 − y))."""
    return _over(torch.tanh((x - x0) / 2), x - x0, 0.5) * (y * torch.sigmoid(-x0) + y0 * torch.sigmoid(-x))


def relu(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return _over(y - y0, x - x0, (x > 0).to(x.dtype))


def absolute(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return _over(y - y0, x - x0, x.sign())


def exp(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    """From the larger of the two downwards, so that nothing overflows."""
    down = -(x - x0).abs()
    return _over(torch.expm1(down), down, 1.0) * torch.maximum(y, y0)


def reciprocal(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return -y * y0


def sqrt(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return 1 / (y + y0)


def rsqrt(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return -y * y0 / (x.sqrt() + x0.sqrt())


def log(x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    return _over(torch.log1p((x - x0) / x0), x - x0, 1 / x0)


def of_function(function: Callable[[Tensor], Tensor], x: Tensor, x0: Tensor, y: Tensor, y0: Tensor) -> Tensor:
    """For a function without an identity: where the points are close, the derivative halfway."""
    close = (x - x0).abs() < torch.finfo(x.dtype).eps ** (1 / 3)  # rounding and curvature err alike there
    with torch.enable_grad():
        halfway = ((x + x0) / 2).requires_grad_()
        (derivative,) = torch.autograd.grad(function(halfway).sum(), halfway)
    return torch.where(close, derivative, (y - y0) / torch.where(close, 1, x - x0))
