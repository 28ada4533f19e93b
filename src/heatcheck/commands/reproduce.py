"""`heatcheck reproduce`: a paper's tables, ours beside theirs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from heatcheck.commands.flags import DataDirFlag, DeviceFlag, LimitFlag
from heatcheck.console import bars, say
from heatcheck.errors import InputError


def reproduce(
    paper: Annotated[str, Argument(help="paper-1, paper-2, paper-3 or paper-5")],
    data_dir: DataDirFlag = None,
    out: Annotated[
        Path | None,
        Option("--out", help="Folder for models and results; repeating continues there. Default: runs/ and the paper."),
    ] = None,
    page: Annotated[Path | None, Option("--page", help="Put the tables into this Markdown page.")] = None,
    only: Annotated[
        list[str] | None, Option("--only", help="Only these cases, data sets or parts; may be repeated.")
    ] = None,
    limit: LimitFlag = None,
    seed: Annotated[
        int, Option("--seed", min=0, help="Of paper-1's models and draws; the other papers name their seeds.")
    ] = 0,
    threads: Annotated[int, Option("--threads", min=1, help="CPU threads. One, as in docs/reproduction.")] = 1,
    workers: Annotated[
        int | None,
        Option("--workers", min=1, help="paper-2, paper-3: models trained side by side, one thread each. All cores."),
    ] = None,
    device: DeviceFlag = "cpu",
    full: Annotated[bool, Option("--full", help="The paper's scale where ours is smaller (many hours).")] = False,
    tables_only: Annotated[
        bool, Option("--tables-only", help="Run nothing: tables from the runs that are finished.")
    ] = False,
    kept: Annotated[
        Path | None,
        Option("--kept", help="paper-5: folder for the numbers of finished runs, read where these are not."),
    ] = None,
) -> None:
    """A paper's tables, ours beside theirs."""
    from heatcheck import reproduce as reproduction

    if tables_only and (only or limit is not None):
        flag = "--only" if only else "--limit"
        raise InputError(f"{flag} chooses what is run, and --tables-only runs nothing. Leave one out.")
    with bars() as progress:
        blocks = reproduction.reproduce(
            paper,
            data_dir=data_dir,
            out=out or Path("runs") / paper,
            only=only,
            limit=limit,
            seed=seed,
            threads=threads,
            workers=workers,
            device=device,
            progress=progress,
            full=full,
            run=not tables_only,
            kept=kept,
        )
    if page is not None:
        reproduction.write_page(page, blocks, reproduction.PAPERS[paper].pictures)
        say(str(page))
    else:
        sys.stdout.write("\n".join(f"{name}\n\n{block}\n" for name, block in blocks.items()))
