"""Data sets of the Hugging Face hub, or a folder that `datasets` can read: `hf:NAME`, `hf:NAME/CONFIG`, `hf:./folder`.

NAME is what the hub calls it, with or without its owner: `hf:imdb`, `hf:glue/sst2`, `hf:stanfordnlp/imdb`. Of
two parts, the first is taken as the owner; if there is no such data set, as the data set, and the second as its
configuration. Three parts are owner, data set, configuration.
Code that a data set brings is never run. HF_HUB_OFFLINE=1 is respected: then only what is already on the disk
is used.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.data.columns import SPLIT_NAMES, Columns, find_columns
from heatcheck.data.dataset import Dataset
from heatcheck.data.files import Labels, table_to_dataset
from heatcheck.data.readers import Table
from heatcheck.errors import InputError
from heatcheck.hub_reach import out_of_reach

PREFIX = "hf:"
HIDDEN = -1  # the hub's label for rows whose label is not published


def load_hub(
    source: str, columns: Columns, *, labels: Labels | None = None, skip_bad_rows: bool = False, seed: int = 0
) -> Dataset:
    parts = _fetch(source)
    names = next(iter(parts.values())).column_names
    found, guessed = find_columns(source, names, replace(columns, split=None))
    class_names = _class_names(parts, str(found.label), labels)
    published = {split: part for split, part in parts.items() if _has_labels(part, str(found.label))}
    if not published:
        raise InputError(f"{source}: none of its splits ({', '.join(parts)}) has published labels.")
    table = _table(source, published, found, class_names)
    data = table_to_dataset(
        table,
        replace(found, split="split"),
        name=source,
        labels=labels if labels is not None else _in_order(class_names),
        skip_bad_rows=skip_bad_rows,
        seed=seed,
    )
    hidden = [split for split in parts if split not in published]
    note = f"Not used, since its labels are not published: {', '.join(hidden)}." if hidden else None
    return replace(data, notes=tuple(n for n in (guessed, *data.notes, note) if n))


def _fetch(source: str) -> dict[str, Any]:
    """The splits called train, dev or test in some spelling."""
    try:
        import datasets
    except ImportError as error:
        raise InputError(
            f"{source} needs the package datasets, which is not installed. Run: pip install 'heatcheck[hub]'"
        ) from error
    parts = _first_that_exists(datasets, source, spellings(source.removeprefix(PREFIX)))
    usable = {split: part for split, part in parts.items() if split.lower() in SPLIT_NAMES and len(part)}
    if not usable:
        raise InputError(f"{source}: none of its splits is train, dev or test, but {', '.join(parts)}.")
    return usable


def _first_that_exists(datasets: Any, source: str, names: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    failure: Exception | None = None
    for name in names:
        try:
            with _offline_if_so(datasets, name[0]):
                return dict(datasets.load_dataset(*name))
        # Its own errors, the hub's, the network's or Arrow's, which differ by version: all mean "not to be had".
        except Exception as error:
            failure = failure or error
            # Where the hub does not answer a second name fails as the first did, after as many retries.
            if isinstance(error, ConnectionError) and not (datasets.config.HF_HUB_OFFLINE or out_of_reach()):
                break
    reason = re.sub(r"\s+", " ", str(failure)).strip()[:200]
    raise InputError(
        f"{source} cannot be loaded ({type(failure).__name__}: {reason}). Check the name and the network connection, "
        "or download it and give the folder or file."
    ) from failure


@contextlib.contextmanager
def _offline_if_so(datasets: Any, name: str) -> Iterator[None]:
    """Without a way to the hub, what an earlier run has fetched will do."""
    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = before or (not Path(name).is_dir() and out_of_reach())
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before


def spellings(name: str) -> list[tuple[str, ...]]:
    """What to ask `datasets` for, in order.

    >>> spellings("imdb"), spellings("glue/sst2"), spellings("nyu-mll/glue/sst2"), spellings("./reviews/2024")
    ([('imdb',)], [('glue/sst2',), ('glue', 'sst2')], [('nyu-mll/glue', 'sst2')], [('./reviews/2024',)])
    """
    parts = name.split("/")
    if name.startswith((".", "/", "~")) or Path(name).is_dir():
        return [(str(Path(name).expanduser()) if name.startswith("~") else name,)]
    if len(parts) == 3:
        return [(f"{parts[0]}/{parts[1]}", parts[2])]
    return [(name,), (parts[0], parts[1])] if len(parts) == 2 else [(name,)]


def _class_names(parts: dict[str, Any], label: str, labels: Labels | None) -> tuple[str, ...] | None:
    """The names that the data set itself gives to its label numbers, unless `labels` knows none of them, but numbers.
    Where it knows names and numbers, as of a model's classes, that model may number them in another order."""
    feature = next(iter(parts.values())).features[label]
    names = getattr(feature, "names", None)
    if names is None or (labels is not None and not set(labels) & set(names)):
        return None
    return tuple(names)


def _in_order(class_names: tuple[str, ...] | None) -> Labels | None:
    """The data set's own order: a model that was trained on it numbers its outputs so."""
    return None if class_names is None else {name: name for name in class_names}


def _has_labels(part: Any, label: str) -> bool:
    return any(value is not None and value != HIDDEN for value in part[label])


def _table(source: str, parts: dict[str, Any], columns: Columns, class_names: tuple[str, ...] | None) -> Table:
    """All splits below one another. Ids say split and row: the hub's own ids often start anew in each split."""
    values: dict[str, list[object]] = {name: [] for name in ("id", "split")}
    for role in ("text", "pair", "label"):
        name = getattr(columns, role)
        if name is not None:
            values[name] = [value for part in parts.values() for value in part[name]]
    if class_names is not None:
        values[str(columns.label)] = [_named(value, class_names) for value in values[str(columns.label)]]
    for split, part in parts.items():
        values["split"] += [split] * len(part)
        values["id"] += [f"{split}/{n}" for n in range(1, len(part) + 1)]
    return Table(source, values, range(1, len(values["id"]) + 1))


def _named(value: object, class_names: tuple[str, ...]) -> str | None:
    return class_names[value] if isinstance(value, int) and 0 <= value < len(class_names) else None
