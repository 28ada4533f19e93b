"""Properties of the word rules and the vocabulary: every offset points at its word in the original text."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.batch import Example
from heatcheck.data.vocabulary import END, MARKS, PAD, START, UNKNOWN, build
from heatcheck.data.words import LONGEST_WORD, WordRules

UNSEEN = re.compile("[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)
WORDS = st.lists(st.sampled_from(["good", "Bad", "it's", "10/10", "日本", "…", "naïve"]), max_size=8).map(" ".join)


@pytest.mark.parametrize("tokenizer", ["unicode", "spacy", "whitespace"])
@given(text=TEXT)
def test_offsets_index_the_original_text(tokenizer: str, text: str) -> None:
    words = WordRules(tokenizer=tokenizer, lowercase=False).split(text)
    unseen = UNSEEN if tokenizer == "unicode" else re.compile("(?!)")
    assert all(unseen.sub("", text[w.start : w.end][:LONGEST_WORD]) == w.form and w.form.strip() for w in words)
    assert all(a.end <= b.start for a, b in itertools.pairwise(words))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\u0645\u06cc\u200c\u0634\u0648\u062f", ["\u0645\u06cc\u200c\u0634\u0648\u062f"]),  # Persian, with a joiner
        ("ex\u00adample ok", ["example", "ok"]),
        ("a\u200bb \u200b c", ["a", "b", "c"]),
        ("\ufeffA \u05e9\u05dc\u200f!", ["a", "\u05e9\u05dc", "!"]),
        ("\u200f \u00ad", []),
        ("a\u2065b \u0604", ["a", "\u2065", "b", "\u0604"]),
        ("\U0001f469\u200d\U0001f680 ok...\u200b!", ["\U0001f469\u200d\U0001f680", "ok", "...", "!"]),
    ],
)
def test_what_has_no_shape_is_no_word(text: str, found: list[str]) -> None:
    words = WordRules().split(text)
    assert [word.form for word in words] == found


@given(text=TEXT)
def test_no_letter_is_lost(text: str) -> None:
    covered = {i for w in WordRules().split(text) for i in range(w.start, w.end)}
    assert all(i in covered for i, c in enumerate(text) if c.isalnum())


@given(texts=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_batch_points_back_into_the_texts(texts: list[tuple[str, str]]) -> None:
    examples = [Example(str(i), text, 0, pair) for i, (text, pair) in enumerate(texts)]
    vocabulary = build(examples, WordRules(), n_labels=2)
    batch = vocabulary.batch(examples)
    for row, example in enumerate(examples):
        length = int(batch.mask[row].sum())
        assert batch.mask[row, :length].all()
        assert (batch.token_ids[row, length:] == PAD).all()
        for place in range(length):
            check_token(vocabulary.words, batch, row, place, example)


def check_token(words: tuple[str, ...], batch, row: int, place: int, example: Example) -> None:  # type: ignore[no-untyped-def]
    token = int(batch.token_ids[row, place])
    source = example.pair if batch.segments[row, place] else example.text
    start, end = batch.offsets[row, place].tolist()
    if batch.special[row, place]:
        assert token in (START, END)
        assert (start, end, int(batch.word_ids[row, place])) == (0, 0, -1)
    else:
        assert words[token] == str(source)[start:end].lower()


def test_unknown_words_and_minimum_frequency() -> None:
    examples = [Example("1", "good film", 0), Example("2", "good good day", 1)]
    vocabulary = build(examples, WordRules(), n_labels=2, min_frequency=2)
    assert vocabulary.words == (*MARKS, "good")
    assert vocabulary.batch([Example("3", "good day", 0)]).token_ids.tolist() == [[START, 4, UNKNOWN, END]]
