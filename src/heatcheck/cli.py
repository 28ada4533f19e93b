"""The command line. A user's mistake is answered in one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from heatcheck.commands.audit import audit, run
from heatcheck.commands.catalogue import catalogue
from heatcheck.commands.explain import explain
from heatcheck.commands.grouped import OnceEach, grouped
from heatcheck.commands.report import report
from heatcheck.commands.reproduce import reproduce
from heatcheck.commands.train import train
from heatcheck.console import ERR, say
from heatcheck.errors import InputError

INTERRUPTED = 130  # what Typer makes of Ctrl-C
COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit,
    "run": run,
    "train": train,
    "explain": explain,
    "report": report,
    "list": catalogue,
    "reproduce": reproduce,
}

app = typer.Typer(
    name="heatcheck",
    help="Check the heatmap before you believe it: can this model's token explanations be trusted?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for name, command in COMMANDS.items():
    app.command(name, cls=OnceEach)(grouped(command))


def _version(asked: bool) -> None:
    if asked:
        import heatcheck

        say(f"heatcheck {heatcheck.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Check the heatmap before you believe it: can this model's token explanations be trusted?"""


def main() -> None:
    """Entry point: an InputError is one sentence and exit code 2; Ctrl-C says how to go on."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        app()
    except InputError as error:
        say(f"heatcheck: {error}", ERR)
        sys.exit(2)
    except OSError as error:  # a full disk, a folder that may not be written
        if error.filename is None:
            raise
        say(f"heatcheck: {error.filename}: {error.strerror}.", ERR)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            ERR.print("\nStopped. Repeat the command to go on where it was.", highlight=False)
        raise


if __name__ == "__main__":
    main()
