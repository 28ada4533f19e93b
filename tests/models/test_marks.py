"""Which token empties a text: padding, unless nothing is to be read of it."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForSequenceClassification, Gemma3Config, T5GemmaConfig

from heatcheck.explain.deep_lift import DeepLift
from heatcheck.explain.types import probability_of_prediction
from heatcheck.models.given import subject_of
from tests.tiny import MARKS, SIZES, VOCABULARY, tiny_tokenizer
from tests.toys import random_examples

OF_TEXTS = {**SIZES, "num_key_value_heads": 1, "head_dim": 16, "vocab_size": len(VOCABULARY), "pad_token_id": 0}
OF_IMAGES = {**SIZES, "image_size": 28, "patch_size": 14}
CONFIGS = {
    "gemma3": (Gemma3Config, {"text_config": OF_TEXTS, "vision_config": OF_IMAGES}, "llama", "[SEP]"),
    "t5gemma": (
        T5GemmaConfig,
        {"encoder": OF_TEXTS, "decoder": OF_TEXTS, "vocab_size": len(VOCABULARY)},
        "t5",
        "[UNK]",
    ),
}


@pytest.mark.parametrize("family", CONFIGS)
def test_padding_without_an_embedding_where_there_are_other_tables(family):
    """Those of an image's positions, or of the other half, add nothing to it: its norm divides by next to nothing."""
    config, settings, marks, expected = CONFIGS[family]
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(config(**settings, eos_token_id=3, pad_token_id=0)).eval()
    subject = subject_of((network, tiny_tokenizer(marks)))
    assert subject.model.pad_id == MARKS.index(expected)
    assert any("padding is all zeros" in note for note in subject.notes)
    (batch,) = subject.batches(random_examples(2), 2)
    found = DeepLift()(subject.model, batch, probability_of_prediction(subject.model, batch))
    assert found.delta is not None
    assert found.delta.max() < 1e-3
