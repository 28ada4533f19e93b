"""From tensors of a batch to the rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heatcheck.batch import TEXT, Batch, Example
from heatcheck.measure.ranks import constant
from heatcheck.models.subject import Subject
from heatcheck.results import TokenScores

TOO_SHORT = "undefined: the text has fewer than two words"


def predicted_names(subject: Subject[Any], probs: Float[Tensor, "B L"]) -> list[str]:
    """The predicted class of each row, by name: what the papers' tables group by."""
    return [subject.labels[i] for i in probs.argmax(-1).tolist()]


def attended_words(attention: Float[Tensor, "B K T"], batch: Batch) -> Bool[Tensor, "B T"]:
    """Two heads look at two texts; one at the first."""
    return batch.attended if attention.shape[1] == 1 else batch.words


def token_scores(
    batch: Batch,
    scores: Float[Tensor, "B T"],
    scored: Bool[Tensor, "B T"],
    examples: Mapping[str, Example],
    *,
    method: str,
    targets: Sequence[str],
) -> Iterator[TokenScores]:
    """One method's scores for the tokens of `scored`, with the characters they stand for."""
    columns = (batch.segments, batch.word_ids, *batch.offsets.unbind(-1), scores)
    by_row = [column.detach().cpu().numpy() for column in columns]  # one row of an array is far faster than of a tensor
    inside = scored.cpu().numpy()
    for row, (name, target) in enumerate(zip(batch.example_ids, targets, strict=True)):
        positions = inside[row].nonzero()[0]
        segments, words, starts, ends, here = (column[row, positions].tolist() for column in by_row)
        texts = {TEXT: examples[name].text, 1 - TEXT: examples[name].pair or ""}
        yield TokenScores(
            example_id=name,
            method=method,
            target=target,
            segments=segments,
            positions=positions.tolist(),
            starts=starts,
            ends=ends,
            tokens=[texts[s][start:end] for s, start, end in zip(segments, starts, ends, strict=True)],
            scores=here,
            words=[None if word < 0 else word for word in words],
        )


def to_numpy(values: Tensor) -> np.ndarray:
    return values.detach().cpu().double().numpy()


def value_or_reason(value: float, reason: str) -> tuple[float | None, str | None]:
    """NaN inside our arrays means "does not exist"; in a table that is null with a reason."""
    return (None, reason) if np.isnan(value) else (float(value), None)


def why_undefined(lists: Mapping[str, Float[ndarray, "B T"]], words: Bool[ndarray, "B T"]) -> list[str]:
    """For each text: why these lists have no rank correlation, if they have none."""
    rank_nothing = {name: constant(scores, words) for name, scores in lists.items()}
    flat = [[name for name in lists if rank_nothing[name][row]] for row in range(len(words))]
    return [TOO_SHORT if n < 2 else _flat(names) for n, names in zip(words.sum(1), flat, strict=True)]


def _flat(names: Sequence[str]) -> str:
    return f"undefined: {' and '.join(names)} {'give' if len(names) > 1 else 'gives'} every word the same score"


def by_id(examples: Sequence[Example]) -> dict[str, Example]:
    return {e.id: e for e in examples}
