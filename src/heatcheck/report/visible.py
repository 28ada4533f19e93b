"""Characters without a shape of their own, made visible: a text must not act on what shows it."""

from __future__ import annotations

import re

from heatcheck.report.markup import encodable

# What turns the direction of all that follows: a page would show the letters of a word in another order.
_TURNS = "\u202a-\u202e\u2066-\u2069"
# Control characters of one and of two bytes, line separators, marks of direction, annotations.
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\ufff9-\ufffb{_TURNS}]")
_TURNING = re.compile(f"[{_TURNS}]")


def for_terminal(text: str) -> str:
    """Control characters as pictures or numbers; line ends and tabs stay.

    >>> for_terminal("bell \\x07, escape \\x1b[31m, right-to-left \\u202e")
    'bell ␇, escape ␛[31m, right-to-left ‹U+202E›'
    """
    return _CONTROL.sub(_picture, encodable(text))


def for_page(text: str) -> str:
    """Only what turns the direction of writing; `markup.escape` shows the control characters."""
    return _TURNING.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"‹U+{code:04X}›"
