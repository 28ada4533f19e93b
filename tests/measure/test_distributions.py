"""Distances between distributions: closed forms and bounds."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from heatcheck.measure.distributions import LN2, jsd, kl, nearest_constant, tvd

weights = hnp.arrays(np.float64, st.integers(2, 12), elements=st.floats(0, 1))


def normalised(values: np.ndarray) -> torch.Tensor:
    values = values + (values.sum() == 0)
    return torch.from_numpy(values / values.sum())


@given(weights, st.randoms(use_true_random=False))
def test_jsd_is_scipys_squared_distance_symmetric_and_at_most_ln_2(values, random):
    p = normalised(values)
    q = normalised(np.array(random.sample(list(values), len(values))))
    assert float(jsd(p, q)) == pytest.approx(float(jensenshannon(p, q)) ** 2, abs=1e-9)
    assert float(jsd(p, q)) == pytest.approx(float(jsd(q, p)), abs=1e-12)
    assert 0 <= float(jsd(p, q)) <= LN2
    assert float(jsd(p, p)) == 0


def test_jsd_of_disjoint_distributions_is_ln_2():
    assert float(jsd(torch.tensor([0.5, 0.5, 0, 0]), torch.tensor([0, 0, 0.1, 0.9]))) == pytest.approx(math.log(2))


def test_jsd_has_a_finite_gradient_at_zero_weights():
    p = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
    (slope,) = torch.autograd.grad(jsd(p, torch.tensor([0.5, 0.5, 0.0])), p)
    assert torch.isfinite(slope).all()


def test_tvd_of_bernoullis_is_the_difference_and_of_disjoint_classes_one():
    assert float(tvd(torch.tensor([0.3, 0.7]), torch.tensor([0.45, 0.55]))) == pytest.approx(0.15)
    assert float(tvd(torch.tensor([1.0, 0, 0]), torch.tensor([0, 0.2, 0.8]))) == pytest.approx(1)


@given(weights)
def test_kl_is_scipys_where_nothing_is_zero(values):
    p, q = normalised(values + 0.1), normalised(values[::-1].copy() + 0.1)
    assert float(kl(p, q)) == pytest.approx(float(entropy(p, q)), abs=1e-7)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("texts", [1, 2, 7, 30])
def test_the_nearest_constant_is_a_linear_programs(classes, texts):
    """min Σ e / 2N with e ≥ |c − p| and Σ c = 1."""
    outputs = np.random.default_rng(texts).dirichlet(np.full(classes, 0.4), texts)
    each = np.tile(np.eye(classes), (texts, 1))
    upper = np.block([[each, -np.eye(texts * classes)], [-each, -np.eye(texts * classes)]])
    limits = np.concatenate([outputs.ravel(), -outputs.ravel()])
    cost = np.concatenate([np.zeros(classes), np.full(texts * classes, 0.5 / texts)])
    whole = np.concatenate([np.ones(classes), np.zeros(texts * classes)])[None]
    best = linprog(cost, upper, limits, whole, [1]).fun
    found = nearest_constant(torch.from_numpy(outputs))
    assert float(found.sum()) == pytest.approx(1)
    assert float(tvd(torch.from_numpy(outputs), found).mean()) == pytest.approx(best, abs=1e-9)
