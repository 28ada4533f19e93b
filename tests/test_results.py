"""The tables: null with a reason, never NaN; half files never appear; wrong folders are named."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heatcheck.errors import InputError
from heatcheck.experiments.trained.models import Trained
from heatcheck.results import TABLES, ExampleRow, Origin, Score, TokenScores, read_run, read_table, tables, write_tables
from heatcheck.tables import write_tables as write_run

ORIGIN = Origin("data", "model", 0)


def test_rows_land_in_their_tables():
    rows = [
        Score("tau_loo", 0.5, "attention", "leave_one_out", "a", "good", setting="kendall"),
        TokenScores("a", "attention", "good", [0, 0], [1, 2], [0, 4], [3, 8], ["the", "film"], [0.25, 0.75]),
        ExampleRow("a", "the film", None, "good", "bad", 0.9, -2.2, 2),
    ]
    found = tables(rows, ORIGIN, "correlation")
    assert {name: table.num_rows for name, table in found.items()} == {"scores": 1, "tokens": 2, "examples": 1}
    assert (
        found["tokens"].to_pylist()[1] | {"score": 0.75, "token": "film", "start": 4, "end": 8}
        == found["tokens"].to_pylist()[1]
    )
    assert found["scores"].to_pylist()[0]["experiment"] == "correlation"
    assert all(found[name].schema == schema for name, schema in TABLES.items())


def test_a_value_that_does_not_exist_needs_a_reason_and_is_never_nan():
    with pytest.raises(ValueError, match="without a value needs a reason"):
        Score("tau_loo", None, "attention")
    with pytest.raises(ValueError, match="is NaN"):
        Score("tau_loo", float("nan"), "attention")
    assert Score("tau_loo", None, "attention", reason="one word").value is None


def test_written_tables_read_back_whole_or_in_part(tmp_path):
    write_tables(tmp_path, tables([Score("f1", 0.5, "model")], ORIGIN, "performance"))
    assert read_table(tmp_path, "scores").schema == TABLES["scores"]
    assert read_table(tmp_path, "scores", ["value", "measure"]).to_pylist() == [{"value": 0.5, "measure": "f1"}]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["examples.parquet", "scores.parquet", "tokens.parquet"]


def in_words(example_id: str) -> list[ExampleRow | TokenScores]:
    tokens = TokenScores(example_id, "lime", "good", [0, 0], [1, 2], [0, 3], [3, 3], ["the", ""], [0.2, 0.8], [0, None])
    return [ExampleRow(example_id, "the", None, "good", "good", 0.9, 2.2, 1), tokens]


def without_words(folder):
    """A table of tokens as it was before it knew of words."""
    pq.write_table(pq.read_table(folder / "tokens.parquet").drop_columns(["word"]), folder / "tokens.parquet")


def test_tables_that_do_not_know_of_words_are_readable(tmp_path):
    write_tables(tmp_path, tables(in_words("a"), ORIGIN, "explain"))
    assert read_table(tmp_path, "tokens")["word"].to_pylist() == [0, None]
    new = read_table(tmp_path, "tokens").drop_columns(["word"])
    without_words(tmp_path)
    old = read_table(tmp_path, "tokens")
    assert old.schema == TABLES["tokens"]
    assert old["word"].to_pylist() == [None, None]
    assert old.drop_columns(["word"]).equals(new)
    some = read_table(tmp_path, "tokens", ["score", "word"])
    assert some.to_pylist() == [{"score": 0.2, "word": None}, {"score": 0.8, "word": None}]


def test_a_run_joins_steps_that_know_of_words_with_older_ones(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        write_tables(folder, tables(in_words(folder.name), ORIGIN, "explain"))
    without_words(old)
    write_run(tmp_path, {"explain lime": [old, new]}, ("good", "bad"), ORIGIN, {}, Trained({}))
    found = read_table(tmp_path, "tokens", ["example_id", "word"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [("old", None), ("old", None), ("new", 0), ("new", None)]


def test_what_is_no_run_or_no_table_is_said(tmp_path):
    with pytest.raises(InputError, match="not a finished heatcheck run"):
        read_table(tmp_path, "scores")
    (tmp_path / "scores.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(InputError, match="not readable as a scores table"):
        read_table(tmp_path, "scores")
    pq.write_table(pa.table({"other": [1]}), tmp_path / "scores.parquet")
    with pytest.raises(InputError, match="not readable as a scores table"):
        read_table(tmp_path, "scores")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=re.escape("run.json: not valid JSON")):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema_version": 99}')
    with pytest.raises(InputError, match="schema version 99, this heatcheck reads 1"):
        read_run(tmp_path)
