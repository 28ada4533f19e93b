"""Several attention heads against several: which is compared with which?

The order of heads is arbitrary, so two models are compared after the best one-to-one matching: a model that only
changes the order of its heads looks at the same words.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from heatcheck.measure.distributions import jsd


def head_distances(ours: Float[Tensor, "B K T"], theirs: Float[Tensor, "B K T"]) -> Float[Tensor, "B K K"]:
    """JSD of each of our heads (rows) from each of theirs (columns)."""
    return jsd(ours[:, :, None], theirs[:, None, :])


def matching(distances: Float[Tensor, "K K"]) -> Int[Tensor, "K"]:
    """For each of our heads the one of theirs that it is compared with: the least total distance.

    >>> matching(torch.tensor([[0.6, 0.1], [0.2, 0.5]]))
    tensor([1, 0])
    """
    _, theirs = linear_sum_assignment(distances.detach().double().cpu().numpy())
    return torch.as_tensor(theirs, device=distances.device)


def matched(ours: Float[Tensor, "B K T"], theirs: Float[Tensor, "B K T"]) -> Float[Tensor, "B K T"]:
    """Their heads in the order of ours, by the mean distance over the batch."""
    if ours.shape[1] == 1:
        return theirs
    with torch.no_grad():
        order = matching(head_distances(ours, theirs).mean(0))
    return theirs[:, order]
