"""A lower bound where no exact answer is known: several classes, tanh decoders.

Climbs by successive linear programmes. At the current attention, JSD is replaced by its tangent (it is convex, so the
tangent never promises too much) and the class probabilities by theirs; the linear programme then goes as far as ε lets
it within the simplex. Since the true output bends away from its tangent, the step is shortened until the true TVD is
within ε: every attention on the way is feasible. Started from several places; what comes out is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from scipy.optimize import linprog
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.experiments.adversary.types import Adversary
from heatcheck.experiments.alternatives import decider
from heatcheck.measure.distributions import jsd, tvd
from heatcheck.models.protocols import AttentiveClassifier, Decide
from heatcheck.randomness import normal_noise

FLOOR = 1e-9  # the tangent of JSD is vertical at a weight of 0
SETTLED = 1e-6  # a step that moves no weight by more has arrived


@dataclass(frozen=True)
class SearchSettings:
    starts: int = 3
    steps: int = 8
    halvings: int = 12


def searched_adversary(
    model: AttentiveClassifier,
    encoded: Float[Tensor, "B T H"],
    attention: Float[Tensor, "B T"],
    batch: Batch,
    epsilon: float,
    settings: SearchSettings,
    generator: torch.Generator,
) -> Adversary:
    """The farthest attention that was found within ε; never worse than the model's own."""
    with torch.no_grad():
        decide = decider(model, encoded, batch)
        problem = _Problem(decide, attention, decide(attention[None])[0], batch, epsilon, settings)
    best = Adversary(attention, torch.zeros_like(attention[:, 0]), torch.zeros_like(attention[:, 0]))
    noise = normal_noise(batch, generator, settings.starts)
    noise[0] = 0  # first straight away from the words the model attends to, then in random directions
    for direction in noise:
        goal = direction - attention / attention.amax(1, keepdim=True).clamp(min=FLOOR)
        best = best.or_farther(problem.climb(goal))
    return best


@dataclass(frozen=True)
class _Problem:
    decide: Decide
    attention: Float[Tensor, "B T"]
    base: Float[Tensor, "B L"]  # the output under it
    batch: Batch
    epsilon: float
    settings: SearchSettings

    def climb(self, goal: Float[Tensor, "B T"]) -> Adversary:
        """From the model's own attention towards `goal` first, uphill in JSD after."""
        current = self.attention
        climbing = self.batch.attended.sum(1) > 1
        for _ in range(self.settings.steps):
            change, slopes = self._tangent(current)
            target = self._programmes(current, goal, change, slopes, climbing)
            moved_to = self._within(current, target)
            climbing = (moved_to - current).abs().amax(1) > SETTLED
            current = moved_to
            if not bool(climbing.any()):
                break
            goal = (2 * current / (current + self.attention).clamp(min=FLOOR)).clamp(min=FLOOR).log() / 2
        return Adversary(current, jsd(current, self.attention), tvd(self._probs(current), self.base))

    def _probs(self, attention: Float[Tensor, "B T"]) -> Float[Tensor, "B L"]:
        with torch.no_grad():
            return self.decide(attention[None])[0]

    def _tangent(self, attention: Float[Tensor, "B T"]) -> tuple[Tensor, Float[Tensor, "L B T"]]:
        """Change of the class probabilities at `attention`, and their slopes there."""
        at = attention.detach().requires_grad_()
        with torch.enable_grad():
            probs = self.decide(at[None])[0]
            slopes = [torch.autograd.grad(p.sum(), at, retain_graph=True)[0] for p in probs.unbind(-1)]
        return probs.detach() - self.base, torch.stack(slopes)

    def _programmes(
        self, current: Tensor, goal: Tensor, change: Tensor, slopes: Tensor, climbing: Tensor
    ) -> Float[Tensor, "B T"]:
        target = current.cpu().double().numpy().copy()
        here, wish = target.copy(), goal.cpu().double().numpy()
        offset, rows = change.cpu().double().numpy(), slopes.cpu().double().numpy()
        words = self.batch.attended.cpu().numpy()
        for b in climbing.nonzero().squeeze(1).tolist():
            open_classes = np.abs(rows[:, b]).max(1) > 0  # ruled-out candidates never move
            slope = rows[open_classes, b][:, words[b]]
            if len(slope):
                fixed = offset[b, open_classes] - slope @ here[b, words[b]]
                found = _programme(wish[b, words[b]], slope, fixed, self.epsilon)
                target[b, words[b]] = here[b, words[b]] if found is None else found
        return torch.from_numpy(target).to(current)

    def _within(self, current: Tensor, target: Tensor) -> Tensor:
        """As far towards the target as the true output allows."""
        share = torch.ones_like(current[:, :1])
        for _ in range(self.settings.halvings):
            outside = tvd(self._probs(current + share * (target - current)), self.base) > self.epsilon
            share = torch.where(outside[:, None], share / 2, share)
            if not bool(outside.any()):
                return current + share * (target - current)
        outside = tvd(self._probs(current + share * (target - current)), self.base) > self.epsilon
        return torch.where(outside[:, None], current, current + share * (target - current))


def _programme(
    goal: Float[ndarray, "T"], slope: Float[ndarray, "C T"], fixed: Float[ndarray, "C"], epsilon: float
) -> Float[ndarray, "T"] | None:
    """max goal·x over the simplex with ½ Σ_c |fixed_c + slope_c·x| ≤ ε; |·| through one more variable per class.
    None if no x is found: where one stands is within ε, but at its very edge rounding can leave nothing."""
    classes, tokens = slope.shape
    bound = np.eye(classes)
    result = linprog(
        np.concatenate([-goal, np.zeros(classes)]),
        A_ub=np.block([[slope, -bound], [-slope, -bound], [np.zeros((1, tokens)), np.ones((1, classes))]]),
        b_ub=np.concatenate([-fixed, fixed, [2 * epsilon]]),
        A_eq=np.concatenate([np.ones(tokens), np.zeros(classes)])[None],
        b_eq=[1.0],
        method="highs",
    )
    if result.x is None:
        return None
    x = np.clip(result.x[:tokens], 0, None)
    return np.asarray(x / x.sum())
