"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Adversary:
    """For each text an attention, how far it is from the model's own (JSD) and how far it moves the output (TVD)."""

    attention: Float[Tensor, "B T"]
    jsd: Float[Tensor, "B"]
    tvd: Float[Tensor, "B"]

    def or_farther(self, other: Adversary) -> Adversary:
        """Of each text the other one where that is farther away."""
        farther = other.jsd > self.jsd
        return Adversary(
            torch.where(farther[:, None], other.attention, self.attention),
            torch.where(farther, other.jsd, self.jsd),
            torch.where(farther, other.tvd, self.tvd),
        )
