"""What is said of each text beside its prediction."""

import pandas as pd
import pytest
import torch

from heatcheck.batch import Example
from heatcheck.experiments.performance import PerformanceConfig, one_class_for_all, performance
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import Subject
from tests.tiny import tiny_subject
from tests.toys import small_subject, vocabulary_of

PAIR = [Example("a", "the film was fun", 0, "a good one"), Example("b", "dull", 1, "the story of a man")]
SINGLE = [Example("a", "the film was fun", 0), Example("b", "dull", 1)]


def rows(subject, examples):
    return list(performance(subject, examples, PerformanceConfig(), generator=torch.Generator()))


def compared(examples):
    vocabulary = vocabulary_of(examples, 2)
    spec = ModelSpec(
        "bilstm", "additive", "pair", 2, len(vocabulary), embedding_width=8, hidden=4, pairing="comparison"
    )
    return Subject("compared", spec.build(0).eval(), vocabulary, ("no", "yes"), 0, spec, Recipe())


@pytest.mark.parametrize(
    ("make", "examples", "expected"),
    [
        (small_subject, SINGLE, [4, 1]),
        (small_subject, PAIR, [4, 1]),  # the second text asks, and only the first is attended
        (compared, PAIR, [4 + 3, 1 + 5]),
    ],
)
def test_words_that_are_attended_are_counted(make, examples, expected):
    found = {row.example_id: row for row in rows(make(examples), examples)}
    assert [found[name].n_tokens for name in "ab"] == expected
    assert all(0 < row.max_attention <= 1 for row in found.values())


def test_a_transformer_attends_to_both_texts(tmp_path):
    subject = tiny_subject(tmp_path)
    (batch,) = subject.batches(PAIR, 2)
    expected = dict(zip(batch.example_ids, batch.words.sum(1).tolist(), strict=True))
    assert {row.example_id: row.n_tokens for row in rows(subject, PAIR)} == expected
    assert all(row.max_attention is None for row in rows(subject, PAIR))


@pytest.mark.parametrize(
    ("labels", "predicted", "said"),
    [("ab" * 6, "a" * 12, True), ("ab" * 6, "ab" * 6, False), ("a" * 12, "a" * 12, False), ("ab" * 3, "a" * 6, False)],
)
def test_a_model_that_always_says_the_same_is_noted(labels, predicted, said):
    note = one_class_for_all(pd.DataFrame({"label": list(labels), "predicted": list(predicted)}))
    assert (note is not None) == said
    if note:
        assert note.startswith("The model gives the class 'a' to all 12 texts, and they are of 2 classes")
