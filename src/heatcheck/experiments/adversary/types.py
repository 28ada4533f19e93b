"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Adversary:
    """For each text an attention, how far it is from the model's own (JSD) and how far it moves the output (TVD)."""

    attention: Float[Tensor, "B T"]
    jsd: Float[Tensor, "B"]
    tvd: Float[Tensor, "B"]
