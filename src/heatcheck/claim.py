"""Whose is an output folder? One run's, and a finished run is never lost to another or to wrong input."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heatcheck import results
from heatcheck.errors import InputError
from heatcheck.results import SCHEMA_VERSION, make_folder


@contextmanager
def claimed(out: Path, identity: str, inputs: Mapping[str, str], command: str) -> Iterator[None]:
    """Inside, `out` is ours. Refused if it holds another run; an unfinished one gives way: its steps keep their keys.

    A finished run of the same request stays as it is until its tables are written again. Wrong input that comes to
    light inside leaves nothing behind where nothing was before.
    """
    check_place(out, identity, inputs)
    if not _is_finished(out):
        running = {"schema_version": SCHEMA_VERSION, "identity": identity, "command": command, "status": "running"}
        make_folder(out)
        results.write_json(out / "run.json", running)
    try:
        yield
    except InputError:
        if not _is_finished(out):
            _remove_if_empty(out)
        raise


def check_place(out: Path, identity: str, inputs: Mapping[str, str]) -> None:
    if (out / "run.json").exists():
        other = results.read_run(out)
        if other["status"] != "finished":
            return
        instead = "Give another --out, or delete that folder."
        if other.get("identity") != identity:
            raise InputError(f"{out}: holds another run ({other.get('command') or 'made in Python'}). {instead}")
        if changed := [name for name, found in inputs.items() if other["fingerprints"].get(name, found) != found]:
            what = {"data": "other texts: the data has changed since", "weights": "another model: its files changed"}
            raise InputError(f"{out}: holds a finished run of {what[changed[0]]}. {instead}")
    elif out.exists() and (not out.is_dir() or any(not p.name.startswith(".run.json.") for p in out.iterdir())):
        raise InputError(f"{out}: exists and is not a heatcheck run. Give another --out.")


def _is_finished(out: Path) -> bool:
    return (out / "run.json").exists() and results.read_run(out)["status"] == "finished"


def _remove_if_empty(out: Path) -> None:
    """A run without a finished step or an epoch of training is nothing to go on with."""
    if not any(p.is_file() and p.name != "run.json" and p.suffix != ".lock" for p in out.rglob("*")):
        shutil.rmtree(out)
