"""Does the explanation notice when the model forgets what it learned? (Adebayo et al. 2018, section 3)

1. Explain the trained model.  2. Draw the weights of its last stage anew, explain again; then of the stage below too,
   and so on down to the embeddings (the paper's cascading randomisation).  3. After each stage, Kendall τ between the
   sizes of the scores before and after. An explanation of what the model learned falls towards 0; one that stays alike
   shows the text, not the model.
Stages of a transformer: head, each layer from the top, embeddings; of our own models: decoder, attention, encoder,
embedding. New weights are the model's own initialisation, from the run's seed. All this happens on a copy. What is
explained stays the probability of the class that the trained model predicts.
Deviations: the paper correlates images (Spearman, SSIM, HOG); words are ranked by Kendall τ here as in all our tables.
The paper also randomises each layer alone and trains on random labels; neither is done here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.experiments.explained import usable
from heatcheck.experiments.rows import to_numpy, value_or_reason, why_undefined
from heatcheck.explain import EXPLAINERS
from heatcheck.explain.method import Method
from heatcheck.explain.types import ProbabilityOf, probability_of_prediction
from heatcheck.measure.ranks import kendall
from heatcheck.models.attentive import AttentionModel
from heatcheck.models.entrance import halves
from heatcheck.models.network import HuggingFaceModel
from heatcheck.models.protocols import HasWeights
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from heatcheck.results import Row, Score

OURS = {  # stages of our own models, from the output down, and the names of their modules
    "decoder": ("project", "ask", "output", "compare", "decide"),
    "attention": ("attention",),
    "encoder": ("encoder", "question_encoder"),
    "embedding": ("embedding",),
}


@dataclass(frozen=True)
class RandomisationConfig:
    methods: tuple[str, ...] = ()  # none: all that this model can serve and that are ranked
    special_tokens: bool = False
    batch_size: int = 16


def randomisation(
    subject: Subject[HasWeights],
    examples: Sequence[Example],
    config: RandomisationConfig,
    *,
    generator: torch.Generator,
) -> Iterator[Row]:
    methods = {name: usable(subject, name) for name in config.methods or served(subject.model)}
    batches = list(subject.batches(examples, config.batch_size))
    scalars = [probability_of_prediction(subject.model, batch) for batch in batches]
    before = [_sizes(methods, subject.model, b, s, generator) for b, s in zip(batches, scalars, strict=True)]
    for number, (stage, model) in enumerate(cascade(subject, generator.initial_seed()), start=1):
        for batch, scalar, trained in zip(batches, scalars, before, strict=True):
            found = _sizes(methods, model, batch, scalar, generator)
            words = (batch.mask if config.special_tokens else batch.words).cpu().numpy()
            for name in methods:
                taus = kendall(trained[name], found[name], words).tau
                both = {"the trained model": trained[name], "the randomised one": found[name]}
                for text, tau, why in zip(batch.example_ids, taus, why_undefined(both, words), strict=True):
                    value, reason = value_or_reason(tau, why)
                    yield Score(
                        "randomisation_correlation",
                        value,
                        name,
                        "trained model",
                        text,
                        subject.labels[scalar.classes[text]],
                        setting=stage,
                        at=number,
                        reason=reason,
                    )


def served(model: HasWeights) -> list[str]:
    return [name for name, method in EXPLAINERS.items() if method.ranked and isinstance(model, method.needs)]


def _sizes(
    methods: Mapping[str, Method], model: HasWeights, batch: Batch, scalar: ProbabilityOf, generator: torch.Generator
) -> dict[str, Float[ndarray, "B T"]]:
    """Random methods draw the same numbers each time: what changes is the model."""
    found = {}
    for name, method in methods.items():
        explanation = method.explain(model, batch, scalar, generator=generator)
        found[name] = np.abs(to_numpy(explanation.scores))
    return found


def cascade(subject: Subject[Any], seed: int) -> Iterator[tuple[str, Any]]:
    """The model with one more stage drawn anew each time, from the output down. The same copy, changed in place."""
    model, fresh = untrained(subject, seed)
    parameters = dict(model.named_parameters())
    for stage, names in stages(subject.model).items():
        with torch.no_grad():
            for name in names:
                parameters[name].copy_(fresh[name])
        yield stage, model


def untrained(subject: Subject[Any], seed: int) -> tuple[nn.Module, Mapping[str, Tensor]]:
    """A copy of the model, and the weights of an untrained twin by the same names."""
    model = subject.model
    if isinstance(model, HuggingFaceModel):
        twin = fresh_network(model.network, seed)
        fresh: dict[str, Tensor] = {f"network.{name}": value for name, value in twin.named_parameters()}
    elif isinstance(model, AttentionModel) and isinstance(subject.spec, ModelSpec):
        fresh = dict(subject.spec.build(seed % 2**63).state_dict())
    else:
        raise InputError(
            f"randomisation draws a model's weights anew, and {subject.name} does not show its own. "
            "Leave it out of --experiments."
        )
    return copy.deepcopy(model), fresh


def fresh_network(network: Any, seed: int) -> nn.Module:
    """An untrained network of the same kind; its class initialises it as before pretraining."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        twin: nn.Module = type(network)(copy.deepcopy(network.config))
    return twin


def stages(model: nn.Module) -> dict[str, list[str]]:
    """The parameters' names by stage, from the output down; each parameter in one stage."""
    names = [name for name, _ in model.named_parameters()]
    if isinstance(model, HuggingFaceModel):
        return _transformer_stages(model.network, names)
    found = {stage: [n for n in names if n.split(".")[0] in modules] for stage, modules in OURS.items()}
    return {stage: own for stage, own in found.items() if own}


def _transformer_stages(network: nn.Module, names: Sequence[str]) -> dict[str, list[str]]:
    """Outside the layers, what stands in front of them or is called an embedding belongs to the embeddings, what
    follows (poolers, last norms, classifier) to the head."""
    prefixes = [f"network.{path}." for path in layer_paths(network)]
    inside = [name.startswith(tuple(prefixes)) for name in names]
    first = inside.index(True)
    low = [n for i, n in enumerate(names) if not inside[i] and (i < first or "emb" in n.removeprefix("network."))]
    found = {"head": [n for n, within in zip(names, inside, strict=True) if not within and n not in low]}
    for number, prefix in reversed(list(enumerate(prefixes, 1))):
        found[f"layer {number}"] = [n for n in names if n.startswith(prefix)]
    return {**found, "embeddings": low}


def layer_paths(network: Any) -> list[str]:
    """Where the layers are, from the input up; a decoder stands on its encoder."""
    paths = {module: path for path, module in network.named_modules()}
    lists = [layer_list(half) for half in halves(network)]
    return [f"{paths[layers]}.{number}" for layers in lists for number in range(len(layers))]


def layer_list(network: nn.Module) -> nn.ModuleList:
    """The largest list of modules; of lists that hold equally many weights (ALBERT's are nested) the outermost."""
    lists = [module for module in network.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise InputError(f"randomisation: {type(network).__name__} has no list of layers. Leave it out.")
    return max(lists, key=lambda found: sum(p.numel() for p in found.parameters()))
