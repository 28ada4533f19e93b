"""Attention flow against networkx in a loop, and a text of the length that paper 5 had to leave out (appendix B).

`python -m benchmarks.cases_attention_flow` prints the row.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain.flow import attention_flow as plain_flow
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.measure.flow import flow as our_flow
from heatcheck.measure.flow import residual_graph

LAYERS, HEADS, SHORT, LONG = 6, 12, 30, 240
SECONDS_FOR_LONG = 10.0


def attention_flow(*, texts: int = 2, tokens: int = SHORT, long: int = LONG) -> Outcome:
    """Half of the graphs are an encoder's, half a decoder's, whose flow meets the simple cuts less often."""
    graphs = [random_graph(seed, tokens, causal=bool(seed % 2)) for seed in range(texts)]
    timing = side_by_side(
        lambda: np.stack([our_flow(*graph).numpy() for graph in graphs]),
        lambda: np.stack([plain_flow(graph.numpy(), readout) for graph, readout in graphs]),
        repetitions=1,
        ours_per_peer=4,
    )
    worst = float(np.abs(timing.ours - timing.peer).max())
    seconds = {kind: seconds_of(random_graph(0, long, causal=kind == "decoder")) for kind in ("encoder", "decoder")}
    said = ", ".join(f"{kind} {value:.2f} s" for kind, value in seconds.items())
    checks = [
        (f"largest difference {worst:.1e}", worst <= 1e-5),
        (f"{long} tokens, {LAYERS} layers: {said}", max(seconds.values()) < SECONDS_FOR_LONG),
    ]
    return outcome("attention flow / networkx", timing, 20, checks)


def random_graph(seed: int, tokens: int, *, causal: bool) -> tuple[Tensor, int]:
    """Heads from flat to sharp, drawn to the first and last token as trained ones are; and the read-out token."""
    generator = torch.Generator().manual_seed(seed)
    sharpness = torch.linspace(0.5, 5, HEADS)[:, None, None]
    logits = sharpness * torch.randn(1, LAYERS, HEADS, tokens, tokens, generator=generator, dtype=torch.float64)
    logits[..., [0, -1]] += 6 * torch.rand(1, LAYERS, HEADS, 1, 2, generator=generator)
    if causal:
        logits = logits.masked_fill(~torch.ones(tokens, tokens, dtype=torch.bool).tril(), -torch.inf)
    graph = residual_graph(logits.softmax(-1), torch.ones(1, tokens, dtype=torch.bool))[0]
    return graph, tokens - 1 if causal else 0


def seconds_of(graph: tuple[Tensor, int]) -> float:
    began = time.process_time()
    our_flow(*graph)
    return time.process_time() - began


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(attention_flow())
