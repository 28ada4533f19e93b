"""`heatcheck explain`: heatmaps of one text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from heatcheck.commands.flags import MachineFlags, ReadingFlags, WindowsFlag, how_to_read, named_model
from heatcheck.console import ERR, OUT, say
from heatcheck.errors import InputError


def explain(
    *,
    text: Annotated[str, Argument(metavar="TEXT", help="The text to explain, in quotes.")],
    model: Annotated[
        str | None,
        Option(
            "--model",
            help="A Hugging Face classifier (folder or hub id), a folder of `heatcheck train`, or a Python function "
            "from texts to probabilities, python:module:function.",
        ),
    ] = None,
    pair: Annotated[str | None, Option("--pair", help="The second text: hypothesis or question.")] = None,
    method: Annotated[
        str | None,
        Option(
            "--method",
            help="Of `heatcheck list explainers`: 'gradient,lime(samples=200)'. Default: those that an audit compares.",
        ),
    ] = None,
    target: Annotated[
        str | None, Option("--target", help="The class whose probability is explained. Default: the predicted.")
    ] = None,
    labels: Annotated[str | None, Option("--labels", help="Classes of a Python function, in order: no,yes.")] = None,
    out: Annotated[Path, Option("--out", help="The page to write.")] = Path("explanation.html"),
    audited: Annotated[
        Path | None,
        Option("--run", metavar="RUN", help="An audit of this model: adds what it says of each method."),
    ] = None,
    special_tokens: Annotated[
        bool, Option("--special-tokens", help="Show the scores of [CLS] and the like too.")
    ] = False,
    machine: MachineFlags,
    reading: ReadingFlags,
    windows: WindowsFlag = False,
) -> None:
    """Explain one text: heatmaps in the terminal, and as a page ([bold]explanation.html[/bold])."""
    from heatcheck import api, terminal
    from heatcheck.explain.method import split as split_methods
    from heatcheck.machine import choose_device
    from heatcheck.models.given import subject_of
    from heatcheck.report import heatmap

    if model is None:
        raise InputError(
            "explain needs a model: give --model a Hugging Face classifier (folder or hub id), a folder that "
            "`heatcheck train` wrote, or python:module:function."
        )
    if labels is not None and not model.startswith("python:"):
        raise InputError(f"--labels names the classes of a Python function, and {model} has its own. Leave it out.")
    read = how_to_read(model, reading, windows)
    heatmap.check_place(out)
    subject = subject_of(
        named_model(model),
        reading=read,
        labels=None if labels is None else tuple(name.strip() for name in labels.split(",")),
        device=choose_device(machine.device),
        pair=pair is not None,
    )
    if audited is not None:
        api.check_audited(audited, subject)
    found, notes = api.explain(
        text if pair is None else (text, pair),
        subject,
        None if method is None else split_methods(method),
        target,
        special_tokens=special_tokens,
        seed=machine.seed,
        threads=machine.threads,
    )
    said = None if audited is None else api.audited_methods(audited, found)
    terminal.show(OUT, found.heatmaps, said)
    for note in (*subject.notes, *notes):
        say(f"note: {note}", ERR)
    say(f"\nPage: {heatmap.write(out, found.heatmaps, said)}")
