"""What the finished runs of paper 5 hold: the τ of every two methods on each text, and which predictions were right.

The page asks for a model (data set, model, attention) and gets one table per seed, whichever seeds there are.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from heatcheck import results
from heatcheck.claim import is_finished
from heatcheck.errors import InputError
from heatcheck.experiments.agreement import compare_all
from heatcheck.explain.method import parse
from heatcheck.measure.intervals import CONFIDENCE, RESAMPLES, Interval
from heatcheck.measure.ranks import kendall
from heatcheck.measure.resampling import chance_of_models
from heatcheck.reproduce.paper_5_numbers import METHODS

SEEDS = (0, 1, 2)
SHOWN = (*METHODS[:4], "deep_lift_captum", *METHODS[4:], "flow")  # our order of methods
AT_ONCE = 32  # texts
FULL = "-full"
AGREEMENT = "-agreement"
# What a column of a run's numbers is about; the first is τ with [CLS] and [SEP] ranked too, of which a BiLSTM has none.
WITH_MARKS, WORDS, OVERLAP, DELTA = "tau:", "tau of words:", "overlap:", "delta:"
RIGHT = "right"
CASE = re.compile(r".+-(bilstm|minilm)-(softmax|uniform)-\d(-full)?(-dev|-agreement)?")  # of a run folder's name


@dataclass(frozen=True)
class Runs:
    """The folder with all cases, and one with the numbers of finished runs, which may have been made elsewhere.

    Of a case at both scales the paper's own is taken.
    """

    out: Path
    kept: Path | None = None
    _read: dict[str, pd.DataFrame | None] = field(default_factory=dict, repr=False, compare=False)

    def taus(self, dataset: str, model: str, *, marks: bool = False) -> list[pd.DataFrame]:
        """By seed the τ of every two methods (columns) on each text (rows). `marks`: [CLS] and [SEP] ranked too."""
        kind = WITH_MARKS if marks or model == "bilstm" else WORDS
        return [part(numbers, kind) for numbers in self._explained(dataset, model)]

    def overlaps(self, dataset: str, model: str) -> list[pd.DataFrame]:
        """The same for the share of words that two methods have in common among their highest quarter."""
        return [part(numbers, OVERLAP) for numbers in self._explained(dataset, model)]

    def deltas(self, dataset: str, model: str) -> pd.Series:
        """How far the median text's scores miss the sum that the method promises, by method."""
        frames = [part(numbers, DELTA) for numbers in self._explained(dataset, model)]
        return pd.concat(frames).median().dropna() if frames else pd.Series(dtype=float)

    def right(self, dataset: str, model: str, weighting: str, split: str = "test") -> dict[int, pd.Series]:
        """By seed: 1 for each text whose class was predicted, else 0."""
        ending = "" if split == "test" else f"-{split}"
        return {seed: found[RIGHT] for seed, found in self._by_seed(dataset, model, weighting, ending)}

    def keep(self) -> None:
        """Write the numbers of all finished runs to `kept`: without texts, they are small enough to be shared."""
        if self.kept is None:
            return
        names = [folder.name for folder in sorted(self.out.glob("*")) if CASE.fullmatch(folder.name)]
        for name in names:
            here, there = self._here(name), self._there(name)
            if here is None or (there is not None and here.equals(there) and here.attrs == there.attrs):
                continue
            file = self.kept / f"{name}.parquet"
            if there is not None and len(there) > len(here):
                few = f"the run in {self.out / name} {len(here):,}"
                raise InputError(f"{file} holds {len(there):,} texts, {few}. Remove one of them.")
            _write(here, file)

    def _explained(self, dataset: str, model: str) -> list[pd.DataFrame]:
        return [found for _, found in self._by_seed(dataset, model, "softmax", AGREEMENT)]

    def _by_seed(self, dataset: str, model: str, weighting: str, ending: str) -> Iterator[tuple[int, pd.DataFrame]]:
        for seed in SEEDS:
            names = (f"{dataset}-{model}-{weighting}-{seed}{scale}{ending}" for scale in (FULL, ""))
            found = next((n for n in map(self._numbers, names) if n is not None), None)
            if found is not None:
                yield seed, found

    def _numbers(self, name: str) -> pd.DataFrame | None:
        """Of a run that is here, else those that were kept. Several tables of the page ask for the same."""
        if name not in self._read:
            here = self._here(name)
            self._read[name] = self._there(name) if here is None else here
        return self._read[name]

    def _here(self, name: str) -> pd.DataFrame | None:
        return numbers(self.out / name) if is_finished(self.out / name) else None

    def _there(self, name: str) -> pd.DataFrame | None:
        file = None if self.kept is None else self.kept / f"{name}.parquet"
        if file is None or not file.exists():
            return None
        try:
            return pd.read_parquet(file)
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: it is no Parquet file, or cut off. Remove it.") from error


def _write(numbers: pd.DataFrame, file: Path) -> None:
    partial = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        numbers.to_parquet(partial, compression="zstd")
        os.replace(partial, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise InputError(f"{file} cannot be written ({error.strerror}). Give --kept another folder.") from error


def numbers(folder: Path) -> pd.DataFrame:
    """All that the page needs of a finished run, a row for each text; `attrs` say what it was run with."""
    found = _explained(folder) if folder.name.endswith(AGREEMENT) else _right(folder).to_frame(RIGHT)
    run = results.read_run(folder)
    found.attrs = {name: run["settings"].get(name) for name in ("recipe", "experiments", "seed")}
    found.attrs |= {name: run[name] for name in ("fingerprints", "packages")}
    return found


def _explained(folder: Path) -> pd.DataFrame:
    found = {WITH_MARKS: _pairs(folder, "kendall"), OVERLAP: _pairs(folder, "topk_overlap"), DELTA: _deltas(folder)}
    if "-minilm-" in folder.name:
        found[WORDS] = _words_only(folder)
    return pd.concat([table.add_prefix(kind) for kind, table in found.items()], axis=1)


def part(numbers: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Its columns of one kind.

    >>> part(pd.DataFrame({"a:x": [1], "b:y": [2]}), "a:").to_dict("list")
    {'x': [1]}
    """
    chosen = numbers.loc[:, numbers.columns.str.startswith(kind)]
    return chosen.set_axis(chosen.columns.str.removeprefix(kind), axis=1)


def short(method: str) -> str:
    """
    >>> short("lime(samples=1000)"), short("rollout")
    ('lime', 'attention')
    """
    name, _ = parse(method)
    return "attention" if name == "rollout" else name


def column(first: str, second: str) -> str:
    """Of a table of pairs; either order gives the same.

    >>> column("lime", "attention")
    'attention/lime'
    """
    return "/".join(sorted((first, second), key=SHOWN.index))


def _right(folder: Path) -> pd.Series:
    examples = results.read_table(folder, "examples", ["example_id", "label", "predicted"]).to_pandas()
    right: pd.Series = (examples["label"] == examples["predicted"]).astype(float)
    return right.set_axis(examples["example_id"])


def _texts(folder: Path, measure: str) -> pd.DataFrame:
    columns = ["example_id", "subject", "reference", "measure", "setting", "value"]
    frame: pd.DataFrame = results.read_table(folder, "scores", columns).to_pandas()
    return frame[frame["example_id"].notna() & (frame["measure"] == measure) & frame["setting"].isna()]


def _deltas(folder: Path) -> pd.DataFrame:
    rows = _texts(folder, "completeness_delta")
    rows = rows.assign(method=rows["subject"].map({name: short(name) for name in rows["subject"].unique()}))
    return rows.pivot(index="example_id", columns="method", values="value")


def _pairs(folder: Path, measure: str) -> pd.DataFrame:
    rows = _texts(folder, measure)
    rows = rows[rows["reference"].notna()]
    names = {name: short(name) for name in {*rows["subject"], *rows["reference"]}}
    pairs = [column(names[a], names[b]) for a, b in zip(rows["subject"], rows["reference"], strict=True)]
    return rows.assign(pair=pairs).pivot(index="example_id", columns="pair", values="value")


def _words_only(folder: Path) -> pd.DataFrame:
    """From the same scores, without the marks, which stand for no characters."""
    columns = ["example_id", "method", "position", "start", "end", "score"]
    tokens = results.read_table(folder, "tokens", columns).to_pandas()
    tokens = tokens[tokens["end"] > tokens["start"]]
    tokens = tokens.assign(method=tokens["method"].map({name: short(name) for name in tokens["method"].unique()}))
    names = sorted(tokens["method"].unique(), key=SHOWN.index)
    texts = list(dict.fromkeys(tokens["example_id"]))
    parts = [_compared(tokens, names, texts[start : start + AT_ONCE]) for start in range(0, len(texts), AT_ONCE)]
    return pd.concat(parts)


def _compared(tokens: pd.DataFrame, names: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
    here = tokens[tokens["example_id"].isin(set(texts))]
    laid_out = [
        here[here["method"] == name].pivot(index="example_id", columns="position", values="score").loc[list(texts)]
        for name in names
    ]
    words = laid_out[0].notna().to_numpy()
    lists = np.stack([np.abs(table.fillna(0).to_numpy(dtype=float)) for table in laid_out])
    values = compare_all(lambda a, b, valid: kendall(a, b, valid).tau, lists, words)
    pairs = [column(first, second) for first, second in combinations(names, 2)]
    return pd.DataFrame(dict(zip(pairs, values, strict=True)), index=pd.Index(texts, name="example_id"))


Samples = Sequence[Float[ndarray, "N"]]  # a value per text, for each seed


def mean_over_pairs(tables: Sequence[pd.DataFrame], pairs: Sequence[tuple[str, str]]) -> Samples:
    """Of each text the mean τ over these pairs of methods, as far as it has them."""
    chosen = ([table[column(*pair)] for pair in pairs] for table in tables)
    return [pd.concat(columns, axis=1).mean(axis=1).dropna().to_numpy(dtype=float) for columns in chosen]


def contrast(*terms: tuple[float, Samples], seed: int = 0) -> Interval:
    """Σ coefficient · mean, with an interval: each model's texts are resampled, and models (seeds) vary by Student's t.

    >>> contrast((1, [np.array([1.0, 1.0])]), (-1, [np.array([3.0, 3.0]), np.array([5.0, 5.0])])).value
    -3.0
    """
    rng = np.random.default_rng(seed)
    value = sum(weight * float(np.mean([s.mean() for s in samples])) for weight, samples in terms)
    drawn = np.sum([weight * _resampled(samples, rng) for weight, samples in terms], axis=0)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(value, float(low), float(high))


def average(samples: Samples, possible: tuple[float, float] = (-1, 1)) -> Interval:
    """The mean. Student's t of two or three models knows nothing of the limits that a τ or a share has.

    >>> average([np.array([0.5, 0.5]), np.array([0.9, 0.9])], possible=(0, 1)).high
    1.0
    """
    found = contrast((1, samples))
    low, high = np.clip([found.low, found.high], *possible)
    return Interval(found.value, float(low), float(high))


def _resampled(samples: Samples, rng: np.random.Generator) -> Float[ndarray, "R"]:
    """Means over the models of resamples of each one's texts, with the chance of the models added."""
    means = np.stack([rng.choice(values, (RESAMPLES, len(values))).mean(1) for values in samples], axis=1)
    return np.asarray(means.mean(1) + chance_of_models(means, rng))
