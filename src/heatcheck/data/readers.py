"""Files to tables of columns, with the row numbers that a user can find again in the file.

Row numbers count as a spreadsheet does: in .csv and .tsv the header is row 1, in the others the first row is row 1.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.errors import InputError


@dataclass(frozen=True)
class Table:
    """`values[column][i]` stands in row `row_numbers[i]` of what is called `name` in messages."""

    name: str
    values: Mapping[str, Sequence[object]]
    row_numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.row_numbers)


def read_table(path: Path) -> Table:
    """Any supported file. Raises an InputError that names the file and, where there is one, the row."""
    if not path.is_file():
        raise InputError(_no_file(path))
    kind = file_kind(path)
    if kind is None:
        kinds = f"{', '.join(READERS)} (or, but for Parquet, .gz of them)"
        raise InputError(f"{path}: this kind of file is not read. Give one of {kinds}.")
    table = READERS[kind](path) if path.stat().st_size else Table(path.name, {}, ())
    if not any(name.strip() for name in table.values):
        raise InputError(f"{path}: the file is empty. It needs one row per text, with at least a text and a label.")
    if not len(table):
        raise InputError(f"{path}: there are column names but no rows below them. Add one for each text.")
    return table


def file_kind(path: Path) -> str | None:
    """The key of READERS for this name, or None.

    >>> file_kind(Path("reviews.jsonl.gz")), file_kind(Path("notes.docx"))
    ('.jsonl', None)
    """
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes = suffixes[:-1]
    return suffixes[-1] if suffixes and suffixes[-1] in READERS else None


def _no_file(path: Path) -> str:
    if path.is_dir():
        return f"{path}: this is a folder, not a file. Give a file, or hf:{path} if the package datasets can read it."
    there = sorted(p.name for p in path.parent.glob("*") if file_kind(p)) if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, there, n=1)
    if close:
        return f"{path}: there is no such file. Did you mean {str(path.with_name(close[0]))!r}?"
    listed = f" Data files in that folder: {', '.join(there[:10])}." if there else " Check the path."
    return f"{path}: there is no such file.{listed}"


def read_text(path: Path) -> str:
    """The whole file as text; a byte order mark is dropped, .gz is unpacked."""
    data = _bytes(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: the file is in UTF-16, not UTF-8. {_SAVE_AS_UTF8}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        lines = error.object[: error.start].split(b"\n")  # without the mark, from which on `start` counts
        place = f"line {len(lines)}: byte {len(lines[-1]) + 1} of the line (0x{error.object[error.start]:02x})"
        raise InputError(f"{path}, {place} is not UTF-8. {_SAVE_AS_UTF8}") from error


_SAVE_AS_UTF8 = "Save it as UTF-8, for example: iconv -f OLD-ENCODING -t UTF-8 old > new."


def _bytes(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the .gz file is damaged or cut short. Download or copy it again.") from error


def _csv(path: Path) -> Table:
    text = read_text(path)
    header = text.split("\n", 1)[0]
    # Excel writes ';' where ',' is the decimal sign.
    delimiter = max(",;\t", key=header.count)
    return _from_rows(path, quoted_rows(path, text, delimiter))


def _tsv(path: Path) -> Table:
    """Tab-separated files come with CSV's quotes and without. Without, if the lines by themselves fit the header and
    reading quotes would glue some of them together."""
    text = read_text(path)
    plain = [(i, line.rstrip("\r").split("\t")) for i, line in enumerate(text.split("\n"), start=1) if line]
    lines_fit = len({len(fields) for _, fields in plain}) <= 1
    try:
        quoted = list(quoted_rows(path, text, "\t"))
    except InputError:
        if not lines_fit:
            raise
        return _from_rows(path, plain)
    return _from_rows(path, plain if lines_fit and len(plain) != len(quoted) else quoted)


def quoted_rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with their numbers; blank lines have a number but are passed over."""
    limit = csv.field_size_limit(len(text) + 1)  # the module's own limit of 128 KiB is shorter than a long review
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, row in enumerate(reader, start=1):
            if row:
                yield number, row
    except csv.Error as error:
        raise InputError(
            f"{path}, row {number + 1} (line {reader.line_num}): the quotes do not match ({error}). "
            'Quote a field that holds the separator, a quote or a new line, and write " inside it as "".'
        ) from error
    finally:
        csv.field_size_limit(limit)


def _from_rows(path: Path, rows: Iterator[tuple[int, list[str]]] | list[tuple[int, list[str]]]) -> Table:
    numbered = list(rows)
    if not numbered:
        return Table(str(path), {}, [])
    names = [name.strip() for name in numbered[0][1]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"{path}, row 1: the column name {repeated[0]!r} stands there twice. Rename one of them.")
    for number, row in numbered[1:]:
        if len(row) != len(names):
            raise InputError(
                f"{path}, row {number}: {len(row)} fields where the header has {len(names)} ({', '.join(names)}). "
                "Quote fields that hold the separator."
            )
    columns = zip(*(row for _, row in numbered[1:]), strict=True) if len(numbered) > 1 else ((),) * len(names)
    values = dict(zip(names, columns, strict=True))
    return Table(str(path), values, [number for number, _ in numbered[1:]])


def _jsonl(path: Path) -> Table:
    text = read_text(path)
    # A file that starts with a bracket is one list of objects. Only "\n" ends a line: U+2028 may stand inside a text.
    if text.lstrip().startswith("["):
        objects = list(enumerate(_json(path, text, 1), start=1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        objects = [(number, _json(path, line, number)) for number, line in lines if line.strip()]
    for number, value in objects:
        if not isinstance(value, dict):
            raise InputError(f'{path}, row {number}: expected an object such as {{"text": ..., "label": ...}}.')
    names = dict.fromkeys(name for _, value in objects for name in value)
    values = {name: [value.get(name) for _, value in objects] for name in names}
    return Table(str(path), values, [number for number, _ in objects])


def _json(path: Path, text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"row {number}" if error.lineno == 1 else f"line {error.lineno}"
        raise InputError(
            f"{path}, {place}, character {error.colno}: not valid JSON ({error.msg}). A .jsonl file has an "
            "object in each row, a .json file a list of them."
        ) from error


def _parquet(path: Path) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        values = {name: table.column(name).to_pylist() for name in table.column_names}
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the name says Parquet, but the content is not, or is cut short. Write or copy the file again."
        ) from error
    return Table(str(path), values, range(1, table.num_rows + 1))


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".json": _jsonl,
    ".ndjson": _jsonl,
    ".parquet": _parquet,
}
