"""Whose is an output folder? One run's, and a run is never lost to another or to wrong input.

A run holds a lock on its folder, which the system releases when the process ends in whatever way. So a run that was
killed can be told from one that is under way: the first gives way to another run, the second does not. The lock's file
stays in the folder: were it removed, one who waits for it and one who comes later would hold two files of one name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from heatcheck import results
from heatcheck.engine.store import digest
from heatcheck.errors import InputError
from heatcheck.progress import Progress
from heatcheck.results import SCHEMA_VERSION, make_folder

LOCK = ".run.json.lock"
A_MOMENT = 0.5  # seconds; who only looks whether a folder is held (`is_held`) holds it for less
INSTEAD = "Give another --out, or delete that folder."
CHANGED = {
    "data": "other texts: the data has changed since",
    "weights": "another model: its files changed",
    "model": "another model: its files or its answers changed",
}


class OccupiedError(InputError):
    """The folder is another run's."""


@contextmanager
def claimed(
    out: Path, settings: Mapping[str, Any], inputs: Mapping[str, str], command: str, progress: Progress
) -> Iterator[None]:
    """Inside, `out` is ours. Refused if it holds another run; an unfinished one gives way unless it is under way: its
    steps keep their keys. If another process does this very run, waits for it.

    A finished run of the same request stays as it is until its tables are written again. Wrong input that comes to
    light inside leaves nothing behind where nothing was before.
    """
    identity = digest(settings)
    check_place(out, identity, inputs)
    make_folder(out)
    with _held(out, identity, progress):
        check_place(out, identity, inputs)  # again: we may have waited
        if not is_finished(out):
            begun = {"identity": identity, "settings": settings, "command": command, "status": "running"}
            results.write_json(out / "run.json", {"schema_version": SCHEMA_VERSION, **begun})
        try:
            yield
        except InputError:
            if not is_finished(out):
                _remove_if_empty(out)
            raise


@contextmanager
def _held(out: Path, identity: str, progress: Progress) -> Iterator[None]:
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=A_MOMENT)
    except Timeout:
        other = results.read_run(out) if (out / "run.json").exists() else {}  # not there: it has only begun
        if other.get("identity", identity) != identity:
            raise OccupiedError(
                f"{out}: another run is under way there ({_made_by(other)}). Give another --out."
            ) from None
        progress.say(f"{out}: another process is at this very run. Waiting for it.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def is_held(out: Path) -> bool:
    """Is a run under way there?"""
    if not (out / LOCK).exists():
        return False
    try:
        with FileLock(out / LOCK, blocking=False):
            return False
    except Timeout:
        return True


def check_place(out: Path, identity: str, inputs: Mapping[str, str]) -> None:
    if (out / "run.json").exists():
        other = results.read_run(out)
        if other["status"] != "finished":
            return
        if other.get("identity") != identity:
            raise OccupiedError(f"{out}: holds another run ({_made_by(other)}). {INSTEAD}")
        if changed := [name for name, found in inputs.items() if other["fingerprints"].get(name, found) != found]:
            raise OccupiedError(f"{out}: holds a finished run of {CHANGED[changed[0]]}. {INSTEAD}")
    elif out.exists() and (not out.is_dir() or any(not p.name.startswith(".run.json.") for p in out.iterdir())):
        raise InputError(f"{out}: exists and is not a heatcheck run. Give another --out.")


def _made_by(run: Mapping[str, Any]) -> str:
    return run.get("command") or "made in Python"


def is_finished(out: Path) -> bool:
    return (out / "run.json").exists() and results.read_run(out)["status"] == "finished"


def _remove_if_empty(out: Path) -> None:
    """A run without a finished step or an epoch of training is nothing to go on with."""
    if not any(p.is_file() and p.name != "run.json" and p.suffix != ".lock" for p in out.rglob("*")):
        shutil.rmtree(out)
