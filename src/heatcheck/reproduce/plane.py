"""Paper 2's Figure 5 as a picture: how far outputs move (TVD) over how far attention does (JSD)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 28, 44
FARTHEST = 0.7  # JSD ends at .693
OURS, PAPERS = "#1b6ca8", "#777777"


class Point(NamedTuple):
    jsd: float
    tvd: float


class Panel(NamedTuple):
    """One data set: the curves of the two, ours and the paper's, and single marks by their sign."""

    title: str
    ours: Sequence[Point]
    papers: Sequence[Point]
    marks: Sequence[tuple[str, Point]]


def picture(panels: Sequence[Panel]) -> str:
    """SVG, the panels side by side on one scale."""
    points = [p for panel in panels for p in (*panel.ours, *panel.papers, *(p for _, p in panel.marks))]
    highest = max((point.tvd for point in points), default=0.1) * 1.1
    width = WIDTH * len(panels)
    inner = "".join(
        f'<g transform="translate({WIDTH * place} 0)">{"".join(_panel(panel, highest))}</g>'
        for place, panel in enumerate(panels)
    )
    return framed(width, HEIGHT, inner)


def framed(width: float, height: float, inner: str) -> str:
    """A picture of that size on white."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{inner}</svg>'
    )


def _panel(panel: Panel, highest: float) -> Iterator[str]:
    yield lettering(LEFT, 18, panel.title, "start")
    yield from _axes(highest)
    for points, colour, dashes in ((panel.papers, PAPERS, "4 3"), (panel.ours, OURS, "none")):
        places = [_place(point, highest) for point in sorted(points)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    for sign, point in panel.marks:
        x, y = _place(point, highest)
        yield lettering(x, y + 4, sign, "middle", "#b5341f")


def _axes(highest: float) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#333"/>'
    for tick in (0, 0.2, 0.4, 0.6):
        yield lettering(_place(Point(tick, 0), highest)[0], bottom + 16, f"{tick:g}", "middle")
    step = 0.05 if highest < 0.4 else 0.2
    for number in range(int(highest / step) + 1):
        value = step * number
        yield lettering(LEFT - 5, _place(Point(0, value), highest)[1] + 4, f"{value:g}", "end")
    yield lettering((LEFT + right) / 2, HEIGHT - 10, "mean JSD of attention", "middle")
    yield lettering(LEFT + 4, TOP + 4, "mean TVD of outputs", "start", "#555")


def _place(point: Point, highest: float) -> tuple[float, float]:
    x = LEFT + point.jsd / FARTHEST * (WIDTH - LEFT - RIGHT)
    return x, HEIGHT - BOTTOM - point.tvd / highest * (HEIGHT - TOP - BOTTOM)


def lettering(x: float, y: float, said: str, anchor: str, colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(said)}</text>'
