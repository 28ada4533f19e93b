"""The same output from other words: what a trained adversary minimises.

kl   paper 2: ½·TVD(ŷ, ŷ_base) − λ·KL(α ‖ α_base), summed over the batch. KL has no bound, hence λ.
jsd  paper 3: TVD(ŷ, ŷ_base) − JSD(α, α_base)/ln 2, mean over the batch. Both parts lie between 0 and 1, and no λ is
     needed. (Its TVD is ½|p − q| for one output, divided by its bound ½: our TVD.)

Several attentions to be far from (the base's, and other adversaries'): the nearest counts. Several heads: the mean
over heads, after the best one-to-one matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.errors import InputError
from heatcheck.measure.distributions import LN2, jsd, kl, tvd
from heatcheck.measure.heads import matched

TINY = torch.finfo(torch.float32).tiny  # 0·log 0 = 0, and else nothing
SPARSE = 1e-10  # for base attention with zeros, to which KL would be infinite (paper 3, equation 3)


@dataclass(frozen=True)
class Imitation:
    divergence: str = "jsd"
    weight: float = 1.0
    inside_logarithms: float = TINY

    def __post_init__(self) -> None:
        if self.divergence not in ("kl", "jsd"):
            raise InputError(f"divergence {self.divergence!r} is not one of kl, jsd.")
        if self.weight < 0:
            raise InputError(f"λ = {self.weight:g} is below 0: it would reward the same attention. Give 0 or more.")
        if not self.weight < float("inf"):
            raise InputError(f"λ = {self.weight:g} is not a number to weigh with. Give 0 or more.")

    def losses(
        self,
        probs: Float[Tensor, "B L"],
        attention: Float[Tensor, "B K T"],
        wanted: Float[Tensor, "B L"],
        avoided: Sequence[Float[Tensor, "B K T"]],
    ) -> Float[Tensor, "B"]:
        far = torch.stack([self._distance(attention, matched(attention, other)) for other in avoided]).amin(0)
        moved = tvd(probs, wanted)
        return moved / 2 - self.weight * far if self.divergence == "kl" else moved - self.weight * far / LN2

    def _distance(self, ours: Float[Tensor, "B K T"], theirs: Float[Tensor, "B K T"]) -> Float[Tensor, "B"]:
        distance = jsd(ours, theirs) if self.divergence == "jsd" else kl(ours, theirs, eps=self.inside_logarithms)
        return distance.mean(-1)

    def reduced(self, losses: Float[Tensor, "B"]) -> Float[Tensor, ""]:
        return losses.sum() if self.divergence == "kl" else losses.mean()
