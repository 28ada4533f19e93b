"""CNN news articles, cloze questions on anonymised entities (Hermann et al. 2015; Jain & Wallace 2019).

380,298 training and 3,198 test questions there.

Read from the published `cnn/questions/{training,validation,test}/*.question`: address, paragraph, question,
answer and the names of the entities, with blank lines between. The text is the paragraph, the pair the
question, the label the answer, the candidates the entities (@entity0, @entity1, ...) of the paragraph. Words of
at least 8 texts.
Deviations: none known. Questions whose answer is not in the paragraph are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY, first_existing, missing
from heatcheck.errors import InputError

ADVICE = "Download cnn.tgz (questions; cs.nyu.edu/~kcho/DMQA) and unpack it there."
FOLDERS = {TRAIN: "training", DEV: "validation", TEST: "test"}
_ENTITY = re.compile(r"@entity([0-9]+)")
Asked = tuple[str, str, str, int]  # id, paragraph, question, number of the entity that answers


def cnn(data_dir: Path, seed: int) -> Dataset:
    folder = first_existing(data_dir, ("cnn/questions", "questions"))
    if folder is None:
        raise missing("cnn", data_dir, ADVICE)
    asked = {split: [_read(path) for path in _files(folder / name)] for split, name in FOLDERS.items()}
    numbers = sorted({n for part in asked.values() for _, text, _, answer in part for n in (answer, *entities(text))})
    number_of = {entity: i for i, entity in enumerate(numbers)}
    splits = {split: _examples(part, number_of) for split, part in asked.items()}
    left = sum(len(asked[split]) - len(splits[split]) for split in splits)
    notes = (f"{left:,} questions were left out: their answer is not in the paragraph.",) if left else ()
    labels = tuple(f"@entity{n}" for n in numbers)
    return Dataset("cnn", "qa", labels, splits, rules=SPACY, min_frequency=8, notes=notes)


def entities(text: str) -> set[int]:
    return {int(n) for n in _ENTITY.findall(text)}


def _files(folder: Path) -> Iterable[Path]:
    files = sorted(folder.glob("*.question"))
    if not files:
        raise InputError(f"{folder}: there are no .question files. {ADVICE}")
    return files


def _read(path: Path) -> Asked:
    parts = read_text(path).split("\n\n")
    answer = _ENTITY.fullmatch(parts[3].strip()) if len(parts) >= 4 else None
    if answer is None:
        raise InputError(
            f"{path}: expected address, paragraph, question and an answer @entityN, with blank lines between."
        )
    return f"{path.parent.name}/{path.stem}", parts[1].strip(), parts[2].strip(), int(answer.group(1))


def _examples(asked: Iterable[Asked], number_of: dict[int, int]) -> list[Example]:
    examples = []
    for id_, paragraph, question, answer in asked:
        in_paragraph = entities(paragraph)
        if answer in in_paragraph:
            candidates = tuple(sorted(number_of[n] for n in in_paragraph))
            examples.append(Example(id_, paragraph, number_of[answer], question, candidates))
    return examples
