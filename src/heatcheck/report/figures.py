"""Numbers as readers want them: few digits, a true minus sign, units."""

from __future__ import annotations

import math
from typing import Any

MINUS = "−"
NONE = "–"


def figure(value: float | None) -> str:
    """Two decimals; more for small values, where two would say 0.00.

    >>> figure(0.34159), figure(-0.5), figure(0.0123), figure(0.00001), figure(-0.0), figure(None)
    ('0.34', '−0.50', '0.012', '<0.001', '0.00', '–')
    """
    if value is None or math.isnan(value):
        return NONE
    if 0 < abs(value) < 0.0005:
        return "<0.001" if value > 0 else f">{MINUS}0.001"
    digits = 3 if 0 < abs(value) < 0.0995 else 2
    return f"{value:z.{digits}f}".replace("-", MINUS)


def interval(low: float | None, high: float | None) -> str:
    """
    >>> interval(0.312, 0.37)
    '[0.31, 0.37]'
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return NONE
    return f"[{figure(low)}, {figure(high)}]"


def percent(value: float | None) -> str:
    """
    >>> percent(0.3712)
    '37%'
    """
    return NONE if value is None or math.isnan(value) else f"{100 * value:.0f}%"


def count(number: int, noun: str | None = None) -> str:
    """
    >>> count(12345), count(1, "text"), count(2, "text")
    ('12,345', '1 text', '2 texts')
    """
    written = f"{number:,}"
    return written if noun is None else f"{written} {noun}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """
    >>> duration(0.034), duration(12.34), duration(3725)
    ('0.03 s', '12.3 s', '1 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plain(value: Any) -> str:
    """Any setting as one line of text.

    >>> plain({"b": [1, 2], "a": True}), plain(0.1 + 0.2), plain(None)
    ('b: 1, 2; a: yes', '0.3', 'none')
    """
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case dict():
            return "; ".join(f"{key}: {plain(item)}" for key, item in value.items()) or "none"
        case list() | tuple():
            return ", ".join(plain(item) for item in value) or "none"
        case _:
            return str(value)
