"""The command line: reads flags, calls the library, prints. A user's mistake is answered in one sentence."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from heatcheck.console import ERR, OUT, bars, say, show_means, show_verdict
from heatcheck.errors import InputError
from heatcheck.flags import (
    DataDirFlag,
    DataFlags,
    DeviceFlag,
    LimitFlag,
    MachineFlags,
    MethodFlags,
    ModelFlag,
    OnceEach,
    OutFlag,
    OwnModelFlags,
    ReadingFlags,
    TrainedFlags,
    WindowsFlag,
    above_zero,
    for_ours,
    grouped,
)

INTERRUPTED = 130  # what Typer makes of Ctrl-C

app = typer.Typer(
    name="heatcheck",
    help="Check the heatmap before you believe it: can this model's token explanations be trusted?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
command = functools.partial(app.command, cls=OnceEach)


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


@command()
@grouped
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
    read = _reading(model, reading, windows)
    options: Any = {**data.options(), **machine.options(), **own.training(), "reading": read}
    options["configs"] = settings.explaining_configs(chosen.methods, special_tokens=chosen.special_tokens, audit=True)
    limit = limit or api.default_limit(model)
    _finish(api.make_request(_model(model), data.data, limit, machine.seed, options), out, "audit")


@command()
@grouped
def run(
    *,
    experiment: Annotated[
        str, typer.Argument(help="One of `heatcheck list experiments`, or several: attefa,trained_adversary.")
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
    solver: Annotated[
        str, typer.Option("--solver", help="adversarial_attention: auto, exact, published or search.")
    ] = "auto",
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", help="adversarial_attention: how much the output may move. Default: the paper's."),
    ] = None,
    operators: Annotated[
        str | None,
        typer.Option("--operators", help="erasure: how words are removed: delete,mask (default), pad, sample."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="erasure: what is removed, a word (default) or a token.")
    ] = None,
    rationales: Annotated[
        Path | None,
        typer.Option(
            "--rationales",
            help="plausibility: a file with the words that people marked, by the id or the text of the rows of --data.",
        ),
    ] = None,
    rationale_format: Annotated[
        str,
        typer.Option(
            "--rationale-format",
            help="plausibility: eraser: JSONL with annotation_id and evidences (docid, start_token, end_token), docs "
            "beside it. mask: a table with id or text, and mask, a 0 or 1 for each word between spaces, or spans, "
            "starts and ends in characters: [[0, 4], [9, 12]]. sst: labelled trees, one a line: (3 (2 A) (3 gem)).",
        ),
    ] = "eraser",
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
    if "adversarial_attention" not in names and (solver, epsilon) != ("auto", None):
        raise InputError(f"--solver and --epsilon are for adversarial_attention, not {experiment}.")
    if "erasure" not in names and (operators, unit) != (None, None):
        raise InputError(f"--operators and --unit are for erasure, not {experiment}.")
    if "plausibility" not in names and (rationales, rationale_format) != (None, "eraser"):
        raise InputError(f"--rationales and --rationale-format are for plausibility, not {experiment}.")
    read = _reading(model, reading, windows)
    options: Any = {**data.options(), **machine.options(), **own.training(), "reading": read}
    configs = settings.explaining_configs(
        chosen.methods,
        special_tokens=chosen.special_tokens,
        rationales=rationales,
        kind=rationale_format,
        operators=operators,
        unit=unit,
    )
    if (flag := chosen.given) and all(name in EXPERIMENTS and name not in configs for name in names):
        instead = " Its --guides may be explanation methods." if "guided_mlp" in names else ""
        raise InputError(f"{flag} is not for {experiment}. Leave it out.{instead}")
    configs["adversarial_attention"] = AdversarialConfig(solver=solver, epsilon=epsilon)
    configs |= settings.trained_configs(names, trained.given())
    options |= {"experiments": names, "configs": configs}
    _finish(api.make_request(_model(model), data.data, limit, machine.seed, options), out, "-".join(names))


@command()
@grouped
def train(
    *,
    data: DataFlags,
    out: Annotated[Path, typer.Option("--out", help="Folder for the model. Repeating the command continues there.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Train with at most so many texts.")] = None,
    machine: MachineFlags,
    own: OwnModelFlags,
    temperature: Annotated[
        float | None, typer.Option("--temperature", callback=above_zero, help="Of the attention softmax. Default: 1.")
    ] = None,
    weighting: Annotated[
        str | None, typer.Option("--weighting", help="Of attention: softmax (default), uniform or entmax.")
    ] = None,
    pairing: Annotated[
        str | None, typer.Option("--pairing", help="Of two texts: question (default, paper 1) or comparison (paper 5).")
    ] = None,
    heads: Annotated[
        int | None, typer.Option("--heads", min=1, help="Attention heads; more than one for single texts. Default: 1.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", callback=above_zero, help="Default: 0.001; fine-tuning: 0.00005.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Fine-tune this transformer: a folder or hub id. Default: minilm, the packaged one, unless a flag of "
            "our own models is given.",
        ),
    ] = None,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="With equal attention weights everywhere, to see whether they are needed.")
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision", help="Of fine-tuning: bfloat16 is faster where the processor has it. Default: float32."
        ),
    ] = None,
    reading: ReadingFlags,
) -> None:
    """Fine-tune a transformer (--model), or train one of our own attention models (--encoder).

    With neither of them the packaged MiniLM is fine-tuned.
    """
    from heatcheck import api, model_folder
    from heatcheck.models.finetune import FINE_TUNING
    from heatcheck.models.fit import best_epoch
    from heatcheck.models.loading import check_revision
    from heatcheck.models.pretrained import PACKAGED

    further = {"temperature": temperature, "weighting": weighting, "pairing": pairing, "heads": heads}
    further = {name: value for name, value in further.items() if value is not None}
    ours = [*own.given, *further]
    if not ours or model is not None:
        if ours:
            raise for_ours(ours[0], "fine-tunes another one")
        training = {"spec": reading.spec(model or PACKAGED, uniform=uniform), "recipe": FINE_TUNING}
        check_revision(training["spec"])
        if model is None:
            say(
                "Fine-tunes the packaged MiniLM. --encoder bilstm trains a smaller model of ours, much faster.",
                ERR,
            )
    else:
        reading.refuse()
        if uniform:
            raise InputError("--uniform is for transformers. Of our models: --weighting uniform.")
        training = own.training(**further)
    changes = {"epochs": own.epochs, "learning_rate": learning_rate, "precision": precision}
    training["recipe"] = replace(training["recipe"], **{k: v for k, v in changes.items() if v is not None})
    options: Any = {**data.options(), **machine.options(), **training}
    with bars() as progress:
        subject, notes = model_folder.train_model(
            api.make_request(None, data.data, limit, machine.seed, options), out, progress=progress
        )
    for note in notes:
        say(f"note: {note}", ERR)
    best = best_epoch(subject.history, training["recipe"])
    measure = "ROC-AUC" if len(subject.labels) == 2 else "accuracy"
    say(f"Trained {subject.name}: best epoch {best.number}, {measure} {best.selected_by:.3f} on dev. Written to {out}")


@command()
@grouped
def explain(
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to explain, in quotes.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="A Hugging Face classifier (folder or hub id), a folder of `heatcheck train`, or a Python function "
            "from texts to probabilities, python:module:function.",
        ),
    ] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="The second text: hypothesis or question.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Of `heatcheck list explainers`: 'gradient,lime(samples=200)'. Default: those that an audit compares.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="The class whose probability is explained. Default: the predicted.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="Classes of a Python function, in order: no,yes.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("explanation.html"),
    audited: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="An audit of this model: adds what it says of each method."),
    ] = None,
    special_tokens: Annotated[
        bool, typer.Option("--special-tokens", help="Show the scores of [CLS] and the like too.")
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
    read = _reading(model, reading, windows)
    heatmap.check_place(out)
    subject = subject_of(
        _model(model),
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


@command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that audit or run wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write it. Default: report.html in the run.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--beside", metavar="RUN", help="A further run, whose AtteFa is drawn with this one's. Repeatable."
        ),
    ] = None,
) -> None:
    """Write a run's page again, as one HTML file that opens anywhere."""
    from heatcheck.report import write

    say(str(write(folder, out, beside or ())))


@command("list")
def list_(
    what: Annotated[
        str, typer.Argument(help="data, mock, experiments, explainers, encoders, attentions, weightings or pairings.")
    ] = "",
) -> None:
    """What is available."""
    tables = _catalogue()
    if what and what not in tables:
        raise InputError(f"There is no list of {what!r}. There are: {', '.join(tables)}.")
    for name, entries in tables.items():
        if what in ("", name):
            table = Table(name, "", title=None, show_header=True, box=None, pad_edge=False)
            for entry, about in entries.items():
                table.add_row(entry, about)
            OUT.print(table)
            OUT.print()


@command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="paper-1, paper-2, paper-3 or paper-5")],
    data_dir: DataDirFlag = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for models and results; repeating continues there. Default: runs/ and the paper."
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="Put the tables into this Markdown page.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these cases, data sets or parts; may be repeated.")
    ] = None,
    limit: LimitFlag = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of paper-1's models and draws; the other papers name their seeds.")
    ] = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="CPU threads. One, as in docs/reproduction.")] = 1,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="paper-2, paper-3: models trained side by side, one thread each. All cores."
        ),
    ] = None,
    device: DeviceFlag = "cpu",
    full: Annotated[bool, typer.Option("--full", help="The paper's scale where ours is smaller (many hours).")] = False,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Run nothing: tables from the runs that are finished.")
    ] = False,
    kept: Annotated[
        Path | None,
        typer.Option("--kept", help="paper-5: folder for the numbers of finished runs, read where these are not."),
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


def _finish(request: Any, out: Path | None, what: str) -> None:
    from heatcheck import api

    with bars() as progress:
        finished = api.run_request(request, out, what=what, command=_command(), progress=progress)
    if finished.verdict:
        show_verdict(finished.verdict)
    judged = {finding["experiment"] for finding in finished.verdict["findings"]} if finished.verdict else set()
    if what != "audit" or not judged:  # an audit's numbers are too many for a terminal
        show_means(finished.scores, [name for name in request.experiments if name not in judged])
    for note in finished.description["notes"]:
        say(f"note: {note}", ERR)
    say(f"\nReport: {finished.folder / 'report.html'}")


def _model(name: str | None) -> Any:
    """`python:module:function` is the function itself."""
    from heatcheck.models.given import find_function

    return find_function(name) if name is not None and name.startswith("python:") else name


def _reading(model: str | None, flags: ReadingFlags, windows: bool) -> Any:
    """How to take a transformer; refused where there can be none."""
    if model is None or model.startswith("python:"):
        flags.refuse(windows=windows)
    return flags.spec(windows=windows)


def _catalogue() -> dict[str, dict[str, str]]:
    from heatcheck.data.mock import SETTINGS
    from heatcheck.data.sources import SOURCES
    from heatcheck.experiments import EXPERIMENTS
    from heatcheck.explain import EXPLAINERS
    from heatcheck.explain.plugins import plugins
    from heatcheck.models.spec import ATTENTIONS, ENCODERS, PAIRINGS, WEIGHTINGS

    return {
        "data": SOURCES,
        "mock": {**SETTINGS, "for example": 'mock-5(place="start", noise=1)'},
        "experiments": {name: f"{e.question} ({e.source})" for name, e in EXPERIMENTS.items()},
        "explainers": {name: method.about for name, method in {**EXPLAINERS, **plugins(EXPLAINERS)}.items()},
        "encoders": ENCODERS,
        "attentions": ATTENTIONS,
        "weightings": WEIGHTINGS,
        "pairings": PAIRINGS,
    }


def _command() -> str:
    return shlex.join(["heatcheck", *sys.argv[1:]])


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
