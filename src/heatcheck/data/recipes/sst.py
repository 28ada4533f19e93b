"""Stanford Sentiment Treebank, two classes (Jain & Wallace 2019, section 3; unfiltered as Amini & Kosseim 2022).

`sst`: sentences of 6 words or more and shorter than the longest of their split, 6355/821/1725, the paper's
counts. `sst-full`: all of them, 6920/872/1821, as paper 3 has it.

Read from `sst/sst_dataset.csv` (text, label, exp_split: the file of the authors of paper 1) or, if that is not
there, from the published trees `train.txt`, `dev.txt`, `test.txt`: neutral sentences dropped, letters and
digits kept, everything else a space. That gives the same words, but for a "28k" that is two words in the table.
Warning: most test sentences are also in the packaged Rotten Tomatoes sentences; never train on one and test on
the other.
Deviations: none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import (
    SPACY,
    class_number,
    first_existing,
    left_out,
    missing,
    read_columns,
    within_length,
)
from heatcheck.errors import InputError

LABELS = ("negative", "positive")
ADVICE = (
    "Put sst_dataset.csv of paper 1's repository (successar/AttentionExplanation), or train.txt, dev.txt and test.txt "
    "of Stanford's trainDevTestTrees_PTB.zip (nlp.stanford.edu/sentiment), into its folder sst."
)
FEWEST_WORDS = 6
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")
_BRACKETS = re.compile(r"-[LR][RS]B-")


def sst(data_dir: Path, seed: int) -> Dataset:
    full = sst_full(data_dir, seed)
    splits = {name: _filtered(examples) for name, examples in full.splits.items()}
    before, after = (sum(len(part) for part in parts.values()) for parts in (full.splits, splits))
    note = left_out(before, after, f"shorter than {FEWEST_WORDS} words, or the longest of their split (as in paper 1)")
    return Dataset("sst", "single", LABELS, splits, rules=SPACY, notes=(note,))


def sst_full(data_dir: Path, seed: int) -> Dataset:
    table = first_existing(data_dir, ("sst/sst_dataset.csv", "SST/sst_dataset.csv"))
    trees = first_existing(data_dir, ("sst/train.txt", "sst/trees/train.txt", "trees/train.txt"))
    if table is not None:
        splits = _from_table(table)
    elif trees is not None:
        splits = {name: list(_from_trees(trees.with_name(f"{name}.txt"), name)) for name in (TRAIN, DEV, TEST)}
    else:
        raise missing("sst", data_dir, ADVICE)
    return Dataset("sst-full", "single", LABELS, splits, rules=SPACY)


def _filtered(examples: Sequence[Example]) -> list[Example]:
    longest = max((len(SPACY.split(e.text)) for e in examples), default=0)
    return within_length(examples, SPACY, more_than=FEWEST_WORDS - 1, less_than=longest)


def _from_table(path: Path) -> dict[str, list[Example]]:
    splits: dict[str, list[Example]] = {TRAIN: [], DEV: [], TEST: []}
    for row, (text, label, split) in enumerate(read_columns(path, "text", "label", "exp_split"), start=2):
        if split not in splits:
            raise InputError(f"{path}, row {row}: exp_split {split!r} is not one of {', '.join(splits)}.")
        part = splits[split]
        part.append(Example(f"{split}/{len(part) + 1}", text, class_number(path, row, label, ("0", "1"))))
    return splits


def _from_trees(path: Path, split: str) -> Iterator[Example]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file. {ADVICE}")
    number = 0
    for line, tree in enumerate(read_text(path).split("\n"), start=1):
        if not tree.strip():
            continue
        if not re.match(r"\([0-4] ", tree):
            raise InputError(f"{path}, line {line}: expected a tree such as (3 (2 A) (3 gem)).")
        if tree[1] != "2":
            number += 1
            yield Example(f"{split}/{number}", clean_leaves(_LEAF.findall(tree)), int(tree[1] > "2"))


def clean_leaves(leaves: list[str]) -> str:
    """
    >>> clean_leaves(["-LRB-", "Jaglom", "-RRB-", "does", "n't", "dazzle", "."])
    'jaglom does n t dazzle'
    """
    words = " ".join(leaf for leaf in leaves if not _BRACKETS.fullmatch(leaf)).lower()
    return re.sub(r"[\W_]+", " ", words).strip()
