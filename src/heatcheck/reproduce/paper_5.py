"""Neely et al. 2022: which models on which data, and which explanations are compared; `paper_5_page` writes the tables.

Each case gives up to three run folders below `out`, which can be looked at with `heatcheck report`: the model with its
accuracy on the whole test set (table 3), its accuracy on the dev set (table 9), and, for softmax attention, the
agreement of its explanations on a random part of the test set, drawn by the training seed as in the paper (tables 1, 2
and 4). `--full` is the paper's scale for the transformer too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from heatcheck import api
from heatcheck.data.dataset import DEV
from heatcheck.experiments.agreement import AgreementConfig
from heatcheck.models.finetune import FINE_TUNING
from heatcheck.models.fit import Recipe
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Progress
from heatcheck.reproduce.cases import Machine, command, run_chosen
from heatcheck.reproduce.paper_5_page import page
from heatcheck.request import Request
from heatcheck.results import read_run

__all__ = ["CASES", "FULL_CASES", "Case", "page", "run_cases", "run_full"]

SMALL, LONG = ("sst", "mrpc", "snli"), "imdb-240"
WEIGHTINGS = ("softmax", "uniform")
FURTHER_SEEDS = (1, 2)
INSTANCES, FEWER, FEWEST = 500, 100, 50  # the paper's; of MiniLM; of MiniLM on long texts
# As published: 1000 samples for LIME with padding in the place of words, 50 steps and no more for integrated gradients,
# 5 samples for Grad-SHAP. DeepLIFT twice: exactly complete, and in Captum's form, which the paper used.
ATTRIBUTIONS = (
    "lime(samples=1000, hide='pad')",
    "integrated_gradients(most_steps=50)",
    "deep_lift",
    "deep_lift_captum",
    "gradient_shap",
    "deep_shap",
)
METHODS = {"bilstm": ("attention", *ATTRIBUTIONS), "minilm": ("rollout", "flow", *ATTRIBUTIONS)}
# Section 4.3: up to 40 epochs, patience 5, AMSGrad. Batches as in the authors' settings.
BILSTM = Recipe(epochs=40, patience=5, first_eligible_epoch=1)
BATCHES = {"snli": 64}
EPOCHS = {"sst": 3, "mrpc": 6, "snli": 3, LONG: 2}  # of MiniLM: what two cores can do


@dataclass(frozen=True)
class Case:
    """One model. `texts`: how many are explained; `part` names the scale if it is not the default."""

    dataset: str
    model: str
    weighting: str
    seed: int
    spec: ModelSpec | TransformerSpec
    recipe: Recipe
    texts: int
    part: str = ""

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.model}-{self.weighting}-{self.seed}{self.part}"

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.dataset,)

    def training(self, data_dir: Path) -> Request:
        """Train, and predict the whole test set."""
        return Request(
            data=self.dataset, data_dir=data_dir, spec=self.spec, recipe=self.recipe, experiments=(), seed=self.seed
        )

    def on_dev(self, training: Request, model: str) -> Request:
        return replace(training, model=model, split=DEV)

    def agreement(self, training: Request, model: str) -> Request:
        """The paper ranks [CLS] and [SEP] too; the BiLSTM's start and end marks are ours and have no weight."""
        config = AgreementConfig(methods=METHODS[self.model], special_tokens=self.model == "minilm")
        return replace(
            training, model=model, limit=self.texts, experiments=("agreement",), configs={"agreement": config}
        )


def _cases(full: bool) -> Iterator[Case]:
    """What is cheap and says most comes first."""
    for weighting in WEIGHTINGS:
        for dataset in SMALL:
            yield bilstm(dataset, weighting, 0)
            yield minilm(dataset, weighting, 0, full)
    for make in (bilstm, partial(minilm, full=full)):
        yield from (make(d, w, s) for w in WEIGHTINGS for s in FURTHER_SEEDS for d in SMALL)
    for weighting in WEIGHTINGS:
        yield bilstm(LONG, weighting, 0)
        yield minilm(LONG, weighting, 0, full)
    for seed in FURTHER_SEEDS:
        for weighting in WEIGHTINGS:
            yield bilstm(LONG, weighting, seed)
            if full:
                yield minilm(LONG, weighting, seed, full)


def bilstm(dataset: str, weighting: str, seed: int) -> Case:
    spec = ModelSpec("bilstm", "additive", weighting=weighting, pairing="comparison")
    recipe = replace(BILSTM, batch_size=BATCHES.get(dataset, BILSTM.batch_size))
    return Case(dataset, "bilstm", weighting, seed, spec, recipe, INSTANCES)


def minilm(dataset: str, weighting: str, seed: int, full: bool = False) -> Case:
    spec = TransformerSpec("minilm", uniform=weighting == "uniform")
    if full:
        recipe = replace(FINE_TUNING, epochs=BILSTM.epochs, patience=BILSTM.patience)
        return Case(dataset, "minilm", weighting, seed, spec, recipe, INSTANCES, part="-full")
    # In float32 a step takes 1.6 to 1.9 times as long.
    recipe = replace(FINE_TUNING, epochs=EPOCHS[dataset], patience=2, precision="bfloat16")
    return Case(dataset, "minilm", weighting, seed, spec, recipe, FEWEST if dataset == LONG else FEWER)


CASES, FULL_CASES = tuple(_cases(full=False)), tuple(_cases(full=True))


def run_cases(
    data_dir: Path,
    out: Path,
    *,
    only: Sequence[str] | None,
    limit: int | None,
    machine: Machine,
    progress: Progress,
    chosen: Sequence[Case] = CASES,
) -> None:
    """Run every case that is not there yet. `limit`: explain fewer texts, for a trial."""

    def run(case: Case) -> None:
        fewer = case if limit is None else replace(case, texts=min(limit, case.texts))
        run_case(fewer, data_dir, out, machine=machine, progress=progress)

    run_chosen("paper-5", chosen, only, progress, run)


run_full = partial(run_cases, chosen=FULL_CASES)


def run_case(case: Case, data_dir: Path, out: Path, *, machine: Machine, progress: Progress) -> None:
    training, said = machine.on(case.training(data_dir)), command("paper-5", case)
    api.run_request(training, out / case.name, command=said, progress=progress)
    model = str(Path(read_run(out / case.name)["model"]["folder"]).resolve())
    api.run_request(case.on_dev(training, model), out / f"{case.name}-dev", command=said, progress=progress)
    if case.weighting == "softmax":
        agreed = case.agreement(training, model)
        api.run_request(agreed, out / f"{case.name}-agreement", command=said, progress=progress)
