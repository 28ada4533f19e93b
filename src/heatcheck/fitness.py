"""Can a request be carried out? Said in a sentence before hours of work, not after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TRAIN, Dataset
from heatcheck.data.reading import Reader
from heatcheck.data.vocabulary import MARKS, Vocabulary
from heatcheck.errors import InputError
from heatcheck.experiments import EXPERIMENTS
from heatcheck.experiments.trained.base import Base
from heatcheck.experiments.trained.jobs import twin
from heatcheck.explain import method
from heatcheck.models.finetune import check_same_reading
from heatcheck.models.network import HuggingFaceModel
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.protocols import AttentiveClassifier, TransformerClassifier
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Spec, Subject
from heatcheck.models.training import check_trainable
from heatcheck.models.uniform import check_replaceable, is_replaceable
from heatcheck.request import Request
from heatcheck.work import check_served, methods_of, needed, with_methods


def check_experiments(names: Sequence[str]) -> None:
    for name in names:
        if name not in EXPERIMENTS:
            raise InputError(f"There is no experiment {name!r}. There are: {', '.join(EXPERIMENTS)}.")


def check_fit(request: Request, data: Dataset, given: Subject[Any] | None) -> None:
    """Can this data be tested, with the model that was given or after training one?"""
    for name, config in request.all_configs().items():
        EXPERIMENTS[name].check(config, data.task, len((given or data).labels))
    if given is None:
        check_trainable(data)
        request.starts_from()
        check_will_serve(request, data)
    else:
        check_served(given, with_methods(request.all_configs(), given)[0])
        check_same_training(request, data, given)
    if not data.splits.get(request.split):
        sizes = ", ".join(f"{len(texts):,} {split}" for split, texts in data.splits.items())
        raise InputError(f"{data.name}: there are no {request.split} texts. There are: {sizes}.")
    base, reader = base_of(request, given), given.reader if given else words_only(request, data)
    for name, config in reversed(request.all_configs().items()):  # what was asked for stands behind its company
        EXPERIMENTS[name].check_base(config, base)
        EXPERIMENTS[name].check_files(config, reader, texts_needed(request, data))
        if given is None:  # of a given model it is known only later which texts it has not seen
            EXPERIMENTS[name].check_texts(config, data.splits[request.split])
    if given is None:
        return
    task = "single" if data.task == "single" else "pair"
    if given.spec.task not in (task, "any"):
        kinds = {"single": "a single text", "pair": "pairs of texts"}
        raise InputError(f"{data.name} has {kinds[task]}, but {given.name} takes {kinds[given.spec.task]}.")
    unknown = [label for label in data.labels if label not in given.labels]
    if unknown:
        raise InputError(
            f"{data.name} has the label {unknown[0]!r}, which the model does not know: it was trained on "
            f"{', '.join(given.labels)}. Rename the labels with --labels, each as {unknown[0]}={given.labels[0]}."
        )


def check_will_serve(request: Request, data: Dataset) -> None:
    """As `check_served`, of a model that is yet to be trained: as far as its spec can tell."""
    spec, heads = request.spec, heads_of(request, data, None)
    for name in request.all_configs():
        needs = EXPERIMENTS[name].needs
        if not may_offer(spec, needs):
            raise InputError(f"{name} needs {needed(needs)}, which {spec.short_name} is not.")
        if EXPERIMENTS[name].one_head and heads > 1:
            raise InputError(f"{name} is for attention with one head, and {spec.short_name} will have {heads}.")
    for name in methods_of(request.all_configs()):
        chosen = method(name)
        if not may_offer(spec, chosen.needs):
            raise InputError(f"{name} needs {chosen.needed}, which {spec.short_name} is not. Leave it out.")


def may_offer(spec: ModelSpec | TransformerSpec, needs: type[Any] | tuple[type[Any], ...]) -> bool:
    """Can a model of this kind have one of the protocols? What its parts decide is not known before it is built."""
    lacking = TransformerClassifier if isinstance(spec, ModelSpec) else AttentiveClassifier
    return any(kind is not lacking for kind in (needs if isinstance(needs, tuple) else (needs,)))


def heads_of(request: Request, data: Dataset, given: Subject[Any] | None) -> int:
    """How many distributions over words the model has; two compared texts are two."""
    if given is not None:
        return int(getattr(given.model, "heads", 1))
    if not isinstance(request.spec, ModelSpec):
        return 1
    return 2 if data.task != "single" and request.spec.pairing == "comparison" else request.spec.heads


def check_same_training(request: Request, data: Dataset, given: Subject[Any]) -> None:
    """Tests that train twins of a model need its own training texts."""
    training = [name for name in request.experiments or () if EXPERIMENTS[name].models]
    if not training:
        return
    asked = training[-1]  # before it stands what is shown beside it
    twin(given)  # says what is missing if the model cannot be trained again
    if isinstance(given.model, HuggingFaceModel):
        check_same_reading(given, asked)
        if "uniform_attention" in training:
            check_replaceable(given.model.network)
    if given.trained_on != data.fingerprint():
        raise InputError(
            f"{asked} trains twins of {given.name}, which was trained on other texts than {data.name} has (or "
            "other splits of them). Give the data that it was trained on, read in the same way. (A model of `train "
            "--limit` learned from a part: train one on all, or on a file that holds that part.)"
        )


def base_of(request: Request, given: Subject[Any] | None) -> Base:
    """The model under test, given or to be trained."""
    if given is None:
        return Base(request.spec.short_name, request.seed, _is_fixed(request.spec))
    replaceable = not isinstance(given.model, HuggingFaceModel) or is_replaceable(given.model.network)
    return Base(given.name, given.seed, _is_fixed(given.spec), replaceable)


def _is_fixed(spec: Spec) -> bool:
    if isinstance(spec, ModelSpec):
        return spec.weighting == "uniform"
    return isinstance(spec, TransformerSpec) and spec.uniform


def words_only(request: Request, data: Dataset) -> Reader:
    """Splits texts as the model to be trained will; which words it will know is not known yet."""
    return Vocabulary(MARKS, data.rules, len(data.labels), request.recipe.max_length)


def texts_needed(request: Request, data: Dataset) -> list[Example]:
    """By tests that train, and then read what the trained models say."""
    return [e for split in dict.fromkeys((TRAIN, DEV, request.split)) for e in data.splits.get(split, ())]


def notes_beside(request: Request, configs: Mapping[str, Any], subject: Subject[Any]) -> list[str]:
    """What the experiments have to say beside their numbers."""
    base = base_of(request, subject)
    return [note for name, config in configs.items() for note in EXPERIMENTS[name].notes(config, base)]
