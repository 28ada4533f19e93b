"""Microsoft Research Paraphrase Corpus: do two sentences say the same? (Dolan & Brockett 2005)

Stands in for the Quora question pairs of paper 5 (Neely et al. 2022), which is the same question about two short texts.
Read from the published `mrpc/msr_paraphrase_{train,test}.txt` (tab-separated: quality, two ids, two strings) or from
`mrpc/{train,test}.jsonl.gz` (s1, s2, label).
Deviations: there is no dev split in it; ours is a tenth of train, chosen by hash. Words by spaCy's rules, numbers kept:
two reports often differ in a number only.
"""

from __future__ import annotations

from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY, class_number, first_existing, missing, read_columns
from heatcheck.data.splits import TENTH, cut
from heatcheck.errors import InputError

LABELS = ("different", "paraphrase")
VALUES = ("0", "1")
ADVICE = (
    "Put msr_paraphrase_train.txt and msr_paraphrase_test.txt (Microsoft Research Paraphrase Corpus) into its "
    "folder mrpc."
)


def mrpc(data_dir: Path, seed: int) -> Dataset:
    train, test = (_split(data_dir, name) for name in (TRAIN, TEST))
    train, dev = cut(train, TENTH, seed)
    notes = (f"Dev is a tenth of train (stratified, seed {seed}).",)
    return Dataset("mrpc", "pair", LABELS, {TRAIN: train, DEV: dev, TEST: test}, rules=SPACY, notes=notes)


def _split(data_dir: Path, split: str) -> list[Example]:
    path = first_existing(data_dir, (f"mrpc/msr_paraphrase_{split}.txt", f"mrpc/{split}.jsonl.gz"))
    if path is None:
        raise missing("mrpc", data_dir, ADVICE)
    return _published(path, split) if path.suffix == ".txt" else _rows(path, split)


def _rows(path: Path, split: str) -> list[Example]:
    rows = enumerate(read_columns(path, "s1", "s2", "label"), start=1)
    return [
        Example(f"{split}/{n}", first, class_number(path, n, label, VALUES), second)
        for n, (first, second, label) in rows
    ]


def _published(path: Path, split: str) -> list[Example]:
    """The file has a header and no quoting: a quotation mark is part of the sentence."""
    examples = []
    for number, line in enumerate(read_text(path).split("\n")[1:], start=2):
        fields = line.rstrip("\r").split("\t")
        if not line.strip():
            continue
        if len(fields) != 5:
            raise InputError(f"{path}, line {number}: expected quality, two ids and two strings, separated by tabs.")
        label = class_number(path, number, fields[0], VALUES)
        examples.append(Example(f"{split}/{number - 1}", fields[3], label, fields[4]))
    return examples
