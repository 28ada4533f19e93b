"""Jain & Wallace 2019: which models on which data, with the paper's training; `paper_1_page` writes the tables.

Each case is an ordinary run folder below `out`, so it can be looked at with `heatcheck report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heatcheck import api
from heatcheck.experiments.adversarial_attention import AdversarialConfig
from heatcheck.experiments.adversary.published import PublishedSettings
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Progress
from heatcheck.reproduce.cases import Machine, command, run_chosen
from heatcheck.reproduce.paper_1_page import page
from heatcheck.request import Request
from heatcheck.results import read_run

__all__ = ["CASES", "Case", "page", "run_cases"]


@dataclass(frozen=True)
class Case:
    """One model on one data set. `published_search`: also run the paper's own adversary, beside the exact one."""

    dataset: str
    encoder: str
    attention: str
    recipe: Recipe
    hidden: int = 128
    embedding_width: int = 300
    published_search: bool = False

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.encoder}-{self.attention}"

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.dataset,)

    def request(self, data_dir: Path, limit: int | None) -> Request:
        spec = ModelSpec(self.encoder, self.attention, hidden=self.hidden, embedding_width=self.embedding_width)
        return Request(data=self.dataset, data_dir=data_dir, spec=spec, recipe=self.recipe, limit=limit)


SINGLE = Recipe()
INFERENCE = Recipe(epochs=25, batch_size=128)
STORIES = Recipe(epochs=100, batch_size=50, vectors="none")


def _cases() -> Iterator[Case]:
    for encoder in ("bilstm", "average", "cnn"):
        for attention in ("additive", "dot"):
            yield Case(
                "sst", encoder, attention, SINGLE, published_search=(encoder, attention) == ("bilstm", "additive")
            )
    for encoder in ("bilstm", "average"):
        yield Case("agnews", encoder, "additive", SINGLE)
        yield Case("snli", encoder, "additive", INFERENCE)
        for task in (1, 2, 3):
            yield Case(f"babi-{task}", encoder, "additive", STORIES, hidden=32, embedding_width=50)
        yield Case("imdb-paper", encoder, "additive", SINGLE)


CASES = tuple(_cases())


def run_cases(
    data_dir: Path,
    out: Path,
    *,
    only: Sequence[str] | None,
    limit: int | None,
    machine: Machine,
    progress: Progress,
    seed: int = 0,
) -> None:
    """Run every case that is not there yet."""

    def run_case(case: Case) -> None:
        request = replace(machine.on(case.request(data_dir, limit)), seed=seed)
        api.run_request(request, out / case.name, command=command("paper-1", case), progress=progress)
        if case.published_search:
            _run_published(case, request, out, progress)

    run_chosen("paper-1", CASES, only, progress, run_case)


def _run_published(case: Case, request: Request, out: Path, progress: Progress) -> None:
    """The paper's gradient search on the same model, kept within ε, and within 0.05 as the authors' code does."""
    model = read_run(out / case.name)["model"]["folder"]
    for keep_within in (None, 0.05):
        config = AdversarialConfig(solver="published", published=PublishedSettings(keep_within=keep_within))
        published = Request(
            model=model, data=case.dataset, data_dir=request.data_dir, limit=request.limit, threads=request.threads,
            device=request.device, seed=request.seed, experiments=("adversarial_attention",),
            configs={"adversarial_attention": config},
        )  # fmt: skip
        folder = out / f"{case.name}-published-{keep_within or 'epsilon'}"
        api.run_request(published, folder, command="heatcheck reproduce paper-1 --only sst", progress=progress)
