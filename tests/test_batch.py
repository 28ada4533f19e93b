"""Edits of batches against the same edits of plain lists."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.batch import Batch, keep_tokens, rows, trim
from tests.edits import join, without_token
from tests.toys import random_examples, vocabulary_of


def batch_of(seed: int, n: int = 5, task: str = "qa") -> Batch:
    examples = random_examples(n, task, labels=3, seed=seed)
    return vocabulary_of(examples, 3).batch(examples)


def ids(batch: Batch) -> list[list[int]]:
    return [row[mask].tolist() for row, mask in zip(batch.token_ids, batch.mask, strict=True)]


@given(st.integers(0, 1000), st.integers(0, 2**32 - 1))
def test_keep_tokens_is_list_filtering_and_keeps_every_column_in_step(seed, mask_seed):
    batch = batch_of(seed)
    keep = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(mask_seed)) < 0.6
    shorter = keep_tokens(batch, keep)
    assert ids(shorter) == [row[k & m].tolist() for row, k, m in zip(batch.token_ids, keep, batch.mask, strict=True)]
    for name in ("segments", "word_ids", "special", "offsets"):
        expected = [getattr(batch, name)[i][keep[i] & batch.mask[i]].tolist() for i in range(len(batch))]
        assert [getattr(shorter, name)[i][shorter.mask[i]].tolist() for i in range(len(batch))] == expected


def test_without_token_deletes_one_token_and_leaves_its_input_alone():
    batch = batch_of(0)
    before = batch.token_ids.clone()
    shorter = without_token(batch, torch.tensor([1, 2, 1, 1, 1]))
    expected = [row[:p] + row[p + 1 :] for row, p in zip(ids(batch), [1, 2, 1, 1, 1], strict=True)]
    assert ids(shorter) == expected
    assert torch.equal(batch.token_ids, before)


@given(st.integers(0, 1000))
def test_join_of_parts_is_the_whole(seed):
    batch = batch_of(seed)
    parts = [trim(rows(batch, torch.tensor([i]))) for i in range(len(batch))]
    assert ids(join(parts)) == ids(batch)
    assert join(parts).example_ids == batch.example_ids
    assert torch.equal(join(parts).candidates, batch.candidates)


def test_words_are_what_attention_may_see():
    batch = batch_of(1)
    assert not (batch.attended & batch.special).any()
    assert (batch.segments[batch.attended] == 0).all()
    assert (
        batch.attended.sum(1) == torch.tensor([len(e.text.split()) for e in random_examples(5, "qa", labels=3, seed=1)])
    ).all()
