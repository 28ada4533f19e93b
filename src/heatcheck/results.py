"""The tables every experiment writes, and run.json. No torch here: viewers read this without it.

Three tidy tables, one row per fact. `scores` holds both the value of a text (with `example_id`)
and aggregates over texts (without). A value that does not exist is null, with a reason.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heatcheck.errors import InputError

SCHEMA_VERSION = 1

# Words that experiments write into tables and that readers of the tables look for.
ALL_METHODS = "all methods"  # the subject of a number that is about no one method
ALL_SEEDS = "all seeds"  # the reference of a mean over trained models
RANDOM, BEST, WORST = "random", "best found", "worst found"  # orders of erasing words that no method gave
REVERSED = "reversed "  # before the name of a method whose order is turned round
PLANTED, PEOPLE, CHANCE = "planted", "people", "chance"  # whose words: the references of marked texts
MODEL_RIGHT, MODEL_WRONG = "model right", "model wrong"  # settings that tell texts with planted words apart
MICRO = "micro"  # the setting of an F1 over more than two classes, which is accuracy
ON_DEV = "on dev"  # the statistic of a mean over dev texts, by which one of several trained models is chosen
NOT_RANKED = "not ranked"  # how the reason of a method begins that is shown and does not count

SCORES = pa.schema(
    [
        ("experiment", pa.string()),
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("example_id", pa.string()),
        ("group", pa.string()),
        ("subject", pa.string()),
        ("reference", pa.string()),
        ("measure", pa.string()),
        ("statistic", pa.string()),
        ("setting", pa.string()),
        ("at", pa.float64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
        ("reason", pa.string()),
    ]
)
TOKENS = pa.schema(
    [
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("example_id", pa.string()),
        ("segment", pa.int64()),
        ("position", pa.int64()),
        ("word", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("token", pa.string()),
        ("method", pa.string()),
        ("target", pa.string()),
        ("score", pa.float64()),
    ]
)
EXAMPLES = pa.schema(
    [
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("example_id", pa.string()),
        ("text", pa.string()),
        ("pair", pa.string()),
        ("label", pa.string()),
        ("predicted", pa.string()),
        ("probability", pa.float64()),
        ("log_odds", pa.float64()),
        ("n_tokens", pa.int64()),
        ("max_attention", pa.float64()),
    ]
)
TABLES = {"scores": SCORES, "tokens": TOKENS, "examples": EXAMPLES}
LATER = frozenset({"word"})  # columns that older runs lack: null there


@dataclass(frozen=True)
class Score:
    """One value. Of a text if `example_id` is given, else an aggregate (`statistic` says which) over `n` texts."""

    measure: str
    value: float | None
    subject: str
    reference: str | None = None
    example_id: str | None = None
    group: str | None = None
    statistic: str = "value"
    setting: str | None = None
    at: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 1
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.value is None and self.reason is None:
            raise ValueError(f"A {self.measure} without a value needs a reason.")
        if self.value is not None and math.isnan(self.value):
            raise ValueError(f"{self.measure} is NaN. Give None and a reason instead.")


@dataclass(frozen=True)
class TokenScores:
    """One method's scores for the tokens of one text; the lists run over the tokens scored. `words`: which word of its
    segment a token is a piece of, None for a mark; empty where nothing is known of words."""

    example_id: str
    method: str
    target: str
    segments: list[int]
    positions: list[int]
    starts: list[int]
    ends: list[int]
    tokens: list[str]
    scores: list[float]
    words: list[int | None] = field(default_factory=list)


@dataclass(frozen=True)
class ExampleRow:
    """What the model made of one text."""

    example_id: str
    text: str
    pair: str | None
    label: str
    predicted: str
    probability: float
    log_odds: float | None  # of the second of two classes: probabilities near 0 and 1 round to ties
    n_tokens: int
    max_attention: float | None = None


Row = Score | TokenScores | ExampleRow


@dataclass(frozen=True)
class Origin:
    """The columns that every row of one run shares."""

    dataset: str
    model: str
    seed: int


def tables(rows: Iterable[Row], origin: Origin, experiment: str) -> dict[str, pa.Table]:
    """Sort the rows an experiment yielded into the three tables."""
    columns: dict[str, dict[str, list[Any]]] = {name: {c: [] for c in schema.names} for name, schema in TABLES.items()}
    common = asdict(origin)
    for row in rows:
        match row:
            case Score():
                _add_row(columns["scores"], {**common, "experiment": experiment, **vars(row)})
            case ExampleRow():
                _add_row(columns["examples"], {**common, **vars(row)})
            case TokenScores():
                _add_tokens(columns["tokens"], common, row)
    return {name: pa.table(columns[name], schema) for name, schema in TABLES.items()}


def _add_row(columns: dict[str, list[Any]], values: Mapping[str, Any]) -> None:
    for name, column in columns.items():
        column.append(values[name])


def _add_tokens(columns: dict[str, list[Any]], common: Mapping[str, Any], row: TokenScores) -> None:
    """Column by column: a review has hundreds of tokens, and a dictionary for each would take minutes."""
    shared = {**common, "example_id": row.example_id, "method": row.method, "target": row.target}
    for name, value in shared.items():
        columns[name].extend([value] * len(row.scores))
    words = row.words or [None] * len(row.scores)
    own: tuple[list[Any], ...] = (row.segments, row.positions, words, row.starts, row.ends, row.tokens, row.scores)
    for name, values in zip(("segment", "position", "word", "start", "end", "token", "score"), own, strict=True):
        columns[name].extend(values)


def write_tables(folder: Path, content: Mapping[str, pa.Table]) -> None:
    """Write each table whole; a reader never meets half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in content.items():
        partial = folder / f".{name}.parquet.part"
        pq.write_table(table, partial, compression="zstd")
        os.replace(partial, folder / f"{name}.parquet")


def read_table(folder: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """One of the three tables of a run, or some of its columns, checked against the schema."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise InputError(
            f"{path}: not found. {folder} is not a finished heatcheck run; repeat the command that made it."
        )
    schema = pa.schema([TABLES[name].field(column) for column in columns or TABLES[name].names])
    try:
        return _read(path, schema).cast(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as a {name} table ({error}). Delete it and repeat the run.") from error


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    lacking = LATER.intersection(schema.names).difference(pq.read_schema(path).names)
    table = pq.read_table(path, columns=[name for name in schema.names if name not in lacking])
    for name in lacking:
        table = table.add_column(schema.get_field_index(name), name, pa.nulls(len(table)))
    return table


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: the folder cannot be made ({error.strerror}). Give another --out.") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")  # two processes may write it
    partial.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(partial, path)


def read_run(folder: Path) -> dict[str, Any]:
    """run.json of a run folder."""
    path = folder / "run.json"
    if not path.exists():
        raise InputError(
            f"{folder}: no run.json in it. Give the folder that `heatcheck audit` or `heatcheck run` wrote."
        )
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}). Repeat the run to write it anew.") from error
    if content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema version {content.get('schema_version')}, this heatcheck reads {SCHEMA_VERSION}. "
            "Repeat the run with this version."
        )
    return content
