"""The other methods that Captum has, each against Captum on the same model and texts, no slower.

Captum is given whole batches wherever it takes them: all but Kernel-SHAP, which it computes text by text and, unless
told otherwise, one coalition a call. Grad-SHAP says on both sides how far it misses its sum.
Random methods draw other numbers on each side; that the same draws give the same scores is tested in tests/explain.
`python -m benchmarks.cases_captum` prints the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import captum.attr
import numpy as np
import torch
from torch import Tensor

from benchmarks.cases_gradients import BATCH, prepared
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.batch import Batch, Example, rows
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.path import GradientShap, SmoothGrad
from heatcheck.explain.surrogate import KernelShap
from heatcheck.explain.types import ProbabilityOf, probability_of_prediction
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.subject import Subject

SAME, ALIKE = 1e-5, 0.3  # scores; correlation of those of a few samples
FEW = {"occlusion": 32, "kernel_shap": 4}  # texts, where Captum takes seconds for each
Peer = Callable[[HuggingFaceClassifier, Batch, ProbabilityOf], Tensor]


def saliency(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    found = captum.attr.Saliency(of_embeddings(model, batch, scalar)).attribute(embedded(model, batch), abs=False)
    return found.norm(dim=-1)


def gradient_x_input(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    found = captum.attr.InputXGradient(of_embeddings(model, batch, scalar)).attribute(embedded(model, batch))
    return found.sum(-1)


def smooth_grad(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    embeddings, ours = embedded(model, batch), SmoothGrad()
    slopes = captum.attr.Saliency(of_embeddings(model, batch, scalar, copies=ours.samples))
    spread = ours.noise * float(embeddings.max() - embeddings.min())
    found = captum.attr.NoiseTunnel(slopes).attribute(embeddings, nt_samples=ours.samples, stdevs=spread, abs=False)
    return (found * embeddings).sum(-1).abs()


def gradient_shap(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    many, empty = GradientShap().samples, batch.token_ids.masked_fill(batch.words, model.pad_id)
    explainer = captum.attr.GradientShap(of_embeddings(model, batch, scalar, copies=many))
    start = model.network.get_input_embeddings()(empty).detach()
    found, _ = explainer.attribute(embedded(model, batch), start, n_samples=many, return_convergence_delta=True)
    return found.sum(-1)


@torch.no_grad()
def occlusion(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    ablation = captum.attr.FeatureAblation(of_ids(model, batch, scalar))
    found: Tensor = ablation.attribute(batch.token_ids, baselines=model.mask_id)
    return found * batch.words


@torch.no_grad()
def kernel_shap(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Tensor:
    found = torch.zeros(batch.mask.shape)
    for row in range(len(batch)):
        text = rows(batch, torch.tensor([row]))
        words = text.words[0]
        explainer = captum.attr.KernelShap(of_ids(model, text, scalar))
        numbers = torch.where(words, words.cumsum(0), 0)[None]  # the marks are one feature, which is never hidden
        hidden = torch.where(words, model.mask_id, text.token_ids[0])[None]
        scores = explainer.attribute(text.token_ids, hidden, feature_mask=numbers, n_samples=KernelShap().samples)
        found[row] = scores[0] * words
    return found


def embedded(model: HuggingFaceClassifier, batch: Batch) -> Tensor:
    return model.embed(batch).detach().requires_grad_()


def of_embeddings(
    model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf, copies: int = 1
) -> Callable[[Tensor], Tensor]:
    """Captum hands in all copies of a text one after the other."""
    many = rows(batch, torch.arange(len(batch)).repeat_interleave(copies))

    def probability(embeddings: Tensor) -> Tensor:
        these = many if len(embeddings) == len(many) else batch
        return scalar(model, model.logits(embeddings, these), these)

    return probability


def of_ids(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf) -> Callable[[Tensor], Tensor]:
    embed = model.network.get_input_embeddings()
    return lambda ids: scalar(model, model.logits(embed(ids), batch), batch)


DETERMINISTIC: dict[str, Peer] = {
    "saliency": saliency,
    "gradient_x_input": gradient_x_input,
    "occlusion": occlusion,
}
RANDOM: dict[str, Peer] = {
    "smooth_grad": smooth_grad,
    "gradient_shap": gradient_shap,
    "kernel_shap": kernel_shap,
}


def against_captum(name: str, subject: Subject[HuggingFaceClassifier], examples: Sequence[Example]) -> Outcome:
    model, method = subject.model, EXPLAINERS[name]
    chosen = examples[: FEW.get(name)]
    batches = list(subject.batches(chosen, BATCH))
    scalars = [probability_of_prediction(model, batch) for batch in batches]
    peer = {**DETERMINISTIC, **RANDOM}[name]

    def each(explain: Callable[[Batch, ProbabilityOf], Tensor]) -> list[Tensor]:
        return [explain(*pair).detach()[pair[0].words] for pair in zip(batches, scalars, strict=True)]

    torch.manual_seed(0)  # Captum draws from the generators of all
    np.random.seed(0)
    timing = side_by_side(
        lambda: each(lambda batch, scalar: method.explain(model, batch, scalar).scores),
        lambda: each(lambda batch, scalar: peer(model, batch, scalar)),
        repetitions=1 if name in FEW else 3,
        ours_per_peer=2,
    )
    return outcome(f"{name}, {len(chosen)} texts / Captum", timing, 1, [agreement(name, timing.ours, timing.peer)])


def agreement(name: str, ours: Sequence[Tensor], peer: Sequence[Tensor]) -> tuple[str, bool]:
    mine, theirs = torch.cat(list(ours)), torch.cat(list(peer))
    if name in DETERMINISTIC:
        gap = float((mine - theirs).abs().max())
        return f"largest difference {gap:.1e}", gap <= SAME
    alike = float(torch.corrcoef(torch.stack([mine, theirs]))[0, 1])
    return f"other draws: scores correlate {alike:.3f}", alike > ALIKE


if __name__ == "__main__":
    torch.set_num_threads(1)
    setting = prepared(None)
    for name in (*DETERMINISTIC, *RANDOM):
        print(against_captum(name, *setting), flush=True)
