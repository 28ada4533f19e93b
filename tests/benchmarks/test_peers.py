"""The benchmarks' peers and heatcheck say the same on a few texts; nothing is timed."""

import copy

import numpy as np
import pytest
import torch
from benchmarks.memory import own_peak, write_csv
from benchmarks.plain import counterfactual, importance, procedures
from benchmarks.plain.model import PlainModel, Texts, batches, padded
from benchmarks.plain.training import train_epoch
from benchmarks.setting import plain_twin, token_ids
from benchmarks.table import row
from benchmarks.timing import Outcome, side_by_side

from benchmarks import ours
from heatcheck.batch import Batch, Example
from heatcheck.explain import EXPLAINERS
from heatcheck.models.subject import Subject
from tests.toys import random_examples, small_subject


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [e for e in random_examples(48) if len(e.text.split()) > 1]


@pytest.fixture(scope="module")
def subject(examples: list[Example]) -> Subject:
    return small_subject(examples)


@pytest.fixture(scope="module")
def plain(subject: Subject) -> PlainModel:
    return plain_twin(subject.model)


@pytest.fixture(scope="module")
def our_batches(subject: Subject, examples: list[Example]) -> list[Batch]:
    return list(subject.batches(examples, 16))


@pytest.fixture(scope="module")
def texts(our_batches: list[Batch]) -> list[Texts]:
    ids = [row for batch in our_batches for row in token_ids(batch)]
    names = [name for batch in our_batches for name in batch.example_ids]
    return list(batches(ids, [0] * len(ids), names))


def test_attention_and_gradients(subject, plain, our_batches, texts):
    for name, theirs in zip(("attention", "gradient"), procedures.attention_and_gradients(plain, texts), strict=True):
        assert_same(ours.explanations(subject.model, our_batches, EXPLAINERS[name].explain), theirs)


def test_leave_one_out(subject, plain, our_batches, texts):
    mine = ours.explanations(subject.model, our_batches, EXPLAINERS["leave_one_out"].explain)
    assert_same(mine, procedures.leave_one_out(plain, texts))


def test_the_exact_adversary_is_never_below_the_search(subject, plain, our_batches, texts):
    exact = ours.adversary(subject.model, ours.encoded(subject.model, our_batches), 0.01)
    search = counterfactual.Search(steps=60)
    found = procedures.adversary(plain, [plain.encoded(t) for t in texts], search, seed=0)
    assert found.keys() == exact.keys()
    assert max(found.values()) > 0
    assert all(exact[name] >= found[name] - 1e-4 for name in exact)


def test_permutations_agree_up_to_their_draws(subject, plain, our_batches, texts):
    mine = ours.permutation(subject.model, ours.encoded(subject.model, our_batches), 2000, seed=0)
    theirs = procedures.permutation(plain, [plain.encoded(t) for t in texts], 2000, seed=0)
    largest = max(theirs.values())
    words = {name: int(n) for b in our_batches for name, n in zip(b.example_ids, b.attended.sum(1), strict=True)}
    settled = [name for name in theirs if words[name] >= 5]  # of few orders, which is the median is up to chance
    assert len(settled) > 10
    assert all(abs(mine[name] - theirs[name]) < 0.15 * largest for name in settled)


def test_shuffled_attention_stays_on_the_words(plain, texts):
    text = plain.encoded(texts[-1])
    drawn = counterfactual.shuffled(text.attention, text.texts.lengths, np.random.default_rng(0))
    torch.testing.assert_close(drawn.sort(1).values, text.attention.sort(1).values)
    assert (drawn[~text.texts.words] == 0).all()


def test_training_has_the_same_loss_in_every_batch(subject, our_batches, examples):
    model = copy.deepcopy(subject.model)
    twin = plain_twin(model)
    texts = [padded(token_ids(b), b.labels.tolist(), b.example_ids) for b in our_batches]
    positives = sum(e.label for e in examples)
    theirs = train_epoch(twin, texts, (len(examples) - positives) / positives)
    assert ours.train_epoch(model, our_batches, examples) == pytest.approx(theirs, abs=1e-5)
    torch.testing.assert_close(model.embedding.weight, twin.encoder.embedding.weight, atol=1e-4, rtol=1e-4)


def test_battery(subject, plain, examples, texts):
    mine = ours.battery(subject, examples)
    theirs = procedures.battery(plain, texts, counterfactual.Search(steps=5), 20, seed=0)
    assert mine.keys() >= theirs.keys()
    for measure in ("tau_gradient", "tau_loo", "tau_gradient_loo"):
        gaps = [mine[measure][name] - value for name, value in theirs[measure].items()]
        assert np.nanmean(np.abs(gaps)) < 0.02  # rounding may swap two words that are nearly equal


def test_kendall_is_scipys(examples):
    tau, p_value = importance.kendall([np.array([1.0, 2, 3])], [np.array([1.0, 3, 2])])
    assert (tau[0], p_value[0]) == (pytest.approx(1 / 3), 1.0)


def test_timing_runs_both_sides_and_keeps_what_they_return():
    calls: list[str] = []
    timing = side_by_side(
        lambda: calls.append("ours") or 1, lambda: calls.append("peer") or 2, repetitions=2, ours_per_peer=2
    )
    assert calls == ["ours", "peer", "ours"] * 2
    assert (timing.ours, timing.peer) == (1, 2)


def test_a_row_says_what_was_missed():
    missed = Outcome("loo", "2 s", "4 s", 2.0, 3.0, checks=[("equal", True)])
    assert row(missed) == "| loo | 2 s | 4 s | 2.00× | ≥ 3× | ✗ missed | equal |"
    wrong = Outcome("memory", "2 MB", "2 MB", 1.0, 1.25, at_most=True, checks=[("equal", False)])
    assert row(wrong) == "| memory | 2 MB | 2 MB | 1.00× | ≤ 1.25× | ✓ | equal ✗ WRONG |"
    assert (missed.on_target, missed.correct, wrong.on_target, wrong.correct) == (False, True, True, False)


def test_memory_counts_this_process_and_repeats_texts_under_new_ids(tmp_path, examples):
    assert own_peak() > 20
    write_csv(tmp_path / "texts.csv", examples, ("no", "yes"), 2 * len(examples))
    lines = (tmp_path / "texts.csv").read_text().splitlines()
    assert len(lines) == 2 * len(examples) + 1
    assert len({line.split(",")[0] for line in lines}) == len(lines)


def assert_same(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert mine.keys() == theirs.keys()
    for name, scores in theirs.items():
        np.testing.assert_allclose(mine[name], scores, atol=1e-5)
