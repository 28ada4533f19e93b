"""The small ruler on a verdict card: estimate, interval and threshold on the measure's whole range."""

from __future__ import annotations

from collections.abc import Callable

from heatcheck.report.markup import Markup, tag
from heatcheck.report.measures import Measure

_LEFT, _RIGHT, _MIDDLE = 4, 296, 14
_LETTER = 7.0  # how wide one is, at most


def strip_drawing(
    about: Measure, value: float, low: float | None, high: float | None, threshold: float | None
) -> Markup:
    given = [number for number in (value, low, high, threshold) if number is not None]
    ends = (min(about.low, *given), max(about.high, *given))
    names = (f"{ends[0]:.2g}", f"{ends[1]:.2g}")

    def at(number: float) -> float:
        inside = min(max(number, ends[0]), ends[1])
        return round(_LEFT + (_RIGHT - _LEFT) * (inside - ends[0]) / (ends[1] - ends[0]), 1)

    return tag(
        "svg",
        _line(_LEFT, _RIGHT, "range"),
        *(_upright(at(end), 4, "range") for end in ends),
        _band(at, low, high),
        _upright(at(value), 8, "estimate"),
        _threshold(at, threshold, names),
        _label(_LEFT, "start", names[0]),
        _label(_RIGHT, "end", names[1]),
        viewBox="0 0 300 42",
        aria_hidden="true",
    )


def _band(at: Callable[[float], float], low: float | None, high: float | None) -> Markup | None:
    return None if low is None or high is None else _line(at(low), max(at(high), at(low) + 1), "band")


def _threshold(at: Callable[[float], float], threshold: float | None, ends: tuple[str, str]) -> Markup | None:
    """Its label keeps away from those of the ends, which stand at the same height."""
    if threshold is None:
        return None
    name = f"threshold {threshold:.2g}"
    left, right = ((len(end) + 1.5 + len(name) / 2) * _LETTER for end in ends)
    middle = min(max(at(threshold), _LEFT + left), _RIGHT - right)
    return tag("g", _upright(at(threshold), 11, "threshold"), _label(middle, "middle", name))


def _line(left: float, right: float, kind: str) -> Markup:
    return tag("line", x1=str(left), x2=str(right), y1=str(_MIDDLE), y2=str(_MIDDLE), class_=kind)


def _upright(x: float, half: float, kind: str) -> Markup:
    return tag("line", x1=str(x), x2=str(x), y1=str(_MIDDLE - half), y2=str(_MIDDLE + half), class_=kind)


def _label(x: float, anchor: str, text: str) -> Markup:
    return tag("text", text.replace("-", "−"), x=str(x), y="39", text_anchor=anchor)
