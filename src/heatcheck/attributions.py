"""What `attribute` gives back: data frames, a page, a picture in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from heatcheck.report import heatmap
from heatcheck.report.scored import Heatmap, Token

COLUMNS = ("text", "segment", "word", "token", "start", "end", "score", "method", "target")
SHOWN = 60  # characters of a text


@dataclass(frozen=True)
class Attributions:
    """Scores of texts by one method, or of one text by several: a heatmap each. Shows itself in a notebook."""

    heatmaps: tuple[Heatmap, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row for each token. `text` is the number of the heatmap, `segment` 1 is a pair's second text, `word` is
        empty for marks like [CLS]; `start` and `end` count characters."""
        return _frame([one.tokens for one in self.heatmaps], self.heatmaps)

    def words(self) -> pd.DataFrame:
        """A row for each word, its score the sum over its tokens."""
        return _frame([one.words for one in self.heatmaps], self.heatmaps)

    @property
    def delta(self) -> list[float | None]:
        """By how much each heatmap misses the sum its method promises, as a share of it; None where none is."""
        return [one.delta for one in self.heatmaps]

    @property
    def notes(self) -> list[tuple[str, ...]]:
        return [one.notes for one in self.heatmaps]

    def to_html(self, path: Path | str) -> Path:
        return heatmap.write(Path(path), self.heatmaps)

    def __len__(self) -> int:
        return len(self.heatmaps)

    def __getitem__(self, index: int) -> Heatmap:
        return self.heatmaps[index]

    def __iter__(self) -> Iterator[Heatmap]:
        return iter(self.heatmaps)

    def _repr_html_(self) -> str:
        return heatmap.fragment(self.heatmaps)

    def __repr__(self) -> str:
        lines = [f"  {_shown(one.text)}: {one.method} for {one.target!r}{_top(one)}" for one in self.heatmaps]
        return "\n".join([f"Attributions of {len(self.heatmaps)}:", *lines])


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def _top(one: Heatmap) -> str:
    return "".join(f", {word.token!r} {word.score:.2g}" for word in one.strongest())


def _frame(tokens: Sequence[Sequence[Token]], heatmaps: Sequence[Heatmap]) -> pd.DataFrame:
    rows = [
        (number, t.segment, t.word, t.token, t.start, t.end, t.score, one.method, one.target)
        for number, (found, one) in enumerate(zip(tokens, heatmaps, strict=True))
        for t in found
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"word": "Int64"})
