"""Methods that watch the attention weights inside a network: which networks can be watched, and where in them a token
stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from heatcheck.batch import TOKEN_FIELDS, Batch, rows, trim
from heatcheck.errors import InputError
from heatcheck.models.entrance import of_texts
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.inputs import Windows, equally_long, padding_first, regrouped
from heatcheck.models.pieces import TOKENS_AT_ONCE, in_pieces
from heatcheck.models.softmax import Tap as Tap

WEIGHTS_AT_ONCE = 1 << 26  # attention weights that one pass may keep, over all layers and heads: 256 MB
OF_BERT = 12  # layers, and heads, where a transformer does not say


def tappable(model: object, method: str) -> HuggingFaceClassifier:
    """The model, if its network can be watched and has one attention to watch."""
    if isinstance(model, HuggingFaceClassifier):
        model.check_one_attention()
        return model
    raise InputError(
        f"{method} needs a Hugging Face transformer or one of heatcheck's own attention models, which "
        f"{type(model).__name__} is not. Leave it out."
    )


def check_layers(network: Any, method: str, found: int) -> None:
    """Each layer has one attention, or what was watched is not what it seems."""
    if found != of_texts(network.config).num_hidden_layers:
        refuse(network, method)


def refuse(network: Any, method: str) -> NoReturn:
    raise InputError(
        f"{method} cannot follow the attention of {type(network).__name__}, which is built in another way than BERT, "
        "GPT-2 and their kin. Leave it out."
    )


def inside(model: HuggingFaceClassifier, batch: Batch) -> Int[Tensor, "B T"]:
    """Where each position of a row stands inside the network, which may want its padding in front."""
    if model.left:
        return padding_first(batch.mask).argsort(1)
    return torch.arange(batch.mask.shape[1], device=batch.mask.device).expand(batch.mask.shape)


Scores = Callable[[Batch], Float[Tensor, "N T"]]


def per_window(scores: Scores, model: object, batch: Batch, most: int = TOKENS_AT_ONCE) -> Float[Tensor, "B T"]:
    """`scores(batch)`, in pieces that fit into memory, where texts that the model reads in windows are scored window by
    window: a token's score is the mean over the windows that hold it."""
    network = model if isinstance(model, HuggingFaceClassifier) else None
    windows = network.windows(batch) if network else None
    cut = batch if windows is None else _cut(batch, windows)
    alike = _of_one_length(scores) if network and network.side == "none" else scores
    found = in_pieces(alike, cut, min(most, tokens_at_once(model, cut)))
    if windows is None:
        return found
    index = (windows.row[:, None], windows.place)
    total = found.new_zeros(windows.shape).index_put(index, found * windows.mask, accumulate=True)
    held = found.new_zeros(windows.shape).index_put(index, windows.mask.to(found), accumulate=True)
    return total / held.clamp(min=1)


def _of_one_length(scores: Scores) -> Scores:
    """Of texts without padding, for models that read it: their attention is over the text alone."""

    def alike(batch: Batch) -> Float[Tensor, "N T"]:
        groups, length = equally_long(batch.mask), batch.mask.shape[1]
        found = [scores(trim(rows(batch, group))) for group in groups]
        return regrouped([functional.pad(part, (0, length - part.shape[1])) for part in found], groups)

    return alike


def tokens_at_once(model: object, batch: Batch) -> int:
    """So many that all attention maps of their rows, which are tokens² each, stay within WEIGHTS_AT_ONCE."""
    config = of_texts(model.network.config) if isinstance(model, HuggingFaceClassifier) else None
    layers, heads = (getattr(config, name, OF_BERT) for name in ("num_hidden_layers", "num_attention_heads"))
    return int(WEIGHTS_AT_ONCE // (max(batch.mask.shape[1], 1) * max(layers * heads, 1)))


def _cut(batch: Batch, windows: Windows) -> Batch:
    """Each window as a row of its own."""
    taken: dict[str, Any] = {name: getattr(batch, name)[windows.row[:, None], windows.place] for name in TOKEN_FIELDS}
    return dataclasses.replace(rows(batch, windows.row), **{**taken, "mask": windows.mask})
