"""Which texts are tested, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from heatcheck.data.dataset import text_fingerprint
from heatcheck.data.sources import load
from heatcheck.errors import InputError
from heatcheck.held_out import texts_under_test
from heatcheck.request import Request
from tests.explain.families import family_subject
from tests.toys import random_examples, small_subject

KNOWN_ROWS = "If the model was trained on these rows, it is tested on what it knows: give other rows."


def under_test(subject, path: Path, **settings):
    """Ids and notes of the rows of `path`."""
    data = load(str(path), labels={name: name for name in subject.labels})
    examples, notes = texts_under_test(Request(model="m", data=str(path), **settings), data, subject)
    return [e.id for e in examples], notes


def write(path: Path, texts: list[str], labels: tuple[str, ...], split: str | None = None) -> Path:
    header = "text,label" if split is None else "text,label,split"
    end = "" if split is None else f",{split}"
    path.write_text(f"{header}\n" + "".join(f"{text},{labels[i % 2]}{end}\n" for i, text in enumerate(texts)))
    return path


def test_rows_that_are_all_called_train_are_tested_with_a_word(tmp_path):
    subject = family_subject("bert")
    file = write(tmp_path / "r.csv", [f"good film {i}" for i in range(12)], subject.labels, split="train")
    ids, notes = under_test(subject, file)
    assert len(ids) == 12
    assert notes[-3:] == [
        "Every row is called train (column 'split'), so that was not used.",
        "12 of 12 rows can be tested.",
        KNOWN_ROWS,
    ]
    plain = write(tmp_path / "plain.csv", [f"good film {i}" for i in range(12)], subject.labels)
    assert KNOWN_ROWS not in under_test(subject, plain)[1]


def test_of_a_model_that_knows_its_rows_those_are_left_out_without_that_word(tmp_path):
    subject = family_subject("bert")
    file = write(tmp_path / "r.csv", [f"good film {i}" for i in range(12)], subject.labels, split="train")
    learned = [e for split in load(str(file)).splits.values() for e in split if e.text.endswith("3")]
    ids, notes = under_test(replace(subject, seen=frozenset(map(text_fingerprint, learned))), file)
    assert (len(ids), KNOWN_ROWS in notes) == (11, False)


def test_words_that_the_model_does_not_know_are_counted(tmp_path):
    subject = small_subject(random_examples(8))
    known = subject.reader.words[-1]
    some = write(tmp_path / "some.csv", [f"{known} {known} {known} {known} neverseen"] * 4, subject.labels)
    assert not any("unknown" in note for note in under_test(subject, some)[1])
    most = write(tmp_path / "most.csv", [f"{known} neverseen norever thisone"] * 4, subject.labels)
    assert under_test(subject, most)[1][-1] == (
        "75% of the words under test (12 of 16) are unknown to the model, which sees them all as one."
    )
    assert "(6 of 8)" in under_test(subject, most, limit=2)[1][-1]


def test_texts_of_which_the_tokenizer_leaves_nothing_are_named_by_row(tmp_path):
    subject = family_subject("bert")
    one = write(tmp_path / "one.csv", ["a good film", "\u200b"], subject.labels)
    with pytest.raises(InputError) as caught:
        under_test(subject, one)
    assert str(caught.value) == (
        "one.csv: 1 of 2 texts has no word that the model's tokenizer knows (row 3). "
        "Remove it, or leave it out with --skip-bad-rows."
    )
    ids, notes = under_test(subject, one, skip_bad_rows=True)
    assert ids == ["2"]
    assert "1 of 2 texts has no word that the model's tokenizer knows (row 3): left out." in notes
    more = write(tmp_path / "more.csv", ["a good film", *["\u200b"] * 7], subject.labels)
    with pytest.raises(
        InputError, match=r"7 of 8 texts have no word .* \(rows 3, 4, 5, 6, 7, \.\.\.\)\. Remove them, or leave them"
    ):
        under_test(subject, more)


@pytest.mark.parametrize("skip_bad_rows", [False, True])
def test_nothing_but_texts_of_which_the_tokenizer_leaves_nothing(tmp_path, skip_bad_rows):
    subject = family_subject("bert")
    nothing = write(tmp_path / "nothing.csv", ["\u200b"] * 4, subject.labels)
    with pytest.raises(InputError) as caught:
        under_test(subject, nothing, skip_bad_rows=skip_bad_rows)
    assert str(caught.value) == (
        "nothing.csv: none of the 4 texts has a word that the model's tokenizer knows. "
        "Give other texts, or a model that reads such texts."
    )
