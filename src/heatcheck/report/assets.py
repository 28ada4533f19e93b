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
