"""Tweets that mention an adverse drug reaction, or not (Nikfarjam et al. 2015; Jain & Wallace 2019).

Read from `adr/adr_dataset.csv`, the file of paper 1's authors (text, label, exp_split; names of drugs and users
already replaced); or from tweets of one's own in `adr/adr.csv` or `adr/adr.tsv`: columns text, label (0 no
reaction, 1 reaction) and perhaps split, or without a header tweet id, user id, label, text, where lines whose
text is "Not Available" are left out.
Tweets of 6 to 99 words, words of at least 2 tweets.
Deviations: what has no split is split by hash: a fifth for test and a tenth of the rest for dev from the file
without a header, 80/10/10 from the others; what has no dev split loses a tenth of train to it.
"""

from __future__ import annotations

from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.columns import Columns
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.files import load_file
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY, class_number, first_existing, left_out, missing, within_length
from heatcheck.data.splits import TENTH, cut
from heatcheck.errors import InputError

LABELS = ("no reaction", "reaction")
VALUES = dict(zip(("0", "1"), LABELS, strict=True))
ADVICE = (
    "Put adr_dataset.csv of paper 1's repository (successar/AttentionExplanation, preprocess/Tweets) into its folder "
    "adr, or tweets of your own as adr/adr.csv with the columns text and label."
)
GONE = "not available"


def adr(data_dir: Path, seed: int) -> Dataset:
    path = first_existing(data_dir, ("adr/adr_dataset.csv", "adr/adr.csv", "adr/adr.tsv"))
    if path is None:
        raise missing("adr", data_dir, ADVICE)
    if _has_header(path):
        return _with_header(path, seed)
    examples = _published(path)
    kept = within_length(examples, SPACY, more_than=5, less_than=100)
    train, test = cut(kept, 2 * TENTH, seed)
    train, dev = cut(train, TENTH, seed)
    notes = (_lengths(len(examples), len(kept)), f"Test is a fifth, dev a tenth of the rest (stratified, seed {seed}).")
    return _dataset({TRAIN: train, DEV: dev, TEST: test}, notes)


def _has_header(path: Path) -> bool:
    first = read_text(path).split("\n", 1)[0].lower()
    return "label" in first and "text" in first


def _with_header(path: Path, seed: int) -> Dataset:
    whole = load_file(path, Columns(text="text", label="label"), labels=VALUES, skip_bad_rows=True, seed=seed)
    splits = {name: within_length(part, SPACY, more_than=5, less_than=100) for name, part in whole.splits.items()}
    before, after = (sum(len(part) for part in parts.values()) for parts in (whole.splits, splits))
    return _dataset(splits, (*whole.notes, _lengths(before, after)))


def _published(path: Path) -> list[Example]:
    examples = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        fields = line.rstrip("\r").split("\t", 3)
        if not line.strip():
            continue
        if len(fields) != 4:
            raise InputError(f"{path}, line {number}: expected tweet id, user id, label and text, separated by tabs.")
        if fields[3].strip().lower() not in (GONE, ""):
            examples.append(Example(fields[0], fields[3], class_number(path, number, fields[2], ("0", "1"))))
    return examples


def _dataset(splits: dict[str, list[Example]], notes: tuple[str, ...]) -> Dataset:
    return Dataset("adr", "single", LABELS, splits, rules=SPACY, min_frequency=2, notes=notes)


def _lengths(before: int, after: int) -> str:
    return left_out(before, after, "not between 6 and 99 words (as in paper 1)")
