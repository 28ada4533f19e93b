"""Discharge summaries of MIMIC-III: diabetes or not; acute or chronic anemia (Jain & Wallace 2019).

Read from `mimic/NOTEEVENTS.csv` and `mimic/DIAGNOSES_ICD.csv` as PhysioNet publishes them (either also .gz). Used:
notes of the category "Discharge summary" that are not marked as errors, their columns SUBJECT_ID, HADM_ID,
CHARTDATE, CATEGORY, DESCRIPTION, ISERROR, TEXT; diagnoses' HADM_ID and ICD9_CODE; joined on HADM_ID. A stay's
report comes first, then its addenda by date.
- `mimic-diabetes`: 1 if the stay has the code 250.00, as in the authors' code; texts of 7 to 3999 words. Stays and
  splits are those of `mimic/{train,dev,test}_50_hadm_ids.csv` (paper 1's repository, preprocess/MIMIC) if these files
  are there.
- `mimic-anemia`: stays with chronic (285.2x = 0) or acute (285.1 = 1) anemia, not both, numbered as in the authors'
  code and the counts of their Table 1, against their text; texts shorter than 4000 words.
Words with a digit become "qqq"; words of at least 5 texts.
Deviations: their code writes one mark for each anonymised name and shortens runs of punctuation; we leave the notes as
they are. Without the lists of stays, and for anemia, the split is ours: a fifth for test, a tenth of the rest for dev,
by hash and by patient, so that nobody is on both sides.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY_QQQ, first_existing, left_out, missing, within_length
from heatcheck.data.splits import TENTH, Parts, cut
from heatcheck.errors import InputError

ADVICE = (
    "Ask PhysioNet for access to MIMIC-III (physionet.org/content/mimiciii), and put NOTEEVENTS.csv and "
    "DIAGNOSES_ICD.csv (or .csv.gz) into its folder mimic."
)
CATEGORY = "Discharge summary"
DIABETES = "25000"  # codes stand without their point
LIMIT = 4000  # words
LONGEST_FIELD = 2**31 - 1  # the csv module's own limit, 128 KiB, is shorter than some notes
Rule = Callable[[frozenset[str]], int | None]


def mimic_diabetes(data_dir: Path, seed: int) -> Dataset:
    examples = _examples("mimic-diabetes", _has_diabetes, data_dir)
    kept = within_length(examples, SPACY_QQQ, more_than=6, less_than=LIMIT)
    notes = [left_out(len(examples), len(kept), f"not between 7 and {LIMIT - 1} words (as in paper 1)")]
    lists = [data_dir / "mimic" / f"{split}_50_hadm_ids.csv" for split in (TRAIN, DEV, TEST)]
    if all(path.is_file() for path in lists):
        splits = {split: _listed(path, kept) for split, path in zip((TRAIN, DEV, TEST), lists, strict=True)}
        notes.append("Stays and splits are those of paper 1's lists.")
    else:
        splits, note = _by_patient(kept, seed)
        notes.append(note)
    return _dataset("mimic-diabetes", ("no diabetes", "diabetes"), splits, notes)


def mimic_anemia(data_dir: Path, seed: int) -> Dataset:
    examples = _examples("mimic-anemia", _kind_of_anemia, data_dir)
    kept = within_length(examples, SPACY_QQQ, more_than=0, less_than=LIMIT)
    splits, note = _by_patient(kept, seed)
    notes = [left_out(len(examples), len(kept), f"not shorter than {LIMIT} words (as in paper 1)"), note]
    return _dataset("mimic-anemia", ("chronic", "acute"), splits, notes)


def _has_diabetes(codes: frozenset[str]) -> int:
    return int(any(code.startswith(DIABETES) for code in codes))


def _kind_of_anemia(codes: frozenset[str]) -> int | None:
    acute, chronic = "2851" in codes, any(code.startswith("2852") for code in codes)
    return None if acute == chronic else int(acute)


def _dataset(name: str, labels: tuple[str, str], splits: Parts, notes: list[str]) -> Dataset:
    return Dataset(name, "single", labels, splits, rules=SPACY_QQQ, min_frequency=5, notes=tuple(notes))


def _examples(name: str, rule: Rule, data_dir: Path) -> list[Example]:
    notes_file, codes_file = (
        first_existing(data_dir / "mimic", (f"{file}.csv", f"{file}.csv.gz"))
        for file in ("NOTEEVENTS", "DIAGNOSES_ICD")
    )
    if notes_file is None or codes_file is None:
        raise missing(name, data_dir, ADVICE)
    return _stays(notes_file, _labels_by_stay(codes_file, rule))


def _by_patient(examples: list[Example], seed: int) -> tuple[Parts, str]:
    train, test = cut(examples, 2 * TENTH, seed, group=_patient)
    train, dev = cut(train, TENTH, seed, group=_patient)
    note = f"Split by us by patient: a fifth for test, a tenth of the rest for dev (seed {seed})."
    return {TRAIN: train, DEV: dev, TEST: test}, note


def _listed(path: Path, examples: list[Example]) -> list[Example]:
    stays = set(read_text(path).split())
    return [e for e in examples if e.id.partition("/")[2] in stays]


def _labels_by_stay(path: Path, rule: Rule) -> dict[str, int]:
    codes: dict[str, set[str]] = defaultdict(set)
    for row in _rows(path, "HADM_ID", "ICD9_CODE"):
        codes[row["HADM_ID"]].add(row["ICD9_CODE"].replace(".", ""))
    labels = {stay: rule(frozenset(of_stay)) for stay, of_stay in codes.items()}
    return {stay: label for stay, label in labels.items() if label is not None}


def _stays(path: Path, labels: dict[str, int]) -> list[Example]:
    """One example per stay; its id is patient/stay."""
    notes: dict[tuple[str, str], list[tuple[bool, str, str]]] = defaultdict(list)
    for row in _rows(path, "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CATEGORY", "DESCRIPTION", "ISERROR", "TEXT"):
        if row["CATEGORY"].strip() == CATEGORY and row["ISERROR"] != "1" and row["HADM_ID"] in labels:
            note = (row["DESCRIPTION"] != "Report", row["CHARTDATE"], row["TEXT"])
            notes[row["SUBJECT_ID"], row["HADM_ID"]].append(note)
    return [
        Example(
            f"{patient}/{stay}", "\n\n".join(text for _, _, text in sorted(of_stay, key=lambda n: n[:2])), labels[stay]
        )
        for (patient, stay), of_stay in notes.items()
    ]


def _patient(example: Example) -> str:
    return example.id.partition("/")[0]


def _rows(path: Path, *needed: str) -> Iterator[dict[str, str]]:
    """Row by row: NOTEEVENTS is larger than many a memory."""
    csv.field_size_limit(LONGEST_FIELD)
    try:
        yield from _checked_rows(path, needed)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: the file is damaged or cut short ({error}). Download or copy it again.") from error


def _checked_rows(path: Path, needed: tuple[str, ...]) -> Iterator[dict[str, str]]:
    with (
        gzip.open(path, "rt", encoding="utf-8", newline="")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8", newline="") as file
    ):
        reader = csv.DictReader(file)
        absent = [name for name in needed if name not in (reader.fieldnames or ())]
        if absent:
            raise InputError(
                f"{path}: there is no column {absent[0]!r}. It must be the file as PhysioNet publishes it."
            )
        for number, row in enumerate(reader, start=2):
            if None in row or None in row.values():
                raise InputError(f"{path}, row {number}: the number of fields is not that of the header.")
            yield row
