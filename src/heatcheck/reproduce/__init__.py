"""The papers' tables, ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from heatcheck.errors import InputError
from heatcheck.machine import available_cores, choose_device
from heatcheck.progress import Progress
from heatcheck.reproduce import paper_1, paper_2, paper_2_page, paper_3, paper_3_page, paper_5
from heatcheck.reproduce.cases import Machine
from heatcheck.reproduce.page import Picture, write_page

__all__ = ["PAPERS", "reproduce", "write_page"]


class Paper(NamedTuple):
    """`full` runs the paper's own scale; None where ours is that already. `pictures` are drawn from its tables."""

    run: Callable[..., None]
    full: Callable[..., None] | None
    page: Callable[..., dict[str, str]]
    pictures: Mapping[str, Picture] = MappingProxyType({})


PAPERS = {
    "paper-1": Paper(paper_1.run_cases, None, paper_1.page),
    "paper-2": Paper(paper_2.run_cases, paper_2.run_full, paper_2_page.page, paper_2_page.PICTURES),
    "paper-3": Paper(paper_3.run_cases, paper_3.run_full, paper_3_page.page, paper_3_page.PICTURES),
    "paper-5": Paper(paper_5.run_cases, paper_5.run_full, paper_5.page),
}

TRAINING = ("paper-2", "paper-3")  # a case trains several models, which can be done side by side


def reproduce(
    paper: str,
    *,
    data_dir: Path | None,
    out: Path,
    only: Sequence[str] | None,
    limit: int | None,
    threads: int,
    workers: int | None = None,
    progress: Progress,
    device: str = "cpu",
    seed: int = 0,
    full: bool = False,
    run: bool = True,
    kept: Path | None = None,
) -> dict[str, str]:
    """Run what is missing (all of it resumable, below `out`) and return the page's tables by name.

    `workers`: models of one case that are trained side by side, each on one thread; None: as many as there are cores.
    `run=False`: tables from the runs that are finished, whichever these are. `kept`: a folder for the numbers of
    finished runs, which are taken from there where the run itself is not in `out`.
    """
    if paper not in PAPERS:
        raise InputError(f"There is no reproduction of {paper!r}. There are: {', '.join(PAPERS)}.")
    run_cases = PAPERS[paper].full if full else PAPERS[paper].run
    if run_cases is None:
        raise InputError(f"{paper} is at the paper's scale as it is. Leave --full out.")
    if run and data_dir is None:
        raise InputError(f"{paper}: say with --data-dir which folder holds the papers' data sets.")
    if seed and paper != "paper-1":
        raise InputError(f"{paper} names its own seeds. Leave --seed out.")
    if kept is not None and paper != "paper-5":
        raise InputError(f"{paper} reads its runs alone: only paper-5 keeps numbers beside them. Leave --kept out.")
    if kept is not None and limit is not None:
        raise InputError("--limit makes a trial, whose numbers are not to be kept. Leave --limit or --kept out.")
    if workers is not None and paper not in TRAINING:
        raise InputError(f"{paper} trains one model after another. Leave --workers out.")
    if run:
        seeded = {"seed": seed} if seed else {}
        where = choose_device(device)
        machine = Machine(threads, where, workers or (available_cores() if where == "cpu" else 1))
        run_cases(data_dir, out, only=only, limit=limit, machine=machine, progress=progress, **seeded)
    return PAPERS[paper].page(out, **({"kept": kept} if kept is not None else {}))
