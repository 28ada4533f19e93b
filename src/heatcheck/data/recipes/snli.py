"""Stanford Natural Language Inference (Jain & Wallace 2019): neutral, contradiction, entailment, in the paper's order.

The text is the premise (attended), the pair is the hypothesis. Read from the published
`snli_1.0/snli_1.0_{train,dev,test}.jsonl` (pairs without a majority label, "-", are dropped) or from
`snli_20k/train.jsonl.gz` and `snli_devtest/{dev,test}.jsonl.gz`.
Deviations: with snli_20k, training is on a part. Its fields that kept CSV's quotes (131 rows) are unquoted. The
dev and test texts of snli_devtest are already split into words, which spaCy's rules leave as they are but for a
few.
"""

from __future__ import annotations

from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.recipes.common import SPACY_QQQ, class_number, first_existing, missing, read_columns

LABELS = ("neutral", "contradiction", "entailment")
ADVICE = "Download snli_1.0.zip (nlp.stanford.edu/projects/snli) and unpack it there."
SMALL = {TRAIN: "snli_20k/train", DEV: "snli_devtest/dev", TEST: "snli_devtest/test"}


def snli(data_dir: Path, seed: int) -> Dataset:
    published = first_existing(data_dir, ("snli_1.0", "snli/snli_1.0", "snli"))
    if published is not None:
        splits = {name: _published(published / f"snli_1.0_{name}.jsonl", name) for name in SMALL}
        return _dataset(splits, ())
    if not (data_dir / "snli_20k" / "train.jsonl.gz").is_file():
        raise missing("snli", data_dir, ADVICE)
    splits = {name: _small(data_dir / f"{file}.jsonl.gz", name) for name, file in SMALL.items()}
    note = f"The training pairs are {len(splits[TRAIN]):,} of SNLI's 549,367; dev and test are complete."
    return _dataset(splits, (note,))


def _dataset(splits: dict[str, list[Example]], notes: tuple[str, ...]) -> Dataset:
    return Dataset("snli", "pair", LABELS, splits, rules=SPACY_QQQ, min_frequency=3, notes=notes)


def _published(path: Path, split: str) -> list[Example]:
    rows = enumerate(read_columns(path, "sentence1", "sentence2", "gold_label"), start=1)
    return [
        Example(f"{split}/{n}", premise, class_number(path, n, label, LABELS), hypothesis)
        for n, (premise, hypothesis, label) in rows
        if label != "-"
    ]


def _small(path: Path, split: str) -> list[Example]:
    rows = enumerate(read_columns(path, "premise", "hypothesis", "label"), start=1)
    return [
        Example(f"{split}/{n}", unquoted(premise), class_number(path, n, label, LABELS), unquoted(hypothesis))
        for n, (premise, hypothesis, label) in rows
    ]


def unquoted(field: str) -> str:
    """A field that still has the quotes of a CSV file, without them.

    >>> unquoted('"A sign that says ""stop""."')
    'A sign that says "stop".'
    """
    quoted = len(field) > 1 and field[0] == field[-1] == '"' and '""' in field[1:-1]
    return field[1:-1].replace('""', '"') if quoted else field
