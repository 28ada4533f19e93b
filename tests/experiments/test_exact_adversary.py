"""The exact adversary against brute force, its own constraint, and the published search."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.experiments.adversary.exact import exact_adversary, logit_interval
from heatcheck.experiments.adversary.published import PublishedSettings, published_adversary
from heatcheck.experiments.adversary.search import SearchSettings, _Problem, searched_adversary
from heatcheck.measure.distributions import jsd, tvd
from tests.toys import random_examples, small_model

finite = st.floats(-6, 6, allow_nan=False)


def simplex_grid(steps: int) -> torch.Tensor:
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    return torch.tensor(grid, dtype=torch.float64) / steps


GRID = simplex_grid(120)


@settings(deadline=None)
@given(st.tuples(finite, finite, finite), st.tuples(*[st.floats(0.01, 1)] * 3), st.sampled_from([0.01, 0.05, 0.3]))
def test_never_below_brute_force_over_a_fine_grid(logits, weights, epsilon):
    s = torch.tensor([logits], dtype=torch.float64)
    a = torch.tensor([weights], dtype=torch.float64)
    a = a / a.sum()
    found = exact_adversary(a, s, torch.ones_like(s, dtype=torch.bool), epsilon)
    p = torch.sigmoid((a * s).sum())
    feasible = (torch.sigmoid(GRID @ s[0]) - p).abs() <= epsilon
    best = jsd(GRID, a)[feasible].max() if feasible.any() else torch.tensor(0.0)
    assert float(found.jsd[0]) >= float(best) - 1e-12
    check(found, a, s, epsilon)


def check(found, attention, logits, epsilon):
    """A distribution, feasible, and at the distance it claims."""
    torch.testing.assert_close(found.attention.sum(1), torch.ones(len(attention), dtype=torch.float64))
    assert (found.attention >= 0).all()
    moved = torch.sigmoid((found.attention * logits).sum(1)) - torch.sigmoid((attention * logits).sum(1))
    assert (moved.abs() <= epsilon + 1e-9).all()
    torch.testing.assert_close(moved.abs(), found.tvd, atol=1e-12, rtol=0)
    torch.testing.assert_close(jsd(found.attention, attention), found.jsd, atol=1e-9, rtol=0)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.floats(0.1, 20))
def test_feasible_and_at_least_every_random_attention(seed, length, scale):
    rng = torch.Generator().manual_seed(seed)
    s = scale * torch.randn(3, length, generator=rng, dtype=torch.float64)
    a = torch.softmax(2 * torch.randn(3, length, generator=rng, dtype=torch.float64), 1)
    found = exact_adversary(a, s, torch.ones_like(s, dtype=torch.bool), 0.01)
    check(found, a, s, 0.01)
    others = torch.softmax(6 * torch.randn(400, 3, length, generator=rng, dtype=torch.float64), -1)
    within = (torch.sigmoid((others * s).sum(-1)) - torch.sigmoid((a * s).sum(-1))).abs() <= 0.01
    assert (torch.where(within, jsd(others, a), 0.0).max(0).values <= found.jsd + 1e-9).all()


def test_one_word_leaves_no_choice_and_no_word_no_attention():
    attention = torch.tensor([[0.0, 1, 0], [0, 0, 0]])
    words = torch.tensor([[False, True, False], [False, False, False]])
    found = exact_adversary(attention, torch.randn(2, 3), words, 0.01)
    assert found.jsd.tolist() == [0, 0]
    assert found.attention.tolist() == attention.tolist()


def test_equal_tokens_can_always_be_swapped():
    """With all token logits equal every attention is feasible: the farthest is all weight on the least attended."""
    attention = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64)
    found = exact_adversary(attention, torch.full((1, 3), 0.3), torch.ones(1, 3, dtype=torch.bool), 0.01)
    assert found.attention.tolist() == [[0, 0, 1]]
    assert float(found.jsd) == pytest.approx(float(jsd(torch.tensor([[0.0, 0, 1]], dtype=torch.float64), attention)))


def test_words_outside_the_mask_get_nothing():
    words = torch.tensor([[False, True, True, True, False]])
    attention = torch.tensor([[0, 0.6, 0.3, 0.1, 0]])
    found = exact_adversary(attention, torch.tensor([[9.0, -1, 0.2, 1, -9]]), words, 0.01)
    assert found.attention[0, [0, 4]].tolist() == [0, 0]


def test_logit_interval_reaches_infinity_where_epsilon_passes_certainty():
    low, high = logit_interval(torch.tensor([0.0, 20.0, -20.0], dtype=torch.float64), 0.01)
    assert torch.sigmoid(low[0]).item() == pytest.approx(0.49)
    assert torch.sigmoid(high[0]).item() == pytest.approx(0.51)
    assert (high[1].item(), low[2].item()) == (math.inf, -math.inf)
    assert torch.sigmoid(low[1]).item() == pytest.approx(0.99, abs=1e-8)


def states(task: str, labels: int, n: int = 12, seed: int = 0):
    examples = random_examples(n, task, labels=labels, longest=9, seed=seed)
    model, vocabulary = small_model(examples, labels=labels, seed=seed)
    batch = vocabulary.batch(examples)
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        return model, batch, encoded, model.attend(encoded, batch)[:, 0]


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_never_below_the_published_search(seed):
    model, batch, encoded, attention = states("single", 2, seed=seed)
    exact = exact_adversary(attention, model.token_logits(encoded)[..., 0].detach(), batch.attended, 0.01)
    generator = torch.Generator().manual_seed(seed)
    search = published_adversary(model, encoded, attention, batch, 0.01, PublishedSettings(steps=150), generator)
    assert (exact.jsd >= search.jsd - 1e-4).all()
    assert (search.tvd <= 0.01).all()
    assert search.jsd.mean() > 0


@pytest.mark.parametrize(("task", "labels"), [("single", 3), ("pair", 3), ("qa", 5)])
def test_search_is_feasible_far_and_reports_what_it_found(task, labels):
    model, batch, encoded, attention = states(task, labels)
    found = searched_adversary(
        model, encoded, attention, batch, 0.05, SearchSettings(), torch.Generator().manual_seed(0)
    )
    base = model.probs(model.classify(encoded, attention[:, None], batch))
    moved = tvd(model.probs(model.classify(encoded, found.attention[:, None], batch)), base)
    assert (moved <= 0.05 + 1e-6).all()
    torch.testing.assert_close(moved, found.tvd, atol=1e-6, rtol=0)
    torch.testing.assert_close(jsd(found.attention, attention), found.jsd, atol=1e-6, rtol=0)
    assert (found.attention[~batch.attended] == 0).all()
    several = batch.attended.sum(1) > 2
    assert float(found.jsd[several].mean()) > 0.2


def test_a_search_that_finds_no_way_stays_where_it_is():
    _, batch, _, attention = states("single", 3)
    base = torch.zeros(len(batch), 3)
    problem = _Problem(lambda weights: weights[..., :3], attention, base, batch, 0.01, SearchSettings())
    far_off, flat = torch.full_like(base, 0.5), torch.ones(3, *attention.shape)  # no step makes up for the change
    everywhere = torch.ones(len(batch), dtype=torch.bool)
    assert torch.equal(problem._programmes(attention, -attention, far_off, flat, everywhere), attention)
    near = problem._programmes(attention, -attention, torch.zeros_like(base), flat, everywhere)
    assert not torch.allclose(near, attention)


def test_search_comes_close_to_the_exact_answer_where_there_is_one():
    model, batch, encoded, attention = states("single", 2, n=30)
    exact = exact_adversary(attention, model.token_logits(encoded)[..., 0].detach(), batch.attended, 0.01)
    found = searched_adversary(
        model, encoded, attention, batch, 0.01, SearchSettings(), torch.Generator().manual_seed(0)
    )
    assert (found.jsd <= exact.jsd + 1e-5).all()
    assert float((exact.jsd - found.jsd).mean()) < 0.03
    assert np.quantile((exact.jsd - found.jsd).numpy(), 0.5) < 1e-3
