"""Small made data in the published formats, and rows of a page's tables."""

from __future__ import annotations

import random
from pathlib import Path

# The longest sentence of each split is left out, as in paper 1.
LONGEST = "the good film a act is fun and not sad,1"


def reviews(n: int, seed: int) -> list[str]:
    """Lines of a table: text, label."""
    rng = random.Random(seed)
    words = ("bad sad", "good fun")
    return [
        " ".join(rng.sample(f"the film a act {seed} {i} {words[i % 2]}".split(), 8)) + f",{i % 2}" for i in range(n)
    ]


def write_sst(folder: Path, **parts: list[str]) -> None:
    rows = [f"{row},{split}" for split, part in parts.items() for row in (*part, LONGEST)]
    (folder / "sst").mkdir()
    (folder / "sst" / "sst_dataset.csv").write_text("text,label,exp_split\n" + "\n".join(rows) + "\n")


def row(block: str, start: str) -> list[str]:
    """The cells of the one row that starts so."""
    (found,) = [line for line in block.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in found[1:-1].split("|")]
