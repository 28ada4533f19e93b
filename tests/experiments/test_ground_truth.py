"""Ground truth by hand, by properties, and on a trained model that had planted words to learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.batch import Example, Span
from heatcheck.data.sources import load
from heatcheck.errors import InputError
from heatcheck.experiments.explained import Explained, explain_texts
from heatcheck.experiments.ground_truth import GroundTruthConfig, check_ground_truth, ground_truth
from heatcheck.experiments.summary import summarise
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.models.subject import predict
from heatcheck.models.training import train
from heatcheck.request import Request
from heatcheck.results import read_table
from heatcheck.runner import execute
from tests.tiny import tiny_subject
from tests.toys import random_examples, small_subject

HALF = (1 + (4 / 3) / 2 + (5 / 3) / 3 + 2 / 4) / 4  # expected average precision of 2 words among 4


def run(subject, examples, explained, config=GroundTruthConfig()) -> pd.DataFrame:  # noqa: B008
    rows = ground_truth(subject, examples, config, generator=torch.Generator(), explained=explained)
    return pd.DataFrame([vars(row) for row in rows])


def scored(**methods: dict[str, list[float]]) -> Explained:
    """Scores of the words of each text, which stand after a start mark."""
    return Explained({m: {text: (range(1, len(s) + 1), s) for text, s in by.items()} for m, by in methods.items()})


def planted(text: str, *words: str) -> tuple[Span, ...]:
    return tuple(Span(0, text.index(word), text.index(word) + len(word)) for word in words)


def as_predicted(subject, examples, wrong: tuple[str, ...] = ()) -> list[Example]:
    """With the labels that the model predicts; the other one for the texts in `wrong`."""
    found = [predict(subject, subject.rows([e]))[0].argmax() for e in examples]
    return [replace(e, label=int(p != (e.id in wrong))) for e, p in zip(examples, found, strict=True)]


def test_by_hand():
    text = "aa bb cc dd"
    examples = [Example(name, text, 0, evidence=planted(text, "bb", "dd")) for name in ("x", "y")]
    subject = small_subject(examples)
    examples = as_predicted(subject, examples, wrong=("y",))
    scores = {"x": [0.1, 0.9, 0.5, 0.2], "y": [0.3, -0.9, 0.0, 0.4]}
    frame = run(subject, examples, scored(m=scores)).set_index(["example_id", "subject", "measure"]).value
    assert frame["x", "m", "auprc"] == pytest.approx((1 / 1 + 2 / 3) / 2)  # bb, cc, dd, aa
    assert frame["x", "m", "precision_at_k"] == 1 / 2
    assert frame["y", "m", "auprc"] == pytest.approx((1 / 1 + 2 / 4) / 2)  # dd, aa, cc, bb: signs count
    assert frame["y", "m", "precision_at_k"] == 1 / 2
    for name in ("x", "y"):
        assert frame[name, "random", "auprc"] == pytest.approx(HALF)
        assert frame[name, "random", "precision_at_k"] == 1 / 2


def test_texts_that_the_model_gets_wrong_stand_apart():
    text = "aa bb cc dd"
    examples = [Example(str(i), text, 0, evidence=planted(text, "cc")) for i in range(6)]
    subject = small_subject(examples)
    examples = as_predicted(subject, examples, wrong=("1", "4"))
    oracle = {e.id: [0.0, 0.0, -1.0 if e.id in ("1", "4") else 1.0, 0.0] for e in examples}
    frame = run(subject, examples, scored(m=oracle))
    assert set(frame.reference) == {"planted", "chance"}
    assert {t: set(f.setting) for t, f in frame.groupby("example_id")} == {
        str(i): {"model wrong" if i in (1, 4) else "model right"} for i in range(6)
    }
    over_all = [s for s in summarise(frame, seed=0) if s.group is None and s.statistic == "mean" and s.subject == "m"]
    found = {(s.measure, s.setting): (s.value, s.low, s.high, s.n) for s in over_all}
    assert found["precision_at_k", "model right"] == (1, 1, 1, 4)
    assert found["precision_at_k", "model wrong"] == (0, 0, 0, 2)
    assert found["auprc", "model wrong"] == pytest.approx((0.25, 0.25, 0.25, 2))


def test_texts_without_a_value_say_why():
    spans = {"unknown": None, "none": (), "all": (Span(0, 0, 2), Span(0, 3, 5)), "some": (Span(0, 3, 5),)}
    examples = [Example(name, "aa bb", 0, evidence=evidence) for name, evidence in spans.items()]
    frame = run(small_subject(examples), examples, scored(m={e.id: [0.0, 1.0] for e in examples}))
    reasons = frame.groupby("example_id").reason.unique()
    assert reasons["unknown"] == ["it is not known which words decide this text"]
    assert reasons["none"] == ["no planted word is among those that the model sees"]
    assert reasons["all"] == ["every word was planted: any order finds them"]
    assert frame.value.isna().sum() == 12
    assert frame.set_index(["example_id", "subject", "measure"]).value["some", "random", "auprc"] == 0.75


def test_mock_4q_has_no_value_and_pairs_have_evidence_in_both_texts():
    data = load("mock-4q(train=2, dev=2, test=4, shortest=3, longest=6)")
    examples = data.splits["test"]
    same = {e.id: [1.0] * len(e.text.split()) for e in examples}
    assert run(small_subject(examples), examples, scored(m=same)).value.isna().all()
    pairs = load("mock-1(pair=True, train=2, dev=2, test=4, shortest=3, longest=6)").splits["test"]
    subject = small_subject(pairs)
    rows = {"everywhere": {}, "first text": {}}
    for batch in subject.batches(pairs, 4):
        for row, e in enumerate(e for name in batch.example_ids for e in pairs if e.id == name):
            where = batch.words[row].nonzero().squeeze(1).tolist()
            spans = {(s.segment, s.start) for s in e.evidence}
            hits = [(int(batch.segments[row, t]), int(batch.offsets[row, t, 0])) in spans for t in where]
            rows["everywhere"][e.id] = (where, [float(hit) for hit in hits])
            first = [float(hit and batch.segments[row, t] == 0) for hit, t in zip(hits, where, strict=True)]
            rows["first text"][e.id] = (where, first)
    frame = run(subject, pairs, Explained(rows))
    at_k = frame[frame.measure == "precision_at_k"].groupby("subject").value
    assert at_k.unique()["everywhere"] == [1.0]
    assert (at_k.unique()["first text"] < 1).all()
    assert (at_k.unique()["first text"] > 0.5).all()  # the other place is a tie of all words left


def test_a_word_of_several_pieces_is_one_word(tmp_path):
    subject = tiny_subject(tmp_path)
    text = "the unbelievably film something"
    (batch,) = subject.batches([example := Example("x", text, 0, evidence=planted(text, "unbelievably"))], 1)
    where = batch.words[0].nonzero().squeeze(1).tolist()
    pieces = [t for t in where if 4 <= int(batch.offsets[0, t, 0]) < 16]
    assert len(pieces) > 1
    word = batch.word_ids[0].tolist()
    scores = [0.3 if t in pieces else 0.5 / word.count(word[t]) for t in where]  # words of 0.5, and one of many × 0.3
    frame = run(subject, [example], Explained({"m": {"x": (where, scores)}}))
    frame = frame[frame.subject == "m"]
    assert frame.value.tolist() == [1.0, 1.0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 3))
def test_properties(seed, planted_words, decimals):
    rng = np.random.default_rng(seed)
    text = " ".join(f"w{i}" for i in range(10))
    words = [f"w{i}" for i in sorted(rng.permutation(10)[:planted_words])]
    example = Example("x", text, 0, evidence=planted(text, *words))
    truth = np.array([f"w{i}" in words for i in range(10)], float)
    noise = rng.normal(size=10).round(decimals)
    methods = {"oracle": truth, "against": -truth, "equal": np.ones(10), "noise": noise, "louder": 3 * noise}
    frame = run(SUBJECT, [example], scored(**{name: {"x": s.tolist()} for name, s in methods.items()}))
    value = frame.pivot_table("value", "subject", "measure")
    assert (value.loc["oracle"] == 1).all()
    assert value.loc["noise"].between(value.loc["against"] - 1e-12, 1).all()
    np.testing.assert_allclose(value.loc["equal"], value.loc["random"])
    np.testing.assert_allclose(value.loc["noise"], value.loc["louder"])
    assert value.loc["random", "precision_at_k"] == pytest.approx(planted_words / 10)


SUBJECT = small_subject([Example("x", " ".join(f"w{i}" for i in range(10)), 0)])


def lists(folder: Path) -> tuple[Path, ...]:
    paths = tuple(folder / f"{name}.txt" for name in ("negative", "positive"))
    for path in paths:
        path.write_text("\n".join(f"{path.stem}{i}" for i in range(15)))
    return paths


def test_methods_find_what_a_trained_model_learned(tmp_path: Path):
    """An MLP on texts with two planted words each; strewn words of the other class must not be taken for them."""
    words = lists(tmp_path)
    data = load("mock-2(train=400, dev=60, test=40, filler=5, noise=0.5, shortest=8, longest=16)", words=words)
    spec = ModelSpec("mlp", "additive", embedding_width=16, hidden=16)
    subject = train(data, spec, Recipe(epochs=6, vectors="none", learning_rate=0.02), seed=0)
    examples = data.splits["test"]
    names = ("attention", "leave_one_out", "occlusion")
    rows = [
        row
        for name in names
        for row in explain_texts(subject, examples, name, generator=torch.Generator().manual_seed(0))
        if hasattr(row, "tokens")
    ]
    frame = run(subject, examples, Explained.of(rows), GroundTruthConfig(methods=names, batch_size=16))
    right = frame[frame.setting == "model right"]
    means = right.groupby(["subject", "measure"]).value.mean()
    assert right.example_id.nunique() >= 36
    for name in names[1:]:
        assert means[name, "auprc"] > 0.9
        assert means[name, "precision_at_k"] > 0.9
    # Attention looks at words of either class: strewn ones stand among the planted.
    assert means["random", "auprc"] + 0.2 < means["attention", "auprc"] < means["occlusion", "auprc"] - 0.1


def test_as_a_run(tmp_path: Path):
    request = Request(
        data="mock-1(train=200, dev=40, test=40, shortest=4, longest=8)",
        words=lists(tmp_path),
        spec=ModelSpec("mlp", "additive", hidden=16),
        recipe=Recipe(epochs=6, vectors="none", learning_rate=0.02),
        experiments=("ground_truth",),
        configs={"ground_truth": GroundTruthConfig(methods=("occlusion",))},
    )
    frame = read_table(execute(request, tmp_path / "run"), "scores").to_pandas()
    means = frame[(frame.experiment == "ground_truth") & (frame.statistic == "mean") & frame.group.isna()]
    right = means[means.setting == "model right"].set_index(["subject", "measure"])
    assert right.loc[("occlusion", "auprc"), "low"] > 0.8 > 0.6 > right.loc[("random", "auprc"), "high"]
    assert means[(means.subject == "occlusion") & (means.measure == "auprc")].n.sum() == 40  # right and wrong


def test_ordinary_data_is_refused():
    sentence = (
        "ground_truth needs texts whose deciding words are known, and these are not. "
        "Use mock data, for example --data mock-5."
    )
    with pytest.raises(InputError) as error:
        check_ground_truth(GroundTruthConfig(), random_examples(3))
    assert str(error.value) == sentence
    check_ground_truth(GroundTruthConfig(), [*random_examples(3), Example("x", "a b", 0, evidence=(Span(0, 0, 1),))])


def test_methods_that_were_not_explained_are_refused():
    examples = [Example("x", "aa bb", 0, evidence=(Span(0, 0, 2),))]
    with pytest.raises(InputError, match="There are no scores of 'lime' here"):
        run(small_subject(examples), examples, scored(m={"x": [1.0, 0.0]}), GroundTruthConfig(methods=("lime",)))
