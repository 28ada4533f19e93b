"""LIME as Captum documents it, one perturbed text a call.

Masked words: `captum.attr.Lime`, whose baseline is the mask token. Deleted words: `captum.attr.LimeBase`, as in
Captum's tutorial on text. Masks, kernel and ridge are given to it, so that its weights can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import Lime, LimeBase
from captum.attr._core.lime import get_exp_kernel_similarity_function
from torch import Tensor


@dataclass(frozen=True)
class PlainLime:
    """`network` is a Hugging Face classifier. Marks stay: a text's first and last token."""

    network: Any
    mask_id: int
    alpha: float
    width: float

    def weights(self, ids: Tensor, target: int, masks: Tensor, *, delete: bool) -> Tensor:
        """Of the words of one text."""

        def probability(words: Tensor) -> Tensor:
            text = torch.cat([ids[:1], words[0], ids[-1:]])[None]
            logits: Tensor = self.network(input_ids=text, attention_mask=torch.ones_like(text)).logits
            return logits.softmax(-1)[:, target]

        def given(inputs: Tensor, **_: Any) -> Iterator[Tensor]:
            yield from masks.long().split(1)

        words, ridge = ids[None, 1:-1], SkLearnRidge(alpha=self.alpha)
        if delete:
            explainer = LimeBase(probability, ridge, self.likeness, given, True, without, None)
            return explainer.attribute(words, n_samples=len(masks)).flatten()
        found = Lime(probability, ridge, self.likeness, given)
        return found.attribute(words, baselines=self.mask_id, n_samples=len(masks))[0]

    def likeness(self, text: Tensor, perturbed: Tensor, mask: Tensor, **_: Any) -> float:
        return get_exp_kernel_similarity_function("cosine", self.width)(torch.ones_like(mask), mask, None)


def without(mask: Tensor, words: Tensor, **_: Any) -> Tensor:
    return words[:, mask[0].bool()]
