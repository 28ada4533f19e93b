"""Reviews of the Large Movie Review set as paper 1 used them (Jain & Wallace 2019): 17212/4304/4363.

Read from `imdb/{train,dev,test}.jsonl.gz` (id, label, text): paper 1's own split, rebuilt on the original
texts; or from the published `aclImdb/{train,test}/{neg,pos}/*.txt`, where the split has to be ours.

Paper 1 took its reviews from Keras: without punctuation, split at spaces (mean length 179). We keep the review as it
was written and read it as if each character that Keras drops were a space.
Deviations: words by spaCy, which splits "don't" in two, each with a vector, where Keras has one word, mostly
without (mean length 181 with ours); `<br />` becomes spaces, while Keras left a word "br"; words that are in test only
are kept, as unknown, while Keras dropped them.
From aclImdb: dev is a fifth of train, test a fifth of test, chosen by hash.

`imdb-240` leaves out reviews of more than 240 words in every split, as paper 5 does (Neely et al. 2022, section 4.1: it
keeps about 78%, as ours does, 13370/3310/3432). Its texts are those that are read: their punctuation is blanked out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY, class_number, left_out, missing, read_columns, within_length
from heatcheck.data.splits import cut, same_text
from heatcheck.data.words import WordRules, without_punctuation

LABELS = ("negative", "positive")
ADVICE = (
    "Download aclImdb_v1.tar.gz (ai.stanford.edu/~amaas/data/sentiment) and unpack it there, or put train.jsonl.gz, "
    "dev.jsonl.gz and test.jsonl.gz (id, label, text) into its folder imdb."
)
MIN_FREQUENCY = 10
MOST_WORDS = 240  # paper 5's limit
RULES = WordRules(tokenizer="spacy without punctuation")


def imdb_paper(data_dir: Path, seed: int) -> Dataset:
    notes: tuple[str, ...] = ()
    if (data_dir / "imdb" / "train.jsonl.gz").is_file():
        splits = {name: _from_rows(data_dir, name) for name in (TRAIN, DEV, TEST)}
    elif (data_dir / "aclImdb" / "train").is_dir():
        splits, notes = _from_folders(data_dir / "aclImdb", seed)
    else:
        raise missing("imdb-paper", data_dir, ADVICE)
    return Dataset("imdb-paper", "single", LABELS, splits, rules=RULES, min_frequency=MIN_FREQUENCY, notes=notes)


def imdb_240(data_dir: Path, seed: int) -> Dataset:
    whole = imdb_paper(data_dir, seed)
    splits = {
        name: within_length([_blanked(e) for e in examples], SPACY, more_than=0, less_than=MOST_WORDS + 1)
        for name, examples in whole.splits.items()
    }
    before, after = (sum(len(part) for part in parts.values()) for parts in (whole.splits, splits))
    note = left_out(before, after, f"more than {MOST_WORDS} words (as in paper 5)")
    return replace(whole, name="imdb-240", splits=splits, rules=SPACY, notes=(*whole.notes, note))


def _blanked(example: Example) -> Example:
    return replace(example, text=without_punctuation(example.text))


def _from_rows(data_dir: Path, name: str) -> list[Example]:
    path = data_dir / "imdb" / f"{name}.jsonl.gz"
    rows = enumerate(read_columns(path, "id", "label", "text"), start=1)
    return [Example(id_, text, class_number(path, row, label, ("0", "1"))) for row, (id_, label, text) in rows]


def _from_folders(folder: Path, seed: int) -> tuple[dict[str, list[Example]], tuple[str, ...]]:
    train, test = ([e for e in _reviews(folder, name) if _fits(e)] for name in ("train", "test"))
    train, dev = cut(train, 0.2, seed, group=_as_read)
    _, test = cut(test, 0.2, seed, group=_as_read)
    note = f"Paper 1's own split is not in aclImdb: dev is a fifth of train and test a fifth of test (seed {seed})."
    return {TRAIN: train, DEV: dev, TEST: test}, (note,)


def _fits(example: Example) -> bool:
    return bool(within_length([_blanked(example)], SPACY, more_than=6, less_than=400))


def _as_read(example: Example) -> str:
    return same_text(_blanked(example))


def _reviews(folder: Path, split: str) -> list[Example]:
    return [
        Example(f"{split}/{path.stem}", read_text(path), label)
        for label, name in enumerate(("neg", "pos"))
        for path in sorted((folder / split / name).glob("*.txt"))
    ]
