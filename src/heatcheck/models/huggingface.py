"""Any Hugging Face sequence classifier, entered at its word embeddings.

Batches are padded on the right everywhere in heatcheck. A model that reads its last token (decoders, XLNet) wants its
padding on the left, or it would classify a pad; one that mixes tokens without a mask (FNet, ConvBERT) wants none. What
a model wants is found by trying (`padding_side`): inside, rows are turned around, or run in groups of one length.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any, Literal, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from heatcheck.batch import Batch
from heatcheck.errors import InputError
from heatcheck.models.entrance import embedded, end_ids, entered, is_encoder_decoder
from heatcheck.models.inputs import Inputs, Windows, equally_long, padding_first, regrouped
from heatcheck.models.protocols import Kind, distribution
from heatcheck.models.softmax import Tap
from heatcheck.models.tokens import TokenTypes

Side = Literal["right", "left", "none"]


@final
class HuggingFaceClassifier(nn.Module):
    """Satisfies `TransformerClassifier`. A text longer than `max_length` is read in overlapping windows, and its logits
    are the mean over them."""

    kind: Kind = "categorical"

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
        self.side: Side = padding_side(self)
        check_entrance(self)
        self.reads_one = reads_one(self)

    @property
    def left(self) -> bool:
        return self.side == "left"

    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]:
        return embedded(self.network, batch.token_ids)

    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self.logits(self.embed(batch), batch)

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return distribution(self.kind, logits)

    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        windows = self.windows(batch)
        inputs = self.inputs(embeddings, batch, windows)
        groups = self.groups(inputs.mask)
        logits = regrouped([self._run(part).logits for part in self._parts(inputs, groups)], groups)
        return logits if windows is None else windows.mean(logits)

    def logits_and_maps(
        self, embeddings: Float[Tensor, "B T E"], batch: Batch
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B L H T T"]]:
        self.check_one_attention()
        windows = self.windows(batch)
        inputs = self.inputs(embeddings, batch, windows)
        groups, length = self.groups(inputs.mask), inputs.mask.shape[1]
        with eager_attention(self.network):
            parts = [self._with_maps(part) for part in self._parts(inputs, groups)]
        logits = regrouped([part[0] for part in parts], groups)
        maps = regrouped([padded_maps(part[1], length) for part in parts], groups)
        return (logits, maps) if windows is None else (windows.mean(logits), windows.spread(maps))

    def readout(self, batch: Batch) -> Int[Tensor, "B"]:
        """The first token, or the last if the model reads that."""
        self.check_one_attention()
        if not self.reads_one:
            raise InputError(
                f"{type(self.network).__name__} decides from the states of all tokens, so that no single row of its "
                "attention stands for the text. Choose methods without attention."
            )
        last = (batch.mask.sum(1) - 1).clamp(min=0)
        return last if self.left else torch.zeros_like(last)

    def windows(self, batch: Batch) -> Windows | None:
        longest = int(batch.mask.sum(1).max()) if len(batch) else 0
        return Windows.of(batch, self.max_length) if longest > self.max_length else None

    def inputs(self, embeddings: Float[Tensor, "B T E"], batch: Batch, windows: Windows | None) -> Inputs:
        """What the network reads: rows, or the windows of long ones."""
        inputs = Inputs(embeddings, batch.mask, batch.token_ids, None if self.types is None else self.types(batch))
        return inputs if windows is None else windows.take(inputs)

    def groups(self, mask: Bool[Tensor, "B T"]) -> list[Int[Tensor, "N"]]:
        """Which rows are run together."""
        alike = equally_long(mask) if self.side == "none" else []
        return alike or [torch.arange(len(mask), device=mask.device)]

    def _parts(self, inputs: Inputs, groups: list[Int[Tensor, "N"]]) -> Iterator[Inputs]:
        for rows in groups:
            yield inputs.of_one_length(rows) if self.side == "none" and len(rows) else inputs

    def _run(self, inputs: Inputs, *, maps: bool = False) -> Any:
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
        with lent_padding(self.network.config, self.pad_id), entered(self.network, inputs) as text:
            return self.network(**text, **given)

    def _with_maps(self, inputs: Inputs) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B L H T T"]]:
        """In training the maps are those before dropout: what is left of a distribution is none."""
        seen: list[Tensor] = []

        def keep(weights: Tensor) -> Tensor:
            seen.append(weights)
            return weights

        with Tap(inputs.mask.shape[1], keep) if self.network.training else contextlib.nullcontext():
            found = self._run(inputs, maps=True)
        whole = self.network.training and len(seen) == len(found.attentions or ())
        return found.logits, self._maps(seen if whole else found.attentions, inputs.mask)

    def check_one_attention(self) -> None:
        if is_encoder_decoder(self.network):
            raise InputError(
                f"{type(self.network).__name__} has three attentions (of its encoder, of its decoder, and between "
                "them), so that no single row of weights stands for the text. Choose methods without attention, such "
                "as integrated_gradients or leave_one_out."
            )

    def _maps(self, layers: Sequence[Any] | None, mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B L H T T"]:
        if not layers or any(layer is None for layer in layers):
            raise InputError(f"{type(self.network).__name__} gives no attention weights. Choose methods without them.")
        if any(layer.shape[-2:] != (mask.shape[1], mask.shape[1]) for layer in layers):
            raise InputError(
                f"{type(self.network).__name__} does not let every token attend to every other, so that its attention "
                "cannot be read as one map per layer. Choose methods without it."
            )
        maps = torch.stack(list(layers), dim=1)
        if self.left:
            back = padding_first(mask).argsort(1)[:, None, None]  # where each of our positions stands in its layout
            maps = maps.gather(-1, back[..., None, :].expand(maps.shape))
            maps = maps.gather(-2, back[..., :, None].expand(maps.shape))
        both = mask[:, None, None, :, None] & mask[:, None, None, None, :]
        return maps.masked_fill(~both, 0)


def padded_maps(maps: Float[Tensor, "B L H S S"], length: int) -> Float[Tensor, "B L H T T"]:
    """`pad` copies even what is long enough, and maps are large."""
    missing = length - maps.shape[-1]
    return functional.pad(maps, (0, missing, 0, missing)) if missing else maps


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
def eager_attention(network: Any) -> Iterator[None]:
    """Only this implementation gives its weights away; the faster one comes back afterwards."""
    before = network.config._attn_implementation
    if before == "eager" or before.startswith("heatcheck"):
        yield
        return
    network.set_attn_implementation("eager")
    try:
        yield
    finally:
        network.set_attn_implementation(before)


def trial(model: HuggingFaceClassifier, pads: int = 0) -> Inputs:
    """Three words, of which an encoder-decoder's last is its <eos>, and padding behind them."""
    device = next(model.network.parameters()).device
    words = torch.arange(3 + pads) % len(model.ordinary_ids)  # padding may hold words: it is not read
    token_ids = model.ordinary_ids[words][None].to(device)
    if is_encoder_decoder(model.network) and (ends := end_ids(model.network.config)):
        token_ids[:, 2] = ends[0]
    return Inputs(embedded(model.network, token_ids), torch.arange(3 + pads, device=device)[None] < 3, token_ids)


def check_entrance(model: HuggingFaceClassifier) -> None:
    """Entered at its embeddings, a network has to say what it says of the ids, and to have slopes."""
    text = trial(model)
    with torch.no_grad(), lent_padding(model.network.config, model.pad_id):
        own = model.network(input_ids=text.token_ids, attention_mask=text.mask.long()).logits
    with torch.enable_grad():
        start = text.embeddings.detach().requires_grad_()
        found = model._run(text._replace(embeddings=start)).logits
        torch.autograd.grad(found.sum(), start)
    if not same_output(own, found.detach()):
        raise InputError(
            f"{type(model.network).__name__} says something else when it is entered at its word embeddings. "
            "Audit it as a black box: --model python:module:function."
        )


def same_output(one: Float[Tensor, "B C"], other: Float[Tensor, "B C"]) -> bool:
    """Up to rounding. A network that gives no numbers as it is, is told of later; one that gives none any more, is not
    the same."""
    rounding: float = torch.finfo(one.dtype).eps ** 0.5 * float(one.abs().max())
    return not bool(one.isfinite().all()) or float((one - other).abs().max()) <= rounding


@torch.no_grad()
def padding_side(model: HuggingFaceClassifier) -> Side:
    """Where does padding belong? On the wrong side it changes the output of a three-token text; where neither side
    does, beyond rounding, it is on the right; where both do, nowhere."""
    sides: tuple[Side, ...] = ("right", "left", "none")
    for side in sides:
        model.side = side
        text, other = trial(model), trial(model, 0 if side == "none" else 2)
        if side == "none":  # what else can change it is the company of another text
            other = other.at(torch.tensor([[0], [0]]), torch.tensor([[0, 1, 2], [1, 0, 2]]))
        alone, changed = model._run(text).logits, model._run(other).logits[:1]
        if same_output(alone, changed):
            return side
    raise InputError(
        f"{type(model.network).__name__} gives another output for a text beside another one, so that texts cannot be "
        "run together. Audit it as a black box: --model python:module:function."
    )


def reads_one(model: HuggingFaceClassifier) -> bool:
    """Is the class read from one token's last state? Some take the mean over all: ModernBERT may. A network that hides
    its body is taken at its word."""
    text = trial(model)
    entering = text._replace(embeddings=text.embeddings.detach().requires_grad_())
    with torch.enable_grad(), last_states(model.network) as seen:
        logit = model._run(entering).logits[0, 0]
        slope = torch.autograd.grad(logit, seen[0], allow_unused=True)[0] if seen and seen[0].dim() == 3 else None
    return slope is None or int(slope[0].any(-1).sum()) <= 1


@contextlib.contextmanager
def last_states(network: Any) -> Iterator[list[Tensor]]:
    """Collects what the body hands to the head, in the model's own layout."""
    seen: list[Tensor] = []
    hook = network.base_model.register_forward_hook(lambda module, inputs, output: seen.append(output[0]))
    try:
        yield seen
    finally:
        hook.remove()
