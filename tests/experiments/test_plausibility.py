"""Plausibility against scikit-learn, chance, and marks on the right words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score

import heatcheck
from heatcheck import work
from heatcheck.batch import Example, Span
from heatcheck.data.rationales import KINDS, mask_notes
from heatcheck.errors import InputError
from heatcheck.experiments.erasing.words import Words
from heatcheck.experiments.explained import Explained
from heatcheck.experiments.marked import marked_words
from heatcheck.experiments.plausibility import PlausibilityConfig, check_plausibility, plausibility
from tests.test_cli_transformers import table
from tests.tiny import tiny_subject
from tests.toys import random_examples, small_subject


def run(subject, examples, config, explained) -> pd.DataFrame:
    generator = torch.Generator().manual_seed(0)
    return pd.DataFrame(
        [vars(s) for s in plausibility(subject, examples, config, generator=generator, explained=explained)]
    )


def masks(path: Path, marked: dict[str, list[int]]) -> PlausibilityConfig:
    path.write_text("\n".join(json.dumps({"id": k, "mask": v}) for k, v in marked.items()), encoding="utf-8")
    return PlausibilityConfig(str(path), "mask")


def test_values_are_those_of_scikit_learn(tmp_path):
    rng = np.random.default_rng(3)
    examples = [e for e in random_examples(12, seed=9) if len(e.text.split()) > 2]
    lengths = {e.id: len(e.text.split()) for e in examples}
    marked = {name: rng.permutation([1, 0, *rng.integers(0, 2, n - 2)]).tolist() for name, n in lengths.items()}
    scores = {name: rng.normal(size=n).tolist() for name, n in lengths.items()}
    explained = Explained({"m": {name: (range(1, len(s) + 1), s) for name, s in scores.items()}})
    frame = run(small_subject(examples), examples, masks(tmp_path / "m.jsonl", marked), explained)
    frame = frame[frame.subject == "m"].set_index(["measure", "example_id"])
    for name, truth in marked.items():
        expected = average_precision_score(truth, scores[name])
        assert frame.value["auprc", name] == pytest.approx(expected)
        cut = np.sort(scores[name])[::-1][sum(truth) - 1]
        expected = f1_score(truth, [s >= cut for s in scores[name]])
        assert frame.value["token_f1", name] == pytest.approx(expected)
    assert set(frame.reference) == {"people"}


def test_marks_lie_on_the_words_of_subword_tokenizers_and_of_both_texts(tmp_path):
    subject = tiny_subject(tmp_path)
    text, pair = "The films  are Sadly 映画 🎬 good", "not acting, bad."
    (batch,) = subject.batches([Example("x", text, 0, pair)], 1)
    words = Words.of(batch)

    def marked(*spans: Span) -> list[str]:
        chosen = marked_words(batch, words, {"x": spans})[0]
        found = []
        for place in np.flatnonzero(chosen):
            tokens = np.flatnonzero(words.place[0] == place)
            source = pair if batch.segments[0, tokens[0]] else text
            found.append(source[int(batch.offsets[0, tokens[0], 0]) : int(batch.offsets[0, tokens[-1], 1])])
        return found

    assert marked(Span(0, text.index("lms"), text.index("lms") + 1)) == ["films"]
    assert marked(Span(0, text.index("Sad"), text.index("画"))) == ["Sadly", "映"]
    assert marked(Span(0, text.index("🎬"), len(text))) == ["🎬", "good"]
    assert marked(Span(1, 4, 11), Span(0, 0, 3)) == ["The", "acting", ","]
    assert marked(Span(0, 9, 11)) == []  # spaces


def test_texts_without_a_value_say_why(tmp_path):
    texts = {"none": "a b", "empty": "a b c", "all": "a b d", "some": "a b e f"}
    examples = [Example(name, text, 0) for name, text in texts.items()]
    config = masks(tmp_path / "m.jsonl", {"empty": [0, 0, 0], "all": [1, 1, 1], "some": [0, 1, 0, 0]})
    scores = {e.id: (range(1, 5), [1.0, 2.0, 3.0, 0.5][: len(e.text.split())]) for e in examples}
    scores = {name: (p[: len(s)], s) for name, (p, s) in scores.items()}
    frame = run(small_subject(examples), examples, config, Explained({"m": scores})).set_index("example_id")
    reasons = frame[frame.subject == "m"].reason.groupby("example_id").first()
    assert reasons["none"] == "no rationale for this text"
    assert reasons["empty"] == "people marked no word that the model sees"
    assert reasons["all"] == "people marked every word"
    assert frame.value.isna().sum() == 12
    some = frame.loc["some"]
    chance = some[some.reference == "chance"].set_index("measure").value
    assert chance["token_f1"] == 0.25
    assert chance["auprc"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert some[some.subject == "m"].set_index("measure").value.to_dict() == {"token_f1": 0, "auprc": 0.5}


def predict(texts):
    """Every word counts a little, by its letters."""
    p = np.array([0.5 + 0.4 * np.sin(sum(map(ord, text))) for text in texts])
    return np.stack([1 - p, p], axis=1)


def test_a_run_reads_its_rationales_once(tmp_path, monkeypatch):
    """Three steps and the check before them; a file that has changed is read again."""
    opened = []

    def counted(path):
        opened.append(path)
        yield from mask_notes(path)

    monkeypatch.setitem(KINDS, "mask", counted)
    monkeypatch.setattr(work, "EXPLAIN_SHARD", 4)
    texts = [f"w{i} good w{i + 1} w{i + 2}" for i in range(10)]
    rows = [(f"t{i}", text, ("no", "yes")[i % 2]) for i, text in enumerate(texts)]
    data = table(tmp_path / "texts.csv", ["id", "text", "label"], rows)

    def auprc(name, marked):
        masks(tmp_path / "m.jsonl", {f"t{i}": marked for i in range(10)})
        config = PlausibilityConfig(str(tmp_path / "m.jsonl"), "mask", methods=("leave_one_out",))
        settings = {"configs": {"plausibility": config}, "threads": 1}
        scores = heatcheck.run("plausibility", predict, data, out=tmp_path / name, **settings).scores
        return scores[(scores.measure == "auprc") & (scores.subject == "leave_one_out") & scores.example_id.notna()]

    first = auprc("one", [0, 1, 0, 0])
    assert len(first) == 10
    assert first.value.notna().all()
    assert len(list((tmp_path / "one" / "steps").glob("plausibility-*"))) == 3
    assert opened == [tmp_path / "m.jsonl"]
    second = auprc("two", [0, 0, 1, 0])
    assert len(opened) == 2
    assert (second.value.to_numpy() != first.value.to_numpy()).any()


def test_settings_that_make_no_sense(tmp_path):
    examples = random_examples(2)
    with pytest.raises(InputError, match="format 'xml' is not one of eraser, mask, sst"):
        PlausibilityConfig("x", "xml")
    with pytest.raises(InputError, match="Name their file with --rationales"):
        check_plausibility(PlausibilityConfig(), examples)
