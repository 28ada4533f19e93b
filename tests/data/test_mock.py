"""Mock data: every word is where it is said to be, and the label can be had from the planted ones alone."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.batch import Example, Span
from heatcheck.data.dataset import Dataset, examples_fingerprint
from heatcheck.data.fillers import NEUTRAL, SOMETHING, fillers
from heatcheck.data.lexicon import packaged_lexicon, read_lexicon
from heatcheck.data.mock import INFORMATIVE, SETTINGS, Mock, load_mock
from heatcheck.data.packaged_vectors import open_packaged
from heatcheck.data.sources import SOURCES, is_named, load
from heatcheck.data.vocabulary import build
from heatcheck.errors import InputError

SMALL = "train=60, dev=20, test=20"
LISTS = packaged_lexicon().words
CLASS_OF = {word: label for label, words in enumerate(LISTS) for word in words}


def small(name: str, settings: str = "", **more: object) -> Dataset:
    return load(f"{name}({', '.join(filter(None, (settings, SMALL)))})", **more)  # type: ignore[arg-type]


def examples(data: Dataset) -> list[Example]:
    return [e for part in data.splits.values() for e in part]


def planted(example: Example, segment: int = 0) -> list[str]:
    text = example.pair if segment else example.text
    return [text[s.start : s.end] for s in example.evidence if s.segment == segment]


def places(example: Example) -> list[int]:
    """Which words of the text are planted, by counting the spaces in front of them."""
    return [example.text[: s.start].count(" ") for s in example.evidence]


@pytest.mark.parametrize("name", INFORMATIVE)
def test_as_published(name):
    data = load(name if name == "mock-2" else f"{name}(train=60)")
    train = 8000 if name == "mock-2" else 60
    assert {split: len(part) for split, part in data.splits.items()} == {"train": train, "dev": 1000, "test": 1000}
    assert (data.task, data.labels) == ("single", ("negative", "positive"))
    for part in data.splits.values():
        assert Counter(e.label for e in part) == {0: len(part) / 2, 1: len(part) / 2}
    lengths = Counter()
    for e in data.splits["test"]:
        words = e.text.split(" ")
        lengths[len(words)] += 1
        wanted = {"q": int(int(name[5]) * len(words) / 4 + 0.5)}.get(name[-1]) or int(name[5:])
        where = places(e)
        assert len(where) == len(e.evidence) == len(set(where)) == wanted
        assert [words[i] for i in where] == planted(e)
        assert {CLASS_OF[word] for word in planted(e)} == {e.label}
        assert {word for i, word in enumerate(words) if i not in set(where)} <= {SOMETHING}
    assert (min(lengths), max(lengths)) == (50, 100)


def test_lengths_places_and_words_are_drawn_evenly():
    parts = load("mock-2").splits["train"]
    lengths = Counter(len(e.text.split()) for e in parts)
    rng = np.random.default_rng(0)
    share = [(places(e)[0] + rng.random()) / len(e.text.split()) for e in load("mock-1").splits["train"]]
    drawn = Counter(word for e in parts for word in planted(e))
    for counts, kinds in ((list(lengths.values()), 51), (np.histogram(share, 20, (0, 1))[0], 20)):
        expected = sum(counts) / kinds
        assert sum((n - expected) ** 2 / expected for n in counts) < kinds + 5 * np.sqrt(2 * kinds)  # chi squared
    n, m = sum(drawn[w] for w in LISTS[1]), len(LISTS[1])
    unseen = sum(word not in drawn for word in LISTS[1]) / m
    assert unseen == pytest.approx((1 - 1 / m) ** n, abs=0.02)


def test_the_seed_decides_and_nothing_else():
    assert small("mock-5").fingerprint() == small("mock-5").fingerprint()
    assert small("mock-5", seed=1).fingerprint() != small("mock-5", seed=0).fingerprint()
    more = load("mock-5(train=70, dev=20, test=40)")
    for split, part in small("mock-5").splits.items():
        assert list(more.splits[split][: len(part)]) == list(part)
    texts = [{e.text for e in part} for part in more.splits.values()]
    assert len(set.union(*texts)) == sum(map(len, texts))  # no split repeats another
    first = load("mock-1(train=2)").splits["test"][0]  # the same on every machine and version
    assert (planted(first), places(first), len(first.text.split())) == (["dazes"], [15], 55)


def test_every_word_is_one_token_of_a_model():
    data = small("mock-3q", "filler=50")
    vocabulary = build(data.splits["train"], data.rules, 2)
    for e in data.splits["train"]:
        row = vocabulary.row(e).columns
        words = data.rules.split(e.text)
        assert row.shape[1] == len(e.text.split()) + 2
        spans = {(w.start, w.end) for w in words}
        assert all((s.start, s.end) in spans for s in e.evidence)
    for word in CLASS_OF:
        assert len(data.rules.split(word)) == 1


@pytest.mark.parametrize(("place", "first"), [("start", 0), ("middle", None), ("end", -1)])
@pytest.mark.parametrize("name", ["mock-1", "mock-5", "mock-1q"])
def test_place(name, place, first):
    for e in examples(small(name, f"place='{place}'")):
        where, length = places(e), len(e.text.split())
        assert where == list(range(where[0], where[0] + len(where)))
        if first is None:
            assert 0 <= (length - 1 - where[-1]) - where[0] <= 1
        else:
            assert where[first] == range(length)[first]


@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_strength(strength):
    lists = packaged_lexicon(strength=strength).words
    for e in examples(small("mock-10", f"strength={strength!r}")):
        assert set(planted(e)) <= set(lists[e.label])


def test_filler():
    data = load("mock-5(filler=40, train=2)")
    rest = Counter(w for e in data.splits["test"] for w in e.text.split() if w not in CLASS_OF)
    assert set(rest) == set(fillers(40, CLASS_OF))
    assert min(rest.values()) > 0.85 * max(rest.values()) > 1000
    assert fillers(1, CLASS_OF) == [SOMETHING]
    many = fillers(100_000, CLASS_OF)
    assert len(set(many)) == 100_000
    assert not set(many) & set(CLASS_OF)
    assert many[: len(NEUTRAL) + 1] == [SOMETHING, *NEUTRAL]  # none of them is a word of VADER's
    assert all(len(data.rules.split(word)) == 1 for word in many)


def test_everyday_fillers_are_neutral_and_have_vectors(shared_data):
    folder = shared_data / "lexicons"
    found = read_lexicon([folder / "hu_liu_negative.txt", folder / "hu_liu_positive.txt"])
    assert not set(NEUTRAL) & {word for words in found.words for word in words}
    assert len(dict(open_packaged().look_up([SOMETHING, *NEUTRAL]))) == 200


def test_classes():
    lists = packaged_lexicon(5).words
    data = load("mock-2(classes=5, train=60)")
    assert data.labels == tuple(f"band {i}" for i in range(1, 6))
    assert Counter(e.label for e in data.splits["test"]) == dict.fromkeys(range(5), 200)
    assert all(set(planted(e)) <= set(lists[e.label]) for e in examples(data))


@pytest.mark.parametrize(
    ("settings", "classes", "strewn"),
    [("noise=1, place='start'", 2, 5), ("noise=2, place='end'", 2, 10), ("noise=0.5", 2, 2),
     ("noise=1, place='middle', classes=4", 4, 5)],
)  # fmt: skip
def test_noise(settings, classes, strewn):
    lists = LISTS if classes == 2 else packaged_lexicon(classes).words
    class_of = {word: label for label, words in enumerate(lists) for word in words}
    for e in examples(small("mock-5", settings)):
        words, where = e.text.split(), set(places(e))
        assert Counter(class_of[words[i]] for i in where) == {e.label: 5}
        others = Counter(class_of[w] for i, w in enumerate(words) if i not in where and w in class_of)
        assert others == {label: strewn for label in range(classes) if label != e.label}


def test_noise_of_1_leaves_nothing_to_who_counts_words_and_all_to_who_knows_the_place():
    def balance(e: Example) -> int:
        return sum(2 * CLASS_OF[w] - 1 for w in e.text.split() if w in CLASS_OF)

    for e in examples(small("mock-5", "noise=1, place='start'")):
        assert balance(e) == 0
        assert CLASS_OF[e.text.split()[0]] == e.label
    for e in examples(small("mock-5", "noise=.9")):
        assert balance(e) == 2 * e.label - 1


@pytest.mark.parametrize("classes", [2, 3])
def test_pair(classes):
    lists = LISTS if classes == 2 else packaged_lexicon(classes).words
    class_of = {word: label for label, words in enumerate(lists) for word in words}
    data = small("mock-2", f"pair=True, classes={classes}")
    assert (data.task, data.labels) == ("pair", ("different", "same"))
    seen = Counter()
    for e in examples(data):
        (first,), (second,) = ({class_of[w] for w in planted(e, segment)} for segment in (0, 1))
        assert len(planted(e, 0)) == len(planted(e, 1)) == 2
        assert sum(w in class_of for w in e.pair.split()) == 2
        assert e.label == (first == second)
        seen[first, e.label] += 1
    assert max(seen.values()) - min(seen.values()) <= 3  # neither text alone tells the label
    assert len(seen) == 2 * classes


def test_lengths_can_be_set():
    lengths = {len(e.text.split()) for e in examples(small("mock-1", "shortest=3, longest=5"))}
    assert lengths == {3, 4, 5}
    assert {len(e.evidence) for e in examples(small("mock-2", "shortest=2, longest=2"))} == {2}


def lists(tmp_path: Path, *words: str) -> list[Path]:
    paths = [tmp_path / f"list{i}.txt" for i in range(len(words))]
    for path, text in zip(paths, words, strict=True):
        path.write_text(text.replace(" ", "\n"))
    return paths


def test_own_lists(tmp_path):
    data = small("mock-5", words=lists(tmp_path, "bad dull", "good fine"))
    assert data.labels == ("negative", "positive")
    for e in examples(data):
        assert set(planted(e)) <= set((("bad", "dull"), ("good", "fine"))[e.label])
    assert data.notes == (
        "Made by heatcheck (seed 0): in each text 5 of 50 to 100 words were planted, from list0.txt, list1.txt "
        "(2 negative, 2 positive).",
    )
    three = small("mock-5", words=lists(tmp_path, "a1 ball", "pear", "town"))
    assert three.labels == ("list0", "list1", "list2")
    hidden = small("mock-1", words=lists(tmp_path, "something", "good"))
    assert {w for e in examples(hidden) for w in e.text.split()} == {"something", "good", "the"}


def test_evidence_counts_in_fingerprints_only_where_there_is_some():
    without = hashlib.sha256(repr(("1", "a b", None, 0, None)).encode()).hexdigest()[:16]
    kinds = (None, (), (Span(0, 0, 1),), (Span(0, 2, 3),))
    found = [examples_fingerprint([Example("1", "a b", 0, evidence=evidence)]) for evidence in kinds]
    assert found[0] == without
    assert len(set(found)) == 4


def test_the_list_of_sources():
    assert list(INFORMATIVE) == [name for name in SOURCES if name.startswith("mock-")]
    assert SOURCES["mock-10"] == "paper 3: made texts of 50 to 100 words, deciding words: 10"
    listed = [name for names in SETTINGS for name in names.split(", ")]
    assert listed == [field.name for field in fields(Mock)][1:]
    assert is_named("mock-1(place='end')")
    assert not is_named("mock-3")


ERRORS = {
    "mock-1(plase='end')": "there is no setting 'plase'. It has: place, strength, filler, classes, noise, pair, "
    "shortest, longest, train, dev, test.",
    "mock-1(informative=3)": "there is no setting 'informative'. It has: place, strength, filler, classes, noise, "
    "pair, shortest, longest, train, dev, test.",
    "mock-1(filler='x')": "filler is 'x', which is no int.",
    "mock-1(train=True)": "train is True, which is no int.",
    "mock-1(noise='much')": "noise is 'much', which is no float.",
    "mock-1(pair=1)": "pair is 1, which is no bool.",
    "mock-1(place='top')": "place is 'top', which is not one of scattered, start, middle, end.",
    "mock-1(strength='mild')": "strength is 'mild', which is not one of any, strong, weak.",
    "mock-1(filler=0)": "filler is 0, not between 1 and 100,000.",
    "mock-1(classes=1)": "classes is 1, where 2 is the least.",
    "mock-1(train=0)": "train is 0, where 1 is the least.",
    "mock-1(test=-3)": "test is -3, where 1 is the least.",
    "mock-1(shortest=0)": "shortest is 0, where 1 is the least.",
    "mock-1(longest=20)": "longest is 20, not between shortest, 50, and 1,000.",
    "mock-1(longest=2000)": "longest is 2000, not between shortest, 50, and 1,000.",
    "mock-1(noise=-1)": "noise is -1, where 0 is the least.",
    "mock-1(noise=1e999)": "noise is inf, where 0 is the least.",
    "mock-1(strength='weak', classes=3)": "strength is for two classes of VADER's words, which alone are rated.",
    "mock-1(noise=1)": "noise of 1 or more at scattered places leaves the label unknown; choose another place, "
    "or less.",
    "mock-10(shortest=5)": "a text of 5 words has no room for 10 informative ones. "
    "Make texts longer with shortest, or choose data with fewer.",
    "mock-10(noise=2, place='end', classes=4)": "a text of 50 words has no room for 10 informative and 60 strewn ones. "
    "Make texts longer with shortest, or choose data with fewer.",
    "mock-4q(noise=1, place='end')": "a text of 50 words has no room for 50 informative and 50 strewn ones. "
    "Make texts longer with shortest, or choose data with fewer.",
    "mock-1q(shortest=1)": "a text of 1 words with 0 informative ones would have no informative word. "
    "Make texts longer with shortest, or choose data or noise with more.",
    "mock-1(noise=.5)": "a text of 50 words with 1 informative ones would have no strewn word. "
    "Make texts longer with shortest, or choose data or noise with more.",
}


@pytest.mark.parametrize(("source", "sentence"), ERRORS.items())
def test_settings_that_make_no_sense(source, sentence):
    with pytest.raises(InputError) as error:
        load(source)
    assert str(error.value) == f"Data {source!r}: {sentence}"


def error(source: str, **more: object) -> str:
    with pytest.raises(InputError) as caught:
        load(source, **more)  # type: ignore[arg-type]
    return str(caught.value)


def test_lists_that_do_not_fit(tmp_path):
    paths = lists(tmp_path, "bad", "good", "so")
    assert error("mock-1(classes=4)", words=paths) == (
        "Data 'mock-1(classes=4)': classes is 4, but 3 lists of words are given."
    )
    assert error("mock-1(strength='strong')", words=paths[:2]) == (
        "Data \"mock-1(strength='strong')\": strength is for two classes of VADER's words, which alone are rated."
    )
    assert error("mock-1", words=paths[:1]).startswith(f"{paths[0]}: one list of words is one class")
    assert error("sst", words=paths) == (
        "--words is for mock data (mock-1, mock-2, mock-5, mock-10, mock-1q, mock-2q, mock-3q, mock-4q), not for sst."
    )


def test_names_and_columns_that_do_not_fit():
    assert error("mock-3").startswith("There is no data called 'mock-3'. Did you mean 'mock-")
    assert error("mock-1(place=start)") == (
        "Data 'mock-1(place=start)' is not of the form name or name(setting=value, ...)."
    )
    assert error("mock-1", labels={"0": "bad"}).startswith("mock-1 brings its own columns and classes")


@given(
    st.sampled_from(sorted(INFORMATIVE)), st.sampled_from(["scattered", "start", "middle", "end"]), st.integers(1, 30),
    st.sampled_from([0, 0.4, 1, 1.5]), st.booleans(), st.integers(1, 40), st.integers(0, 20), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_any_settings_give_sound_texts_or_a_sentence(name, place, filler, noise, pair, shortest, more, seed):
    source = (
        f"{name}(place={place!r}, filler={filler}, noise={noise}, pair={pair}, shortest={shortest}, "
        f"longest={shortest + more}, train=4, dev=2, test=2)"
    )
    try:
        data = load_mock(source, seed=seed)
    except InputError:  # what it says is tested above
        return
    for e in examples(data):
        for segment, text in enumerate(filter(None, (e.text, e.pair))):
            words, found = text.split(" "), planted(e, segment)
            assert shortest <= len(words) <= shortest + more
            label = CLASS_OF[found[0]]
            assert {CLASS_OF[w] for w in found} == {label}
            assert sum(CLASS_OF.get(w) == label for w in words) == len(found)
            assert sum(CLASS_OF.get(w) == 1 - label for w in words) == int(noise * len(found) + 1e-9)
