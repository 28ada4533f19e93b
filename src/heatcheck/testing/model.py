"""Does a model keep the rules?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from heatcheck.batch import Batch, Example
from heatcheck.errors import InputError
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor, TransformerClassifier
from heatcheck.testing.state import difference, settle, state_of
from heatcheck.testing.texts import model_and_batch, variants

NEEDED = ("kind", "pad_id", "mask_id", "predict", "probs")
TOLERANCE = 1e-4


def check_model(model: Any, examples: Sequence[Example] | Batch | None = None) -> None:
    """Raises an AssertionError for the first rule that is broken; the last is that all of this leaves weights, modes,
    hooks and the batch unchanged. `model`: a folder, hub id, function, loaded
    (model, tokenizer), Subject; or a bare model, with the texts as a Batch."""
    bare, batch = model_and_batch(model, examples)
    settle(bare, batch)
    before = state_of(bare, batch)
    for rule in RULES.values():
        rule(bare, batch)
    found = difference(before, state_of(bare, batch))
    if found is not None:
        broken("unchanged", f"after predict, {found}.")


def broken(rule: str, found: str) -> NoReturn:
    raise AssertionError(f"{rule}: {found}")


def same(rule: str, what: str, one: Tensor, other: Tensor, texts: Sequence[str], atol: float = TOLERANCE) -> None:
    """Equal up to rounding, or a sentence with the first place where they are not."""
    if one.shape != other.shape:
        broken(rule, f"{what}: the shape is {tuple(other.shape)} in place of {tuple(one.shape)}.")
    far = ~torch.isclose(one.double(), other.double(), atol=atol, rtol=1e-3)
    if bool(far.any()):
        place = tuple(far.nonzero()[0].tolist())
        where = f"text {texts[place[0]]!r}, place {', '.join(map(str, place[1:]))}"
        broken(rule, f"{what}: {float(one[place]):.6g} became {float(other[place]):.6g} ({where}).")


def protocol(model: Any, batch: Batch) -> None:
    """A model offers `predict`, `probs`, `kind`, `pad_id` and `mask_id`."""
    missing = [name for name in NEEDED if getattr(model, name, None) is None]
    if missing or not isinstance(model, Predictor):
        broken("protocol", f"{type(model).__name__} has no {', '.join(missing) or 'Predictor interface'}.")


@torch.no_grad()
def outputs(model: Predictor, batch: Batch) -> None:
    """`predict` gives a row of finite logits for each text."""
    logits = model.predict(batch)
    if logits.dim() != 2 or len(logits) != len(batch):
        broken("outputs", f"predict gives a tensor of shape {tuple(logits.shape)} for {len(batch)} texts.")
    bad = ~torch.isfinite(logits)
    if bool(bad.any()):
        row, place = bad.nonzero()[0].tolist()
        broken("outputs", f"logit {place} of text {batch.example_ids[row]!r} is {float(logits[row, place])}.")


@torch.no_grad()
def probabilities(model: Predictor, batch: Batch) -> None:
    """`probs` gives a distribution over two or more classes."""
    probs = model.probs(model.predict(batch))
    if probs.dim() != 2 or len(probs) != len(batch) or probs.shape[1] < 2:
        broken("probabilities", f"probs gives a tensor of shape {tuple(probs.shape)} for {len(batch)} texts.")
    for row, (least, total) in enumerate(zip(probs.amin(1).tolist(), probs.sum(1).tolist(), strict=True)):
        if not (least >= 0 and abs(total - 1) < TOLERANCE):
            name = batch.example_ids[row]
            broken("probabilities", f"those of text {name!r} sum to {total:.6g}, the least is {least:.6g}.")


@torch.no_grad()
def repeatable(model: Predictor, batch: Batch) -> None:
    """The same text has the same logits again: no dropout."""
    same("repeatable", "asked twice", model.predict(batch), model.predict(batch), batch.example_ids)


@torch.no_grad()
def invariance(model: Predictor, batch: Batch) -> None:
    """A text's logits do not depend on the texts beside it, on their order, or on padding."""
    logits = model.predict(batch)
    for rule, how, changed, row in variants(batch):
        names = [batch.example_ids[i] for i in row.tolist()]
        same(rule, f"logits {how}", logits[row], model.predict(changed), names)


@torch.no_grad()
def embeddings(model: Predictor, batch: Batch) -> None:
    """`predict(batch)` is `logits(embed(batch), batch)`, for models that can be entered at their embeddings."""
    if not isinstance(model, Classifier):
        return
    embedded = model.embed(batch)
    if embedded.shape[:2] != batch.token_ids.shape:
        broken("embeddings", f"embed gives {tuple(embedded.shape)} for {tuple(batch.token_ids.shape)} tokens.")
    logits = model.predict(batch)
    same("embeddings", "predict against logits(embed)", logits, model.logits(embedded, batch), batch.example_ids)


def slopes(model: Predictor, batch: Batch) -> None:
    """The logits can be differentiated by the embeddings, and depend on them."""
    if not isinstance(model, Classifier):
        return
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        start = model.embed(batch).detach().requires_grad_()
        logits = model.logits(start, batch)
        slope = torch.autograd.grad(logits.sum(), start, allow_unused=True)[0] if logits.requires_grad else None
    if slope is None or not bool((slope != 0).any()):
        broken("slopes", "the logits have no slope along the embeddings: something between them is detached.")
    if not bool(torch.isfinite(slope).all()):
        broken("slopes", "a slope of the logits along the embeddings is not finite.")


@torch.no_grad()
def attention(model: Predictor, batch: Batch) -> None:
    """Attention weights are shares, none of it on padding, and the output is that of `predict`."""
    if isinstance(model, AttentiveClassifier):
        encoded = model.encode(model.embed(batch), batch)
        weights = model.attend(encoded, batch)
        logits, attended = model.classify(encoded, weights, batch), weights.sum(-1)
        outside = (weights * ~batch.mask[:, None]).abs().amax((1, 2))
    elif isinstance(model, TransformerClassifier):
        try:
            logits, maps = model.logits_and_maps(model.embed(batch), batch)
        except InputError:  # its attention is no map of whom looks at whom: it says so, and may
            return
        real = batch.mask[:, None, None, :]
        attended = torch.where(real, maps.sum(-1), 1).flatten(1)
        outside = (maps * ~real[..., None, :]).abs().amax((1, 2, 3, 4))
    else:
        return
    same("attention", "the sum of the weights", torch.ones_like(attended), attended, batch.example_ids, 0.02)
    same("attention", "weights on padding", torch.zeros_like(outside), outside, batch.example_ids)
    same("attention", "logits beside the weights", model.predict(batch), logits, batch.example_ids, 1e-3)


RULES: dict[str, Callable[[Any, Batch], None]] = {
    "protocol": protocol,
    "outputs": outputs,
    "probabilities": probabilities,
    "repeatable": repeatable,
    "invariance": invariance,
    "embeddings": embeddings,
    "slopes": slopes,
    "attention": attention,
}
