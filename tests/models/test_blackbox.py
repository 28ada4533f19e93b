"""A function as a model: ids turn back into the very text, edits into the edited text; its answers are checked."""

import dataclasses
import functools

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from heatcheck.batch import Example, keep_tokens, replace_tokens
from heatcheck.errors import InputError
from heatcheck.models.blackbox import as_subject, fingerprint, name_of, texts_of, tried
from heatcheck.models.protocols import Classifier, Predictor
from heatcheck.models.subject import predict
from tests.edits import without_token


def even(texts):
    return [[0.5, 0.5]] * len(texts)


def lengths(texts):
    """Says how long a text is, so that what it was given shows."""
    share = np.array([len(t) / 1000 for t in texts])
    return np.stack([1 - share, share], axis=1)


def batch_of(*examples, function=even):
    subject = as_subject(function, ("no", "yes"))
    (batch,) = subject.batches(examples, len(examples))
    return subject, batch


def back(subject, batch):
    return texts_of(batch, subject.model.pieces)


TEXTS = ["A film,  well\tmade. ", "", "   ", "映画は良い", "ห้องน้ำ สะอาด", "🎬 <script>\x00'\"\u202e", "\nx_1\u0301 é"]


@pytest.mark.parametrize("text", TEXTS)
def test_unedited_text_comes_back_as_it_was(text):
    subject, batch = batch_of(Example("a", text, 0), Example("b", "something longer than that is", 0))
    assert text in back(subject, batch)
    subject, batch = batch_of(Example("a", text, 0, text + "!"))
    assert back(subject, batch) == [(text, text + "!")]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.none() | st.text(max_size=20))
def test_any_text_comes_back(text, pair):
    subject, batch = batch_of(Example("a", text, 0, pair))
    assert back(subject, batch) == [text if pair is None else (text, pair)]
    for place in batch.words[0].nonzero().squeeze(1).tolist():
        start, end = batch.offsets[0, place].tolist()
        assert (text, pair)[int(batch.segments[0, place])][start:end].strip()


def test_a_deleted_word_takes_its_white_space_along():
    subject, batch = batch_of(Example("a", "A film,  well\tmade. ", 0))
    without = [back(subject, without_token(batch, torch.tensor([t])))[0] for t in range(5)]
    assert without == [
        "film,  well\tmade. ",
        "A,  well\tmade. ",
        "A film  well\tmade. ",
        "A film,\tmade. ",
        "A film,  well. ",
    ]
    nothing = keep_tokens(batch, batch.special)
    assert back(subject, nothing) == [" "]


def test_hidden_words_are_seen_as_the_mask_and_padding_as_nothing():
    subject, batch = batch_of(Example("a", "A film, 映画", 0, "so good"))
    hidden = replace_tokens(batch, batch.words, subject.model.mask_id)
    assert back(subject, hidden) == [("[MASK] [MASK][MASK] [MASK][MASK]", "[MASK] [MASK]")]
    emptied = replace_tokens(batch, batch.words, subject.model.pad_id)
    assert back(subject, emptied) == [("", "")]
    other = as_subject(even, ("no", "yes"), mask="UNKWORDZ")
    (batch,) = other.batches([Example("a", "A film", 0)], 1)
    assert back(other, replace_tokens(batch, batch.words, 1)) == ["UNKWORDZ UNKWORDZ"]


def exchanged(text, *drawn):
    """The text with its first words exchanged for `drawn`, each read in a text of its own behind a line break."""
    subject, batch = batch_of(Example("a", text, 0))
    drawn_ids = batch.token_ids.clone()
    for place, word in enumerate(drawn):
        drawn_ids[0, place] = subject.reader.row(Example("b", "\n" + word, 0)).columns[0, 0]
    ids = subject.model.in_place(batch, drawn_ids[None])[0]
    return back(subject, replace_tokens(batch, batch.mask, ids))


def test_an_exchanged_word_stands_behind_the_white_space_of_its_place():
    assert exchanged("A film,  well\tmade. ", "Nice", "plot", "!", "is", "bad") == ["Nice plot!  is\tbad. "]
    assert exchanged(" A film", "Nice", "plot") == [" Nice plot"]
    assert exchanged("映画は良い", "良", "good", "映") == ["良good映良い"]
    assert exchanged("a 映画", "映", "b", "c") == ["映 bc"]
    assert exchanged("A film", "a", "b", "c") == ["a b"]  # where the text ends there is no word to exchange


def test_a_pair_stays_one_whatever_is_taken_out_of_it():
    examples = [Example("a", "A film", 0, "so good"), Example("b", "A film", 0)]
    subject, batch = batch_of(*examples)
    names = batch.example_ids

    def left(keep):
        return dict(zip(names, back(subject, keep_tokens(batch, keep)), strict=True))

    assert left(batch.segments == 0) == {"a": ("A film", ""), "b": "A film"}
    assert left(batch.segments == 1) == {"a": ("", "so good"), "b": ""}
    assert left(batch.mask & False) == {"a": ("", ""), "b": ""}
    (again,) = subject.batches([Example("a", "alone", 0)], 1)
    assert back(subject, again) == ["alone"]


def test_scripts_without_spaces_have_a_word_for_each_letter():
    _, batch = batch_of(Example("a", "映画は良い", 0))
    assert batch.offsets[0, batch.words[0]].tolist() == [[i, i + 1] for i in range(5)]


def test_logits_are_logarithms_and_probabilities_come_back():
    subject, batch = batch_of(Example("a", "abc def", 0), Example("b", "x" * 1000, 1), function=lengths)
    assert isinstance(subject.model, Predictor)
    assert not isinstance(subject.model, Classifier)
    logits = subject.model.predict(batch)
    shares = [len(text) / 1000 for text in back(subject, batch)]
    expected = torch.tensor([[1 - share, share] for share in shares], dtype=torch.float64)
    torch.testing.assert_close(subject.model.probs(logits), expected, atol=1e-9, rtol=0)
    assert torch.isfinite(logits).all()
    probs, labels = predict(subject, subject.rows([Example("a", "abc def", 0), Example("b", "x", 1)]))
    assert probs.shape == (2, 2)
    assert sorted(labels.tolist()) == [0, 1]


def test_equal_texts_are_asked_for_once_and_pairs_are_tuples():
    asked = []

    def spy(texts):
        asked.append(list(texts))
        return even(texts)

    subject, batch = batch_of(Example("a", "same", 0), Example("b", "same", 0), Example("c", "other", 0), function=spy)
    assert subject.model.predict(batch).shape == (3, 2)
    assert asked == [["same", "other"]]
    subject, batch = batch_of(Example("a", "same", 0, "pair"), function=spy)
    subject.model.predict(batch)
    assert asked[-1] == [("same", "pair")]


WRONG = {
    "shape": (
        lambda texts: [[0.2, 0.3, 0.5]] * len(texts),
        " gives numbers of shape (1, 3) for 1 texts and the labels no, yes. "
        "Give a row of 2 probabilities for each text.",
    ),
    "one number": (
        lambda texts: [0.2] * len(texts),
        " gives numbers of shape (1,) for 1 texts and the labels no, yes. "
        "Give a row of 2 probabilities for each text. Of two classes give both: 1 − p and p.",
    ),
    "ragged": (
        lambda texts: [[0.2, 0.8], [1.0]],
        " gives a list that is not a table of numbers. Give 1 rows of 2 probabilities for 1 texts.",
    ),
    "negative": (
        lambda texts: [[-0.5, 1.5]] * len(texts),
        " gives -0.5, 1.5 for 'a film': a probability is not negative. "
        "If these are scores, let the function return their softmax.",
    ),
    "sum": (
        lambda texts: [[0.5, 1.5]] * len(texts),
        " gives 0.5, 1.5 for 'a film': probabilities sum to 1. "
        "If these are scores, let the function return their softmax.",
    ),
    "nan": (
        lambda texts: [[float("nan"), 1.0]] * len(texts),
        " gives nan, 1 for 'a film': a probability is a finite number.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_cannot_be_is_told_in_a_sentence(case):
    function, sentence = WRONG[case]
    subject, batch = batch_of(Example("a", "a film", 0), function=function)
    with pytest.raises(InputError) as found:
        subject.model.predict(batch)
    assert str(found.value) == "tests.models.test_blackbox.<lambda>" + sentence


def fussy(texts):
    if any("boom" in t for t in texts):
        raise ValueError("no\nbooms")
    return even(texts)


def test_a_function_that_fails_is_told_with_the_text_it_fails_on():
    examples = [Example(str(i), f"text {i}", 0) for i in range(9)] + [Example("x", "a boom", 0)]
    subject, batch = batch_of(*examples, function=fussy)
    with pytest.raises(InputError) as found:
        subject.model.predict(batch)
    assert str(found.value) == "tests.models.test_blackbox.fussy fails on 'a boom': ValueError: no booms"

    def crowded(texts):
        if len(texts) > 3:
            raise KeyError("crowd")
        return even(texts)

    subject, batch = batch_of(*examples, function=crowded)
    with pytest.raises(
        InputError, match="fails on a call with 10 texts, though not with each alone: KeyError: 'crowd'"
    ):
        subject.model.predict(batch)


def test_memory_that_runs_out_is_not_taken_for_a_mistake():
    def small(texts):
        raise MemoryError

    subject, batch = batch_of(Example("a", "a film", 0), function=small)
    with pytest.raises(MemoryError):
        subject.model.predict(batch)


@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
def test_a_mistake_that_speaks_of_memory_is_a_mistake(kind):
    def forgetful(texts):
        raise kind("the memory bank of my retriever is empty")

    subject, batch = batch_of(Example("a", "a film", 0), function=forgetful)
    with pytest.raises(InputError, match=r"forgetful fails on 'a film': .*: the memory bank of my retriever is empty"):
        subject.model.predict(batch)


def test_where_it_comes_from_is_recorded():
    subject = as_subject(fussy, ("no", "yes"))
    assert (subject.name, subject.labels) == ("fussy", ("no", "yes"))
    assert subject.spec.describe() == "tests.models.test_blackbox.fussy (black box)"
    assert subject.spec.task == "any"
    assert dataclasses.asdict(subject.spec)["mask"] == "[MASK]"
    assert subject.fingerprint == fingerprint(fussy)
    assert len({fingerprint(f) for f in (fussy, even, lengths, len, print)}) == 5
    assert name_of(functools.partial(fussy)) == "tests.models.test_blackbox.fussy"

    class Callable:
        def __call__(self, texts):
            return even(texts)

    assert name_of(Callable()).endswith("Callable")
    with pytest.raises(InputError, match="fussy: 1 labels"):
        as_subject(fussy, ("yes",))


def dice(texts):
    """Answers by lot, as a language model that samples does."""
    p = np.random.default_rng().uniform(0.3, 0.6, len(texts))
    return np.stack([1 - p, p], axis=1)


def test_a_function_is_known_by_its_answers_unless_they_change():
    examples = [Example(str(i), f"text {'x' * i}", 0) for i in range(8)]
    subject = as_subject(lengths, ("no", "yes"))
    known = tried(subject, examples)
    assert known.fingerprint.startswith(subject.fingerprint + "-")
    assert known == dataclasses.replace(subject, fingerprint=known.fingerprint)
    assert tried(as_subject(lengths, ("no", "yes")), examples).fingerprint == known.fingerprint
    assert tried(subject, examples[1:]).fingerprint != known.fingerprint
    assert tried(subject, []) == subject
    loose = tried(as_subject(dice, ("no", "yes")), examples)
    assert loose.fingerprint == fingerprint(dice)  # what is done can be found again all the same
    (note,) = loose.notes
    assert note.startswith("tests.models.test_blackbox.dice gives other answers when it is asked again about the same")


def test_rounding_is_no_change_of_mind():
    calls = []

    def nearly(texts):
        calls.append(texts)
        p = 0.4 + 1e-8 * len(calls)
        return [[1 - p, p]] * len(texts)

    assert tried(as_subject(nearly, ("no", "yes")), [Example("a", "b", 0)]).notes == ()
    assert len(calls) == 2
