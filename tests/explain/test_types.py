"""An explanation that is not finite is none, and says so."""

import torch

from heatcheck.explain.types import NOT_FINITE, Explanation

NAN, INF = float("nan"), float("inf")


def test_a_text_with_a_score_that_is_not_finite_has_no_explanation():
    scores = torch.tensor([[1.0, NAN], [2.0, 3.0], [-INF, 4.0]])
    found = Explanation(scores, signed=True, delta=torch.tensor([NAN, 0.25, INF]), notes=("five samples",))
    assert found.scores.tolist() == [[0, 0], [2, 3], [0, 0]]
    assert found.delta is not None
    assert found.delta.tolist() == [1, 0.25, 1]  # zeros miss all of what was promised
    assert found.notes == ("five samples", NOT_FINITE)


def test_finite_scores_are_left_as_they_are():
    scores = torch.tensor([[1.0, 2.0]])
    found = Explanation(scores, signed=False)
    assert found.scores is scores
    assert found.notes == ()
