"""The papers' tables, ours beside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heatcheck.errors import InputError
from heatcheck.progress import Progress
from heatcheck.reproduce import paper_1
from heatcheck.reproduce.paper_1_page import write_page

__all__ = ["PAPERS", "reproduce", "write_page"]

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
) -> dict[str, str]:
    """Run what is missing (all of it resumable, below `out`) and return the page's tables by name."""
    if paper not in PAPERS:
        raise InputError(f"There is no reproduction of {paper!r}. There are: {', '.join(PAPERS)}.")
    if data_dir is None:
        raise InputError(f"{paper}: say with --data-dir which folder holds the papers' data sets.")
    module = PAPERS[paper]
    module.run_cases(data_dir, out, only=only, limit=limit, threads=threads, progress=progress)
    blocks: dict[str, str] = module.page(out)
    return blocks
