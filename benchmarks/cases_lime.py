"""LIME with 1000 samples on MiniLM against Captum's `Lime`, which runs one perturbed text a call.

`python -m benchmarks.cases_lime` prints the row. Both sides have the same masks, kernel and ridge. The classification
head is fresh unless runs/minilm-sst holds a trained one: the time is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.plain.lime import PlainLime
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.batch import Batch, Example
from heatcheck.data.dataset import TEST
from heatcheck.data.sources import load
from heatcheck.explain.surrogate import Lime, coin_masks
from heatcheck.explain.types import ProbabilityOf, probability_of_prediction
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.pretrained import TransformerSpec, as_subject, load_pretrained, resolve
from heatcheck.models.subject import Subject
from heatcheck.randomness import text_seeds

TOKENS, SAMPLES, SEED = 25, 1000, 0
TRAINED = Path(__file__).parents[1] / "runs" / "minilm-sst"


def lime(hide: str = "mask", *, texts: int = 2, samples: int = SAMPLES) -> Outcome:
    """Texts are cut to 25 tokens, [CLS] and [SEP] among them."""
    torch.set_num_threads(1)
    subject = minilm()
    batch = full_batch(subject, load("movie-reviews").splits[TEST], texts)
    scalar = probability_of_prediction(subject.model, batch)
    ours = Lime(samples, hide=hide)
    timing = side_by_side(
        lambda: ours(subject.model, batch, scalar, generator=torch.Generator().manual_seed(SEED)).scores[batch.words],
        lambda: captums(subject.model, batch, scalar, ours),
        repetitions=1,
        ours_per_peer=2,
    )
    worst, largest = (float(x.abs().max()) for x in (timing.ours - timing.peer, timing.peer))
    said = f"weights up to {largest:.2f}, largest difference {worst:.1e}"
    return outcome(f"LIME, {samples} samples ({hide}) / Captum", timing, 3, [(said, worst <= 1e-4)])


def full_batch(subject: Subject[HuggingFaceClassifier], examples: Sequence[Example], texts: int) -> Batch:
    """The first texts that fill the model's length; longer ones are cut to it."""
    length = subject.model.max_length
    full = (e for e in examples if len(subject.reader.row(e)) == length)
    (batch,) = subject.batches(list(itertools.islice(full, texts)), texts)
    return batch


def captums(model: HuggingFaceClassifier, batch: Batch, scalar: ProbabilityOf, settings: Lime) -> Tensor:
    """The weights of all words, text by text."""
    plain = PlainLime(model.network, model.mask_id, settings.alpha, settings.width)
    seeds = text_seeds(torch.Generator().manual_seed(SEED), batch.example_ids)
    found = []
    for row, (name, seed) in enumerate(zip(batch.example_ids, seeds.tolist(), strict=True)):
        ids = batch.token_ids[row, batch.mask[row]]
        masks = coin_masks(seed, settings.samples, len(ids) - 2)
        found.append(plain.weights(ids, scalar.classes[name], masks, delete=settings.hide == "delete"))
    return torch.cat(found)


def minilm() -> Subject[HuggingFaceClassifier]:
    """The trained one if it is there, else the packaged one with a fresh head."""
    if (TRAINED / "config.json").exists():
        return load_pretrained(TransformerSpec(str(TRAINED), max_length=TOKENS))
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # that the head is fresh is known
    logging.disable_progress_bar()
    folder = resolve("minilm")
    torch.manual_seed(SEED)
    config = AutoConfig.from_pretrained(folder, num_labels=2)
    network = AutoModelForSequenceClassification.from_pretrained(folder, config=config)
    with torch.no_grad():
        network.classifier.weight.mul_(30)  # so that words matter as much as to a trained one
    spec = TransformerSpec("minilm", max_length=TOKENS)
    return as_subject(network, AutoTokenizer.from_pretrained(folder), spec, device="cpu")


if __name__ == "__main__":
    for way in ("mask", "delete"):
        print(lime(way), flush=True)
