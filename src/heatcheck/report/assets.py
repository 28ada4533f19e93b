"""Files of the report's folder that go into its pages, the frame of every page, and how a page is written."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template

from heatcheck.errors import InputError
from heatcheck.report.markup import escape
from heatcheck.report.visible import for_page

PAGES = (".html", ".htm")
OURS = '<meta name="generator" content="heatcheck">'  # in the frame of every page


@cache
def asset(name: str) -> str:
    return resources.files("heatcheck.report").joinpath(name).read_text(encoding="utf-8")


def framed(title: str, style: str, body: str, script: str | None = None) -> str:
    """A whole page. Its Content-Security-Policy allows this style and this script, to the letter, and nothing else."""
    return Template(asset("frame.html")).substitute(
        title=for_page(escape(f"heatcheck: {title}")),
        style=style,
        style_hash=_hash(style),
        scripts="" if script is None else f"script-src '{_hash(script)}'; ",
        body=body,
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def check_page(path: Path, what: str) -> None:
    """Said before the work, not after; nothing is made here. A page may take the place of a page, and of nothing else:
    what is there may be the user's data."""
    above = next((folder for folder in path.parents if folder.exists()), path.parent)
    if path.is_dir() or not above.is_dir():
        wrong = "Is a directory" if path.is_dir() else f"{above} is not a directory"
        raise InputError(f"{path}: the {what} cannot be written ({wrong}). Give another --out.")
    if path.exists() and path.suffix.lower() not in PAGES and not _is_ours(path):
        raise InputError(f"{path}: is there and is no page: the {what} would replace it. Give another --out.")


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(1000).decode(errors="replace")
    return start.startswith("<!doctype html>") and OURS in start


def write_whole(path: Path, page: str, what: str) -> Path:
    """Whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")  # two processes may write it
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise InputError(f"{path}: the {what} cannot be written ({error.strerror}). Give another --out.") from error
    return path
