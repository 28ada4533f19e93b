"""Per-text weights to be imposed on a model that sees no context (Wiegreffe & Pinter 2019, section 3.4).

A guide is a method's scores for a model's decisions, as weights: absolute values, divided by their sum over the words.
The paper's guides are `attention` of the base model and of an adversary; any explainer serves as well. A file serves
too: JSON lines with `id` and `weights`, one number for each word of the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.data import reading
from heatcheck.data.reading import Reader
from heatcheck.errors import InputError
from heatcheck.experiments.explained import usable
from heatcheck.explain.types import probability_of_prediction
from heatcheck.method_names import FILE
from heatcheck.models.compared import ComparedTexts
from heatcheck.models.protocols import AttentiveClassifier, encoded_tokens
from heatcheck.models.subject import Subject

BATCH_SIZE = 32
Weights = Mapping[str, Float[Tensor, "T"]]  # by text, over its tokens, marks included


def guide_file(method: str) -> Path | None:
    return Path(method.removeprefix(FILE)) if method.startswith(FILE) else None


def guide_weights(
    subject: Subject[Any], examples: Sequence[Example], method: str, *, generator: torch.Generator
) -> dict[str, Float[Tensor, "T"]]:
    if (path := guide_file(method)) is not None:
        return read_weights(path, subject.reader, examples)
    return dict(_explained(subject, examples, method, generator))


def _explained(
    subject: Subject[Any], examples: Sequence[Example], method: str, generator: torch.Generator
) -> Iterator[tuple[str, Float[Tensor, "T"]]]:
    chosen = usable(subject, method)
    for batch in subject.batches(examples, BATCH_SIZE):
        scalar = probability_of_prediction(subject.model, batch)
        scores = chosen.explain(subject.model, batch, scalar, generator=generator).scores.detach().float().cpu()
        for name, row, n in zip(batch.example_ids, scores, batch.mask.sum(1).tolist(), strict=True):
            yield name, row[:n].abs().clone()


def read_weights(path: Path, reader: Reader, examples: Sequence[Example]) -> dict[str, Float[Tensor, "T"]]:
    given = _read(path)
    if missing := next((e.id for e in examples if e.id not in given), None):
        raise InputError(f"{path}: has no weights for the text {missing!r}. A guide needs them for every text.")
    found = {}
    for batch in reading.batches([reader.row(e) for e in examples], reader.n_labels, BATCH_SIZE):
        for name, words in zip(batch.example_ids, batch.attended, strict=True):
            row, weights = given[name]
            if len(weights) != int(words.sum()):
                raise InputError(
                    f"{path}, row {row}: {len(weights)} weights for the text {name!r}, which has {int(words.sum())} "
                    "words. Give one weight for each."
                )
            found[name] = torch.zeros(len(words)).masked_scatter(words, torch.tensor(weights))
    return found


def _read(path: Path) -> dict[str, tuple[int, list[float]]]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of weights.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    found = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not isinstance(row["weights"], list):
                raise TypeError("weights is not a list")
            weights = [float(w) for w in row["weights"]]
            found[str(row["id"])] = (number, weights)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, row {number}: not a JSON object with id and weights ({error!r}).") from error
        if not all(0 <= w < float("inf") for w in weights):
            raise InputError(f"{path}, row {number}: a weight is below 0 or no number.")
    return found


def imposed(weights: Weights, batch: Batch, texts: int = 1) -> Float[Tensor, "B K T"]:
    """The weights of a batch's texts, adding up to 1 for each attended text; equal ones where all are 0."""
    laid_out = torch.zeros(batch.token_ids.shape)
    for place, name in zip(laid_out, batch.example_ids, strict=True):
        row = weights[name][: len(place)]
        place[: len(row)] = row
    words = batch.attended[:, None] if texts == 1 else batch.words_by_text
    shares = laid_out.to(batch.token_ids.device)[:, None] * words
    total = shares.sum(-1, keepdim=True)
    equal = words / words.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(total > 0, shares / total.clamp(min=torch.finfo(total.dtype).tiny), equal)


def guided_logits(model: AttentiveClassifier, batch: Batch, weights: Weights) -> Float[Tensor, "B C"]:
    texts = 2 if isinstance(model, ComparedTexts) else 1
    return model.classify(encoded_tokens(model, batch), imposed(weights, batch, texts), batch)
