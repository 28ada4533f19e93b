"""What is timed against what, and what both sides have to agree on.

Where a procedure starts from encoded texts (permutations, adversary), both sides are given those; else both start from
token ids, but for the battery, where ours starts from raw texts and goes on to the rows of the result tables.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import numpy as np
import torch

from benchmarks import ours
from benchmarks.cases_attention_flow import attention_flow
from benchmarks.cases_captum import DETERMINISTIC, RANDOM, against_captum
from benchmarks.cases_erasure import erasure_all_methods, erasure_one_method
from benchmarks.cases_gradients import integrated_gradients, prepared
from benchmarks.cases_lime import lime
from benchmarks.cases_trained import side_by_side_on_cores, trained_adversary
from benchmarks.memory import memory
from benchmarks.plain import procedures
from benchmarks.plain.counterfactual import Search
from benchmarks.plain.importance import kendall as plain_kendall
from benchmarks.plain.model import padded
from benchmarks.plain.training import train_epoch as plain_epoch
from benchmarks.setting import Setting, plain_twin, token_ids
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.experiments.permutation import PermutationConfig
from heatcheck.explain import EXPLAINERS
from heatcheck.measure.ranks import kendall as our_kendall

SEED, EPSILON, PERMUTATIONS = 0, 0.01, 100
SAME_LOSS = 1e-5  # rounding differs, and training amplifies it


def adversary(setting: Setting) -> Outcome:
    """Paper 1, section 4.2.2: the same ε and the same filter on both sides."""
    model, plain = setting.model, setting.plain_model()
    batches = ours.encoded(model, setting.our_batches())
    texts = [plain.encoded(t) for t in setting.plain_batches()]
    timing = side_by_side(
        lambda: ours.adversary(model, batches, EPSILON),
        lambda: procedures.adversary(plain, texts, Search(epsilon=EPSILON), SEED),
        repetitions=1,
        ours_per_peer=2 * setting.repetitions,
    )
    gain = difference(timing.ours, timing.peer)
    said = f"JSD above the search's by {gain.mean():.4f} on average, by {gain.min():+.1e} at least"
    return outcome("exact adversary / published search", timing, 100, [(said, bool(gain.min() >= -1e-4))])


def permutation(setting: Setting) -> Outcome:
    """Paper 1, section 4.2.1: the draws differ, so the medians agree on average only."""
    model, plain = setting.model, setting.plain_model()
    batches = ours.encoded(model, setting.our_batches(PermutationConfig().batch_size))
    texts = [plain.encoded(t) for t in setting.plain_batches()]
    timing = side_by_side(
        lambda: ours.permutation(model, batches, PERMUTATIONS, SEED),
        lambda: procedures.permutation(plain, texts, PERMUTATIONS, SEED),
        repetitions=setting.repetitions,
        ours_per_peer=4,
    )
    gap = difference(timing.ours, timing.peer)
    noise = gap.std() / len(gap) ** 0.5
    said = f"mean median TVD differs by {gap.mean():+.5f} (standard error {noise:.5f})"
    return outcome("100 permutations", timing, 25, [(said, bool(abs(gap.mean()) <= 4 * noise))])


def leave_one_out(setting: Setting) -> Outcome:
    """Paper 1, section 4.1."""
    model, plain = setting.model, setting.plain_model()
    batches, texts = setting.our_batches(), setting.plain_batches()
    timing = side_by_side(
        lambda: ours.explanations(model, batches, EXPLAINERS["leave_one_out"].explain),
        lambda: procedures.leave_one_out(plain, texts),
        repetitions=setting.repetitions,
    )
    worst = max(float(np.abs(timing.ours[name] - timing.peer[name]).max()) for name in timing.peer)
    return outcome("leave-one-out", timing, 3, [(f"largest difference {worst:.1e}", worst <= 1e-5)])


def kendall(setting: Setting) -> Outcome:
    """All texts: τ-b and p-value of attention with gradients, against scipy in a loop."""
    batches = setting.our_batches()
    first, second = (
        ours.explanations(setting.model, batches, EXPLAINERS[n].explain) for n in ("attention", "gradient")
    )
    x, words = matrix(first)
    y, _ = matrix(second)
    timing = side_by_side(
        lambda: np.stack(our_kendall(x, y, words)),
        lambda: np.stack(plain_kendall(first.values(), second.values())),
        repetitions=setting.repetitions,
        ours_per_peer=4,
    )
    worst = float(np.nanmax(np.abs(timing.ours - timing.peer)))
    same = bool((np.isnan(timing.ours) == np.isnan(timing.peer)).all()) and worst <= 1e-12
    return outcome("Kendall τ-b with p-value / scipy", timing, 10, [(f"largest difference {worst:.1e}", same)])


def training(setting: Setting) -> Outcome:
    """One epoch from the same untrained weights, on the same batches in the same order."""
    subject, examples = setting.subject, setting.training
    batches = list(subject.batches(examples, subject.recipe.batch_size))
    batches = [batches[i] for i in torch.randperm(len(batches), generator=torch.Generator().manual_seed(SEED))]
    texts = [padded(token_ids(b), b.labels.tolist(), b.example_ids) for b in batches]
    start = setting.untrained()
    positives = sum(e.label for e in examples)
    timing = side_by_side(
        lambda: ours.train_epoch(copy.deepcopy(start), batches, examples),
        lambda: plain_epoch(plain_twin(start), texts, (len(examples) - positives) / positives),
        repetitions=(setting.repetitions + 1) // 2,
    )
    worst = float(np.abs(np.subtract(timing.ours, timing.peer)).max())
    said = f"loss of each of {len(batches)} batches the same within {worst:.1e}"
    return outcome("training epoch", timing, 2, [(said, worst <= SAME_LOSS)])


def battery(setting: Setting) -> Outcome:
    """Section 4 as a whole. Ours starts from raw texts and makes the rows of the result tables too."""
    plain, texts = setting.plain_model(), setting.plain_batches()
    timing = side_by_side(
        lambda: ours.battery(setting.subject, setting.examples),
        lambda: procedures.battery(plain, texts, Search(epsilon=EPSILON), PERMUTATIONS, SEED),
        repetitions=1,
        ours_per_peer=2,
    )
    names = ("tau_gradient", "tau_loo", "tau_gradient_loo")
    gaps = {name: float(np.nanmean(np.abs(difference(timing.ours[name], timing.peer[name])))) for name in names}
    said = "mean difference of τ " + ", ".join(f"{gap:.1e}" for gap in gaps.values())
    return outcome("whole battery", timing, 10, [(said, max(gaps.values()) <= 1e-3)])


def difference(first: Mapping[str, float], second: Mapping[str, float]) -> np.ndarray:
    if first.keys() != second.keys():
        raise ValueError("The two sides do not have the same texts.")
    return np.array([first[name] - second[name] for name in second])


def matrix(scores: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Texts as padded rows, and which places are words."""
    lengths = np.array([len(s) for s in scores.values()])
    words = np.arange(lengths.max()) < lengths[:, None]
    padded_scores = np.zeros(words.shape)
    padded_scores[words] = np.concatenate(list(scores.values()))
    return padded_scores, words


CASES: dict[str, Callable[[Setting], Outcome]] = {
    "adversary": adversary,
    "permutation": permutation,
    "loo": leave_one_out,
    "kendall": kendall,
    "training": training,
    "battery": battery,
    "memory": memory,
    "lime": lambda setting: lime("mask", texts=1),
    "lime-deleting": lambda setting: lime("delete", texts=1),
    "integrated-gradients": lambda setting: integrated_gradients(*prepared(None)),
    **{name: lambda setting, name=name: against_captum(name, *prepared(None)) for name in (*DETERMINISTIC, *RANDOM)},
    "flow": lambda setting: attention_flow(),
    "erasure-one-method": lambda setting: erasure_one_method(),
    "erasure-all-methods": lambda setting: erasure_all_methods(),
    "trained-adversary": trained_adversary,
    "side-by-side": side_by_side_on_cores,
}
