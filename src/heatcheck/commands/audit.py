"""`heatcheck audit` and `heatcheck run`: experiments on a model and its data, and what they found."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from heatcheck.commands.flags import (
    DataFlags,
    LimitFlag,
    MachineFlags,
    MethodFlags,
    ModelFlag,
    OutFlag,
    OwnModelFlags,
    ReadingFlags,
    TrainedFlags,
    WindowsFlag,
    how_to_read,
    named_model,
)
from heatcheck.console import ERR, bars, say, show_means, show_verdict
from heatcheck.errors import InputError


def audit(
    *,
    model: ModelFlag = None,
    data: DataFlags,
    out: OutFlag = None,
    limit: LimitFlag = None,
    chosen: MethodFlags,
    machine: MachineFlags,
    own: OwnModelFlags,
    reading: ReadingFlags,
    windows: WindowsFlag = False,
) -> None:
    """Test the explanations of a model on its data, and write [bold]report.html[/bold]: the main job.

    Takes 1000 held-out texts of one of our models and 100 of a transformer, unless --limit says otherwise. Tests that
    train other models, and some more, are run by name: heatcheck run.
    """
    from heatcheck import api, settings

    if model is not None:
        own.refuse()
    read = how_to_read(model, reading, windows)
    options: Any = {**data.options(), **machine.options(), **own.training(), "reading": read}
    options["configs"] = settings.explaining_configs(chosen.methods, special_tokens=chosen.special_tokens, audit=True)
    limit = limit or api.default_limit(model)
    finish(api.make_request(named_model(model), data.data, limit, machine.seed, options), out, "audit")


@dataclass(frozen=True)
class AdversaryFlags:
    solver: Annotated[str, Option("--solver", help="adversarial_attention: auto, exact, published or search.")] = "auto"
    epsilon: Annotated[
        float | None,
        Option("--epsilon", help="adversarial_attention: how much the output may move. Default: the paper's."),
    ] = None


@dataclass(frozen=True)
class ErasureFlags:
    operators: Annotated[
        str | None,
        Option("--operators", help="erasure: how words are removed: delete,mask (default), pad, sample."),
    ] = None
    unit: Annotated[str | None, Option("--unit", help="erasure: what is removed, a word (default) or a token.")] = None


@dataclass(frozen=True)
class RationaleFlags:
    rationales: Annotated[
        Path | None,
        Option(
            "--rationales",
            help="plausibility: a file with the words that people marked, by the id or the text of the rows of --data.",
        ),
    ] = None
    rationale_format: Annotated[
        str,
        Option(
            "--rationale-format",
            help="plausibility: eraser: JSONL with annotation_id and evidences (docid, start_token, end_token), docs "
            "beside it. mask: a table with id or text, and mask, a 0 or 1 for each word between spaces, or spans, "
            "starts and ends in characters: [[0, 4], [9, 12]]. sst: labelled trees, one a line: (3 (2 A) (3 gem)).",
        ),
    ] = "eraser"


def refuse_unheard(experiment: str, names: Sequence[str], groups: Mapping[str, Any]) -> None:
    """Flags of an experiment that is not run."""
    for name, given in groups.items():
        if name not in names and given != type(given)():
            flags = " and ".join(f"--{field.name.replace('_', '-')}" for field in fields(given))
            raise InputError(f"{flags} are for {name}, not {experiment}.")


def run(
    *,
    experiment: Annotated[
        str, Argument(help="One of `heatcheck list experiments`, or several: attefa,trained_adversary.")
    ],
    model: ModelFlag = None,
    data: DataFlags,
    out: OutFlag = None,
    limit: LimitFlag = None,
    chosen: MethodFlags,
    machine: MachineFlags,
    own: OwnModelFlags,
    reading: ReadingFlags,
    windows: WindowsFlag = False,
    trained: TrainedFlags,
    adversary: AdversaryFlags,
    erasure: ErasureFlags,
    marked: RationaleFlags,
) -> None:
    """Run one experiment, or several into one report.

    Tests that train take minutes to hours; their models are trained side by side on the cores there are.
    """
    from heatcheck import api, settings
    from heatcheck.experiments import EXPERIMENTS
    from heatcheck.experiments.adversarial_attention import AdversarialConfig

    if model is not None:
        own.refuse()
    names = tuple(dict.fromkeys(name.strip() for name in experiment.split(",")))
    refuse_unheard(experiment, names, {"adversarial_attention": adversary, "erasure": erasure, "plausibility": marked})
    read = how_to_read(model, reading, windows)
    options: Any = {**data.options(), **machine.options(), **own.training(), "reading": read}
    configs = settings.explaining_configs(
        chosen.methods,
        special_tokens=chosen.special_tokens,
        rationales=marked.rationales,
        kind=marked.rationale_format,
        operators=erasure.operators,
        unit=erasure.unit,
    )
    if (flag := chosen.given) and all(name in EXPERIMENTS and name not in configs for name in names):
        instead = " Its --guides may be explanation methods." if "guided_mlp" in names else ""
        raise InputError(f"{flag} is not for {experiment}. Leave it out.{instead}")
    configs["adversarial_attention"] = AdversarialConfig(solver=adversary.solver, epsilon=adversary.epsilon)
    configs |= settings.trained_configs(names, trained.given())
    options |= {"experiments": names, "configs": configs}
    finish(api.make_request(named_model(model), data.data, limit, machine.seed, options), out, "-".join(names))


def finish(request: Any, out: Path | None, what: str) -> None:
    from heatcheck import api

    with bars() as progress:
        finished = api.run_request(
            request, out, what=what, command=shlex.join(["heatcheck", *sys.argv[1:]]), progress=progress
        )
    if finished.verdict:
        show_verdict(finished.verdict)
    judged = {finding["experiment"] for finding in finished.verdict["findings"]} if finished.verdict else set()
    if what != "audit" or not judged:  # an audit's numbers are too many for a terminal
        show_means(finished.scores, [name for name in request.experiments if name not in judged])
    for note in finished.description["notes"]:
        say(f"note: {note}", ERR)
    say(f"\nReport: {finished.folder / 'report.html'}")
