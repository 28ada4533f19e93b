"""Scripts that are written without spaces: there a letter is where a word may begin."""

from __future__ import annotations

import re

# Thai and Lao, Myanmar, Khmer, kana, and Chinese characters: as a class of a regular expression.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U000323af"
)
_UNSPACED = re.compile(f"[{UNSPACED}]")


def unspaced(text: str, at: int) -> bool:
    """
    >>> unspaced("a film", 2), unspaced("电影", 1)
    (False, True)
    """
    return _UNSPACED.match(text, at) is not None
