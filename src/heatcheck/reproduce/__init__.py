"""The papers' tables, ours beside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heatcheck.errors import InputError
from heatcheck.progress import Progress
from heatcheck.reproduce import paper_1

PAPERS = {"paper-1": paper_1}


def reproduce(
    paper: str,
    *,
    data_dir: Path | None,
    out: Path,
    only: Sequence[str] | None,
    limit: int | None,
    threads: int,
    progress: Progress,
) -> str:
    """Run what is missing (all of it resumable, below `out`) and return the page."""
    if paper not in PAPERS:
        raise InputError(f"There is no reproduction of {paper!r}. There are: {', '.join(PAPERS)}.")
    if data_dir is None:
        raise InputError(f"{paper}: say with --data-dir which folder holds the papers' data sets.")
    module = PAPERS[paper]
    module.run_cases(data_dir, out, only=only, limit=limit, threads=threads, progress=progress)
    text: str = module.page(out)
    return text
