"""Does an explanation method keep the rules?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch, Example, keep_tokens, replace_tokens
from heatcheck.errors import InputError
from heatcheck.explain import method
from heatcheck.explain.method import Method
from heatcheck.explain.types import NOT_FINITE, Explanation, Scalar, probability_of_prediction
from heatcheck.models.protocols import Classifier
from heatcheck.testing.model import broken, same
from heatcheck.testing.state import State, difference, leaf_calls, modules_of, settle, state_of
from heatcheck.testing.texts import model_and_batch, variants

LEAST_CHANGE = 0.01  # of what is explained: `delta` is not a share of less
DELTA_TOLERANCE = 2e-3  # rounding of the outputs, over LEAST_CHANGE
# The sum that a method promises for each text: (model, batch, scalar) to one number per row.
Promise = Callable[[Any, Batch, Scalar], Float[Tensor, "B"]]


@dataclass(frozen=True)
class Case:
    """What is tried on what. `random` None: not known whether another seed may give other scores."""

    explain: Any
    model: Any
    batch: Batch
    scalar: Scalar
    random: bool | None
    promised: Promise | None
    atol: float
    before: State  # before any rule was tried

    def run(self, batch: Batch | None = None, *, seed: int = 0) -> Explanation:
        generator = torch.Generator().manual_seed(seed)
        found = self.explain(self.model, self.batch if batch is None else batch, self.scalar, generator=generator)
        if not isinstance(found, Explanation):
            broken("result", f"it gives a {type(found).__name__}, not a heatcheck.explain.types.Explanation.")
        return found


def check_explainer(
    explainer: Any,
    model: Any,
    examples: Sequence[Example] | Batch | None = None,
    *,
    promised: Promise | None = None,
    atol: float = 1e-5,
) -> None:
    """Raises an AssertionError for the first rule that is broken.

    `explainer`: a callable as in `heatcheck.explain.types.Explainer`, a `Method`, or a name like "lime(samples=50)".
    `promised(model, batch, scalar)`: the sum that the scores promise, if it is not the difference from the text with
    all words padded, masked or deleted, or with zero embeddings; an explainer may have it as its own method.
    `atol`: what is still rounding.
    """
    chosen = method(explainer) if isinstance(explainer, str) else explainer
    bare, batch = model_and_batch(model, examples)
    if isinstance(chosen, Method) and not chosen.serves(bare):
        raise InputError(f"The method needs {chosen.needed}, which {type(bare).__name__} is not.")
    explain = chosen.explain if isinstance(chosen, Method) else chosen
    random = chosen.random if isinstance(chosen, Method) else None
    promised = promised or getattr(explain, "promised", None)
    scalar = probability_of_prediction(bare, batch)
    settle(bare, batch)
    case = Case(explain, bare, batch, scalar, random, promised, atol, state_of(bare, batch))
    for rule in RULES.values():
        rule(case)


def result(case: Case) -> None:
    """A finite score for each token; 0 where there is none; not below 0 unless signed."""
    found, batch = case.run(), case.batch
    if found.scores.shape != batch.mask.shape:
        broken("result", f"scores have the shape {tuple(found.scores.shape)}, the tokens {tuple(batch.mask.shape)}.")
    if NOT_FINITE in found.notes:  # `Explanation` has put zeros there
        broken("result", "a score is not finite.")
    _nowhere((found.scores != 0) & ~batch.mask, "result", "is on padding and not 0", found, batch)
    if not found.signed:
        _nowhere(found.scores < 0, "result", "is below 0, though the method says it is unsigned", found, batch)


def _nowhere(wrong: Tensor, rule: str, what: str, found: Explanation, batch: Batch) -> None:
    if bool(wrong.any()):
        row, place = wrong.nonzero()[0].tolist()
        score = float(found.scores[row, place])
        broken(rule, f"a score {what}: {score:.6g} (text {batch.example_ids[row]!r}, token {place}).")


def repeatable(case: Case) -> None:
    """The same generator gives the same scores, whatever the global one is; another too, unless random."""
    texts, first = case.batch.example_ids, case.run().scores
    with torch.random.fork_rng():
        torch.manual_seed(1)
        same("repeatable", "with the same generator again", first, case.run().scores, texts, case.atol)
    if case.random is False:
        other = case.run(seed=1).scores
        same("repeatable", "with another generator, though not marked random", first, other, texts, case.atol)


def invariance(case: Case) -> None:
    """A text's scores do not depend on the texts beside it, on their order, or on padding."""
    first = case.run().scores
    for rule, how, changed, row in variants(case.batch):
        names = [case.batch.example_ids[i] for i in row.tolist()]
        real, scores = changed.mask, case.run(changed).scores
        width = min(real.shape[1], first.shape[1])
        expected = torch.zeros_like(scores)
        expected[:, :width] = first[row][:, :width]
        same(rule, f"scores {how}", expected * real, scores * real, names, case.atol)


def completeness(case: Case) -> None:
    """`delta` is |Σ scores − promised| / max(|promised|, 0.01)."""
    found = case.run()
    if found.delta is None:
        return
    if found.delta.shape != (len(case.batch),) or not bool((found.delta >= 0).all()):
        broken("completeness", "delta is not one number, 0 or above, for each text.")
    tried = {"promised": case.promised} if case.promised is not None else _usual(case.model)
    misses = {name: _miss(case, found, promise) for name, promise in tried.items()}
    name = min(misses, key=lambda one: float(misses[one].max()))
    if float(misses[name].max()) > DELTA_TOLERANCE:
        row = int(misses[name].argmax())
        text, delta = case.batch.example_ids[row], float(found.delta[row])
        what = "the promised sum" if case.promised is not None else f"the difference from {name}, the closest of all"
        hint = "" if case.promised is not None else " If it promises another sum, give promised=."
        broken("completeness", f"delta says {delta:.4g} for text {text!r}, but measured from {what}, "
               f"it is off by {float(misses[name][row]):.4g}.{hint}")  # fmt: skip


def _miss(case: Case, found: Explanation, promise: Promise) -> Float[Tensor, "B"]:
    """Between the delta that was said and the delta from this sum."""
    sums = promise(case.model, case.batch, case.scalar).detach().double()
    delta = (found.scores.double().sum(1) - sums).abs() / sums.abs().clamp(min=LEAST_CHANGE)
    said = found.delta.double() if found.delta is not None else delta
    return ((said - delta).abs() / delta.clamp(min=1)).nan_to_num(nan=torch.inf)


def _usual(model: Any) -> dict[str, Promise]:
    emptied: dict[str, Callable[[Any, Batch], Batch]] = {
        "the text with its words padded": lambda m, b: replace_tokens(b, b.words, m.pad_id),
        "the text with its words masked": lambda m, b: replace_tokens(b, b.words, m.mask_id),
        "the text with its words deleted": lambda m, b: keep_tokens(b, b.mask & ~b.words),
    }
    found = {name: _from_batch(edit) for name, edit in emptied.items()}
    return {**found, "zero embeddings": _from_zero} if isinstance(model, Classifier) else found


def _from_batch(edit: Callable[[Any, Batch], Batch]) -> Promise:
    @torch.no_grad()
    def promise(model: Any, batch: Batch, scalar: Scalar) -> Float[Tensor, "B"]:
        empty = edit(model, batch)
        if not bool(empty.mask.any(1).all()):  # a model without marks has nothing left to read
            return torch.full((len(batch),), float("inf"))
        return scalar(model, model.predict(batch), batch) - scalar(model, model.predict(empty), empty)

    return promise


@torch.no_grad()
def _from_zero(model: Any, batch: Batch, scalar: Scalar) -> Float[Tensor, "B"]:
    embedded = model.embed(batch)
    ends = [scalar(model, model.logits(e, batch), batch) for e in (embedded, torch.zeros_like(embedded))]
    return ends[0] - ends[1]


def unchanged(case: Case) -> None:
    """Weights, modes, requires_grad, attention implementation, hooks, the batch and the global random generator stay as
    they were: of a model in eval mode, and but for the last of one in train mode with half of its parameters frozen."""
    found = difference(case.before, state_of(case.model, case.batch))
    if found is not None:
        broken("unchanged", f"after an explanation, {found}.")
    with torch.random.fork_rng():
        torch.manual_seed(20_221)
        before = torch.get_rng_state()
        case.run()
        if not torch.equal(before, torch.get_rng_state()):
            broken("unchanged", "it seeds the global random generator, or draws from it. Draw from `generator`.")
    with _in_another_state(case.model):
        _compare(case, "unchanged", "after an explanation of a model in train mode", case.run)


def cleanup(case: Case) -> None:
    """All that again when the model or what is explained fails in the middle."""
    for many, break_off in ((_scalar_calls(case), _failing_scalar), (_module_calls(case), _failing_module)):
        for call in sorted({1, (many + 1) // 2, many} - {0}):
            _compare(case, "cleanup", f"after an error in call {call} of {many}", partial(break_off, case, call))


def _compare(case: Case, rule: str, when: str, run: Callable[[], object]) -> None:
    before = state_of(case.model, case.batch)
    with contextlib.suppress(Exception):  # what is left behind counts here, not whether it works
        run()
    found = difference(before, state_of(case.model, case.batch))
    if found is not None:
        broken(rule, f"{when}, {found}.")


@contextlib.contextmanager
def _in_another_state(model: Any) -> Iterator[None]:
    modules = [module for _, module in modules_of(model)]
    modes = [module.training for module in modules]
    parameters = [p for module in modules for p in module.parameters(recurse=False)]
    needed = [p.requires_grad for p in parameters]
    try:
        for module in modules:
            module.training = True
        for parameter in parameters[::2]:
            parameter.requires_grad_(False)
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for parameter, need in zip(parameters, needed, strict=True):
            parameter.requires_grad_(need)


class PlannedError(Exception):
    """Raised by the checks themselves."""


def _counter(fail_at: int | None = None) -> tuple[list[int], Callable[[], None]]:
    calls = [0]

    def count() -> None:
        calls[0] += 1
        if calls[0] == fail_at:
            raise PlannedError("planned by heatcheck.testing")

    return calls, count


def _watched(scalar: Scalar, count: Callable[[], None]) -> Scalar:
    def watched(model: Any, logits: Tensor, batch: Batch) -> Tensor:
        count()
        return scalar(model, logits, batch)

    return watched


def _scalar_calls(case: Case) -> int:
    calls, count = _counter()
    replace(case, scalar=_watched(case.scalar, count)).run()
    return calls[0]


def _failing_scalar(case: Case, call: int) -> None:
    _, count = _counter(call)
    replace(case, scalar=_watched(case.scalar, count)).run()


def _module_calls(case: Case) -> int:
    calls, count = _counter()
    _with_visits(case, count)
    return calls[0]


def _failing_module(case: Case, call: int) -> None:
    _, count = _counter(call)
    _with_visits(case, count)


def _with_visits(case: Case, visit: Callable[[], None]) -> None:
    hooks = leaf_calls(case.model, visit)
    try:
        case.run()
    finally:
        for hook in hooks:
            hook.remove()


RULES: dict[str, Callable[[Case], None]] = {
    "result": result,
    "repeatable": repeatable,
    "invariance": invariance,
    "completeness": completeness,
    "unchanged": unchanged,
    "cleanup": cleanup,
}
