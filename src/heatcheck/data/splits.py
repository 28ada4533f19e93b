"""Train, dev and test cut so that everyone who uses the same seed has the same rows.

The order comes from a hash of the seed and the text, not from a random generator: it does not change with
library versions, nor when rows are added or reordered. Identical texts always fall into the same part, so that no
text is both learned and tested.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence

from heatcheck.batch import Example
from heatcheck.data.dataset import DEV, TEST, TRAIN

TENTH = 0.1
Parts = dict[str, list[Example]]
Group = Callable[[Example], str]


def same_text(example: Example) -> str:
    return f"{example.text}\x1f{example.pair or ''}"


def three_way(examples: Sequence[Example], seed: int, *, group: Group = same_text) -> Parts:
    """A stratified 80/10/10 split; of too few rows, all are test."""
    rest, test = cut(examples, TENTH, seed, group=group)
    train, dev = cut(rest, TENTH / (1 - TENTH), f"{seed}/dev", group=group)  # not another seed's order of test texts
    if not (train and dev and test):
        return {TRAIN: [], DEV: [], TEST: list(examples)}
    return {TRAIN: train, DEV: dev, TEST: test}


def cut(
    examples: Sequence[Example], fraction: float, seed: int | str, *, group: Group = same_text
) -> tuple[list[Example], list[Example]]:
    """What stays, and about `fraction` of each class's groups; both in their original order."""
    members: dict[str, list[int]] = defaultdict(list)
    for i, example in enumerate(examples):
        members[group(example)].append(i)
    of_class: dict[int, list[str]] = defaultdict(list)
    for key, indices in members.items():
        of_class[examples[indices[0]].label].append(key)
    chosen = [key for keys in of_class.values() for key in _first(keys, fraction, seed)]
    taken = {i for key in chosen for i in members[key]}
    return [e for i, e in enumerate(examples) if i not in taken], [examples[i] for i in sorted(taken)]


def _first(keys: Sequence[str], fraction: float, seed: int | str) -> list[str]:
    """Groups of one class that are cut off: at least one if two can stay, and never the last."""
    count = max(round(len(keys) * fraction), 1 if len(keys) >= 3 else 0)
    return sorted(keys, key=lambda key: _hash(seed, key))[: min(count, len(keys) - 1)]


def _hash(seed: int | str, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}\x1f{key}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
