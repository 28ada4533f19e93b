"""LIME as Captum documents it: `captum.attr.Lime`, one perturbed text a call.

The masks and the ridge are given to it, so that its weights can be compared; masked words are the baseline's token.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import Lime
from captum.attr._core.lime import get_exp_kernel_similarity_function
from torch import Tensor


def lime(
    network: Any, ids: Tensor, words: Tensor, masks: Tensor, *, mask_id: int, target: int, alpha: float, width: float
) -> Tensor:
    """A weight for each word of one text. `ids` with its marks, `words` says which of them are words."""

    def probability(word_ids: Tensor) -> Tensor:
        text = ids.clone()
        text[words] = word_ids[0]
        logits = network(input_ids=text[None], attention_mask=torch.ones_like(text[None])).logits
        return logits.softmax(-1)[:, target]

    def given(inputs: Tensor, **_: Any) -> Iterator[Tensor]:
        yield from masks.long().split(1)

    kernel = get_exp_kernel_similarity_function("cosine", width)

    def likeness(_: Tensor, __: Tensor, mask: Tensor, **___: Any) -> float:
        return kernel(torch.ones_like(mask), mask, None)

    explainer = Lime(probability, SkLearnRidge(alpha=alpha), likeness, given)
    found = explainer.attribute(ids[words][None], baselines=mask_id, n_samples=len(masks))
    return found[0]
