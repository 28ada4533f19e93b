"""What runs a Hugging Face network on texts, whether it is entered at its word embeddings or by its token ids.

Batches are padded on the right everywhere in heatcheck. A model that reads its last token (decoders, XLNet) wants its
padding on the left, or it would classify a pad; one that mixes tokens without a mask (FNet, ConvBERT) wants none. What
a model wants is found by trying (`padding_side`): inside, rows are turned around, or run in groups of one length.
"""

from __future__ import annotations

import abc
import contextlib
import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.batch import Batch
from heatcheck.errors import InputError
from heatcheck.machine import is_out_of_memory
from heatcheck.models.entrance import end_ids, is_encoder_decoder, of_texts
from heatcheck.models.inputs import Inputs, Windows, equally_long, regrouped
from heatcheck.models.pieces import halved
from heatcheck.models.protocols import Kind, distribution
from heatcheck.models.tokens import TokenTypes

Side = Literal["right", "left", "none"]
SHORT, SOME = 3, 15  # words of texts that are tried
LEAST = 16  # tokens that any network can be given
OTHER_TEXTS = 8  # that a network which reads the words tells from the first


class HuggingFaceModel(nn.Module, abc.ABC):
    """A text longer than `max_length` is read in overlapping windows, and its logits are the mean over them."""

    kind: Kind = "categorical"
    tried: ClassVar[tuple[int, ...]] = (SHORT,)  # words of the texts that it is tried with

    def __init__(
        self,
        network: Any,
        *,
        pad_id: int,
        mask_id: int,
        max_length: int,
        types: TokenTypes | None,
        ordinary_ids: Int[Tensor, "V"],
    ) -> None:
        super().__init__()
        self.ordinary_ids = ordinary_ids
        self.network = network
        self.pad_id, self.mask_id, self.max_length = pad_id, mask_id, max_length
        self.types = types  # how it tells two texts apart, if it does
        self.takes = frozenset(inspect.signature(network.forward).parameters)
        self.side: Side = "right"
        self.draws = False
        self.shortest = shortest(self)
        self.draws = draws(self)
        self.side = padding_side(self)
        self.check_entrance()
        check_reading(self)

    @abc.abstractmethod
    def check_entrance(self) -> None:
        """Refuse a network that cannot be entered so."""

    @abc.abstractmethod
    def vectors(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        """What it is entered with beside the ids; of no width if that is nothing."""

    @abc.abstractmethod
    def entered(self, inputs: Inputs) -> AbstractContextManager[dict[str, Tensor]]:
        """Inside, the network reads these texts if it is called with what is given here."""

    @final
    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        """Where nothing is kept for slopes, fewer texts at once take less memory."""

        def logits(some: Batch) -> Float[Tensor, "N C"]:
            return self._logits(self.vectors(some.token_ids), some)

        return logits(batch) if torch.is_grad_enabled() else halved(logits, batch)

    @property
    def left(self) -> bool:
        return self.side == "left"

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return distribution(self.kind, logits)

    def windows(self, batch: Batch) -> Windows | None:
        """By the width of the batch: short texts out of one with a long text are as wide, if only by padding."""
        too_wide = batch.token_ids.shape[1] > self.max_length and len(batch) > 0
        return Windows.of(batch, self.max_length) if too_wide else None

    def inputs(self, vectors: Float[Tensor, "B T E"], batch: Batch, windows: Windows | None) -> Inputs:
        """What the network reads: rows, or the windows of long ones."""
        inputs = Inputs(vectors, batch.mask, batch.token_ids, None if self.types is None else self.types(batch))
        return inputs if windows is None else windows.take(inputs)

    def groups(self, mask: Bool[Tensor, "B T"]) -> list[Int[Tensor, "N"]]:
        """Which rows are run together."""
        alike = equally_long(mask) if self.side == "none" else []
        return alike or [torch.arange(len(mask), device=mask.device)]

    def _parts(self, inputs: Inputs, groups: list[Int[Tensor, "N"]]) -> Iterator[Inputs]:
        for rows in groups:
            yield inputs.of_one_length(rows) if self.side == "none" and len(rows) else inputs

    def _logits(self, vectors: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        windows = self.windows(batch)
        inputs = self.inputs(vectors, batch, windows)
        groups = self.groups(inputs.mask)
        logits = regrouped([self._run(part).logits for part in self._parts(inputs, groups)], groups)
        return logits if windows is None else windows.mean(logits)

    def _run(self, inputs: Inputs, *, maps: bool = False) -> Any:
        inputs = inputs.at_least(self.shortest)
        if self.left:
            inputs = inputs.padded_in_front()
        given: dict[str, Any] = {"attention_mask": inputs.mask.long()}
        if inputs.types is not None:
            given["token_type_ids"] = inputs.types
        if self.left and "position_ids" in self.takes:
            given["position_ids"] = (inputs.mask.long().cumsum(1) - 1).clamp(min=0)
        if "global_attention_mask" in self.takes:  # Longformer's own default, which it makes of ids
            given["global_attention_mask"] = torch.zeros_like(inputs.mask, dtype=torch.long)
            given["global_attention_mask"][:, 0] = 1
        if maps:
            given["output_attentions"] = True
        with self._ready(), self.entered(inputs) as text:
            return self.network(**text, **given)

    @contextlib.contextmanager
    def _ready(self) -> Iterator[None]:
        """Inside, the network has a pad id, and draws the same for every text. In training it draws as it likes."""
        alike = self.draws and not self.network.training
        with (
            lent_padding(of_texts(self.network.config), self.pad_id),
            same_draws(self.network) if alike else contextlib.nullcontext(),
        ):
            yield


@contextlib.contextmanager
def lent_padding(config: Any, pad: int) -> Iterator[None]:
    """Inside, there is a pad id: without one, decoders refuse more than one text at a time."""
    before = getattr(config, "pad_token_id", None)
    config.pad_token_id = pad if before is None else before
    try:
        yield
    finally:
        config.pad_token_id = before


@contextlib.contextmanager
def same_draws(network: Any) -> Iterator[None]:
    """Inside, chance begins anew; outside, it is as if nothing had been drawn."""
    device = device_of(network)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(0)  # `torch.manual_seed` would set those of all devices
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(0)
        yield


def device_of(network: Any) -> torch.device:
    device: torch.device = next(network.parameters()).device
    return device


def trial(model: HuggingFaceModel, words: int = SHORT, *, padded: bool = False) -> Inputs:
    """A text of about so many words, if they fit, of which an encoder-decoder's last is its <eos>; and nearly as many
    pads behind them. Where a network reads in blocks of tokens, an odd number fills none, and the padding begins new
    ones."""
    words = max(SHORT, model.shortest, min(words, model.max_length // 2) - 1) | 1
    place, device = torch.arange(2 * words - 1 if padded else words), device_of(model.network)
    token_ids = model.ordinary_ids[place % len(model.ordinary_ids)][None].to(device)  # padding may hold words
    if is_encoder_decoder(model.network) and (ends := end_ids(model.network.config)):
        token_ids[:, words - 1] = ends[0]
    return Inputs(model.vectors(token_ids), place[None].to(device) < words, token_ids)


@torch.no_grad()
def shortest(model: HuggingFaceModel) -> int:
    """How many tokens it has to be given: CANINE makes one position of four characters. Shorter texts get padding."""
    for width in range(1, LEAST + 1):
        model.shortest = width
        try:
            model._run(trial(model).at(torch.tensor([[0]]), torch.tensor([[0]])))
        except Exception as error:  # networks fail in ways of their own
            if is_out_of_memory(error):
                raise
        else:
            return width
    return 1


@torch.no_grad()
def draws(model: HuggingFaceModel) -> bool:
    """Does it draw random numbers as it reads (Reformer its hashes), so that its answers are partly chance?"""
    device = device_of(model.network)

    def state() -> list[int]:
        on_gpu = torch.cuda.get_rng_state(device).tolist() if device.type == "cuda" else []
        return [*torch.get_rng_state().tolist(), *on_gpu]

    text = trial(model, model.tried[-1])
    model._run(text)  # some are put together only now (BigBird)
    with same_draws(model.network):
        before = state()
        model._run(text)
        return state() != before


def same_output(one: Float[Tensor, "B C"], other: Float[Tensor, "B C"]) -> bool:
    """Up to rounding. A network that gives no numbers as it is, is told of later; one that gives none any more, is not
    the same."""
    rounding: float = torch.finfo(one.dtype).eps ** 0.5 * float(one.abs().max())
    return not bool(one.isfinite().all()) or float((one - other).abs().max()) <= rounding


@torch.no_grad()
def padding_side(model: HuggingFaceModel) -> Side:
    """Where does padding belong? On the wrong side it changes the output of a text; where neither side does, beyond
    rounding, it is on the right; where both do, nowhere."""
    sides: tuple[Side, ...] = ("right", "left", "none")
    failed: list[Exception] = []
    for side in sides:
        model.side = side
        try:
            if all(_stays(model, words) for words in model.tried):
                return side
        except Exception as error:  # one that wants its padding elsewhere may fail in any way
            if is_out_of_memory(error):
                raise
            failed.append(error)
    if len(failed) == len(sides):
        raise failed[-1]
    raise InputError(
        f"{type(model.network).__name__} gives another output for a text beside another one, so that texts cannot be "
        "run together. Audit it as a black box: --model python:module:function."
    )


def _stays(model: HuggingFaceModel, words: int) -> bool:
    """Is the output the same with padding or, if there is none, beside another text?"""
    text, other = trial(model, words), trial(model, words, padded=True)
    if model.side == "none":
        place = torch.arange(text.mask.shape[1])
        swapped = torch.cat([place[:2].flip(0), place[2:]])
        other = text.at(torch.tensor([[0], [0]]), torch.stack([place, swapped]))
    return same_output(model._run(text).logits, model._run(other).logits[:1])


def check_answer(model: HuggingFaceModel, found: Float[Tensor, "B C"], how: str) -> None:
    """What it makes of a short text has to be what the network says of the ids alone."""
    text = trial(model)
    with torch.no_grad(), model._ready():
        own = model.network(input_ids=text.token_ids, attention_mask=text.mask.long()).logits
    if not same_output(own, found):
        raise InputError(
            f"{type(model.network).__name__} says something else when it is {how}. "
            "Audit it as a black box: --model python:module:function."
        )


@torch.no_grad()
def check_reading(model: HuggingFaceModel) -> None:
    """Refuse a network that leaves the words unread. MRA runs without a GPU, but with zeros for its attention. Several
    other texts, as half precision may round the outputs of one to the same numbers."""
    text = trial(model, SOME)
    own, inner = model._run(text).logits, torch.arange(1, text.mask.shape[1] - 1)
    unread = False
    for step in range(1, OTHER_TEXTS + 1):
        others = text.token_ids.clone()  # the first and the last word may be all that it reads
        others[:, 1:-1] = model.ordinary_ids[(inner + step) % len(model.ordinary_ids)].to(others)
        if torch.equal(others, text.token_ids):
            continue
        if not torch.equal(own, model._run(text._replace(token_ids=others, embeddings=model.vectors(others))).logits):
            return
        unread = True
    if unread:
        raise InputError(
            f"{type(model.network).__name__} says the same whatever words stand in a text, so that there is nothing to "
            "explain: its weights are empty, or it needs a GPU for what reads them (MRA does)."
        )
