"""Where words begin: scripts that are written without spaces, and characters that belong to the one in front."""

from __future__ import annotations

import re
import unicodedata

# Thai and Lao, Myanmar, Khmer, kana, and Chinese characters: as a class of a regular expression.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U000323af"
)
_UNSPACED = re.compile(f"[{UNSPACED}]")
ZERO_WIDTH_SPACE = "\u200b"  # all the same a space
JOINER = "\u200d"


def unspaced(text: str, at: int) -> bool:
    """
    >>> unspaced("a film", 2), unspaced("电影", 1)
    (False, True)
    """
    return _UNSPACED.match(text, at) is not None


def clings(text: str, at: int) -> bool:
    """Is this an accent, a vowel sign, or another character that only changes the one in front of it?

    >>> [clings("re\u0301", at) for at in range(4)]
    [False, False, True, False]
    """
    character = text[at : at + 1]
    return character not in ("", ZERO_WIDTH_SPACE) and unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")
