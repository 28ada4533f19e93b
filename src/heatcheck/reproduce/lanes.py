"""Paper 3's Figure 1 as a picture: AtteFa of every adversary, by data set and model, the paper's means beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heatcheck.reproduce.plane import OURS, PAPERS, framed, lettering

WIDTH, LEFT, RIGHT = 560, 128, 16
TOP, BOTTOM, LANE, GAP = 34, 42, 17, 9
TICKS = (0, 0.25, 0.5, 0.75, 1)
COLOURS = (OURS, "#b5341f")
SYMBOLS = ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z", "M0-4L3.6 2.6H-3.6Z")  # never colour alone


class Lane(NamedTuple):
    """A model on a data set: one value for each seed of ours, mean and standard deviation of the paper."""

    name: str
    ours: Sequence[float]
    mean: float
    std: float


class Group(NamedTuple):
    """A data set: its models stand in the same order in all."""

    title: str
    lanes: Sequence[Lane]


def picture(groups: Sequence[Group]) -> str:
    """SVG: AtteFa to the right, from 0 to 1."""
    heights = [LANE * len(group.lanes) + GAP for group in groups]
    bottom = TOP + sum(heights)
    parts = [*_axis(bottom), *_key([lane.name for lane in groups[0].lanes])]
    for place, group in enumerate(groups):
        parts += _group(group, TOP + sum(heights[:place]))
    return framed(WIDTH, bottom + BOTTOM, "".join(parts))


def _x(value: float) -> float:
    return LEFT + value * (WIDTH - LEFT - RIGHT)


def _axis(bottom: float) -> Iterator[str]:
    for tick in TICKS:
        yield f'<path d="M{_x(tick):.1f} {TOP}V{bottom}" stroke="#ddd"/>'
        yield lettering(_x(tick), bottom + 15, f"{tick:g}", "middle")
    yield lettering(_x(0.5), bottom + 33, "AtteFa (0: attention is free, 1: tied to the output)", "middle")


def _key(names: Sequence[str]) -> Iterator[str]:
    entries = [_symbol(number, 0, 0) for number in range(len(names))]
    texts = [f"{name}, ours, by seed" for name in names]
    entries.append(_papers(0, 0, -7, 7))
    texts.append("paper: mean ± std")
    for place, (entry, text) in enumerate(zip(entries, texts, strict=True)):
        at = LEFT + 8 + 146 * place
        yield f'<g transform="translate({at} 14)">{entry}{lettering(12, 4, text, "start")}</g>'


def _group(group: Group, top: float) -> Iterator[str]:
    yield f'<path d="M0 {top:.1f}H{WIDTH}" stroke="#ddd"/>'
    middle = top + (LANE * len(group.lanes) + GAP) / 2
    yield lettering(6, middle + 4, group.title, "start")
    for number, lane in enumerate(group.lanes):
        y = top + GAP / 2 + LANE * (number + 0.5)
        yield lettering(LEFT - 8, y + 4, lane.name, "end", COLOURS[number])
        yield _papers(_x(lane.mean), y, _x(max(lane.mean - lane.std, 0)), _x(min(lane.mean + lane.std, 1)))
        yield from (
            _symbol(number, _x(value), y + aside) for value, aside in zip(lane.ours, _asides(lane), strict=True)
        )


def _asides(lane: Lane) -> list[float]:
    """Seeds of about the same value stand one below the other.

    >>> _asides(Lane("MLP", [0.5, 0.5, 0.5], 0.5, 0.1))
    [-4.0, 0.0, 4.0]
    """
    n = len(lane.ours)
    return [(place - (n - 1) / 2) * min(4.0, 12 / n) for place in range(n)]


def _symbol(number: int, x: float, y: float) -> str:
    colour = COLOURS[number]
    where = f'transform="translate({x:.1f} {y:.1f})"'
    return f'<path d="{SYMBOLS[number]}" {where} class="ours" fill="{colour}" fill-opacity="0.65" stroke="{colour}"/>'


def _papers(x: float, y: float, low: float, high: float) -> str:
    return (
        f'<path d="M{low:.1f} {y:.1f}H{high:.1f}M{x:.1f} {y - 7:.1f}V{y + 7:.1f}" class="paper" fill="none" '
        f'stroke="{PAPERS}" stroke-width="2"/>'
    )
