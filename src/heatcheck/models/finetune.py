"""Fine-tuning a pretrained transformer on the user's data: AdamW, the best epoch on dev, early stopping."""

from __future__ import annotations

import copy
import dataclasses
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from heatcheck.data.dataset import DEV, TRAIN, Dataset
from heatcheck.errors import InputError, first_line
from heatcheck.models import pretrained
from heatcheck.models.checkpoint import DESCRIPTION  # beside Hugging Face's: what we know of the training
from heatcheck.models.fit import Epoch, Recipe, Watch
from heatcheck.models.marks import set_padding
from heatcheck.models.network import HuggingFaceModel, same_draws, trial
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.protocols import Classifier
from heatcheck.models.quiet import quietly
from heatcheck.models.subject import Subject
from heatcheck.models.training import check_trainable, cut_in_training, fitted, texts_seen
from heatcheck.models.uniform import impose_uniform_attention
from heatcheck.results import write_json

FINE_TUNING = Recipe(
    epochs=5,
    batch_size=32,
    learning_rate=5e-5,
    weight_decay=0.01,
    first_eligible_epoch=1,
    vectors="none",
    optimizer="adamw",
    patience=1,
)


def fine_tune(
    data: Dataset,
    spec: TransformerSpec,
    recipe: Recipe = FINE_TUNING,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    resume: Path | None = None,
    progress: Watch = lambda done, at_least: None,
) -> Subject[HuggingFaceModel]:
    """The pretrained body with a new head for the data's classes, trained on its train split, selected on dev."""
    check_trainable(data)
    subject = new_head(data, spec, seed=seed, device=device)
    check_learns(subject.model)
    train, dev = (subject.rows(data.splits[split]) for split in (TRAIN, DEV))
    if blank := [row.example.id for row in (*train, *dev) if not len(row)]:  # of models without marks like [CLS]
        raise InputError(
            f"{data.name}: {len(blank):,} of {len(train) + len(dev):,} training texts have no word that the model's "
            f"tokenizer knows (first: {', '.join(map(repr, blank[:3]))}). Remove them."
        )
    subject = dataclasses.replace(
        subject,
        seed=seed,
        recipe=recipe,
        trained_on=data.fingerprint(),
        seen=texts_seen(data),
        notes=(*subject.notes, *cut_in_training([*train, *dev])),
    )
    generator = torch.Generator().manual_seed(seed)
    return fitted(subject, data, (train, dev), recipe, generator=generator, resume=resume, progress=progress)


def new_head(
    data: Dataset, spec: TransformerSpec, *, seed: int, device: torch.device | str
) -> Subject[HuggingFaceModel]:
    """Whatever head the checkpoint has is dropped: its classes may be others."""
    source = pretrained.resolve(spec.source)
    config = pretrained.load_config(source, spec)
    config.num_labels = len(data.labels)
    config.id2label = dict(enumerate(data.labels))
    config.label2id = {label: i for i, label in enumerate(data.labels)}
    config.problem_type = None
    tokenizer = pretrained.load_tokenizer(source, spec)
    set_padding(config, tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network, loaded = pretrained.load_network(source, spec, config, new_head=True)
        _drop_head(network, loaded)
    if spec.uniform:
        impose_uniform_attention(network)
    return pretrained.as_subject(network, tokenizer, spec, device=device)


def check_learns(model: HuggingFaceModel) -> None:
    """Refuse a network that reads texts and does not learn from them as they are: in training, Reformer wants whole
    blocks of tokens. One that can be entered at its embeddings has been seen to have slopes."""
    if isinstance(model, Classifier):
        return
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}  # I-BERT keeps the range of what it saw
    try:
        with same_draws(model.network), quietly():
            model.train()._run(trial(model, model.tried[-1])).logits.sum().backward()
    except Exception as error:  # networks fail in ways of their own
        raise InputError(
            f"{type(model.network).__name__} cannot be trained on texts as they are "
            f"({first_line(error)}). Fine-tune it with other tools, and audit the folder that they write."
        ) from error
    finally:
        model.eval().zero_grad()
        for name, buffer in model.named_buffers():
            buffer.copy_(before[name])


def _drop_head(network: Any, loaded: dict[str, Any]) -> None:
    """transformers draws anew what the checkpoint lacks or has in another size; for as many classes it keeps the old
    head."""
    drawn = {*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])}
    head = [name for name, _ in network.named_parameters() if not name.startswith(f"{network.base_model_prefix}.")]
    if any(name not in drawn for name in head):
        fresh = type(network)(copy.deepcopy(network.config)).state_dict()
        network.load_state_dict({name: fresh[name] for name in head}, strict=False)


def save(subject: Subject[HuggingFaceModel], folder: Path) -> None:
    """A folder that transformers loads as it is, with what we know of the training beside it."""
    tokens: Any = subject.reader
    with quietly():
        subject.model.network.save_pretrained(folder)
        tokens.tokenizer.save_pretrained(folder)
    known = {
        "kind": "transformer",
        "name": f"{subject.name}-{'uniform' if getattr(subject.spec, 'uniform', False) else 'fine-tuned'}",
        "spec": asdict(subject.spec),
        "recipe": None if subject.recipe is None else asdict(subject.recipe),
        "seed": subject.seed,
        "trained_on": subject.trained_on,
        "seen": sorted(subject.seen),
        "history": [asdict(e) for e in subject.history],
        "notes": subject.notes,
    }
    write_json(folder / DESCRIPTION, known)


def same_training(folder: Path, spec: TransformerSpec, recipe: Recipe, seed: int, data: Dataset) -> bool:
    """Is the model in `folder` the one that this training would make? Older ones do not name settings of today."""
    file = folder / DESCRIPTION
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known["recipe"] = asdict(Recipe()) | (known.get("recipe") or {})
    asked = {"spec": asdict(spec), "recipe": asdict(recipe), "seed": seed, "trained_on": data.fingerprint()}
    return all(known.get(name) == value for name, value in asked.items())


def check_same_reading(subject: Subject[HuggingFaceModel], test: str) -> None:
    """Twins are read as the training read its texts: in the same pieces, cut at the same place."""
    spec, trained = subject.spec, subject.started_as
    if not (isinstance(spec, TransformerSpec) and isinstance(trained, TransformerSpec)):
        return
    if (spec.max_length, spec.windows) != (trained.max_length, trained.windows):
        length = "" if trained.max_length is None else f" --max-length {trained.max_length}"
        raise InputError(
            f"{test} trains twins of {subject.name}, and those read texts as its training did, which was with"
            f"{(length + ' --windows' * trained.windows) or 'out --max-length and --windows'}. Give the same."
        )
    tokens: Any = subject.reader
    if (
        tokens.tokenizer.get_vocab()
        != pretrained.load_tokenizer(pretrained.resolve(trained.source), trained).get_vocab()
    ):
        raise InputError(
            f"{test} trains twins of {subject.name} from {trained.source}, and the vocabularies of their tokenizers "
            "differ: one of them was changed since the training. Fine-tune the model anew."
        )


def load(spec: TransformerSpec, device: torch.device | str = "cpu") -> Subject[HuggingFaceModel]:
    """Any classifier folder or hub id; of one that we fine-tuned we know which texts it has seen."""
    file = Path(spec.source) / DESCRIPTION
    if not file.is_file():
        return pretrained.load_pretrained(spec, device)
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        trained = TransformerSpec(**known["spec"])
        shortest = min((n for n in (spec.max_length, trained.max_length) if n is not None), default=None)
        windows = spec.windows or trained.windows
        spec = dataclasses.replace(spec, uniform=trained.uniform, max_length=shortest, windows=windows)
        subject = pretrained.load_pretrained(spec, device)
        return dataclasses.replace(
            subject,
            name=known["name"],
            seed=known["seed"],
            recipe=Recipe(**known["recipe"]),
            started_as=trained,
            trained_on=known["trained_on"],
            seen=frozenset(known["seen"]),
            history=tuple(Epoch(**e) for e in known["history"]),
            notes=tuple(dict.fromkeys((*subject.notes, *known.get("notes", ())))),  # older ones have none
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: truncated or of another heatcheck ({error}). Copy the folder again.") from error
