"""`hf:` on local folders: no network is touched."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from heatcheck.data.columns import Columns
from heatcheck.data.sources import load
from heatcheck.errors import InputError


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module: ModuleType = pytest.importorskip("datasets")
    monkeypatch.setattr(module.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(module.config, "HF_HUB_OFFLINE", True)
    module.disable_progress_bars()
    return module


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows))


def rows(n: int, start: int = 0) -> list[dict[str, object]]:
    return [{"sentence": f"text {start + i}", "label": i % 2, "idx": i} for i in range(n)]


def error(source: str) -> str:
    with pytest.raises(InputError) as caught:
        load(source)
    return str(caught.value)


@pytest.mark.usefixtures("datasets")
def test_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "folder", "train.jsonl", rows(20))
    write(tmp_path / "folder", "test.jsonl", rows(4, 20))
    monkeypatch.chdir(tmp_path)
    data = load("hf:./folder")
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 18, "dev": 2, "test": 4}
    assert (data.labels, data.splits["test"][0].id, data.splits["test"][0].text) == (("0", "1"), "test/1", "text 20")
    assert data.notes == (
        "Columns guessed by their names: text from 'sentence'. Columns that were not used: 'idx'.",
        "There is no dev split: 2 rows were cut from train (stratified, seed 0).",
    )
    named = load("hf:./folder", Columns(text="sentence"), labels={"1": "good", "0": "bad"})
    assert named.labels == ("good", "bad")


def test_class_names_keep_the_data_sets_order(datasets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["pos", "neg"])})

    def part(n: int, labels: list[int]) -> object:
        return datasets.Dataset.from_dict({"text": [f"t{i}" for i in range(n)], "label": labels}, features=features)

    parts = {"train": part(10, [0, 1] * 5), "validation": part(2, [0, 1]), "test": part(3, [-1] * 3)}
    monkeypatch.setattr(datasets, "load_dataset", lambda *name: parts)
    data = load("hf:any")
    assert data.labels == ("pos", "neg")
    assert {name: len(p) for name, p in data.splits.items()} == {"train": 9 - 1, "dev": 2, "test": 2}
    assert data.notes[-1] == "Not used, since its labels are not published: test."
    assert load("hf:any", labels={"1": "bad", "0": "good"}).labels == ("bad", "good")
    models = {
        "neg": "neg",
        "pos": "pos",
        "0": "neg",
        "1": "pos",
    }  # a model's classes go by their names, not its numbers
    assert [e.label for e in load("hf:any", labels=models).splits["test"]] == [1, 0]
    with pytest.raises(InputError, match=r"6 with a label that is no class .* Classes are: pos, mixed, or"):
        load("hf:any", labels={"pos": "pos", "mixed": "mixed", "0": "pos", "1": "mixed"})


def test_second_part_may_be_a_configuration(datasets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load_dataset(*name: str) -> object:
        asked.append(name)
        if name == ("glue/sst2",):
            raise FileNotFoundError("no such data set")
        return {"train": datasets.Dataset.from_list(rows(20))}

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert load("hf:glue/sst2").name == "hf:glue/sst2"
    assert asked == [("glue/sst2",), ("glue", "sst2")]


def test_failures_are_one_sentence(datasets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unreachable(*name: str) -> object:
        asked.append(name)
        raise ConnectionError("Couldn't reach\n the hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("heatcheck.data.hub.out_of_reach", lambda: False)
    assert error("hf:glue/sst2").startswith("hf:glue/sst2 cannot be loaded (ConnectionError: Couldn't reach the hub).")
    assert asked == [("glue/sst2",)]
    assert error("hf:imdb") == (
        "hf:imdb cannot be loaded (ConnectionError: Couldn't reach the hub). Check the name and the network "
        "connection, or download it and give the folder or file."
    )
    monkeypatch.setattr(datasets, "load_dataset", lambda *name: {"unsupervised": [1]})
    assert error("hf:imdb") == "hf:imdb: none of its splits is train, dev or test, but unsupervised."


@pytest.mark.parametrize("reached", [True, False])
def test_without_a_way_to_the_hub_what_is_on_the_disk_is_asked(datasets, monkeypatch, reached) -> None:
    asked = []

    def load_dataset(*name: str) -> object:
        asked.append((*name, datasets.config.HF_HUB_OFFLINE))
        raise ConnectionError("no")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("heatcheck.data.hub.out_of_reach", lambda: not reached)
    assert "cannot be loaded" in error("hf:glue/sst2")
    assert asked == ([("glue/sst2", False)] if reached else [("glue/sst2", True), ("glue", "sst2", True)])
    assert datasets.config.HF_HUB_OFFLINE is False  # as it was


@pytest.mark.usefixtures("datasets")
def test_missing_folder(tmp_path: Path) -> None:
    assert error(f"hf:{tmp_path}/none").startswith(f"hf:{tmp_path}/none cannot be loaded (")


def test_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_datasets(name: str, *rest: object) -> object:
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_datasets)
    assert error("hf:imdb") == (
        "hf:imdb needs the package datasets, which is not installed. Run: pip install 'heatcheck[hub]'"
    )
