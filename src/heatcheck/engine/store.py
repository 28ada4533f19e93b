"""A folder of finished steps.

A step's key is a digest of everything its output depends on: settings, fingerprints of its inputs, thread count.
Work happens in a side folder that survives a kill (a training run finds its last epoch there) and takes its final name
in one rename when all is written. Nothing is ever half there under its final name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock


def digest(content: Mapping[str, Any]) -> str:
    """Equal for equal content, whatever the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


class Store:
    """Finished steps under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def step(self, name: str, key: Mapping[str, Any], work: Callable[[Path], None]) -> Path:
        """The folder of this step's output; `work(folder)` fills it if it is not there yet.

        A second process that asks for the same step waits for the first and finds it done.
        """
        final = self.place(name, key)
        if final.exists():
            return final
        self.root.mkdir(parents=True, exist_ok=True)
        partial = self.partial(final)
        with FileLock(final.with_name(f".{final.name}.lock")):
            if not final.exists():
                partial.mkdir(exist_ok=True)
                work(partial)
                os.replace(partial, final)
        return final

    def place(self, name: str, key: Mapping[str, Any]) -> Path:
        return self.root / f"{name}-{digest({'step': name, **key})}"

    @staticmethod
    def partial(final: Path) -> Path:
        """Where a step is being made."""
        return final.with_name(f".{final.name}.partial")
