"""Files to tables: what survives, and the sentence for each way a file can be wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from heatcheck.data.readers import read_table
from heatcheck.errors import InputError

# Anything a file in UTF-8 can hold.
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1)
AWKWARD = 'a "quoted", text\nwith lines; \u200fright\u200e\x00 nul \u2028 emoji 🙂'


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    return file.getvalue()


def error(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value).replace(str(path.parent), "D")


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t")])
def test_awkward_characters_survive_csv_and_tsv(tmp_path: Path, name: str, delimiter: str) -> None:
    path = written(tmp_path / name, as_csv([["text", "label"], [AWKWARD, "1"], ["plain", "0"]], delimiter))
    table = read_table(path)
    assert list(table.values["text"]) == [AWKWARD, "plain"]
    assert list(table.row_numbers) == [2, 3]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json"])
def test_awkward_characters_survive_json(tmp_path: Path, name: str) -> None:
    lines = "\n".join(json.dumps({"text": t}, ensure_ascii=False) for t in (AWKWARD, "plain"))
    content = gzip.compress(lines.encode()) if name.endswith(".gz") else lines.encode()
    assert read_table(written(tmp_path / name, content)).values["text"] == [AWKWARD, "plain"]


def test_a_damaged_byte_in_parquet_is_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    table = pyarrow.table({"text": ["a good film"], "label": [1]})
    parquet.write_table(table, file, compression="none", use_dictionary=False, write_statistics=False)
    file.write_bytes(file.read_bytes().replace(b"good", b"g\xffod"))
    with pytest.raises(InputError, match=r"the content is not, or is cut short\. Write or copy the file again\."):
        read_table(file)


def test_awkward_characters_survive_parquet(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"text": [AWKWARD, "plain"], "label": [1, None]}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.values == {"text": [AWKWARD, "plain"], "label": [1, None]}


@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_any_text_survives_a_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("round")
    # A tab and a new line in one field of a .tsv can look like two rows without quotes, so no tabs there.
    without_tabs = [(a.replace("\t", " "), b.replace("\t", " ")) for a, b in rows]
    for name, delimiter, expected in (("a.csv", ",", rows), ("a.tsv", "\t", without_tabs)):
        table = read_table(written(folder / name, as_csv([["text", "label"], *map(list, expected)], delimiter)))
        assert list(zip(table.values["text"], table.values["label"], strict=True)) == expected


def test_json_list_is_read_as_rows(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "a.json", '[{"text": "a"}, {"text": "b", "label": 1}]'))
    assert table.values == {"text": ["a", "b"], "label": [None, 1]}


def test_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "a.csv", b"\xef\xbb\xbftext,label\r\nfine,1\r\n"))
    assert {name: list(column) for name, column in table.values.items()} == {"text": ["fine"], "label": ["1"]}


def test_tsv_with_loose_quotes_is_read_line_by_line(tmp_path: Path) -> None:
    """As GLUE writes it: a quote that opens a text and never closes must not swallow the next rows."""
    path = written(tmp_path / "a.tsv", 'text\tlabel\n"so it begins\t1\nhe said "no"\t0\nand it "ends\t1\n')
    assert list(read_table(path).values["text"]) == ['"so it begins', 'he said "no"', 'and it "ends']


def test_long_field_is_no_error(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", f"text,label\n{'x' * 200_000},1\n")
    assert len(str(read_table(path).values["text"][0])) == 200_000


def test_missing_file_suggests_a_near_name(tmp_path: Path) -> None:
    written(tmp_path / "reviews.csv", "text,label\n")
    assert error(tmp_path / "reviws.csv") == "D/reviws.csv: there is no such file. Did you mean 'D/reviews.csv'?"
    assert error(tmp_path / "zzz.csv") == ("D/zzz.csv: there is no such file. Data files in that folder: reviews.csv.")
    assert error(tmp_path / "no" / "zzz.csv").endswith("zzz.csv: there is no such file. Check the path.")


def test_folder_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    assert error(tmp_path / "a.csv") == (
        "D/a.csv: this is a folder, not a file. Give a file, or hf:D/a.csv if the package datasets can read it."
    )


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "a.docx",
            "x",
            "D/a.docx: this kind of file is not read. Give one of .csv, .tsv, .jsonl, .json, .ndjson, .parquet "
            "(or, but for Parquet, .gz of them).",
        ),
        ("a.csv", "", "D/a.csv: the file is empty. It needs one row per text, with at least a text and a label."),
        ("a.jsonl", "\n", "D/a.jsonl: the file is empty. It needs one row per text, with at least a text and a label."),
        ("a.csv", "text,label\n", "D/a.csv: there are column names but no rows below them. Add one for each text."),
        (
            "a.csv",
            b"text,label\nok,1\ncaf\xe9,0\n",
            "D/a.csv, line 3: byte 4 of the line (0xe9) is not UTF-8. "
            "Save it as UTF-8, for example: iconv -f OLD-ENCODING -t UTF-8 old > new.",
        ),
        (
            "a.csv",
            b"\xef\xbb\xbfcaf\xe9,label\nok,1\n",  # a byte order mark is no part of the line
            "D/a.csv, line 1: byte 4 of the line (0xe9) is not UTF-8. "
            "Save it as UTF-8, for example: iconv -f OLD-ENCODING -t UTF-8 old > new.",
        ),
        (
            "a.tsv",
            "text\tlabel\n".encode("utf-16"),
            "D/a.tsv: the file is in UTF-16, not UTF-8. "
            "Save it as UTF-8, for example: iconv -f OLD-ENCODING -t UTF-8 old > new.",
        ),
        (
            "a.csv",
            "text,label\nfine,1\none, two,0\n",
            "D/a.csv, row 3: 3 fields where the header has 2 (text, label). Quote fields that hold the separator.",
        ),
        (
            "a.csv",
            'text,label\n"never closed,1\n',
            "D/a.csv, row 2 (line 2): the quotes do not match (unexpected end of data). "
            'Quote a field that holds the separator, a quote or a new line, and write " inside it as "".',
        ),
        ("a.csv", "a,b,a\n1,2,3\n", "D/a.csv, row 1: the column name 'a' stands there twice. Rename one of them."),
        (
            "a.jsonl",
            '{"text": "a"}\n{"text": \n',
            "D/a.jsonl, row 2, character 10: not valid JSON (Expecting value). "
            "A .jsonl file has an object in each row, a .json file a list of them.",
        ),
        (
            "a.jsonl",
            '{"text": "a"}\n[1]\n',
            'D/a.jsonl, row 2: expected an object such as {"text": ..., "label": ...}.',
        ),
        (
            "a.parquet",
            "text,label\n",
            "D/a.parquet: the name says Parquet, but the content is not, or is cut short. "
            "Write or copy the file again.",
        ),
        (
            "a.csv.gz",
            gzip.compress(b"text,label\n" * 1000, mtime=0)[:-20],
            "D/a.csv.gz: the .gz file is damaged or cut short. Download or copy it again.",
        ),
        (
            "a.csv.gz",
            "text,label\n",
            "D/a.csv.gz: the .gz file is damaged or cut short. Download or copy it again.",
        ),
    ],
)
def test_bad_files_get_one_sentence(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    assert error(written(tmp_path / name, content)) == sentence
