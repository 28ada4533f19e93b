"""Flags of the command line that several commands share, in groups, each defined once. No torch here.

A command asks for a group by naming it: `def audit(data: DataFlags, ...)`. Its fields are then flags of the command.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import CallbackParam, Option

from heatcheck.errors import InputError

TRAINED = "Tests that train"

ModelFlag = Annotated[
    str | None,
    Option(
        "--model",
        help="A Hugging Face classifier (folder or hub id), a folder of `heatcheck train`, or a Python function "
        "from texts to probabilities, python:module:function. Left out: train our own first.",
    ),
]
OutFlag = Annotated[
    Path | None,
    Option(
        "--out",
        help="Folder for the results. Repeating a command continues there. Default: one in runs/, named after what is "
        "tested, with a number behind it if another run is there.",
    ),
]
LimitFlag = Annotated[int | None, Option("--limit", min=1, help="Test at most so many held-out texts.")]
WindowsFlag = Annotated[
    bool, Option("--windows", help="Read longer texts whole, in overlapping windows, instead of cutting them.")
]
DataDirFlag = Annotated[Path | None, Option("--data-dir", help="Folder that holds the papers' data sets.")]
DeviceFlag = Annotated[str, Option("--device", help="auto, cpu, cuda or mps.")]
ThreadsFlag = Annotated[int | None, Option("--threads", min=1, help="CPU threads. Default: all cores.")]


@dataclass(frozen=True)
class DataFlags:
    data: Annotated[
        str,
        Option(
            "--data",
            help="A .csv, .tsv, .json, .jsonl or .ndjson file (or .gz of it), a .parquet file, hf:NAME, or a name "
            "of `heatcheck list data`.",
        ),
    ] = "movie-reviews"
    text: Annotated[str | None, Option("--text", help="Column with the text (guessed when obvious).")] = None
    pair: Annotated[
        str | None, Option("--pair", help="Column with the second text: hypothesis or question. none: there is none.")
    ] = None
    label: Annotated[str | None, Option("--label", help="Column with the class.")] = None
    labels: Annotated[
        str | None, Option("--labels", help="Classes in order, renamed if you like: no,yes or 0=negative,1=positive.")
    ] = None
    split: Annotated[str | None, Option("--split", help="Column that says train, dev or test.")] = None
    data_dir: DataDirFlag = None
    skip_bad_rows: Annotated[
        bool, Option("--skip-bad-rows", help="Leave out rows that cannot be used, and say so.")
    ] = False
    words: Annotated[
        list[Path] | None,
        Option("--words", help="Mock data: a list of words for each class, negative first. Repeat it for each."),
    ] = None

    def options(self) -> dict[str, Any]:
        """As the Python API takes them."""
        from heatcheck.data.sources import Columns, parse_labels

        columns = Columns(text=self.text, pair=self.pair, label=self.label, split=self.split)
        found: dict[str, Any] = {"columns": columns, "data_dir": self.data_dir, "skip_bad_rows": self.skip_bad_rows}
        found |= {} if self.labels is None else {"labels": parse_labels(self.labels)}
        return found | ({"words": tuple(self.words)} if self.words else {})


@dataclass(frozen=True)
class MachineFlags:
    seed: Annotated[int, Option("--seed", min=0, help="For splits, training and sampling.")] = 0
    threads: ThreadsFlag = None
    device: DeviceFlag = "auto"

    def options(self) -> dict[str, Any]:
        return {"device": self.device} | ({} if self.threads is None else {"threads": self.threads})


@dataclass(frozen=True)
class ReadingFlags:
    """How to take a Hugging Face model."""

    revision: Annotated[str | None, Option("--revision", help="Of a hub model: branch, tag or commit.")] = None
    trust_remote_code: Annotated[
        bool, Option("--trust-remote-code", help="Run code that the model's author wrote. Off by default.")
    ] = False
    max_length: Annotated[
        int | None,
        Option("--max-length", min=8, help="Tokens of a text that a transformer reads. Default: all it can."),
    ] = None

    def refuse(self, *, windows: bool = False) -> None:
        """Where there is no transformer to take."""
        if given := [flag for flag, value in {**vars(self), "windows": windows}.items() if value]:
            raise InputError(f"--{given[0].replace('_', '-')} is for transformers. Name one with --model.")

    def spec(self, source: str = "", *, windows: bool = False, uniform: bool = False) -> Any:
        from heatcheck.models.pretrained import TransformerSpec

        return TransformerSpec(
            source, self.revision, self.trust_remote_code, self.max_length, windows=windows, uniform=uniform
        )


@dataclass(frozen=True)
class MethodFlags:
    methods: Annotated[
        str | None,
        Option(
            "--methods",
            help="Explanation methods to compare, of `heatcheck list explainers`: 'gradient,lime(samples=200)'.",
        ),
    ] = None
    special_tokens: Annotated[
        bool, Option("--special-tokens", help="Let [CLS] and the like take part in rankings.")
    ] = False

    @property
    def given(self) -> str | None:
        """The flag to name where none of them is heeded."""
        return "--methods" if self.methods is not None else "--special-tokens" if self.special_tokens else None


@dataclass(frozen=True)
class OwnModelFlags:
    """One of our attention models, to be trained. None: as ModelSpec and Recipe have it."""

    encoder: Annotated[
        str | None, Option("--encoder", help="Of our models: bilstm (default), gru, cnn, average, mlp or transformer.")
    ] = None
    attention: Annotated[str | None, Option("--attention", help="Of our models: additive (default) or dot.")] = None
    epochs: Annotated[
        int | None, Option("--epochs", min=1, help="Passes over the training texts. Default: 8; fine-tuning: 5.")
    ] = None
    vectors: Annotated[
        str | None, Option("--vectors", help="Of our models: packaged (default), none, or a GloVe or fastText file.")
    ] = None

    @property
    def given(self) -> list[str]:
        """Flags that no other model heeds."""
        return [name for name in ("encoder", "attention", "vectors") if getattr(self, name) is not None]

    def refuse(self) -> None:
        """Where a trained model is given."""
        if given := [*self.given, *(["epochs"] if self.epochs is not None else [])]:
            raise for_ours(given[0], "is trained already")

    def training(self, **further: Any) -> dict[str, Any]:
        """`further`: more of ModelSpec."""
        from heatcheck.models.fit import Recipe
        from heatcheck.models.spec import ModelSpec

        spec, recipe = {**further, **_chosen(self, "encoder", "attention")}, _chosen(self, "epochs", "vectors")
        return {"spec": ModelSpec(**spec), "recipe": Recipe(**recipe)}


def above_zero(flag: CallbackParam, value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"{flag.opts[0]} {value:g} is not a number above 0.")
    return value


def for_ours(flag: str, why: str) -> InputError:
    return InputError(f"--{flag} is for a model that heatcheck trains, and --model {why}. Leave one out.")


def _chosen(flags: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(flags, name) for name in names if getattr(flags, name) is not None}


@dataclass(frozen=True)
class TrainedFlags:
    seeds: Annotated[
        str | None,
        Option("--seeds", rich_help_panel=TRAINED, help="Of the models that are trained: 1,2,3. Default: paper 2's."),
    ] = None
    one_seed: Annotated[
        bool | None,
        Option(
            "--one-seed",
            rich_help_panel=TRAINED,
            help="With a single seed in --seeds: what another would change need not be known.",
        ),
    ] = None
    bases: Annotated[
        str | None, Option("--bases", rich_help_panel=TRAINED, help="attefa: seeds of further models to attack.")
    ] = None
    lambdas: Annotated[
        str | None,
        Option("--lambdas", rich_help_panel=TRAINED, help="trained_adversary: weights of the distance, 0,0.001,1."),
    ] = None
    guide_lambda: Annotated[
        float | None,
        Option("--guide-lambda", rich_help_panel=TRAINED, help="guided_mlp: λ of the adversary that guides. 0.001."),
    ] = None
    guides: Annotated[
        str | None,
        Option(
            "--guides",
            rich_help_panel=TRAINED,
            help="guided_mlp: some of uniform, mlp, base, adversary, any method of `list explainers`, "
            "file:weights.jsonl.",
        ),
    ] = None
    margin: Annotated[
        float | None,
        Option("--margin", rich_help_panel=TRAINED, help="uniform_attention: F1 that attention must add. 0.01."),
    ] = None
    adversary_epochs: Annotated[
        int | None,
        Option("--adversary-epochs", min=1, rich_help_panel=TRAINED, help="At most so many. Default: the papers'."),
    ] = None
    adversary_patience: Annotated[
        int | None,
        Option(
            "--adversary-patience", min=1, rich_help_panel=TRAINED, help="Stop after so many without a better one. 10."
        ),
    ] = None
    apart: Annotated[
        int | None,
        Option("--apart", rich_help_panel=TRAINED, help="trained_adversary: so many for each λ, far from each other."),
    ] = None
    stop_at: Annotated[
        float | None,
        Option(
            "--stop-at", rich_help_panel=TRAINED, help="trained_adversary: no larger λ once all seeds reach this JSD."
        ),
    ] = None
    select_on: Annotated[
        str | None,
        Option("--select-on", rich_help_panel=TRAINED, help="Best epoch of an adversary by: dev, test or train."),
    ] = None

    def given(self) -> dict[str, Any]:
        """By the name of the flag."""
        return {name.replace("_", "-"): value for name, value in vars(self).items()}


def named_model(name: str | None) -> Any:
    """`python:module:function` is the function itself."""
    from heatcheck.models.given import find_function

    return find_function(name) if name is not None and name.startswith("python:") else name


def how_to_read(model: str | None, flags: ReadingFlags, windows: bool) -> Any:
    """How to take a transformer; refused where there can be none."""
    if model is None or model.startswith("python:"):
        flags.refuse(windows=windows)
    return flags.spec(windows=windows)
