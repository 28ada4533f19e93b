"""The exact adversary: the farthest attention within ε, certified, not searched.

With one linear output the logit under attention α is α·s, where s_t is the logit if token t had all the attention.
"TVD ≤ ε" is then an interval lo ≤ α·s ≤ hi, so the feasible attentions are a polytope. JSD to the model's attention is
convex in α, hence largest at a vertex, and a vertex of {simplex, lo ≤ α·s ≤ hi} has at most two non-zero weights:
single tokens with s_t in the interval, and pairs whose mixture meets lo or hi exactly. All are enumerated, in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.experiments.adversary.types import Adversary
from heatcheck.measure.distributions import LN2

BUDGET = 1 << 18  # pairs of tokens looked at together: what fits a core's cache


def exact_adversary(
    attention: Float[Tensor, "B T"],
    token_logits: Float[Tensor, "B T"],
    words: Bool[Tensor, "B T"],
    epsilon: float,
) -> Adversary:
    """`token_logits`: of the one output. Rows without words keep their (empty) attention."""
    size = max(BUDGET // words.shape[1] ** 2, 1)
    parts = [
        _solve(a.cpu().double(), s.cpu().double(), w.cpu(), epsilon)  # not every device has float64
        for a, s, w in zip(*(torch.split(x, size) for x in (attention, token_logits, words)), strict=True)
    ]
    return Adversary(*(torch.cat([getattr(p, name) for p in parts]) for name in ("attention", "jsd", "tvd")))


class Vertex(NamedTuple):
    """The best vertex of one kind: weight on token `first`, the rest on `second`."""

    jsd: Float[Tensor, "B"]
    first: Tensor
    second: Tensor
    weight: Float[Tensor, "B"]


def _solve(attention: Tensor, logits: Tensor, words: Tensor, epsilon: float) -> Adversary:
    base = (attention * logits).sum(1)
    low, high = logit_interval(base, epsilon)
    candidates = [
        _best_single(attention, logits, words, low, high),
        _best_pair(attention, logits, words, low),
        _best_pair(attention, logits, words, high),
    ]
    best = torch.stack([v.jsd for v in candidates]).argmax(0)
    vertex = Vertex(*(torch.stack(field).gather(0, best[None])[0] for field in zip(*candidates, strict=True)))
    found = torch.zeros_like(attention)
    found.scatter_add_(1, vertex.first[:, None], vertex.weight[:, None])
    found.scatter_add_(1, vertex.second[:, None], 1 - vertex.weight[:, None])
    none = ~torch.isfinite(vertex.jsd)  # no word at all: nothing to attend to
    found = torch.where(none[:, None], attention, found)
    moved = (torch.sigmoid((found * logits).sum(1)) - torch.sigmoid(base)).abs()
    return Adversary(found, vertex.jsd.masked_fill(none, 0).clamp(0, LN2), moved)


def logit_interval(base: Float[Tensor, "B"], epsilon: float) -> tuple[Float[Tensor, "B"], Float[Tensor, "B"]]:
    """The logits whose probability is within ε of the base's; infinite where ε reaches past 0 or 1."""
    p, q = torch.sigmoid(base), torch.sigmoid(-base)
    low = torch.where(p > epsilon, (p - epsilon).log() - (q + epsilon).log(), -torch.inf)
    high = torch.where(q > epsilon, (p + epsilon).log() - (q - epsilon).log(), torch.inf)
    return low, high


def _shared(a: Tensor, b: Tensor) -> Tensor:
    """One token's part of 2·JSD, from its two weights; a token that only one side uses adds its weight times ln 2."""
    return torch.xlogy(a, 2 * a) + torch.xlogy(b, 2 * b) - torch.xlogy(a + b, a + b)


def _best_single(attention: Tensor, logits: Tensor, words: Tensor, low: Tensor, high: Tensor) -> Vertex:
    feasible = words & (logits >= low[:, None]) & (logits <= high[:, None])
    jsd = (_shared(torch.ones_like(attention), attention) + (1 - attention) * LN2) / 2
    value, token = jsd.masked_fill(~feasible, -torch.inf).max(1)
    return Vertex(value, token, token, torch.ones_like(value))


def _best_pair(attention: Tensor, logits: Tensor, words: Tensor, target: Tensor) -> Vertex:
    """Pairs with one token's logit below the target and the other's above, mixed to meet it."""
    length = attention.shape[1]
    reach = torch.where(words, target[:, None] - logits, 0.0)  # above 0: the token lies below the target
    below, above = reach.clamp(min=0)[:, :, None], (-reach).clamp(min=0)[:, None, :]
    feasible = (below > 0) & (above > 0) & torch.isfinite(target)[:, None, None]
    weight = torch.where(feasible, above / (below + above), 0.0)  # on the token below
    a, b = attention[:, :, None], attention[:, None, :]
    jsd = (_shared(weight, a) + _shared(1 - weight, b) + (1 - a - b) * LN2) / 2
    value, pair = jsd.masked_fill(~feasible, -torch.inf).flatten(1).max(1)
    return Vertex(value, pair // length, pair % length, weight.flatten(1).gather(1, pair[:, None]).squeeze(1))
