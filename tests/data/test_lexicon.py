from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from heatcheck.data import lexicon
from heatcheck.data.lexicon import RULES, packaged_lexicon, read_lexicon
from heatcheck.errors import InputError


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def two(tmp_path: Path, negative: str, positive: str) -> list[Path]:
    return [write(tmp_path / "negative.txt", negative), write(tmp_path / "positive.txt", positive)]


def error(paths: list[Path]) -> str:
    with pytest.raises(InputError) as caught:
        read_lexicon(paths)
    return str(caught.value)


def valence() -> dict[str, float]:
    lines = [line.split("\t") for line in lexicon._vader().read_text(encoding="utf-8").split("\n") if line]
    return {word.lower(): float(value) for word, value, *_ in reversed(lines)}


def test_vader_has_two_polarities_of_single_words() -> None:
    found, rated = packaged_lexicon(), valence()
    assert found.labels == ("negative", "positive")
    assert [len(words) for words in found.words] == [4032 - 7, 3194]
    assert sum(map(lexicon.is_slur, rated)) == 7
    assert not any(map(lexicon.is_slur, found.words[0] + found.words[1]))
    for sign, words in zip((-1, 1), found.words, strict=True):
        assert all(sign * rated[word] > 0 for word in words)
        assert all([w.form for w in RULES.split(word)] == [word] for word in words)
    assert {"awful", "horrible"} <= set(found.words[0])
    assert {"great", "lol"} <= set(found.words[1])
    assert found.notes == (
        "268 of 7,494 entries were left out, since they are not one word each (first: $:, %), %-)).",
    )


def test_strong_and_weak_are_the_outer_and_the_inner_third() -> None:
    rated = valence()
    for everything, strong, weak in zip(
        *(packaged_lexicon(strength=s).words for s in ("any", "strong", "weak")), strict=True
    ):
        assert min(abs(rated[w]) for w in strong) == 1.9
        assert max(abs(rated[w]) for w in weak) == 1.2
        cuts = np.quantile([abs(rated[w]) for w in everything], [1 / 3, 2 / 3])
        np.testing.assert_allclose(cuts, [1.2, 1.9])
        assert 0.3 < len(strong) / len(everything) < 0.4
        assert 0.3 < len(weak) / len(everything) < 0.4


def test_more_classes_are_bands_of_valence() -> None:
    found, rated = packaged_lexicon(classes=5), valence()
    assert found.labels == ("band 1", "band 2", "band 3", "band 4", "band 5")
    assert {len(words) for words in found.words} == {1443, 1444}
    assert sorted(w for words in found.words for w in words) == sorted(
        w for words in packaged_lexicon().words for w in words
    )
    edges = [(min(map(rated.get, words)), max(map(rated.get, words))) for words in found.words]
    assert all(here[1] <= there[0] for here, there in pairwise(edges))


def test_files_have_comments_and_either_encoding(tmp_path: Path) -> None:
    negative = write(tmp_path / "n.txt", "; Hu & Liu\n;\n\nBad\r\nnaïve\nbad\n", "latin-1")
    positive = write(tmp_path / "p.txt", "\ufeffgood\nfiancée\nfed up\nf**k\n; good\n")
    found = read_lexicon([negative, positive])
    assert found.labels == ("negative", "positive")
    assert found.words == (("bad", "naïve"), ("good", "fiancée"))
    assert found.source == "n.txt, p.txt"
    assert found.notes == (
        "p.txt: 2 of 4 entries were left out, since they are not one word each (first: fed up, f**k).",
    )


def test_classes_of_more_lists_are_called_as_the_files(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.txt", name) for name in ("sport", "fruit", "town")]
    assert read_lexicon(paths).labels == ("sport", "fruit", "town")
    (tmp_path / "other").mkdir()
    twin = write(tmp_path / "other" / "fruit.txt", "pear")
    assert error([*paths, twin]) == "Two of the lists of words are called 'fruit'. Rename one."


def test_words_in_both_lists_are_dropped_with_a_note(tmp_path: Path) -> None:
    negative, positive = ("\n".join(f"{kind}{i:03}" for i in range(150)) for kind in ("neg", "pos"))
    found = read_lexicon(two(tmp_path, negative + "\nenvious\n", positive + "\nEnvious\n"))
    assert [len(words) for words in found.words] == [150, 150]
    assert found.notes == ("1 word in more than one list was dropped: envious.",)


def test_lists_that_do_not_tell_the_classes_apart(tmp_path: Path) -> None:
    shared = "\n".join(f"both{i}" for i in range(7))
    assert error(two(tmp_path, f"bad\n{shared}", f"good\n{shared}")) == (
        "negative.txt, positive.txt: 7 of 9 words are in more than one list (both0, both1, both2, both3, both4, …), "
        "where 1% may be. Give lists that tell the classes apart."
    )


def test_a_polarity_that_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "w.txt", "good")
    assert error([path]) == (
        f"{path}: one list of words is one class, and the other is missing. Give a file for each class, "
        "in their order: of two the negative words first, then the positive."
    )
    for text in ("", "; only\n; comments\n", "fed up\n:-)\n"):
        empty = write(tmp_path / "empty.txt", text)
        assert error([empty, path]) == (
            f"{empty}: there is no word in it. Give a text file (UTF-8) with one word per line."
        )
    other = write(tmp_path / "utf16.txt", "bad\nawful\n", "utf-16")
    assert error([other, path]).startswith(f"{other}: there is no word in it.")
    assert (
        error([tmp_path / "no.txt", path]) == f"{tmp_path / 'no.txt'}: there is no such file of words. Check the path."
    )


def test_a_class_whose_words_were_all_dropped(tmp_path: Path) -> None:
    many = "\n".join(f"word{i}" for i in range(300))
    assert error(two(tmp_path, "word3", many)) == (
        "negative.txt, positive.txt: no word is left for the class 'negative'. Give more words, or fewer classes."
    )


def test_hu_and_lius_lists_share_three_words(shared_data: Path) -> None:
    folder = shared_data / "lexicons"
    found = read_lexicon([folder / "hu_liu_negative.txt", folder / "hu_liu_positive.txt"])
    assert found.notes[-1] == "3 words in more than one list were dropped: envious, enviously, enviousness."
    assert [len(words) for words in found.words] == [4774, 2002]


def test_vader_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "PACKAGE", "no-such-package")
    with pytest.raises(InputError) as caught:
        packaged_lexicon()
    assert str(caught.value) == (
        "VADER's list of words is not installed. Run: pip install 'heatcheck[packaged]', "
        "or give your own lists with --words."
    )
