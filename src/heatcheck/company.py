"""Which tests are run: those asked for, or the battery for this kind of model, and the company that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heatcheck.data.dataset import Dataset
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.explain import distinct
from heatcheck.fitness import base_of, heads_of, may_offer
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.protocols import AttentiveClassifier, Classifier
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.request import Request

BATTERY = ("correlation", "permutation", "adversarial_attention")
TRANSFORMER_BATTERY = ("agreement", "erasure", "repeatability")
BLACK_BOX_BATTERY = ("agreement", "erasure", "repeatability")


def battery(given: Subject[Any] | None, spec: ModelSpec | TransformerSpec) -> tuple[str, ...]:
    """The tests for this kind of model; None is one to be trained as `spec` says."""
    if given is None:
        return BATTERY if isinstance(spec, ModelSpec) else TRANSFORMER_BATTERY
    if isinstance(given.model, AttentiveClassifier):
        return BATTERY
    return TRANSFORMER_BATTERY if isinstance(given.model, Classifier) else BLACK_BOX_BATTERY


def with_company(request: Request, data: Dataset, given: Subject[Any] | None) -> tuple[Request, list[str]]:
    """With the tests that were asked for, or the battery, and those whose numbers belong into the same picture; what
    was not asked for by name only where the model can serve it. And what is to be said of that."""
    many = heads_of(request, data, given) > 1

    def served(name: str) -> bool:
        if many and EXPERIMENTS[name].one_head:
            return False
        if name == "uniform_attention" and given is not None and not base_of(request, given).replaceable:
            return False
        needs = EXPERIMENTS[name].needs
        return isinstance(given.model, needs) if given is not None else may_offer(request.spec, needs)

    asked = request.experiments
    if asked is None:  # an empty list is an answer: no test
        asked = tuple(name for name in battery(given, request.spec) if served(name))
        if len(distinct(request.config("agreement").methods)) == 1:
            asked = tuple(name for name in asked if name != "agreement")  # there is nothing to compare it with
    company = [(*(other for other in EXPERIMENTS[name].beside if served(other)), name) for name in asked]
    experiments = tuple(dict.fromkeys(name for names in company for name in names))
    own = request.seed if given is None else given.seed
    found, away = _with_seeds(replace(request, experiments=experiments), asked, own)
    came = [name for name in found.experiments or () if name not in asked]
    notes = [f"{_UNASKED}: {', '.join(came)}."] if came and request.experiments is not None else []
    return found, notes + ([f"{_AWAY}: {', '.join(away)}."] if away else [])


_UNASKED = "Not asked for, and run as their numbers belong into the same pictures"
_AWAY = "Not in the pictures, as it needs more seeds than were given, that of the model itself aside"


def _with_seeds(request: Request, asked: Sequence[str], own: int) -> tuple[Request, list[str]]:
    """Company has the seeds that were chosen for the test that it stands beside, but for the model's own, which would
    give that model once more. If they are too few, it stays away: more models than were asked for would be trained for
    the picture's sake."""
    configs, away = dict(request.configs), []
    for name in request.experiments or ():
        seeds = _seeds_beside(request, asked, name)
        if seeds is not None and name not in (*asked, *configs) and EXPERIMENTS[name].models is not None:
            try:
                configs[name] = replace(request.config(name), seeds=tuple(seed for seed in seeds if seed != own))
            except InputError:
                away.append(name)
    kept = tuple(name for name in request.experiments or () if name not in away)
    return replace(request, configs=configs, experiments=kept), away


def _seeds_beside(request: Request, asked: Sequence[str], company: str) -> tuple[int, ...] | None:
    """Chosen ones; None if they are the usual."""
    for host in asked:
        if company in EXPERIMENTS[host].beside:
            seeds: tuple[int, ...] | None = getattr(request.config(host), "seeds", None)
            if seeds != getattr(EXPERIMENTS[host].config(), "seeds", None):
                return seeds
    return None
