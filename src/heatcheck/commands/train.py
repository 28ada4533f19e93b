"""`heatcheck train`: one of our attention models, or a transformer, fine-tuned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from heatcheck.commands.flags import DataFlags, MachineFlags, OwnModelFlags, ReadingFlags, above_zero, for_ours
from heatcheck.console import ERR, bars, say
from heatcheck.errors import InputError


@dataclass(frozen=True)
class AttentionFlags:
    """Of our own models: more of ModelSpec. None: as that has it."""

    temperature: Annotated[
        float | None, Option("--temperature", callback=above_zero, help="Of the attention softmax. Default: 1.")
    ] = None
    weighting: Annotated[
        str | None, Option("--weighting", help="Of attention: softmax (default), uniform or entmax.")
    ] = None
    pairing: Annotated[
        str | None, Option("--pairing", help="Of two texts: question (default, paper 1) or comparison (paper 5).")
    ] = None
    heads: Annotated[
        int | None, Option("--heads", min=1, help="Attention heads; more than one for single texts. Default: 1.")
    ] = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def train(
    *,
    data: DataFlags,
    out: Annotated[Path, Option("--out", help="Folder for the model. Repeating the command continues there.")],
    limit: Annotated[int | None, Option("--limit", min=1, help="Train with at most so many texts.")] = None,
    machine: MachineFlags,
    own: OwnModelFlags,
    attention: AttentionFlags,
    learning_rate: Annotated[
        float | None, Option("--learning-rate", callback=above_zero, help="Default: 0.001; fine-tuning: 0.00005.")
    ] = None,
    model: Annotated[
        str | None,
        Option(
            "--model",
            help="Fine-tune this transformer: a folder or hub id. Default: minilm, the packaged one, unless a flag of "
            "our own models is given.",
        ),
    ] = None,
    uniform: Annotated[
        bool, Option("--uniform", help="With equal attention weights everywhere, to see whether they are needed.")
    ] = False,
    precision: Annotated[
        str | None,
        Option("--precision", help="Of fine-tuning: bfloat16 is faster where the processor has it. Default: float32."),
    ] = None,
    reading: ReadingFlags,
) -> None:
    """Fine-tune a transformer (--model), or train one of our own attention models (--encoder).

    With neither of them the packaged MiniLM is fine-tuned.
    """
    from heatcheck import api, model_folder
    from heatcheck.models.fit import best_epoch

    ours = [*own.given, *attention.given()]
    if ours and model is None:
        reading.refuse()
        if uniform:
            raise InputError("--uniform is for transformers. Of our models: --weighting uniform.")
        training = own.training(**attention.given())
    elif ours:
        raise for_ours(ours[0], "fine-tunes another one")
    else:
        training = _fine_tuning(model, reading, uniform)
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


def _fine_tuning(model: str | None, reading: ReadingFlags, uniform: bool) -> dict[str, Any]:
    from heatcheck.models.finetune import FINE_TUNING
    from heatcheck.models.loading import check_revision
    from heatcheck.models.pretrained import PACKAGED

    spec = reading.spec(model or PACKAGED, uniform=uniform)
    check_revision(spec)
    if model is None:
        say("Fine-tunes the packaged MiniLM. --encoder bilstm trains a smaller model of ours, much faster.", ERR)
    return {"spec": spec, "recipe": FINE_TUNING}
