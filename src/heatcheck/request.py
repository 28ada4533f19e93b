"""What a run is asked to do: everything that its results depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from heatcheck.data.dataset import TEST
from heatcheck.data.sources import DEFAULT, Columns
from heatcheck.data.vectors import vectors_fingerprint
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.models.blackbox import Predict
from heatcheck.models.fit import Recipe
from heatcheck.models.pretrained import TransformerSpec, resolve, source_fingerprint
from heatcheck.models.spec import ModelSpec


@dataclass(frozen=True)
class Request:
    """Everything a run depends on. Without a `model` one is trained by `spec` and `recipe`; without `experiments` those
    run that this kind of model can serve."""

    model: str | None = None
    predict: Predict | None = None  # a black box: texts to probabilities; `model` is then its name
    reading: TransformerSpec = field(default_factory=lambda: TransformerSpec(""))  # how to take a Hugging Face model
    data: str = DEFAULT
    columns: Columns = field(default_factory=Columns)
    labels: Mapping[str, str] | None = None
    data_dir: Path | None = None
    skip_bad_rows: bool = False
    words: tuple[Path, ...] = ()  # lists that mock data is made of
    split: str = TEST
    limit: int | None = None
    spec: ModelSpec | TransformerSpec = field(default_factory=ModelSpec)
    recipe: Recipe = field(default_factory=Recipe)
    experiments: tuple[str, ...] | None = None
    configs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    workers: int | None = None  # models that are trained side by side, whose number changes nothing; None: `threads`

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed {self.seed} is not between 0 and 2³² − 1.")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            raise InputError(
                f"limit {self.limit!r} is not a whole number above 0. Say how many texts to take, or leave it out."
            )

    def config(self, experiment: str) -> Any:
        return self.configs.get(experiment) or EXPERIMENTS[experiment].config()

    def all_configs(self) -> dict[str, Any]:
        return {name: self.config(name) for name in ("performance", *(self.experiments or ()))}

    def settings(self) -> dict[str, Any]:
        """As plain JSON: what run.json records and what tells one run from another. A model that is given is not
        trained."""
        chosen = {name: asdict(config) for name, config in self.all_configs().items()}
        plain = {name: getattr(self, name) for name in ("data", "skip_bad_rows", "split", "limit", "seed", "device")}
        return {
            **plain,
            "model": self.model,
            "reading": asdict(self.reading),
            "data_dir": None if self.data_dir is None else str(self.data_dir),
            "columns": asdict(self.columns),
            "labels": None if self.labels is None else dict(self.labels),
            **({"spec": asdict(self.spec), "recipe": asdict(self.recipe)} if self.model is None else {}),
            "experiments": chosen,
            **({"words": [str(path) for path in self.words]} if self.words else {}),
        }

    def starts_from(self) -> str:
        """Fingerprint of what training starts from: word vectors, or pretrained weights."""
        if isinstance(self.spec, TransformerSpec):
            return source_fingerprint(resolve(self.spec.source))
        return vectors_fingerprint(self.recipe.vectors)
