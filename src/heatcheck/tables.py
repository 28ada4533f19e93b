"""The three tables of a run, from the tables of its steps: all shards one after another, then the aggregates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heatcheck import results
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.agreement import ranked_means
from heatcheck.experiments.ranking import marked, twins, unranked
from heatcheck.experiments.repeatability import samples_needed
from heatcheck.experiments.summary import SUMMARISED, summarise, summarise_performance
from heatcheck.experiments.trained.conclusions import Texts
from heatcheck.experiments.trained.models import PREDICTED, Trained
from heatcheck.results import TABLES, Origin, Score

EXPLAIN = "explain "


def write_tables(
    out: Path,
    shards: Mapping[str, Sequence[Path]],
    labels: tuple[str, ...],
    origin: Origin,
    configs: Mapping[str, Any],
    trained: Trained,
) -> None:
    folders = [folder for found in shards.values() for folder in found]
    _concatenate(out / "examples.parquet", (pq.read_table(f / "examples.parquet") for f in folders), "examples")
    _concatenate(out / "tokens.parquet", _once(shards), "tokens")
    aggregates = [results.tables(_performance(out, labels, origin.seed), origin, "performance")["scores"]]
    per_text = {name: _values(found) for name, found in shards.items() if name != "performance"}
    reasons = _reasons(per_text, configs)
    in_agreement = reasons
    if "agreement" in per_text:
        in_agreement = twins(per_text["agreement"]) | reasons
        per_text["agreement"] = _frame(_scores("agreement", shards["agreement"], in_agreement))
    for name, values in per_text.items():
        if len(values):
            why = in_agreement if name == "agreement" else reasons
            rows = list(marked(summarise(values[values["measure"] != PREDICTED], seed=origin.seed), why))
            rows += list(_concluded(name, values, out, labels, origin.seed, configs, trained))
            if name == "repeatability":
                rows += list(samples_needed(pd.DataFrame([vars(row) for row in rows])))
            experiment = "explain" if name.startswith(EXPLAIN) else name
            aggregates.append(results.tables(rows, origin, experiment)["scores"])
    parts = (part for name, found in shards.items() for part in _scores(name, found, in_agreement))
    _concatenate(out / "scores.parquet", itertools.chain(parts, aggregates), "scores")


def _scores(name: str, folders: Sequence[Path], unranked_methods: Mapping[str, str]) -> Iterator[pa.Table]:
    """The values per text of one step after another. Which methods are not ranked is known only after all of them."""
    for folder in folders:
        table = pq.read_table(folder / "scores.parquet")
        yield ranked_means(table, unranked_methods) if name == "agreement" and unranked_methods else table


def _once(shards: Mapping[str, Sequence[Path]]) -> Iterator[pa.Table]:
    """Several experiments keep the scores they compare: each method's are taken from the first that has them."""
    known: set[str] = set()
    for found in shards.values():
        here: set[str] = set()
        for folder in found:
            table = results.read_table(folder, "tokens")
            methods = set(pc.unique(table["method"]).to_pylist())
            here |= methods
            yield table.filter(pc.is_in(table["method"], pa.array(sorted(methods - known), pa.string())))
        known |= here


def _concluded(
    name: str,
    values: pd.DataFrame,
    out: Path,
    labels: tuple[str, ...],
    seed: int,
    configs: Mapping[str, Any],
    trained: Trained,
) -> Iterator[Score]:
    """What an experiment says of all texts together, beyond means."""
    conclude = EXPERIMENTS[name].conclude if name in EXPERIMENTS else None
    if conclude is not None:
        examples = pq.read_table(out / "examples.parquet", columns=["example_id", "label"]).to_pandas()
        truth = examples.set_index("example_id")["label"].map(labels.index)
        reached = {name: trained.reached(name) for name in trained.folders}
        yield from conclude(Texts(values, truth, labels, seed, reached), configs[name])


def _values(folders: Sequence[Path]) -> pd.DataFrame:
    return _frame(results.read_table(f, "scores", SUMMARISED) for f in folders)


def _frame(parts: Iterable[pa.Table]) -> pd.DataFrame:
    frame: pd.DataFrame = pa.concat_tables([part.select(SUMMARISED) for part in parts]).to_pandas()
    return frame


def _reasons(per_text: Mapping[str, pd.DataFrame], configs: Mapping[str, Any]) -> dict[str, str]:
    """Of all methods that were explained or named in settings."""
    methods = {name.removeprefix(EXPLAIN): None for name in per_text if name.startswith(EXPLAIN)}
    methods |= dict.fromkeys(name for config in configs.values() for name in getattr(config, "methods", ()))
    frames = [frame for frame in per_text.values() if len(frame)]
    return unranked(pd.concat(frames), methods) if methods and frames else {}


def _performance(out: Path, labels: tuple[str, ...], seed: int) -> Iterator[Score]:
    examples = pq.read_table(out / "examples.parquet", columns=["label", "predicted", "log_odds"]).to_pandas()
    return summarise_performance(examples, labels, seed=seed)


def _concatenate(path: Path, parts: Iterable[pa.Table], table: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    with pq.ParquetWriter(partial, TABLES[table], compression="zstd") as writer:
        for part in parts:
            writer.write_table(part)
    partial.replace(path)


def aggregates(out: Path) -> pd.DataFrame:
    """The rows over all texts, which a verdict reads."""
    columns = (
        "measure",
        "statistic",
        "subject",
        "reference",
        "setting",
        "at",
        "group",
        "example_id",
        "value",
        "low",
        "high",
        "n",
        "reason",
    )
    table = results.read_table(out, "scores", columns)
    frame: pd.DataFrame = table.filter(pc.is_null(table["example_id"])).to_pandas()
    return frame
