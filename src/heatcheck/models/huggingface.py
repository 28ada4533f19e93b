"""Any Hugging Face sequence classifier, entered at its word embeddings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from heatcheck.batch import Batch
from heatcheck.errors import InputError
from heatcheck.models.entrance import embedded, entered, is_encoder_decoder
from heatcheck.models.inputs import Inputs, padding_first, regrouped
from heatcheck.models.network import HuggingFaceModel, check_answer, trial
from heatcheck.models.quiet import quietly
from heatcheck.models.softmax import Tap

ROUNDING = 0.02  # of a row of weights in half precision


@final
class HuggingFaceClassifier(HuggingFaceModel):
    """Satisfies `TransformerClassifier`."""

    reads_one: bool  # is the class read from one token's last state?

    def check_entrance(self) -> None:
        """It has to say what it says of the ids, and to have slopes."""
        text = trial(self)
        with torch.enable_grad():
            start = text.embeddings.detach().requires_grad_()
            found = self._run(text._replace(embeddings=start)).logits
            torch.autograd.grad(found.sum(), start)
        check_answer(self, found.detach(), "entered at its word embeddings")
        self.reads_one = reads_one(self)

    def embed(self, batch: Batch) -> Float[Tensor, "B T E"]:
        return self.vectors(batch.token_ids)

    def logits(self, embeddings: Float[Tensor, "B T E"], batch: Batch) -> Float[Tensor, "B C"]:
        return self._logits(embeddings, batch)

    def vectors(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return embedded(self.network, token_ids)

    def entered(self, inputs: Inputs) -> AbstractContextManager[dict[str, Tensor]]:
        return entered(self.network, inputs)

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
        maps = maps.masked_fill(~both, 0)
        if not (self.network.training or are_shares(maps, mask)):
            raise InputError(
                f"{type(self.network).__name__} gives numbers for its attention that are not shares of the text: they "
                "are from before the softmax, or some attention goes to no token. Choose methods without attention."
            )
        return maps


def are_shares(maps: Float[Tensor, "B L H T T"], mask: Bool[Tensor, "B T"]) -> bool:
    """SqueezeBERT hands out scores from before the softmax; in GPT-OSS a part of each row goes to a sink."""
    missed = (maps.sum(-1) - mask[:, None, None].to(maps)).abs()
    return bool((missed < ROUNDING).all() & (maps >= 0).all())


def padded_maps(maps: Float[Tensor, "B L H S S"], length: int) -> Float[Tensor, "B L H T T"]:
    """`pad` copies even what is long enough, and maps are large."""
    missing = length - maps.shape[-1]
    return functional.pad(maps, (0, missing, 0, missing)) if missing else maps


@contextlib.contextmanager
def eager_attention(network: Any) -> Iterator[None]:
    """Only this implementation gives its weights away; the faster one comes back afterwards."""
    before = network.config._attn_implementation
    if before == "eager" or before.startswith("heatcheck"):
        yield
        return
    _set_attention(network, "eager")
    try:
        yield
    finally:
        _set_attention(network, before)


def _set_attention(network: Any, implementation: str) -> None:
    """Falcon refuses to be set, with a warning, and yet asks its config as it runs."""
    with quietly():
        network.set_attn_implementation(implementation)
    if network.config._attn_implementation != implementation:
        network.config._attn_implementation = implementation


def reads_one(model: HuggingFaceClassifier) -> bool:
    """Some take the mean over all: ModernBERT may. A network that hides its body is taken at its word."""
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
