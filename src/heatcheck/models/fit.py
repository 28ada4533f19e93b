"""The only training loop. What is trained (a classifier, an adversary, a guide) is decided by `loss` and `select`.

After every epoch the whole state goes to one file, so that a killed run continues to the weights it would have had.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from heatcheck.batch import Batch
from heatcheck.errors import InputError

Loss = Callable[[Batch], Tensor]
Batches = Callable[[torch.Generator], Sequence[Batch]]
Watch = Callable[[float, float], None]  # told how many epochs are done, and how many will be at least
PRECISIONS = ("float32", "bfloat16")
RESUME = "resume.safetensors"  # the usual name of that file


@dataclass(frozen=True)
class Recipe:
    """Paper 1's training: Adam with AMSGrad, L2 on everything but attention, best epoch on dev, never the first."""

    epochs: int = 8
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    first_eligible_epoch: int = 2
    vectors: str = "packaged"
    max_length: int = 1000
    min_frequency: int | None = None  # None: what the data set asks for
    optimizer: str = "adam"  # or "adamw", for fine-tuning
    patience: int | None = None  # stop after so many epochs without a better one; None: never
    precision: str = "float32"  # or "bfloat16", for fine-tuning: of matrix products; the weights stay float32

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "max_length"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} {getattr(self, name)} is not a number above 0.")
        if self.optimizer not in ("adam", "adamw"):
            raise InputError(f"optimizer {self.optimizer!r} is not one of adam, adamw.")
        if self.precision not in PRECISIONS:
            raise InputError(f"precision {self.precision!r} is not one of {', '.join(PRECISIONS)}.")


@dataclass(frozen=True)
class Epoch:
    number: int
    loss: float
    selected_by: float


class DivergedError(InputError):
    """The model is left with the weights of its best epoch, as if it had ended before."""

    def __init__(self, message: str, history: Sequence[Epoch]) -> None:
        super().__init__(message)
        self.history = history


def fit(
    model: nn.Module,
    loss: Loss,
    batches: Batches,
    *,
    select: Callable[[], float] | None,
    recipe: Recipe,
    generator: torch.Generator,
    resume: Path | None = None,
    progress: Watch = lambda done, at_least: None,
) -> list[Epoch]:
    """Train in place and leave the model with the weights of its best epoch: the highest `select`, or without one the
    lowest training loss. Of equals see `best_epoch`."""
    optimizer = OPTIMIZERS[recipe.optimizer](model, recipe)
    loss = _in_precision(recipe.precision, model, loss)
    history: list[Epoch] = []
    best = _copy(model)
    if resume is not None and resume.exists():
        history, best = _restore(resume, model, optimizer, generator)
    while len(history) < (soonest := soonest_end(history, recipe)):
        number = len(history) + 1
        with torch.random.fork_rng(devices=[]):  # dropout draws from the global generator: its own seed every epoch
            torch.manual_seed((generator.initial_seed() * 1_000_003 + number) % 2**63)
            mean_loss = _epoch(model, loss, batches(generator), optimizer, _within(progress, len(history), soonest))
        if (wild := _not_finite(model, mean_loss)) is not None:
            kept = f" Epoch {number - 1} is kept in {resume}." if resume is not None and number > 1 else ""
            model.load_state_dict(best)
            raise DivergedError(
                f"Training diverged in epoch {number}: {wild} is not finite. Train with a lower --learning-rate, which "
                f"a model's adversaries have too, or give an adversary a lower λ.{kept}",
                history,
            )
        history.append(Epoch(number, mean_loss, -mean_loss if select is None else select()))
        if best_epoch(history, recipe).number == number:
            best = _copy(model)
        if resume is not None:
            _save(resume, model, optimizer, generator, history, best)
    model.load_state_dict(best)
    model.eval()
    return history


def adam(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """One fused optimiser for what the papers' code steps with three; no L2 on attention parameters."""
    parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for n, p in parameters if not n.startswith("attention.")], "weight_decay": recipe.weight_decay},
        {"params": [p for n, p in parameters if n.startswith("attention.")], "weight_decay": 0.0},
    ]
    return torch.optim.Adam([g for g in groups if g["params"]], lr=recipe.learning_rate, amsgrad=True, fused=True)


def adamw(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Weight decay on matrices only, not on biases and norms, as transformers are fine-tuned."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=recipe.learning_rate, fused=True)


OPTIMIZERS = {"adam": adam, "adamw": adamw}


def _in_precision(precision: str, model: nn.Module, loss: Loss) -> Loss:
    """Half the digits, and twice the speed of matrix products where the processor has instructions for them."""
    if precision == "float32":
        return loss
    device = next(model.parameters()).device.type

    def rounded(batch: Batch) -> Tensor:
        with torch.autocast(device, torch.bfloat16):
            return loss(batch)

    return rounded


def _epoch(
    model: nn.Module,
    loss: Loss,
    batches: Sequence[Batch],
    optimizer: torch.optim.Optimizer,
    progress: Callable[[float], None],
) -> float:
    model.train()
    total = 0.0
    for number, batch in enumerate(batches, start=1):
        value = loss(batch)
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(value)
        optimizer.step()
        total += float(value.detach())
        progress(number / len(batches))
    model.eval()
    return total / max(len(batches), 1)


def _not_finite(model: nn.Module, loss: float) -> str | None:
    """The loss is that of before the last step, which may spoil the weights all the same."""
    if not math.isfinite(loss):
        return "the loss"
    return None if all(bool(torch.isfinite(p).all()) for p in model.parameters()) else "a weight"


def best_epoch(history: Sequence[Epoch], recipe: Recipe) -> Epoch:
    """The highest `selected_by`; the first epoch counts only until an eligible one comes. Of equals it is the first, as
    in the papers, but in fine-tuning the one with the lowest training loss: a small dev set is often ranked without
    fault after an epoch that leaves all probabilities near a half.

    >>> history = [Epoch(1, 0.7, 0.5), Epoch(2, 0.69, 1.0), Epoch(3, 0.2, 1.0), Epoch(4, 0.1, 0.9)]
    >>> best_epoch(history, Recipe()).number, best_epoch(history, Recipe(optimizer="adamw")).number
    (2, 3)
    """
    eligible = [e for e in history if e.number >= recipe.first_eligible_epoch] or history
    by_loss = recipe.optimizer == "adamw"
    return max(eligible, key=lambda e: (e.selected_by, -e.loss if by_loss else 0.0))


def soonest_end(history: Sequence[Epoch], recipe: Recipe) -> int:
    """The last epoch, if none from now on is better than the best so far.

    >>> soonest_end([], Recipe(epochs=80, patience=10)), soonest_end([], Recipe(epochs=6)), soonest_end([], Recipe())
    (12, 6, 8)
    >>> soonest_end([Epoch(2, 0.5, 0.7), Epoch(3, 0.4, 0.9), Epoch(4, 0.3, 0.9)], Recipe(epochs=80, patience=10))
    13
    """
    if recipe.patience is None:
        return recipe.epochs
    first = recipe.first_eligible_epoch
    best = max(best_epoch(history, recipe).number, first) if history else first
    return min(best + recipe.patience, recipe.epochs)


def _within(progress: Watch, done: int, at_least: int) -> Callable[[float], None]:
    return lambda part: progress(done + part, at_least)


def _copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _save(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    history: Iterable[Epoch],
    best: dict[str, Tensor],
) -> None:
    tensors = {f"model/{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"best/{name}": value for name, value in best.items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors["generator"] = generator.get_state()
    contiguous = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    partial = path.with_name(f".{path.name}.part")
    save_file(contiguous, partial, {"history": json.dumps([asdict(e) for e in history])})
    os.replace(partial, path)


def _restore(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> tuple[list[Epoch], dict[str, Tensor]]:
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    part = {kind: _below(tensors, kind) for kind in ("model", "best", "optimizer")}
    model.load_state_dict(part["model"])
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in part["optimizer"].items():
        index, field = name.split("/")
        states.setdefault(int(index), {})[field] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": states})
    generator.set_state(tensors["generator"])
    return [Epoch(**e) for e in json.loads(metadata["history"])], part["best"]


def _below(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{kind}/"): value for name, value in tensors.items() if name.startswith(f"{kind}/")}
