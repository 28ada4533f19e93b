"""bAbI tasks 1 to 3: one, two and three supporting facts (Jain & Wallace 2019; 10,000 training questions).

Each question is one example: the text is the story so far, the pair is the question, the label is the answer,
and the candidates are the answers of the data set that stand in the story.
Read from the published `tasks_1-20_v1-2/{en-10k,en,en-valid-10k}` or the same folders below `babi`.
Deviations: the authors' code lets every word of the vocabulary answer, and drops each story's last full stop and
the question mark; we keep the marks and offer only answers that the story has. Dev is a tenth of the training
stories, whole stories at a time, chosen by hash, since questions of a story share its text. If task 3's file of
10,000 is missing, the 1,000 questions of `en` and the 1,000 of `en-valid-10k/qa3_valid.txt` are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN, Dataset
from heatcheck.data.files import sorted_labels
from heatcheck.data.readers import read_text
from heatcheck.data.recipes.common import SPACY, first_existing, missing
from heatcheck.data.splits import TENTH, cut
from heatcheck.errors import InputError

ADVICE = "Download tasks_1-20_v1-2.tar.gz (bAbI, Weston et al. 2015) and unpack it there, or put its folders into babi."
TASK_FILES = {1: "qa1_single-supporting-fact", 2: "qa2_two-supporting-facts", 3: "qa3_three-supporting-facts"}


@dataclass(frozen=True)
class Question:
    id: str
    story: str
    question: str
    answer: str


def babi_1(data_dir: Path, seed: int) -> Dataset:
    return _babi(1, data_dir, seed)


def babi_2(data_dir: Path, seed: int) -> Dataset:
    return _babi(2, data_dir, seed)


def babi_3(data_dir: Path, seed: int) -> Dataset:
    return _babi(3, data_dir, seed)


def _babi(task: int, data_dir: Path, seed: int) -> Dataset:
    folder = first_existing(data_dir, ("babi/tasks_1-20_v1-2", "tasks_1-20_v1-2", "babi"))
    train_files, note = _train_files(task, folder) if folder is not None else ([], "")
    test_file = None if folder is None else first_existing(folder, _names(task, "test"))
    if test_file is None or not train_files:
        raise missing(f"babi-{task}", data_dir, ADVICE)
    train = [q for path in train_files for q in questions(path)]
    test = list(questions(test_file))
    labels = sorted_labels({q.answer for q in (*train, *test)})
    rest, dev = cut(_examples(train, labels), TENTH, seed, group=_story)
    notes = (note, f"Dev is a tenth of the training stories (seed {seed}).")
    splits = {TRAIN: rest, DEV: dev, TEST: _examples(test, labels)}
    return Dataset(f"babi-{task}", "qa", labels, splits, rules=SPACY, notes=tuple(filter(None, notes)))


def _names(task: int, split: str) -> list[str]:
    return [f"{version}/{TASK_FILES[task]}_{split}.txt" for version in ("en-10k", "en")]


def _train_files(task: int, folder: Path) -> tuple[list[Path], str]:
    full, small = (folder / name for name in _names(task, "train"))
    if full.is_file():
        return [full], ""
    files = [path for path in (small, folder / f"en-valid-10k/qa{task}_valid.txt") if path.is_file()]
    names = " and ".join(f"{path.parent.name}/{path.name}" for path in files)
    return files, f"The file with 10,000 training questions is not there: {names} are used instead."


def questions(path: Path) -> Iterator[Question]:
    """Every question of a file with the statements before it. A line numbered 1 starts a new story."""
    story: list[str] = []
    n_stories = n_questions = 0
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        index, _, rest = line.partition(" ")
        if not index.isdigit():
            raise InputError(f"{path}, line {number}: expected a line number and a sentence, got {line[:40]!r}.")
        if index == "1":
            story, n_stories, n_questions = [], n_stories + 1, 0
        fields = rest.split("\t")
        if len(fields) == 1:
            story.append(rest.strip())
            continue
        n_questions += 1
        id_ = f"{path.parent.name}/{path.stem}/{n_stories}/{n_questions}"
        yield Question(id_, " ".join(story), fields[0].strip(), fields[1].strip())


def _examples(asked: list[Question], labels: tuple[str, ...]) -> list[Example]:
    number_of = {label: i for i, label in enumerate(labels)}
    return [Example(q.id, q.story, number_of[q.answer], q.question, _in_story(q.story, number_of)) for q in asked]


def _in_story(story: str, number_of: dict[str, int]) -> tuple[int, ...]:
    return tuple(sorted({number_of[word] for word in re.findall(r"\w+", story) if word in number_of}))


def _story(example: Example) -> str:
    return example.id.rpartition("/")[0]
