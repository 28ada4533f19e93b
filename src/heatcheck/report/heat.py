"""Token scores packed for the page: two characters each, scaled by the largest of their text.

The pieces of a word are shown as one word, and their scores add up. A text's entry is {"spans": [[gap, length, gap,
length ...] for each segment], "methods": {name: [largest, packed, on marks]}}: gaps and lengths count code points;
`packed` runs over the spans of all segments and holds, to base 64, a number from 1 to 4095 where 2048 means 0, 4095 the
largest score and 1 its negative; 0 means that the method has no score there. What words leave of attention is on marks
like [CLS]; it stands there in runs of trained adversaries, which may look at nothing else: their words must not glow.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heatcheck.method_names import are_weights, is_adversary
from heatcheck.report.source import TOKEN_COLUMNS, Run
from heatcheck.scripts import unspaced

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MIDDLE = 2048
LEAST_ON_MARKS = 0.005  # less is rounding
NO_WORD = -1

Span = tuple[int, int, int]


def packed(run: Run, examples: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The entries of these texts; a text without token scores has none."""
    wanted = run.tokens.filter(pc.is_in(run.tokens["example_id"], pa.array(examples, pa.string())))
    words = pc.fill_null(wanted["word"], NO_WORD)
    wanted = wanted.set_column(wanted.column_names.index("word"), "word", words)
    rows = sorted(_distinct(wanted.drop_null()))
    beside_marks = weights_beside_marks(run)
    return {
        example: _entry(run, example, group, beside_marks) for example, group in groupby(rows, key=lambda row: row[0])
    }


def weights_beside_marks(run: Run) -> set[str]:
    """The methods whose scores are attention weights, where a trained adversary is among them. In windows, weights add
    up to more than 1."""
    methods = run.tokens["method"].unique().to_pylist()
    if run.part("model").get("windows") or not any(map(is_adversary, methods)):
        return set()
    return set(filter(are_weights, methods))


def on_marks(scores: Iterable[float]) -> float:
    left = 1 - math.fsum(scores)
    return round(left, 4) if left >= LEAST_ON_MARKS else 0.0


def signed_methods(run: Run) -> set[str]:
    """The methods that also have scores below 0, which need a second colour."""
    return set(run.tokens.filter(pc.less(run.tokens["score"], 0))["method"].unique().to_pylist())


def _distinct(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as tuples. Of several seeds or targets the first counts."""
    columns = [table[name].to_pylist() for name in TOKEN_COLUMNS]
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in zip(*columns, strict=True):
        found.setdefault(row[:-2], row)
    return list(found.values())


def _entry(run: Run, example: str, rows: Iterable[tuple[Any, ...]], beside_marks: Collection[str]) -> dict[str, Any]:
    row = run.by_id[example]
    texts = [row["text"] or "", row["pair"] or ""]
    scores: dict[str, list[tuple[Span, float]]] = {}
    weights: dict[str, list[float]] = {}
    word_of: dict[Span, int] = {}
    for _, segment, start, end, _, method, word, score in rows:
        if method in beside_marks:
            weights.setdefault(method, []).append(score)
        if segment in (0, 1) and math.isfinite(score) and 0 <= start < end <= len(texts[segment]):
            span = (segment, start, end)
            scores.setdefault(method, []).append((span, score))
            word_of[span] = max(word, word_of.get(span, NO_WORD))
    spans = _words(word_of, texts)
    methods = {method: _method(spans, pairs) for method, pairs in scores.items()}
    for method, found in weights.items():
        if method in methods and (left := on_marks(found)):
            methods[method].append(left)
    return {"spans": [_gaps(spans, segment) for segment in (0, 1)], "methods": methods}


def _words(word_of: Mapping[Span, int], texts: Sequence[str]) -> list[Span]:
    """The pieces of a word made one, as in `scored.py`; also spans that overlap (byte-level tokenizers give all pieces
    of an emoji the same characters). Older runs do not say which word a piece is of: there it is of the word in front
    if no word can end between them."""
    merged: list[Span] = []
    last = NO_WORD
    for (segment, start, end), word in sorted(word_of.items()):
        if merged and merged[-1][0] == segment and _joins(merged[-1][2], last, start, word, texts[segment]):
            merged[-1] = (segment, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((segment, start, end))
        last = word
    return merged


def _joins(end: int, last: int, start: int, word: int, text: str) -> bool:
    """Does a piece of `word` from `start` belong to one of the word `last` that ends at `end`?"""
    one_word = word != NO_WORD or (start == end and _inside(text, start))
    return start < end or (word == last and one_word)


def _inside(text: str, at: int) -> bool:
    """Is this between two letters or digits of one word? Not in scripts that are written without spaces.

    >>> _inside("unfunny", 2), _inside("film.", 4), _inside("电影", 1)
    (True, False, False)
    """
    return all(unicodedata.category(c)[0] in "LMN" for c in text[at - 1 : at + 1]) and not unspaced(text, at)


def _method(spans: Sequence[Span], pairs: Sequence[tuple[Span, float]]) -> list[Any]:
    """Pieces of one span add up, as the pieces of a word do."""
    totals: list[float | None] = [None] * len(spans)
    number = 0
    for (segment, start, _), score in sorted(pairs):
        while spans[number][0] != segment or spans[number][2] <= start:
            number += 1
        totals[number] = (totals[number] or 0.0) + score
    largest = max((abs(total) for total in totals if total is not None), default=0.0)
    return [float(f"{largest:.4g}"), "".join(_characters(total, largest) for total in totals)]


def _characters(score: float | None, largest: float) -> str:
    share = score / largest if score and largest else 0
    code = 0 if score is None else _MIDDLE + round(share * (_MIDDLE - 1))
    return ALPHABET[code // 64] + ALPHABET[code % 64]


def _gaps(spans: Sequence[Span], segment: int) -> list[int]:
    numbers: list[int] = []
    last = 0
    for _, start, end in (span for span in spans if span[0] == segment):
        numbers += [start - last, end - start]
        last = end
    return numbers
