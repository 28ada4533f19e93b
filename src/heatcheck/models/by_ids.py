"""A Hugging Face network that can be run by token ids and no other way: it refuses embeddings (I-BERT, ESM C, CANINE,
Perceiver), says something else of them (ESM), or lets no slope through (Reformer)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.errors import InputError
from heatcheck.models.entrance import is_encoder_decoder, of_texts
from heatcheck.models.inputs import Inputs
from heatcheck.models.network import SHORT, HuggingFaceModel, check_answer, trial
from heatcheck.models.quiet import quietly

# These networks are built unlike BERT: some read short texts in one way, and long ones in blocks.
LONG = 250


@final
class HuggingFacePredictor(HuggingFaceModel):
    """Satisfies `Predictor`, and not `Classifier`: methods that need gradients or attention refuse it."""

    tried: ClassVar[tuple[int, ...]] = (SHORT, LONG)

    def check_entrance(self) -> None:
        if is_encoder_decoder(self.network):  # by ids, it wants equally many <eos> in all texts that are run together
            raise InputError(
                f"{type(self.network).__name__}, an encoder-decoder, cannot be entered at its word embeddings. "
                "Audit it as a black box: --model python:module:function."
            )
        with torch.no_grad():
            check_answer(self, self._run(trial(self)).logits, "told where its tokens stand")

    def vectors(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T 0"]:
        return torch.zeros(*token_ids.shape, 0, device=token_ids.device)

    @contextlib.contextmanager
    def entered(self, inputs: Inputs) -> Iterator[dict[str, Tensor]]:
        """Networks find padding by its id too, to number positions or to count words. Reformer has a hint for each
        length of text."""
        pad = of_texts(self.network.config).pad_token_id
        with quietly():
            yield {"input_ids": inputs.token_ids.masked_fill(~inputs.mask, pad)}
