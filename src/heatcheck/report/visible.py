"""Characters without a shape of their own, made visible: a text must not act on what shows it."""

from __future__ import annotations

import re

from heatcheck.report.markup import encodable

# What turns the direction of all that follows: a page would show the letters of a word in another order.
_TURNS = "\u202a-\u202e\u2066-\u2069"
# Control characters of one and of two bytes, line separators, marks of direction, annotations.
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\ufff9-\ufffb{_TURNS}]")
_TURNING = re.compile(f"[{_TURNS}]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
_ISOLATE, _END = "\u2068", "\u2069"


def for_terminal(text: str) -> str:
    """Control characters as pictures or numbers; line ends and tabs stay.

    >>> for_terminal("bell \\x07, escape \\x1b[31m, right-to-left \\u202e")
    'bell ␇, escape ␛[31m, right-to-left ‹U+202E›'
    """
    return _CONTROL.sub(_picture, encodable(text))


def for_page(text: str) -> str:
    """Only what turns the direction of writing; `markup.escape` shows the control characters."""
    return _TURNING.sub(_picture, text)


def for_chart(name: str) -> str:
    """A name for a script to draw, between other words: as for a terminal, and one that is written from right to left
    stands apart, so that it does not take its neighbours along.

    >>> for_chart("good"), for_chart("טוב") == "\u2068טוב\u2069"
    ('good', True)
    """
    shown = for_terminal(name)
    return f"{_ISOLATE}{shown}{_END}" if _RIGHT_TO_LEFT.search(shown) else shown


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"‹U+{code:04X}›"
