"""`heatcheck report`: a run's page, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from heatcheck.console import say


def report(
    folder: Annotated[Path, Argument(metavar="RUN", help="A folder that audit or run wrote.")],
    out: Annotated[Path | None, Option("--out", help="Where to write it. Default: report.html in the run.")] = None,
    beside: Annotated[
        list[Path] | None,
        Option("--beside", metavar="RUN", help="A further run, whose AtteFa is drawn with this one's. Repeatable."),
    ] = None,
) -> None:
    """Write a run's page again, as one HTML file that opens anywhere."""
    from heatcheck.report import write

    say(str(write(folder, out, beside or ())))
