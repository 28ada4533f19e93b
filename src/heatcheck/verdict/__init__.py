"""From numbers with intervals to sentences: which test does attention pass, fail, or leave open, which method may be
shown, and what that means.

Tests are never averaged into one score: each says something else. Reads tables only; no torch here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from heatcheck.verdict.attention import judge_attention
from heatcheck.verdict.findings import Finding
from heatcheck.verdict.methods import headline as headline_on_methods
from heatcheck.verdict.methods import judge_methods
from heatcheck.verdict.model import AT_CHANCE, at_chance
from heatcheck.verdict.trained import judge_trained


def verdict(scores: pd.DataFrame) -> dict[str, Any] | None:
    """The verdict as plain JSON, or None if no test was run."""
    attention = [*judge_attention(scores), *judge_trained(scores)]
    methods = judge_methods(scores)
    sentences = [headline(attention)] if attention else []
    sentences += [sentence] if (sentence := headline_on_methods(methods, scores)) else []
    if not sentences:
        return None
    if at_chance(scores):
        sentences.insert(0, AT_CHANCE)
    return {"headline": " ".join(sentences), "findings": [asdict(f) for f in (*attention, *methods)]}


def headline(findings: list[Finding]) -> str:
    """What the tests say together, without averaging them."""
    n = len(findings)
    of_all = "the only test that was run" if n == 1 else f"{{}} of {n} tests"
    failed = sum(f.outcome == "fails" for f in findings)
    undecided = sum(f.outcome == "cannot tell" for f in findings)
    if failed:
        return f"Do not show this model's attention as an explanation: it fails {of_all.format(failed)}."
    if undecided:
        return f"No test failed, but {of_all.format(undecided)} cannot tell."  # each for a reason of its own
    passed = of_all if n == 1 else f"all {n} tests that were run"
    return f"Attention passed {passed}. That is evidence, not proof."
