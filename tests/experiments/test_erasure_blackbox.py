"""Erasure of a function's texts: what the function is given is a text that its author could have been given."""

from __future__ import annotations

import numpy as np
import torch

from heatcheck.batch import Example
from heatcheck.experiments.erasure import ErasureConfig, erasure
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.models.blackbox import as_subject


def run(function, examples, config):
    """All texts that the function is asked about."""
    seen = []

    def spy(texts):
        seen.extend(texts)
        return function(texts)

    subject = as_subject(spy, ("no", "yes"))
    rows = explain_texts(
        subject,
        examples,
        "leave_one_out",
        generator=torch.Generator().manual_seed(0),
        special_tokens=config.special_tokens,
    )
    explained = Explained.of(list(rows))
    seen.clear()
    found = list(erasure(subject, examples, config, generator=torch.Generator().manual_seed(0), explained=explained))
    assert any(row.value is not None for row in found)
    return seen


def longer(texts):
    share = np.array([len(text) / 100 for text in texts])
    return np.stack([1 - share, share], axis=1)


def test_sampled_words_stand_where_the_words_stood():
    texts = ["A good film", "The plot  is bad", "Nice acting here"]
    examples = [Example(str(i), text, 0) for i, text in enumerate(texts)]
    shown = run(longer, examples, ErasureConfig(operators=("sample",), random_orders=2))
    known = {word for text in texts for word in text.split()}
    assert len(set(shown)) > 20
    for text in shown:
        assert set(text.split()) <= known, text
        assert text == text.strip()
    assert {len(text.split(" ")) for text in shown} <= {1, 2, 3, 4, 5}  # τ-LOO deletes


def test_marks_of_a_pair_can_be_erased():
    def both(pairs):
        return longer([one + other for one, other in pairs])

    examples = [Example("1", "A good film", 1, "bad one"), Example("2", "The plot is bad", 0, "fine")]
    for operator in ("delete", "mask", "pad", "sample"):
        config = ErasureConfig(operators=(operator,), special_tokens=True, random_orders=2)
        assert all(isinstance(shown, tuple) for shown in run(both, examples, config))
