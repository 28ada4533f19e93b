"""Correlation rows against plain loops and scipy; what does not exist is null with a reason."""

from dataclasses import replace
from itertools import combinations, groupby

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from heatcheck.batch import Example, rows
from heatcheck.experiments.correlation import CorrelationConfig, correlation
from heatcheck.results import Score, TokenScores
from tests.edits import without_token
from tests.measure.test_ranks import fagin_loop
from tests.toys import random_examples, small_subject


def scores_by_definition(subject, example):
    """Of each attended word of a text alone: weight, |slope · embedding| with the weights held, TVD when it is gone."""
    (batch,) = subject.batches([example], 1)
    model = subject.model
    embeddings = model.embed(batch).detach().requires_grad_()
    encoded = model.encode(embeddings, batch)
    weights = model.attend(encoded, batch).detach()
    probs = model.probs(model.classify(encoded, weights, batch))
    (slope,) = torch.autograd.grad(probs.max(), embeddings)
    products, probs = (slope * embeddings).detach()[0], probs.detach()
    words = [t for t in range(batch.mask.shape[1]) if batch.words[0, t] and weights[0, :, t].any()]
    copies = rows(batch, torch.zeros(len(words), dtype=torch.long))
    with torch.no_grad():
        without = model.probs(model.predict(without_token(copies, torch.tensor(words))))
    found = {"attention": [], "gradient": [], "leave_one_out": []}
    for row, t in enumerate(words):
        heads = [float(head[t]) for head in weights[0] if head[t]]
        found["attention"].append(sum(heads) / len(heads))
        found["gradient"].append(abs(float(products[t].sum())))
        found["leave_one_out"].append(float((without[row] - probs[0]).abs().sum()) / 2)
    return found


def not_twice(text):
    """Without a word behind itself: to delete either is the same, and rounding alone would order the two."""
    return " ".join(word for word, _ in groupby(text.split()))


def tau_by_loop(x, y):
    """τ-b: pairs in the same order less pairs in opposite orders, over the pairs that each list orders."""
    pairs = list(combinations(range(len(x)), 2))
    order = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in pairs]
    ordered = [sum(1 for signs in order if signs[k]) for k in (0, 1)]
    return sum(a * b for a, b in order) / np.sqrt(ordered[0] * ordered[1])


WHICH = (("kendall", "value"), ("kendall", "p_value"), ("top_k", "value"))
PAIRS = {
    "tau_gradient": ("attention", "gradient"),
    "tau_loo": ("attention", "leave_one_out"),
    "tau_gradient_loo": ("gradient", "leave_one_out"),
}


@pytest.mark.parametrize(
    ("task", "labels", "more"),
    [
        ("single", 2, {}),
        ("single", 2, {"heads": 2}),
        ("pair", 3, {}),
        ("pair", 3, {"pairing": "comparison"}),
        ("qa", 4, {}),
    ],
)
@pytest.mark.parametrize("config", [CorrelationConfig(), CorrelationConfig(top_share=0.4, top_least=3, batch_size=2)])
def test_rows_are_the_loops_over_the_words_that_are_attended_to(task, labels, more, config):
    """Texts of up to 30 words, and one of which a tenth is more than 10."""
    examples = random_examples(5, task, labels=labels, longest=30, seed=1)
    examples.append(replace(examples[0], id="long", text=" ".join(e.text for e in random_examples(18, longest=16))))
    examples = [replace(e, text=not_twice(e.text), pair=e.pair and not_twice(e.pair)) for e in examples]
    subject = small_subject(examples, labels=labels)
    spec = replace(subject.spec, **more)
    subject = replace(subject, spec=spec, model=spec.build(3).double().eval())
    scored = [r for r in correlation(subject, examples, config, generator=torch.Generator()) if isinstance(r, Score)]
    found = {(r.example_id, r.measure, r.setting, r.statistic): r.value for r in scored}
    assert len(found) == len(scored) == 9 * len(examples)
    for example in examples:
        scores = scores_by_definition(subject, example)
        n = len(scores["attention"])
        both = more.get("pairing") == "comparison"
        assert n == len(example.text.split()) + (len(example.pair.split()) if both else 0)
        k = max(config.top_least, int(config.top_share * n))
        for measure, (one, other) in PAIRS.items():
            x, y = (np.array(scores[name]) for name in (one, other))
            values = [found[example.id, measure, *which] for which in WHICH]
            expected = [tau_by_loop(x, y), kendalltau(x, y).pvalue, fagin_loop(x, y, k) / fagin_loop(x, -x, k)]
            assert values == pytest.approx(expected, abs=1e-9), (example.id, measure)


def test_the_weights_of_two_texts_are_those_of_each():
    """They add up to 1 in each text, not to a half."""
    examples = random_examples(3, "pair", labels=3)
    subject = small_subject(examples, labels=3)
    spec = replace(subject.spec, pairing="comparison")
    subject = replace(subject, spec=spec, model=spec.build(0).eval())
    rows = correlation(subject, examples, CorrelationConfig(), generator=torch.Generator())
    for row in (r for r in rows if isinstance(r, TokenScores) and r.method == "attention"):
        for segment in (0, 1):
            here = [score for score, own in zip(row.scores, row.segments, strict=True) if own == segment]
            assert sum(here) == pytest.approx(1)


def test_one_word_and_constant_attention_are_null_with_a_reason():
    examples = [Example("one", "w1", 0), Example("same", "w1 w1 w1", 1), Example("many", "w1 w2 w3 w4", 0)]
    subject = small_subject(examples, "average")
    rows = [
        r
        for r in correlation(subject, examples, CorrelationConfig(), generator=torch.Generator())
        if isinstance(r, Score)
    ]
    for row in rows:
        reasons = {
            "one": "undefined: the text has fewer than two words",
            "same": f"undefined: {row.subject} and {row.reference} give every word the same score",
        }
        assert row.reason == reasons.get(row.example_id), row
        assert (row.value is None) == (row.reason is not None)


def test_the_reason_names_the_list_that_is_constant():
    examples = [Example("a", "w1 w2 w3 w4", 0), Example("b", "w5 w6 w7", 1)]
    subject = small_subject(examples)
    spec = replace(subject.spec, weighting="uniform")
    flat = replace(subject, spec=spec, model=spec.build(0).eval())
    rows = correlation(flat, examples, CorrelationConfig(), generator=torch.Generator())
    reasons = {(r.measure, r.setting, r.statistic): r.reason for r in rows if isinstance(r, Score)}
    for (measure, _, _), reason in reasons.items():
        flat_one = "undefined: attention gives every word the same score"
        assert reason == (None if measure == "tau_gradient_loo" else flat_one)


def test_token_rows_point_into_the_original_text():
    examples = [Example("a", "W1  w2,w3\tw1", 0), Example("b", "w2", 1)]
    subject = small_subject(examples)
    rows = [
        r
        for r in correlation(subject, examples, CorrelationConfig(), generator=torch.Generator())
        if isinstance(r, TokenScores)
    ]
    texts = {e.id: e.text for e in examples}
    assert {r.method for r in rows} == {"attention", "gradient", "leave_one_out"}
    for row in rows:
        assert row.tokens == [texts[row.example_id][s:e] for s, e in zip(row.starts, row.ends, strict=True)]
