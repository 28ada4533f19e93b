"""Explanation methods: scores for the tokens of a text. EXPLAINERS is the list of all there are."""

from heatcheck.explain.attention import attention_weights
from heatcheck.explain.gradient import gradient, gradient_x_input
from heatcheck.explain.removal import leave_one_out
from heatcheck.explain.types import Explainer

EXPLAINERS: dict[str, Explainer] = {
    "attention": attention_weights,
    "gradient": gradient,
    "gradient_x_input": gradient_x_input,
    "leave_one_out": leave_one_out,
}
