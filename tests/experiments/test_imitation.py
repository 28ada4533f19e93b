"""What trained adversaries minimise, against the papers' formulas written out."""

import math

import numpy as np
import pytest
import torch

from heatcheck.errors import InputError
from heatcheck.experiments.trained.imitation import SPARSE, Imitation


def some(seed: int, *shape: int) -> torch.Tensor:
    return torch.softmax(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), -1)


def plain_kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def plain_jsd(p, q):
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (plain_kl(p, middle) + plain_kl(q, middle)) / 2


def test_paper_2_loss_is_half_tvd_less_weighted_kl_summed():
    probs, wanted = some(0, 3, 2), some(1, 3, 2)
    attention, base = some(2, 3, 1, 5), some(3, 3, 1, 5)
    loss = Imitation("kl", 0.3)
    found = loss.losses(probs, attention, wanted, [base])
    expected = [
        abs(float(p[1] - w[1])) / 2 - 0.3 * plain_kl(a[0].tolist(), b[0].tolist())
        for p, w, a, b in zip(probs, wanted, attention, base, strict=True)
    ]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)
    assert float(loss.reduced(found)) == pytest.approx(sum(expected), abs=1e-6)


def test_paper_3_loss_is_scaled_tvd_less_scaled_jsd_averaged():
    probs, wanted = some(0, 3, 4), some(1, 3, 4)
    attention, base = some(2, 3, 1, 5), some(3, 3, 1, 5)
    loss = Imitation("jsd")
    found = loss.losses(probs, attention, wanted, [base])
    expected = [
        float((p - w).abs().sum()) / 2 - plain_jsd(a[0].tolist(), b[0].tolist()) / math.log(2)
        for p, w, a, b in zip(probs, wanted, attention, base, strict=True)
    ]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)
    assert float(loss.reduced(found)) == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.mark.parametrize("divergence", ["kl", "jsd"])
def test_padding_changes_neither_loss_nor_gradient(divergence):
    scores = torch.randn(2, 1, 4, requires_grad=True)
    padded = torch.cat([torch.softmax(scores, -1), torch.zeros(2, 1, 3)], -1)
    base = torch.cat([some(1, 2, 1, 4), torch.zeros(2, 1, 3)], -1)
    same = some(0, 2, 2)
    loss = Imitation(divergence)
    whole = loss.losses(same, padded, same, [base])
    (slope,) = torch.autograd.grad(whole.sum(), scores, retain_graph=True)
    (other,) = torch.autograd.grad(loss.losses(same, padded[..., :4], same, [base[..., :4]]).sum(), scores)
    assert torch.isfinite(slope).all()
    assert torch.allclose(slope, other, atol=1e-6)


def test_sparse_base_attention_costs_a_finite_distance():
    base = torch.tensor([[[1.0, 0.0, 0.0]]])
    other = torch.tensor([[[0.0, 0.5, 0.5]]])
    same = some(0, 1, 2)
    found = float(Imitation("kl", 1.0, SPARSE).losses(same, other, same, [base])[0])
    assert found == pytest.approx(-(math.log(0.5) - math.log(SPARSE)), rel=1e-5)


def test_of_several_attentions_the_nearest_counts():
    same, attention = some(0, 2, 2), some(1, 2, 1, 5)
    near, far = some(1, 2, 1, 5) * 0.9 + 0.02, torch.eye(5)[torch.tensor([0, 1])][:, None]
    loss = Imitation("jsd")
    both = loss.losses(same, attention, same, [near, far])
    assert torch.equal(both, loss.losses(same, attention, same, [near]))


def test_the_order_of_heads_is_no_distance():
    same, attention = some(0, 2, 2), some(1, 2, 3, 5)
    assert Imitation("jsd").losses(same, attention, same, [attention[:, [2, 0, 1]]]).abs().max() < 1e-6


def test_a_weight_below_0_is_refused():
    with pytest.raises(InputError, match=r"λ = -0.1 is below 0"):
        Imitation("kl", -0.1)
    with pytest.raises(InputError, match="λ = nan"):
        Imitation("kl", float("nan"))
