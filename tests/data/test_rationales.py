"""Rationales from ERASER's files, masks, spans and SST's trees; and the sentences for files that cannot be used."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from heatcheck.batch import Example, Span
from heatcheck.data.rationales import check_rationales, read_rationales
from heatcheck.data.sources import load
from heatcheck.errors import InputError

SHARED = Path(__file__).parents[3] / "shared" / "data"


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def marked(example: Example, spans) -> list[str]:
    texts = (example.text, example.pair or "")
    return [texts[segment][start:end] for segment, start, end in spans]


def evidence(docid: str, start: int, end: int, text: str | None = None) -> dict[str, object]:
    return {"docid": docid, "start_token": start, "end_token": end, "text": text}


def test_erasers_evidences_are_words_of_the_document(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d1").write_text("a dull film .\nnot  the 映画 🎬 i hoped for", encoding="utf-8")
    groups = [[evidence("d1", 1, 2, "dull"), evidence("d1", 3, 3, "")], [evidence("d1", 4, 8, "not the 映画 🎬")]]
    row = {"annotation_id": "d1", "evidences": groups, "query": "What is the sentiment?"}
    path = write_lines(tmp_path / "test.jsonl", row)
    # Another layout of the same words is the same text; offsets are those of the example.
    example = Example("7", "a dull film . not the 映画 🎬 i hoped for", 0)
    found = read_rationales(path, "eraser", [example, Example("8", "another text", 1)])
    assert list(found) == ["7"]
    assert marked(example, found["7"]) == ["dull", "not", "the", "映画", "🎬"]


def test_erasers_pairs_find_their_segment_and_questions_tell_annotations_apart(tmp_path):
    write_lines(
        tmp_path / "docs.jsonl",
        {"docid": "p", "text": "a man sleeps outside"},
        {"docid": "h", "text": "a man runs"},
        {"docid": "w", "text": "water boils at 100 degrees"},
    )
    path = write_lines(
        tmp_path / "val.jsonl",
        {"annotation_id": "1", "evidences": [[evidence("p", 2, 3), evidence("h", 2, 3)]], "query": None},
        {"annotation_id": "2", "evidences": [[evidence("w", 0, 1)]], "query": "what boils ?"},
        {"annotation_id": "3", "evidences": [[evidence("w", 3, 5)]], "query": "when does it boil ?"},
    )
    examples = [
        Example("x", "a man sleeps outside", 0, "a man runs"),
        Example("y", "water boils at 100 degrees", 0, "when does it boil ?"),
        Example("2", "water boils at 100 degrees", 0, "WHAT BOILS"),
    ]
    found = read_rationales(path, "eraser", examples)
    assert found["x"] == [Span(0, 6, 12), Span(1, 6, 10)]
    assert marked(examples[1], found["y"]) == ["100", "degrees"]
    assert marked(examples[2], found["2"]) == ["water"]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_masks_and_spans(tmp_path, kind):
    rows = [
        {"id": "a", "text": "", "mask": [0, 1, 1], "spans": None, "pair_mask": None},
        {"id": "", "text": "crème  brûlée 🎬!", "mask": None, "spans": [[7, 13], [14, 15]], "pair_mask": None},
        {"id": "c", "text": "", "mask": None, "spans": None, "pair_mask": "0 1"},
    ]
    path = tmp_path / f"marks.{kind}"
    if kind == "jsonl":
        write_lines(path, *({k: v for k, v in row.items() if v not in ("", None)} for row in rows))
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows)
    examples = [
        Example("a", "not so good", 0),
        Example("b", "crème  brûlée 🎬!", 0),
        Example("c", "one", 0, "two three"),
    ]
    found = read_rationales(path, "mask", examples)
    assert [marked(e, found[e.id]) for e in examples] == [["so", "good"], ["brûlée", "🎬"], ["three"]]
    assert found["c"] == [Span(1, 4, 9)]


@pytest.mark.parametrize(
    "text",
    ["-LRB- Effective -RRB- but 1\\/2 .", "( Effective ) but 1/2 .", "( effective ) but 1/2 .", "effective but 1 2"],
)
def test_a_tree_belongs_to_its_words_however_they_are_written(tmp_path, text):
    tree = "(3 (2 -LRB-) (3 (3 Effective) (2 -RRB-)) (2 (2 but) (2 (3 1\\/2) (2 .))))"
    (tmp_path / "test.txt").write_text(tree, encoding="utf-8")
    example = Example("1", text, 1)
    found = read_rationales(tmp_path, "sst", [example])["1"]
    half = text.split()[text.split().index("but") + 1 :]
    assert [word.lower() for word in marked(example, found)] == ["effective", *(w for w in half if w != ".")]


def test_ssts_words_of_the_sentences_polarity(tmp_path):
    trees = [
        "(3 (3 (3 Effective) (2 but)) (1 (1 too-tepid) (2 biopic)))",
        "(1 (2 It) (1 (1 (2 is) (1 (0 dull) (4 fun))) (2 .)))",
        "(2 (2 A) (3 gem))",
    ]
    (tmp_path / "test.txt").write_text("\n".join(trees), encoding="utf-8")
    examples = [Example("1", "effective but too tepid biopic", 1), Example("2", "it is dull fun", 0)]
    examples.append(Example("3", "a gem", 1))
    for path in (tmp_path, tmp_path / "test.txt"):
        found = read_rationales(path, "sst", examples)
        assert [marked(e, found[e.id]) for e in examples] == [["effective"], ["dull"], []]
    negative = Example("n", "effective but too tepid biopic", 0)
    (tmp_path / "test.txt").write_text(trees[0].replace("(3", "(1", 1), encoding="utf-8")
    assert marked(negative, read_rationales(tmp_path, "sst", [negative])["n"]) == ["too", "tepid"]


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


DOCUMENT = {"docid": "d", "text": "a b c"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"annotation_id": "d", "evidences": [[evidence("d", 1, 9)]]},
            "row 1: tokens 1 to 9 are not in document d, which has 3.",
        ),
        (
            {"annotation_id": "d", "evidences": [[evidence("d", 0, 1, "b")]]},
            "row 1: tokens 0 to 1 of document d are 'a', but the evidence says 'b'. The documents are",
        ),
        ({"annotation_id": "d", "evidences": [[evidence("e", 0, 1)]]}, "row 1: there is no document 'e' in "),
        ({"annotation_id": "d", "evidences": [[evidence("../x.jsonl", 0, 1)]]}, "there is no document '../x.jsonl'"),
        ({"annotation_id": "d", "evidences": [["d"]]}, "row 1: an evidence needs docid, start_token and end_token"),
        ({"annotation_id": "d", "evidences": 3}, "row 1: expected a list, found 3."),
        (
            {"annotation_id": "d"},
            "there is no column 'evidences', which ERASER's files have. Columns found: 'annotation_id'. "
            "For other files there is --rationale-format.",
        ),
    ],
)
def test_eraser_files_that_cannot_be_used(tmp_path, row, said):
    write_lines(tmp_path / "docs.jsonl", DOCUMENT)
    path = write_lines(tmp_path / "x.jsonl", row)
    with pytest.raises(InputError) as error:
        read_rationales(path, "eraser", [Example("d", "a b c", 0)])
    assert said in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"id": "d", "mask": [0, 1]},
            ", row 1, column mask: the mask has 2 values, its text 3 words between whitespace. "
            "Give a 0 or 1 for each word.",
        ),
        ({"id": "d", "mask": [0, 2, 1]}, "row 1, column mask: a mask is a list of 0 and 1; found [0, 2, 1]."),
        (
            {"id": "d", "spans": [[0, 9]]},
            "row 1, column spans: the span [0, 9] is not inside its text of 5 characters.",
        ),
        (
            {"id": "d", "spans": [[0, "1"]]},
            "row 1, column spans: a span is [start, end] in characters; found [0, '1'].",
        ),
        ({"id": "d", "mask": "yes"}, "row 1, column mask: expected a list, found 'yes'."),
        ({"id": "d", "rationale": [1]}, "a column mask (a 0 or 1 for each word) or spans"),
    ],
)
def test_masks_that_cannot_be_used(tmp_path, row, said):
    path = write_lines(tmp_path / "x.jsonl", row)
    with pytest.raises(InputError) as error:
        read_rationales(path, "mask", [Example("d", "a b c", 0)])
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_other_files_that_cannot_be_used(tmp_path):
    one = [Example("d", "a b c", 0)]
    cases = [
        (tmp_path / "no.jsonl", "mask", "no.jsonl: there is no such file."),
        (write_lines(tmp_path / "e.jsonl", {"annotation_id": "d", "evidences": []}), "eraser", "documents are missing"),
        (write(tmp_path / "t.txt", "(3 (2 a)\nnot a tree"), "sst", "t.txt, line 2: expected a tree such as"),
        (tmp_path / "nowhere", "sst", "there are no trees"),
        (tmp_path, "xml", "There is no format of rationales 'xml'. There are: eraser, mask, sst."),
    ]
    for path, kind, said in cases:
        with pytest.raises(InputError) as error:
            read_rationales(path, kind, one)
        assert said in str(error.value)
    other = write_lines(tmp_path / "x.jsonl", {"id": "f", "mask": [1]})
    assert read_rationales(other, "mask", one) == {}
    with pytest.raises(InputError, match="none of its rationales belongs to a text under test"):
        check_rationales(other, "mask", one)


@pytest.mark.skipif(not (SHARED / "eraser_movies").is_dir(), reason="ERASER's movie reviews are not here")
def test_erasers_movie_reviews():
    folder = SHARED / "eraser_movies"
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = {row["docid"]: row["text"] for row in map(json.loads, file)}
    examples = [Example(name, " ".join(text.split()), 0) for name, text in texts.items() if "R_8" in name]
    for split, texts_of_it in (("train", "R_1"), ("test", "R_9")):
        of_split = [Example(name, " ".join(text.split()), 0) for name, text in texts.items() if texts_of_it in name]
        assert read_rationales(folder / f"{split}.jsonl.gz", "eraser", of_split)
    found = read_rationales(folder / "val.jsonl.gz", "eraser", examples)
    assert len(found) == 200
    example = next(e for e in examples if e.id == "negR_800.txt")
    assert " ".join(marked(example, found["negR_800.txt"])).startswith("definitely the cinematic equivalent of a")


@pytest.mark.skipif(not (SHARED / "sst" / "test.txt").is_file(), reason="SST's trees are not here")
def test_almost_all_of_ssts_sentences_have_a_tree():
    examples = load("sst-full", data_dir=SHARED).splits["test"]
    found = read_rationales(SHARED / "sst" / "test.txt", "sst", examples)
    assert len(found) >= len(examples) - 1
    assert sum(len(spans) > 0 for spans in found.values()) > 0.8 * len(examples)  # others are polar as a whole only
    counts = sum(len(spans) for spans in found.values()) / sum(len(e.text.split()) for e in examples)
    assert 0.05 < counts < 0.25
