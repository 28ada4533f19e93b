"""AG News, world (0) against business (1) (Jain & Wallace 2019).

Read from `agnews/test_official_4class.jsonl.gz` and `agnews/train_world_business.jsonl.gz`, or from the
published `agnews/train.csv` and `agnews/test.csv` (no header; class 1 to 4, title, description). The text is
the description without the title, as in paper 1's code (mean length 36).
Deviations: paper 1 does not say how its dev split was made; ours is a tenth of train, chosen by hash. The train
file of our development data is a part (8,758 of 60,000), and its world articles have their title more often
than its business articles.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import quoted_rows, read_text
from heatcheck.data.recipes.common import SPACY_QQQ, missing, read_columns
from heatcheck.data.splits import TENTH, cut
from heatcheck.errors import InputError

LABELS = ("world", "business")
FULL_TRAIN = 60_000
ADVICE = "Put train.csv and test.csv of AG News (ag_news_csv.tar.gz, Zhang et al. 2015) into its folder agnews."
PUBLISHED = {"1": 0, "3": 1}  # 2 is sports, 4 is science and technology
ZERO_BASED = {"0": 0, "2": 1}


def agnews(data_dir: Path, seed: int) -> Dataset:
    folder = data_dir / "agnews"
    if (folder / "train.csv").is_file():
        train, test = (_published(folder / f"{name}.csv", name) for name in (TRAIN, TEST))
    elif (folder / "train_world_business.jsonl.gz").is_file():
        train = _rows(folder / "train_world_business.jsonl.gz", TRAIN, {"0": 0, "1": 1})
        test = _rows(folder / "test_official_4class.jsonl.gz", TEST, ZERO_BASED)
    else:
        raise missing("agnews", data_dir, ADVICE)
    notes = _notes(len(train), seed)
    train, dev = cut(train, TENTH, seed)
    splits = {TRAIN: train, DEV: dev, TEST: test}
    return Dataset("agnews", "single", LABELS, splits, rules=SPACY_QQQ, min_frequency=5, notes=notes)


def _notes(n_train: int, seed: int) -> tuple[str, ...]:
    dev = f"Dev is a tenth of train (stratified, seed {seed})."
    if n_train >= FULL_TRAIN:
        return (dev,)
    part = (
        f"The training texts are {n_train:,} of AG News' {FULL_TRAIN:,} in these two classes, from several sources: "
        "world articles have their title more often than business articles."
    )
    return (part, dev)


def _rows(path: Path, split: str, classes: dict[str, int]) -> list[Example]:
    return _examples(read_columns(path, "label", "text"), split, classes)


def _published(path: Path, split: str) -> list[Example]:
    rows = list(quoted_rows(path, read_text(path), ","))
    for number, row in rows:
        if len(row) != 3:
            raise InputError(f"{path}, row {number}: expected class, title and description, got {len(row)} fields.")
    return _examples(((row[0], row[2]) for _, row in rows), split, PUBLISHED)


def _examples(rows: Iterable[tuple[str, ...]], split: str, classes: dict[str, int]) -> list[Example]:
    """Rows of other classes are not in the task. Ids count the file's rows."""
    numbered = enumerate(rows, start=1)
    return [Example(f"{split}/{n}", text, classes[label]) for n, (label, text) in numbered if label in classes]
