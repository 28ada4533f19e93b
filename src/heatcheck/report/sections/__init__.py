"""The report's sections in the order of the page. To add one: a file here, a line in SECTIONS, a test."""

from __future__ import annotations

from collections.abc import Callable

from heatcheck.report.section import Section
from heatcheck.report.sections import (
    adversarial,
    agreement,
    attefa,
    correlation,
    erasure,
    ground_truth,
    guided_mlp,
    performance,
    permutation,
    plausibility,
    provenance,
    randomisation,
    repeatability,
    seed_variance,
    texts,
    trained_adversary,
    uniform_attention,
)
from heatcheck.report.source import Run

# Each takes the run and gives its section, or None if the run has nothing to show there.
SECTIONS: tuple[Callable[[Run], Section | None], ...] = (
    performance.section,
    correlation.section,
    permutation.section,
    adversarial.section,
    uniform_attention.section,
    seed_variance.section,
    guided_mlp.section,
    trained_adversary.section,
    attefa.section,
    agreement.section,
    erasure.section,
    repeatability.section,
    randomisation.section,
    plausibility.section,
    ground_truth.section,
    texts.section,
    provenance.section,
)


def sections(run: Run) -> list[Section]:
    return [made for make in SECTIONS if (made := make(run)) is not None]
