"""How different can attention be for the same output? (Jain & Wallace 2019, section 4.2.2)

1. Encode once.  2. For each text find the attention farthest from the model's own (JSD) that moves the output by at
   most ε (TVD).  3. That distance is the text's ε-max JSD: 0 means no other attention gives this output, ln 2 means one
   on entirely other words does.

Solvers: `exact` for one linear output (a certificate: nothing farther exists), `published` (the paper's gradient
search), `search` (the better of that and successive linear programmes: a lower bound). `auto` takes exact where the
decoder allows.
Deviation: the text's filter, TVD ≤ ε; the authors' code keeps what is within 0.05 (setting `epsilon`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.adversary.exact import exact_adversary
from heatcheck.experiments.adversary.published import PublishedSettings, published_adversary
from heatcheck.experiments.adversary.search import SearchSettings, searched_adversary
from heatcheck.experiments.adversary.types import Adversary
from heatcheck.experiments.rows import by_id, predicted_names, token_scores
from heatcheck.models.protocols import AttentiveClassifier, LinearDecoder, encoded_tokens
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

SOLVERS = ("auto", "exact", "published", "search")


@dataclass(frozen=True)
class AdversarialConfig:
    """ε None: the paper's 0.01, or 0.05 for question answering, whose outputs are many."""

    solver: str = "auto"
    epsilon: float | None = None
    published: PublishedSettings = field(default_factory=PublishedSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    batch_size: int = 64

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise InputError(f"solver {self.solver!r} is not one of {', '.join(SOLVERS)}.")
        if self.epsilon is not None and not 0 < self.epsilon < 1:
            raise InputError(f"epsilon {self.epsilon} is not between 0 and 1.")


def adversarial_attention(
    subject: Subject[AttentiveClassifier],
    examples: Sequence[Example],
    config: AdversarialConfig,
    *,
    generator: torch.Generator,
) -> Iterator[Row]:
    lookup = by_id(examples)
    solver = solver_for(subject.model, config.solver)
    epsilon = config.epsilon or (0.05 if any(e.candidates is not None for e in examples) else 0.01)
    for batch in subject.batches(examples, config.batch_size):
        with torch.no_grad():
            encoded = encoded_tokens(subject.model, batch)
            attention = subject.model.attend(encoded, batch)
            probs = subject.model.probs(subject.model.classify(encoded, attention, batch))
        found = find_adversary(solver, subject.model, encoded, attention, batch, epsilon, config, generator)
        groups = predicted_names(subject, probs)
        for measure, values in (("adversarial_jsd", found.jsd), ("adversarial_tvd", found.tvd)):
            for name, group, value in zip(batch.example_ids, groups, values.tolist(), strict=True):
                yield Score(measure, value, "attention", "adversarial", name, group, setting=solver, at=epsilon)
        yield from token_scores(
            batch, found.attention, batch.attended, lookup, method="adversarial_attention", targets=groups
        )


def check_solver(config: AdversarialConfig, task: str, n_labels: int) -> None:
    """`exact` needs logits that are linear in attention, which ours are for single texts, and two classes."""
    if config.solver == "exact" and (task != "single" or n_labels != 2):
        raise InputError(
            f"The exact adversary is for single texts and two classes; this task is {task!r} with {n_labels} classes. "
            "Use --solver search or published."
        )


def solver_for(model: AttentiveClassifier, wanted: str) -> str:
    linear = isinstance(model, LinearDecoder) and model.kind == "binary"
    return ("exact" if linear else "search") if wanted == "auto" else wanted


def find_adversary(
    solver: str,
    model: AttentiveClassifier,
    encoded: Float[Tensor, "B T H"],
    attention: Float[Tensor, "B 1 T"],
    batch: Batch,
    epsilon: float,
    config: AdversarialConfig,
    generator: torch.Generator,
) -> Adversary:
    one = attention[:, 0]
    if solver == "exact" and isinstance(model, LinearDecoder):
        with torch.no_grad():
            return exact_adversary(one, model.token_logits(encoded)[..., 0], batch.attended, epsilon)
    ascent = published_adversary(model, encoded, one, batch, epsilon, config.published, generator)
    if solver == "published":
        return ascent
    return ascent.or_farther(searched_adversary(model, encoded, one, batch, epsilon, config.search, generator))
