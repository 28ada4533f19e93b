"""Any Hugging Face sequence classifier, entered at its word embeddings.

Batches are padded on the right everywhere in heatcheck. A model that reads its last token (decoders, XLNet) wants its
padding on the left, or it would classify a pad: which side a model wants is found by trying (`pads_left`), and the
rows are turned around inside.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.batch import PAIR, Batch
from heatcheck.errors import InputError
from heatcheck.models.protocols import Kind, distribution
from heatcheck.models.softmax import Tap
from heatcheck.models.tokens import TokenTypes


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
        self.left = pads_left(self)
        self.reads_one = reads_one(self)

    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]:
        embeddings: Tensor = self.network.get_input_embeddings()(batch.token_ids)
        return embeddings

    def predict(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self.logits(self.embed(batch), batch)

    def probs(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B L"]:
        return distribution(self.kind, logits)

    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        windows = self.windows(batch)
        if windows is None:
            logits: Tensor = self._run(embeddings, batch.mask, self._types(batch)).logits
            return logits
        return windows.mean(self._run(*windows.take(embeddings, self._types(batch))).logits)

    def logits_and_maps(
        self, embeddings: Float[Tensor, "B T E"], batch: Batch
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B L H T T"]]:
        windows = self.windows(batch)
        with eager_attention(self.network):
            if windows is None:
                return self._with_maps(embeddings, batch.mask, self._types(batch))
            logits, maps = self._with_maps(*windows.take(embeddings, self._types(batch)))
        return windows.mean(logits), windows.spread(maps)

    def readout(self, batch: Batch) -> Int[Tensor, "B"]:
        """The first token, or the last if the model reads that."""
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

    def _types(self, batch: Batch) -> Int[Tensor, "B T"] | None:
        return None if self.types is None else self.types(batch)

    def _run(
        self,
        embeddings: Float[Tensor, "B T E"],
        mask: Bool[Tensor, "B T"],
        types: Int[Tensor, "B T"] | None = None,
        *,
        maps: bool = False,
    ) -> Any:
        if self.left:
            order = padding_first(mask)
            embeddings = embeddings.gather(1, order[..., None].expand_as(embeddings))
            mask, types = mask.gather(1, order), None if types is None else types.gather(1, order)
        inputs: dict[str, Any] = {"inputs_embeds": embeddings, "attention_mask": mask.long()}
        if types is not None:
            inputs["token_type_ids"] = types
        if self.left and "position_ids" in self.takes:
            inputs["position_ids"] = (mask.long().cumsum(1) - 1).clamp(min=0)
        if "global_attention_mask" in self.takes:  # Longformer's own default, which it makes of ids
            first = torch.zeros_like(mask, dtype=torch.long)
            first[:, 0] = 1
            inputs["global_attention_mask"] = first
        with lent_padding(self.network.config, self.pad_id):
            return self.network(**inputs, output_attentions=True) if maps else self.network(**inputs)

    def _with_maps(
        self, embeddings: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], types: Int[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B L H T T"]]:
        """In training the maps are those before dropout: what is left of a distribution is none."""
        seen: list[Tensor] = []

        def keep(weights: Tensor) -> Tensor:
            seen.append(weights)
            return weights

        with Tap(mask.shape[1], keep) if self.network.training else contextlib.nullcontext():
            found = self._run(embeddings, mask, types, maps=True)
        whole = self.network.training and len(seen) == len(found.attentions or ())
        return found.logits, self._maps(seen if whole else found.attentions, mask)

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


def padding_first(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Each row's positions with the padding in front, the tokens behind it in their order."""
    return torch.sort(mask.to(torch.uint8), dim=1, stable=True).indices


@contextlib.contextmanager
def lent_padding(config: Any, pad: int) -> Iterator[None]:
    """Inside, there is a pad id: without one, decoders refuse more than one text at a time."""
    before = config.pad_token_id
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


@torch.no_grad()
def pads_left(model: HuggingFaceClassifier) -> bool:
    """Does padding belong on the left? On the wrong side it changes the output of a three-token text; where neither
    side does, beyond rounding, it is on the right. A model that both sides change cannot be run in batches."""
    device = model.network.get_input_embeddings().weight.device
    token_ids = torch.cat([model.ordinary_ids[:3], torch.zeros(2, dtype=torch.long)])[None].to(device)
    embeddings, mask = model.network.get_input_embeddings()(token_ids), torch.arange(5, device=device)[None] < 3
    changes = {}
    for left in (False, True):
        model.left = left
        alone, padded = (model._run(embeddings[:, :n], mask[:, :n]).logits for n in (3, 5))
        changes[left] = float((alone - padded).abs().max())
    rounding: float = torch.finfo(alone.dtype).eps ** 0.5 * float(alone.abs().max())
    if min(changes.values()) > rounding:
        raise InputError(
            f"{type(model.network).__name__} gives another output for a text with padding behind or in front of it, so "
            "that texts cannot be run together. Audit it as a black box: --model python:module:function."
        )
    return changes[False] > rounding


def reads_one(model: HuggingFaceClassifier) -> bool:
    """Is the class read from one token's last state? Some take the mean over all: ModernBERT may. A network that hides
    its body is taken at its word."""
    embeddings = model.network.get_input_embeddings()
    token_ids = model.ordinary_ids[:3][None].to(embeddings.weight.device)
    entered = embeddings(token_ids).detach().requires_grad_()
    with torch.enable_grad(), last_states(model.network) as seen:
        logit = model._run(entered, torch.ones_like(token_ids, dtype=torch.bool)).logits[0, 0]
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


@dataclass(frozen=True)
class Windows:
    """Overlapping pieces of long texts. Each holds all marks and the whole second text, and a stretch of the first."""

    row: Int[Tensor, "W"]  # the row that a window is from
    place: Int[Tensor, "W S"]  # its positions in that row, padded on the right
    mask: Bool[Tensor, "W S"]
    shape: tuple[int, int]

    @staticmethod
    def of(batch: Batch, max_length: int) -> Windows:
        rows, places = [], []
        for row in range(len(batch)):
            for place in window_positions(batch, row, max_length):
                rows.append(row)
                places.append(place)
        lengths = torch.tensor([len(p) for p in places])
        device = batch.token_ids.device
        padded = nn.utils.rnn.pad_sequence(places, batch_first=True).to(device)
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).to(device)
        return Windows(torch.tensor(rows, device=device), padded, mask, (len(batch), batch.token_ids.shape[1]))

    def take(
        self, embeddings: Float[Tensor, "B T E"], types: Int[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "W S E"], Bool[Tensor, "W S"], Int[Tensor, "W S"] | None]:
        index = (self.row[:, None], self.place)
        return embeddings[index], self.mask, None if types is None else types[index]

    def mean(self, values: Float[Tensor, "W C"]) -> Float[Tensor, "B C"]:
        total = values.new_zeros(self.shape[0], values.shape[1]).index_add(0, self.row, values)
        return total / torch.bincount(self.row, minlength=self.shape[0])[:, None]

    def spread(self, maps: Float[Tensor, "W L H S S"]) -> Float[Tensor, "B L H T T"]:
        """Onto the whole text: a token's row is the mean over the windows that hold it."""
        n, length = self.shape
        whole = maps.new_zeros(n, length, length, *maps.shape[1:3])
        index = (self.row[:, None, None], self.place[:, :, None], self.place[:, None, :])
        real = (self.mask[:, :, None] & self.mask[:, None, :])[..., None, None]
        whole = whole.index_put(index, maps.permute(0, 3, 4, 1, 2) * real, accumulate=True)
        held = maps.new_zeros(n, length).index_put((self.row[:, None], self.place), self.mask.to(maps), accumulate=True)
        return (whole / held.clamp(min=1)[:, :, None, None, None]).permute(0, 3, 4, 1, 2)


def window_positions(batch: Batch, row: int, max_length: int) -> Iterator[Int[Tensor, "S"]]:
    """Each window's positions. Neighbours overlap by half, so that every word is seen with words on both sides."""
    real = batch.mask[row].cpu()
    stays = real & (batch.special[row] | (batch.segments[row] == PAIR)).cpu()
    moving = (real & ~stays).nonzero().squeeze(1)
    room = max_length - int(stays.sum())
    if room < 1:
        raise InputError(
            f"Text {batch.example_ids[row]!r}: its second text alone fills the model's {max_length} tokens. Shorten it."
        )
    start = 0
    while True:
        here = torch.cat([stays.nonzero().squeeze(1), moving[start : start + room]])
        yield here.sort().values
        if start + room >= len(moving):
            return
        start += max(room // 2, 1)
