"""Tables to data sets: columns, labels, bad rows, splits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from heatcheck.batch import Example
from heatcheck.data.columns import Columns
from heatcheck.data.files import parse_labels, table_to_dataset
from heatcheck.data.readers import Table
from heatcheck.data.sources import load
from heatcheck.errors import InputError


def table(**columns: list[object]) -> Table:
    n = len(next(iter(columns.values())))
    return Table("r.csv", columns, range(2, n + 2))


def error(data: Table, columns: Columns | None = None, **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        table_to_dataset(data, columns or Columns(), name="r", **settings)  # type: ignore[arg-type]
    return str(caught.value)


TEXTS: list[object] = [f"text {i}" for i in range(20)]
LABELS: list[object] = ["pos", "neg"] * 10


def test_obvious_columns_are_guessed_and_noted() -> None:
    data = table_to_dataset(
        table(Premise=TEXTS, hypothesis=TEXTS, gold_label=LABELS, explanation=TEXTS), Columns(), name="r"
    )
    assert (data.task, data.labels) == ("pair", ("neg", "pos"))
    assert data.notes == (
        "Columns guessed by their names: text from 'Premise', label from 'gold_label', pair from 'hypothesis'. "
        "Columns that were not used: 'explanation'.",
        "Split by us into train, dev and test (80/10/10, stratified, seed 0).",
    )


def test_a_lone_question_is_a_text() -> None:
    data = table_to_dataset(table(question=TEXTS, label=LABELS), Columns(), name="r")
    assert data.task == "single"


def test_columns_that_are_not_obvious_or_not_there() -> None:
    data = table(Words=TEXTS, label=LABELS)
    assert error(data) == (
        "r.csv: it is not obvious which column is the text. Name it with --text. Columns found: 'Words', 'label'."
    )
    assert error(data, Columns(text="words")) == (
        "r.csv: there is no column 'words' (--text). Columns found: 'Words', 'label'."
    )
    assert len(table_to_dataset(data, Columns(text="Words"), name="r").splits["train"]) == 16


def test_labels_are_sorted_by_number_or_letter_and_may_be_renamed() -> None:
    numbers: list[object] = [10, 9.0] * 10
    assert table_to_dataset(table(text=TEXTS, label=numbers), Columns(), name="r").labels == ("9", "10")
    booleans: list[object] = [True, False] * 10
    assert table_to_dataset(table(text=TEXTS, label=booleans), Columns(), name="r").labels == ("False", "True")
    renamed = table_to_dataset(table(text=TEXTS, label=numbers), Columns(), name="r", labels={"10": "no", "9": "yes"})
    assert renamed.labels == ("no", "yes")
    assert {e.label for e in renamed.splits["train"] if int(e.text.split()[1]) % 2 == 0} == {0}


def test_labels_flag() -> None:
    with pytest.raises(InputError) as caught:
        parse_labels("0=no,0=yes")
    assert str(caught.value) == (
        "--labels '0=no,0=yes': expected at least two classes, each value once, "
        "such as 'no,yes' or '0=negative,1=positive'."
    )


def test_one_class_only_and_not_a_class() -> None:
    same: list[object] = ["pos"] * 20
    assert error(table(text=TEXTS, label=same)) == (
        "r.csv: every row has the same label, 'pos' (column 'label'). "
        "Two classes or more are needed; is it the right column?"
    )
    scores: list[object] = [i / 7 for i in range(20)]
    assert error(table(text=TEXTS, label=scores)) == (
        "r.csv: column 'label' has 20 different values in 20 rows, so it is not a class. "
        "Name the right column with --label."
    )


def bad_table() -> Table:
    texts = list(TEXTS)
    labels = list(LABELS)
    ids: list[object] = [*range(19), 0]
    texts[0], texts[1], texts[2], texts[3] = " \n", None, 5, "half \ud83d"
    labels[4], labels[5], labels[6] = "", None, "maybe"
    return table(id=ids, text=texts, label=labels)


BAD = (
    "8 rows cannot be used: 2 with no text (column 'text') (rows 2, 3); "
    "1 with something else than text (column 'text') (row 4); "
    "1 with half a character, a lone surrogate (column 'text') (row 5); "
    "2 with no label (column 'label') (rows 6, 7); "
    "1 with a label that is no class (column 'label') (row 8: 'maybe'); "
    "1 with an id that an earlier row has (row 21)"
)


def test_bad_rows_are_counted_in_one_sentence() -> None:
    data = bad_table()
    ids = list(data.values["id"])
    ids[19] = ids[18]
    data = Table("r.csv", {**data.values, "id": ids}, data.row_numbers)
    labels = {"neg": "neg", "pos": "pos"}
    assert error(data, labels=labels) == (
        f"r.csv: {BAD}. Correct them, or leave them out with --skip-bad-rows. Classes are: neg, pos. "
        "Rename labels with --labels, each as YOURS=neg."
    )
    kept = table_to_dataset(data, Columns(), name="r", labels=labels, skip_bad_rows=True)
    assert kept.notes[0] == f"Left out: {BAD}."
    assert sum(len(part) for part in kept.splits.values()) == 12


@pytest.mark.parametrize(
    ("many", "said"),
    [
        (
            2,
            "No row is left. Classes are: c0, c1, or their numbers from 0. "
            "Rename labels with --labels, each as YOURS=c0.",
        ),
        (12, "c9, c10, c11, or their numbers from 0."),
        (150, "c18, c19 and 130 more, or their numbers from 0."),
    ],
)
def test_the_classes_of_a_model_stand_once_and_last(many: int, said: str) -> None:
    names = {f"c{i}": f"c{i}" for i in range(many)}
    numbers = {str(i): f"c{i}" for i in range(many)}
    assert said in error(table(text=TEXTS, label=LABELS), labels={**names, **numbers})
    renamed = error(table(text=TEXTS, label=LABELS), labels={"0": "no", "1": "yes"})
    assert renamed.endswith("Classes are: 0, 1. Rename labels with --labels, each as YOURS=no.")


def test_the_first_label_that_is_not_known_is_named_and_case_counts() -> None:
    known = {"neg": "neg", "pos": "pos"}
    start = "is no class (column 'label')"
    mixed = ["mixed", "other", *LABELS[2:]]
    assert f"2 with a label that {start} (rows 2, 3: first 'mixed'). Correct them" in error(
        table(text=TEXTS, label=mixed), labels=known
    )
    upper = ["mixed", "Neg", *LABELS[2:]]
    assert f"{start} (rows 2, 3: first 'mixed'; upper and lower case count)." in error(
        table(text=TEXTS, label=upper), labels=known
    )
    whole_text = ["a whole review " * 10, *LABELS[1:]]
    assert f"{start} (row 2: 'a whole review a whole review a whole re…'). Correct it, or leave it out" in error(
        table(text=TEXTS, label=whole_text), labels=known
    )


def test_numbers_of_classes_count_from_0_and_may_end_in_point_0() -> None:
    known = {"neg": "neg", "pos": "pos", "0": "neg", "1": "pos"}
    from_1 = error(table(text=TEXTS, label=["2", "1"] * 10), labels=known)
    assert ": first '2'; numbers of classes count from 0)" in from_1
    read = table_to_dataset(table(text=TEXTS, label=["1.0", "0.0"] * 10), Columns(), name="r", labels=known)
    assert read.labels == ("neg", "pos")
    by_text = {e.text: e.label for part in read.splits.values() for e in part}
    assert [by_text[text] for text in TEXTS[:2]] == [1, 0]


def test_ids_and_labels_with_half_a_character_are_bad_rows() -> None:
    ids: list[object] = [str(i) for i in range(20)]
    ids[3] = "x\ud800"
    labels = [*LABELS[:19], "neg\udc00"]
    assert error(table(id=ids, text=TEXTS, label=labels)) == (
        "r.csv: 2 rows cannot be used: 1 with half a character, a lone surrogate (column 'id') (row 5); "
        "1 with half a character, a lone surrogate (column 'label') (row 21). "
        "Correct them, or leave them out with --skip-bad-rows."
    )


def test_only_the_first_bad_rows_are_named() -> None:
    labels = [*LABELS[:10], *[None] * 10]
    assert error(table(text=TEXTS, label=labels)) == (
        "r.csv: 10 rows cannot be used: 10 with no label (column 'label') (rows 12, 13, 14, 15, 16, ...). "
        "Correct them, or leave them out with --skip-bad-rows."
    )
    nothing: list[object] = [None] * 20
    assert error(table(text=TEXTS, label=nothing), skip_bad_rows=True).endswith("No row is left.")


def splits_of(values: list[object]) -> tuple[dict[str, int], tuple[str, ...]]:
    data = table_to_dataset(table(text=TEXTS, label=LABELS, split=values), Columns(), name="r")
    return {name: len(part) for name, part in data.splits.items()}, data.notes


def test_splits_as_given_and_what_is_missing_is_cut() -> None:
    given: list[object] = ["Train"] * 10 + ["validation"] * 4 + ["test"] * 6
    assert splits_of(given) == ({"train": 10, "dev": 4, "test": 6}, ())
    assert splits_of(["train"] * 14 + ["test"] * 6) == (
        {"train": 12, "dev": 2, "test": 6},
        ("There is no dev split: 2 rows were cut from train (stratified, seed 0).",),
    )
    assert splits_of(["train"] * 14 + ["val"] * 6) == (
        {"train": 12, "dev": 2, "test": 6},
        (
            "There is no test split: the dev split is tested on.",
            "In the place of that dev split: 2 rows were cut from train (stratified, seed 0).",
        ),
    )
    assert splits_of(["test"] * 20) == (
        {"train": 0, "dev": 0, "test": 20},
        ("There is no train split: a model can be tested on this data, not trained.",),
    )
    assert splits_of(["train"] * 20) == (
        {"train": 16, "dev": 2, "test": 2},
        (
            "Every row is called train (column 'split'), so that was not used.",
            "Split by us into train, dev and test (80/10/10, stratified, seed 0).",
        ),
    )


def test_split_column_that_is_none() -> None:
    kinds: list[object] = ["tools", "pans"] * 10
    data = table(text=TEXTS, label=LABELS, set=kinds)
    notes = table_to_dataset(data, Columns(), name="r").notes
    assert "Column 'set' holds no train, dev or test and was not used as split." in notes
    assert error(data, Columns(split="set")) == (
        "r.csv: column 'set' (--split) has no train, dev or test in it, but pans, tools."
    )
    odd: list[object] = ["train"] * 10 + ["test"] * 9 + ["unsupervised"]
    assert error(table(text=TEXTS, label=LABELS, split=odd)) == (
        "r.csv: 1 row cannot be used: 1 with a split that is not train, dev or test (column 'split') (row 21). "
        "Correct it, or leave it out with --skip-bad-rows."
    )


def test_too_few_rows_to_split_are_all_for_testing() -> None:
    data = table_to_dataset(table(text=["a", "b"], label=["x", "y"]), Columns(), name="r")
    assert {split: len(texts) for split, texts in data.splits.items()} == {"train": 0, "dev": 0, "test": 2}
    assert data.notes[-1] == "2 rows are too few to cut train and dev from: all can be tested, none trained on."


def test_ids_are_the_files_or_its_row_numbers(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("text,label,split\na,0,train\nb,1,train\nc,1,test\n")
    assert load(str(path)).splits["test"] == [Example("4", "c", 1)]
    path.write_text("id,text,label,split\nu,a,0,train\nv,b,1,train\nw,c,1,test\n")
    assert load(str(path)).splits["test"] == [Example("w", "c", 1)]


def test_large_file_loads_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    text = "a rather long review, with commas; " * 30
    path.write_text("text,label\n" + "".join(f'"{i} {text}",{i % 2}\n' for i in range(25_000)))
    start = time.perf_counter()
    data = load(str(path))
    assert time.perf_counter() - start < 10  # about 1 s; the rest is for a busy machine
    assert [len(part) for part in data.splits.values()] == [20_000, 2_500, 2_500]
