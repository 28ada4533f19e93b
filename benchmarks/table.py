"""From outcomes to a Markdown page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.setting import Setting
from benchmarks.timing import Outcome

HEADER = """| | heatcheck | peer | ratio | target | | both sides agree |
|---|---:|---:|---:|---:|---|---|"""
NOTES = """The peer of the first six rows is Jain & Wallace's procedure written plainly (`benchmarks/plain/`): batches
of 32 texts of similar length, packed sequences, published settings, and none of heatcheck's shortcuts. Both sides have
the same weights and run in turn on one thread; seconds are medians of CPU time. Load from other programs still shows,
in memory-bound work most: the training row was 2.06 and 1.51 in two runs on a busy machine, 1.35 on a quiet one.

- Adversary and permutations: both sides start from encoded texts. The search takes 500 steps of Adam with AMSGrad from
  5 starts, penalty 500, learning rate 0.01; ε = 0.01 and the filter TVD ≤ ε are the same on both sides.
  Encoding is left out on both sides, where it takes about 0.55 s. With it counted, early wall-clock runs gave 54 for
  the adversary, below the target, and about 2 for permutations.
- Leave-one-out: the peer deletes position t of every text of the batch and runs the batch again.
- Training: the peer steps three optimisers (encoder with embedding, attention, decoder), PyTorch's default
  implementation.
- Battery: gradients, leave-one-out, correlations, permutations, adversary. heatcheck starts from raw texts and goes on
  to the rows of its result tables; the peer starts from token ids and ends with values.
- Memory: peak of a fresh process that runs the battery, Python and PyTorch included; both columns are heatcheck's.
  The limit of 1.25 is ours: what is asked for is flat, without a number.
- LIME: 1,000 samples, the packaged MiniLM, a text of 25 tokens; the peer is Captum's `Lime` with one perturbation a
  call, the same masks, kernel and ridge. Words are masked (the default) or deleted.
- Integrated gradients: 100 texts of about 25 tokens, MiniLM; the peer is Captum's, text by text, 50 steps.
- Flow: networkx's maximum flow on the same graphs, 6 layers, 30 tokens.
- Erasure: comprehensiveness, sufficiency and τ-LOO by deletion over 100 texts, MiniLM; the peer runs the model once per
  edit. Scores of several methods are made up, with a common part: what is timed are the edits.
- The other methods that Captum has: MiniLM, texts of about 25 tokens, Captum in the same batches of 16, but for
  Kernel-SHAP, which it computes text by text and one coalition a call. Grad-SHAP says on both sides how far it misses
  its sum. Draws differ; that the same draws give the same scores is tested.
- Trained adversary: three epochs of paper 2's loss with λ = 0.001 and the loss on dev after each, the same batches of
  texts in random order on both sides. The peer computes the base's outputs for every batch, and writes predictions and
  attention to disk after every epoch. Losses are compared in double precision, for training amplifies rounding.
- Four adversaries: two λ with two seeds each, six epochs, one after the other on one core and side by side on two, the
  start of the worker processes included; wall-clock time, so the row needs a quiet machine. None ends early here;
  where one may, the bar gives the shortest and the longest time that is left.
"""


def row(outcome: Outcome) -> str:
    sign = "≤" if outcome.at_most else "≥"
    mark = "✓" if outcome.on_target else "✗ missed"
    checks = "; ".join(f"{said}{'' if holds else ' ✗ WRONG'}" for said, holds in outcome.checks)
    ratio = f"{outcome.ratio:.2f}" if outcome.ratio < 10 else f"{outcome.ratio:.0f}"
    cells = (outcome.name, outcome.ours, outcome.peer, f"{ratio}×", f"{sign} {outcome.target:g}×", mark, checks)
    return f"| {' | '.join(cells)} |"


def page(outcomes: Sequence[Outcome], setting: Setting) -> str:
    lines = ["# Benchmarks", "", "Written by `make bench` (`python -m benchmarks`).", "", facts(setting), "", HEADER]
    return "\n".join([*lines, *map(row, outcomes), "", NOTES])


def facts(setting: Setting) -> str:
    lengths = [len(setting.subject.reader.row(e)) - 2 for e in setting.examples]
    return (
        f"{len(lengths):,} test texts of {setting.data.name}, {np.mean(lengths):.0f} words on average; "
        f"{len(setting.training):,} training texts; BiLSTM with additive attention. "
        f"{processor()}, {torch.get_num_threads()} thread; Python {platform.python_version()}, "
        f"PyTorch {torch.__version__}, NumPy {np.__version__}."
    )


def processor() -> str:
    """The CPU's name; Linux tells it in a file, others through `platform`."""
    info = Path("/proc/cpuinfo")
    names = info.read_text().splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in names if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
