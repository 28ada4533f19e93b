"""Steps appear whole or not at all, and are found again by their key."""

import threading
from pathlib import Path

import pytest

from heatcheck.engine.store import Store


def test_a_step_is_done_once_and_found_by_its_key(tmp_path):
    store, done = Store(tmp_path / "steps"), []

    def work(folder: Path) -> None:
        done.append(folder)
        (folder / "result").write_text("42")

    first = store.step("train", {"seed": 1}, work)
    assert store.step("train", {"seed": 1}, work) == first
    assert (first / "result").read_text() == "42"
    assert len(done) == 1
    assert store.step("train", {"seed": 2}, work) != first
    assert store.step("other", {"seed": 1}, work) != first
    assert len(done) == 3


def test_a_failed_step_leaves_nothing_under_its_name_and_continues_in_its_side_folder(tmp_path):
    store = Store(tmp_path)

    def fails(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.step("train", {}, fails)
    assert not store.place("train", {}).exists()

    def continues(folder: Path) -> None:
        assert (folder / "half").exists()

    store.step("train", {}, continues)
    assert store.place("train", {}).exists()


def test_a_second_worker_waits_and_finds_the_step_done(tmp_path):
    store, entered, release, done = Store(tmp_path), threading.Event(), threading.Event(), []

    def slow(folder: Path) -> None:
        entered.set()
        release.wait(10)
        done.append("slow")

    first = threading.Thread(target=lambda: store.step("a", {}, slow))
    first.start()
    entered.wait(10)
    second = threading.Thread(target=lambda: Store(tmp_path).step("a", {}, lambda folder: done.append("second")))
    second.start()
    release.set()
    first.join(10)
    second.join(10)
    assert done == ["slow"]
