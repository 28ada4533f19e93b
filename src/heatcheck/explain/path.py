"""Gradients at many points: along the way from an empty text, or around the text.

- Integrated gradients (Sundararajan et al. 2017): Σ_d (e − e₀)_d ∫ ∂y/∂e_d along the straight line from e₀ to e.
- Grad-SHAP (Lundberg & Lee 2017; Erion et al. 2021): the same at random places on that line, a few of them.
- SmoothGrad (Smilkov et al. 2017; Wang et al. 2020): the mean slope at noisy copies of the text, times the text.

As Neely et al. 2021 use them: pad baseline, 50 Gauss-Legendre steps, 5 samples. Deviation: steps are doubled for the
texts whose scores miss their sum, as 50 steps may where a model has kinks (ReLU); `most_steps=50` is as published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.batch import Batch, rows
from heatcheck.errors import InputError
from heatcheck.explain.captums import FromEmbeddings, attributed
from heatcheck.explain.gradient import TOKENS_AT_ONCE, Points, sum_of_slopes, without_padding
from heatcheck.explain.hiding import emptied
from heatcheck.explain.types import Explanation, Scalar, held, missed
from heatcheck.models.inputs import equally_long, regrouped
from heatcheck.models.pieces import fewer_at_once, in_pieces, over_rows
from heatcheck.models.protocols import Classifier
from heatcheck.models.readout import readout_only
from heatcheck.randomness import text_seeds

# What a text is without its words. pad, mask: that token in place of each word, marks stay. zero: no embedding at all,
# the marks' neither (Wang et al. 2020).
Baseline = Literal["pad", "mask", "zero"]
RULES = (
    "gausslegendre",
    "riemann_left",
    "riemann_middle",
    "riemann_right",
)  # Captum's names; its trapezoids lack a step


@dataclass(frozen=True)
class IntegratedGradients:
    """`steps` for every text; then twice as many, and again, up to `most_steps`, for the texts that miss their sum by
    more than `tolerance`. Each text's scores are those of one rule with all of its steps.

    On MiniLM `steps=24` takes half the time and misses by 0.2% on average, where 50 miss by under 0.01%
    (benchmarks/cases_gradients.py). Neither mapped points nor halving the way adaptively needed fewer for the same.
    """

    steps: int = 50
    method: str = "gausslegendre"
    baseline: Baseline = "pad"
    tolerance: float = 0.01
    most_steps: int = 400

    def __post_init__(self) -> None:
        check_baseline("integrated_gradients", self.baseline)
        if self.method not in RULES:
            raise InputError(f"integrated_gradients: method {self.method!r} is not one of {', '.join(RULES)}.")
        if not 0 < self.steps <= self.most_steps:
            raise InputError(
                f"integrated_gradients: steps {self.steps} is not between 1 and most_steps {self.most_steps}. "
                "Change one of them."
            )
        if self.steps == 1 and self.method != "gausslegendre":
            raise InputError(f"integrated_gradients: {self.method} needs 2 steps or more.")
        if not self.tolerance >= 0:
            raise InputError(f"integrated_gradients: tolerance {self.tolerance} is not 0 or more.")

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        line = Line.of(model, batch, scalar, self.baseline)
        scores, steps = line.integral(self.steps, self.method), self.steps
        while steps < self.most_steps:
            missing = (line.missed(scores) > self.tolerance).nonzero().squeeze(1)
            if not len(missing):
                break
            steps = min(2 * steps, self.most_steps)
            scores = scores.index_copy(0, missing, line.some(missing).integral(steps, self.method))
        return Explanation(scores, signed=True, delta=line.missed(scores))


@dataclass(frozen=True)
class GradientShap:
    """Expected gradients with one baseline: integrated gradients by drawing lots. The sum is promised of the mean over
    all draws only, so with a few samples `delta` is large, and is reported as it is."""

    samples: int = 5
    baseline: Baseline = "pad"

    def __post_init__(self) -> None:
        check_baseline("gradient_shap", self.baseline)
        check_samples("gradient_shap", self.samples)

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        line = Line.of(model, batch, scalar, self.baseline)
        places = uniform_numbers(batch, generator, self.samples).to(line.start)
        scores = line.mean_at(places)
        return Explanation(scores, signed=True, delta=line.missed(scores))


@dataclass(frozen=True)
class SmoothGrad:
    """|Σ_d ḡ_d · e_d|, ḡ the mean slope over `samples` copies with Gaussian noise on every real token, σ = `noise`
    times the largest minus the smallest number in the text's embeddings. Without noise it is |gradient × input|."""

    samples: int = 10
    noise: float = 0.01

    def __post_init__(self) -> None:
        check_samples("smooth_grad", self.samples)
        if not self.noise >= 0:
            raise InputError(f"smooth_grad: noise {self.noise} is not 0 or more.")

    def __call__(
        self, model: Classifier, batch: Batch, scalar: Scalar, *, generator: torch.Generator | None = None
    ) -> Explanation:
        embeddings = model.embed(batch).detach()
        spread = self.noise * value_range(embeddings, batch)[:, None, None]
        noise = Noise.of(batch, generator, self.samples)

        def at(texts: Int[Tensor, "N"], numbers: Int[Tensor, "N"]) -> Float[Tensor, "N T E"]:
            clean = embeddings[texts]
            return clean + spread[texts] * noise.like(clean, texts, numbers)

        weights = embeddings.new_full((len(batch), self.samples), 1 / self.samples)
        points = Points(at, embeddings, weights)
        return Explanation(sum_of_slopes(model, batch, held(scalar, model, batch), points).abs(), signed=False)


@dataclass(frozen=True)
class Line:
    """The straight way from the empty text to the text; `promised` is how much the output changes along it."""

    model: Classifier
    batch: Batch
    scalar: Scalar
    start: Float[Tensor, "B T E"]
    end: Float[Tensor, "B T E"]
    promised: Float[Tensor, "B"]

    @staticmethod
    @torch.no_grad()
    def of(model: Classifier, batch: Batch, scalar: Scalar, baseline: Baseline) -> Line:
        scalar, start = held(scalar, model, batch), empty(model, batch, baseline)
        whole = in_pieces(lambda some: scalar(model, model.predict(some), some), batch)
        none = in_pieces(lambda some: scalar(model, model.logits(empty(model, some, baseline), some), some), batch)
        return Line(model, batch, scalar, start, model.embed(batch), whole - none)

    def some(self, texts: Int[Tensor, "N"]) -> Line:
        chosen = (self.start[texts], self.end[texts], self.promised[texts])
        return Line(self.model, rows(self.batch, texts), self.scalar, *chosen)

    def integral(self, steps: int, method: str) -> Float[Tensor, "B T"]:
        """The mean slope along the way, times the way: Captum's, for texts of one length at a time."""
        groups = equally_long(self.batch.mask)
        with readout_only(self.model):
            return regrouped([self.some(group)._of_one_length(steps, method) for group in groups], groups)

    def _of_one_length(self, steps: int, method: str) -> Float[Tensor, "B T"]:
        some = lambda index: self.some(index)._some_steps_at_once(steps, method)  # noqa: E731
        narrow = without_padding(self.batch)
        found = over_rows(some, narrow, TOKENS_AT_ONCE)
        missing = self.batch.mask.shape[1] - found.shape[1]
        return nn.functional.pad(found, (0, missing)) * self.batch.mask

    def _some_steps_at_once(self, steps: int, method: str) -> Float[Tensor, "B W"]:
        batch = without_padding(self.batch)
        n, width = batch.mask.shape
        explained, row = FromEmbeddings(self.model, batch, self.scalar), torch.arange(n, device=batch.mask.device)

        def by_captum(steps_at_once: int) -> Float[Tensor, "B W"]:
            return attributed(
                "IntegratedGradients",
                explained,
                self.end[:, :width],
                self.start[:, :width],
                additional_forward_args=row,
                n_steps=steps,
                method=method,
                internal_batch_size=n * steps_at_once,
            ).sum(-1)

        return fewer_at_once(by_captum, max(1, TOKENS_AT_ONCE // (n * width)))

    def mean_at(self, places: Float[Tensor, "B K"]) -> Float[Tensor, "B T"]:
        """The mean slope at `places` (0 the empty text, 1 the text) alone, times the way."""
        way, weights = self.end - self.start, torch.full_like(places, 1 / places.shape[1])

        def at(texts: Int[Tensor, "N"], numbers: Int[Tensor, "N"]) -> Float[Tensor, "N T E"]:
            return self.start[texts] + places[texts, numbers][:, None, None] * way[texts]

        return sum_of_slopes(self.model, self.batch, self.scalar, Points(at, way, weights))

    def missed(self, scores: Float[Tensor, "B T"]) -> Float[Tensor, "B"]:
        return missed(scores, self.promised)


def empty(model: Classifier, batch: Batch, baseline: Baseline) -> Float[Tensor, "B T E"]:
    """Embeddings of the text without its words. Padding is never touched."""
    if baseline == "zero":
        return model.embed(batch) * ~batch.mask[..., None]
    return model.embed(emptied(model, batch, baseline))


def value_range(embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B"]:
    """Largest minus smallest number in the embeddings of a text's real tokens."""
    padding = ~batch.mask[..., None]
    largest = embeddings.masked_fill(padding, -torch.inf).amax((1, 2))
    return largest - embeddings.masked_fill(padding, torch.inf).amin((1, 2))


def uniform_numbers(batch: Batch, generator: torch.Generator | None, count: int) -> Float[Tensor, "B K"]:
    """Between 0 and 1; they belong to the text."""
    seeds = text_seeds(generator or torch.Generator().manual_seed(0), batch.example_ids)
    return torch.stack([torch.rand(count, generator=seeded(s), dtype=torch.float64) for s in seeds.tolist()])


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed % 2**63)


@dataclass(frozen=True)
class Noise:
    """Standard normal numbers that belong to a text and one of its copies, drawn when they are needed."""

    seeds: Int[np.ndarray, "B K"]
    mask: Bool[Tensor, "B T"]

    @staticmethod
    def of(batch: Batch, generator: torch.Generator | None, copies: int) -> Noise:
        names = [f"{name}\x1f{copy}" for name in batch.example_ids for copy in range(copies)]
        seeds = text_seeds(generator or torch.Generator().manual_seed(0), names)
        return Noise(seeds.reshape(-1, copies), batch.mask.cpu())

    def like(self, clean: Float[Tensor, "N T E"], texts: Int[Tensor, "N"], numbers: Int[Tensor, "N"]) -> Tensor:
        """0 on padding."""
        noise = torch.zeros(clean.shape)
        for row, (text, number) in enumerate(zip(texts.tolist(), numbers.tolist(), strict=True)):
            own = seeded(int(self.seeds[text, number]))
            noise[row, self.mask[text]] = torch.randn(int(self.mask[text].sum()), clean.shape[-1], generator=own)
        return noise.to(clean)


def check_baseline(method: str, baseline: str) -> None:
    if baseline not in get_args(Baseline):
        raise InputError(f"{method}: baseline {baseline!r} is not one of {', '.join(get_args(Baseline))}.")


def check_samples(method: str, samples: int) -> None:
    if samples < 1:
        raise InputError(f"{method}: samples={samples} is not above 0.")
