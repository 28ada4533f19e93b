"""Comprehensiveness, sufficiency and τ-LOO of 100 texts against one forward pass per edit, for one method and eight.

MiniLM: the one fine-tuned on SST in runs/minilm-sst if it is there, else the packaged body with a fresh head, on the
packaged reviews or SST. Scores are drawn at random with a common part, so that methods agree in part, as real ones do.
`python -m benchmarks.cases_erasure` prints the rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from benchmarks.plain.erasure import SHARES, PlainErasure
from benchmarks.timing import Outcome, outcome, side_by_side
from heatcheck.batch import Example
from heatcheck.data.sources import load
from heatcheck.experiments.erasing.words import Words
from heatcheck.experiments.erasure import ErasureConfig, erasure
from heatcheck.experiments.explained import Explained
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.pretrained import TransformerSpec, as_subject, load_pretrained, load_tokenizer, resolve
from heatcheck.models.subject import Subject
from heatcheck.results import Score

ROOT = Path(__file__).parents[1]
CONFIG = ErasureConfig(operators=("delete",), shares=SHARES, random_orders=0, reversed_orders=False, search=False)
Values = dict[tuple[str, str], tuple[float, float, float]]  # by text and method


def erasure_one_method(*, texts: int = 100) -> Outcome:
    return compare(texts, methods=1, target=2)


def erasure_all_methods(*, texts: int = 100) -> Outcome:
    return compare(texts, methods=8, target=5)


def compare(texts: int, methods: int, target: float) -> Outcome:
    subject = minilm()
    examples = some_texts(texts)
    explained = made_scores(subject, examples, methods)
    timing = side_by_side(
        lambda: ours(subject, examples, explained), lambda: plain(subject, examples, explained), repetitions=1
    )
    worst = max(
        abs(a - b) for key, theirs in timing.peer.items() for a, b in zip(timing.ours[key][:2], theirs[:2], strict=True)
    )
    taus = np.array([[timing.ours[key][2], theirs[2]] for key, theirs in timing.peer.items()])
    off = float(np.nanmean(np.abs(taus[:, 0] - taus[:, 1])))
    checks = [(f"largest difference in AOPC {worst:.1e}", worst <= 1e-4), (f"mean in τ {off:.1e}", off <= 2e-3)]
    said = "1 method" if methods == 1 else f"{methods} methods"
    return outcome(f"erasure and τ-LOO, {len(examples)} texts, {said}", timing, target, checks)


def ours(subject: Subject, examples: list[Example], explained: Explained) -> Values:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in erasure(subject, examples, CONFIG, generator=torch.Generator().manual_seed(0), explained=explained):
        if isinstance(row, Score) and row.setting == "delete" and row.subject in explained.found:
            value = np.nan if row.value is None else row.value
            found.setdefault((str(row.example_id), row.subject), {})[row.measure] = value
    names = ("aopc_comprehensiveness", "aopc_sufficiency", "tau_loo_erasure")
    return {key: (v[names[0]], v[names[1]], v[names[2]]) for key, v in found.items()}


def plain(subject: Subject, examples: list[Example], explained: Explained) -> Values:
    peer, found = PlainErasure(subject.model.network), {}
    for example in examples:
        (batch,) = subject.batches([example], 1)
        words = Words.of(batch)
        places = [None if place < 0 else int(place) for place in words.place[0]]
        for name in explained.found:
            scores = words.scores(explained.scores(batch, name).numpy())[0].tolist()
            found[example.id, name] = peer.measures(batch.token_ids[0].tolist(), places, scores)
    return found


def made_scores(subject: Subject, examples: list[Example], methods: int) -> Explained:
    """A common part and one of each method's own, equally large: Kendall τ between two methods is about 0.3."""
    found: dict[str, dict[str, tuple[list[int], list[float]]]] = {f"method {m}": {} for m in range(methods)}
    for number, example in enumerate(examples):
        (batch,) = subject.batches([example], 1)
        positions = batch.words[0].nonzero().squeeze(1).tolist()
        rng = np.random.default_rng(number)
        common = rng.normal(size=len(positions))
        for scores in found.values():
            scores[example.id] = (positions, (common + rng.normal(size=len(positions))).tolist())
    return Explained(found)


def some_texts(n: int) -> list[Example]:
    data_dir = ROOT.parent / "shared" / "data"
    data = load("sst", data_dir=data_dir) if (data_dir / "sst").is_dir() else load("movie-reviews")
    return list(data.splits["test"])[:n]


def minilm() -> Subject[HuggingFaceClassifier]:
    if (ROOT / "runs" / "minilm-sst" / "config.json").exists():
        return load_pretrained(TransformerSpec(str(ROOT / "runs" / "minilm-sst")))
    from transformers import AutoModel, AutoModelForSequenceClassification

    spec, source = TransformerSpec("minilm"), resolve("minilm")
    body = AutoModel.from_pretrained(source)
    body.config.num_labels = 2
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(body.config)
    network.base_model.load_state_dict(body.state_dict())
    return as_subject(network, load_tokenizer(source, spec), spec, device="cpu")


if __name__ == "__main__":
    from benchmarks.table import row

    torch.set_num_threads(1)
    for case in (erasure_one_method, erasure_all_methods):
        print(row(case()), flush=True)
