"""Output and attention heads of one pass, for any model whose attention can be read as "how much of which word".

Our models: the weights over the words that the decoder gets. A transformer: the rows of its last layer from which the
class is read ([CLS]; a decoder's last token), one for each head.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.batch import Batch
from heatcheck.models.protocols import AttentiveClassifier, TransformerClassifier, encoded_tokens

HasHeads = (AttentiveClassifier, TransformerClassifier)


class Attended(NamedTuple):
    logits: Float[Tensor, "B C"]
    attention: Float[Tensor, "B K T"]


def attended(model: AttentiveClassifier | TransformerClassifier, batch: Batch) -> Attended:
    if isinstance(model, AttentiveClassifier):
        encoded = encoded_tokens(model, batch)
        attention = model.attend(encoded, batch)
        return Attended(model.classify(encoded, attention, batch), attention)
    logits, maps = model.logits_and_maps(model.embed(batch), batch)
    rows = torch.arange(len(maps), device=maps.device)
    return Attended(logits, maps[rows, -1, :, model.readout(batch)])
