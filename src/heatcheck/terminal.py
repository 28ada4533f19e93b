"""Heatmaps in a terminal: backgrounds where it has colours, `word (0.42)` where it has none.

A word that matters a little has coloured letters, one that matters more a background: from grey to full colour, neither
dark nor light, with black letters, so that all can be read on dark and on light terminals. With 16 colours the
nearest to a pale blue is a grey, which says nothing of for or against: there every step has the full colour. Whatever a
text or a label holds, no control character of theirs reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from heatcheck.method_names import method_name
from heatcheck.report.figures import percent
from heatcheck.report.heatmap import remarks, score_text, without_sign
from heatcheck.report.said import Said
from heatcheck.report.scored import FAINT, Heatmap, Part
from heatcheck.report.visible import for_terminal as visible
from heatcheck.results import NOT_RANKED

GREY, HOT, COLD = (150, 150, 150), (255, 84, 84), (84, 160, 255)
LETTERS = {True: "#d75f5f", False: "#5f87d7"}  # for, against
SIXTEEN = {True: "bright_red", False: "bright_blue"}
GROUND = 0.3  # share of the largest score from which on a word has a background
STRONG = 0.75  # and from which on it is bold; underlined where bold letters are brighter, so that black ones turn grey
INDENT = 2
Look = Callable[[float], Style]  # of a share of the largest score


def show(console: Console, heatmaps: Sequence[Heatmap], said: Said | None = None) -> None:
    """All heatmaps one below the other, texts in their order. `said`: what an audit says of the methods."""
    look = look_in(console)
    for _, group in groupby(heatmaps, key=lambda one: (one.text, one.pair)):
        shown = list(group)
        _line(console, _verdict(shown[0]))
        for one in shown:
            _heatmap(console, one, said.lines.get(one.method) if said else None, look)
    if heatmaps:
        _line(console, Text("\n") + _legend(heatmaps, look))
    for sentence in said.below if said else ():
        console.print(Text(visible(f"audit: {sentence}")), soft_wrap=not console.is_terminal, highlight=False)


def look_in(console: Console) -> Look | None:
    """None: without colours."""
    if not console.is_terminal or console.no_color or console.color_system is None:
        return None
    return look_in_sixteen if console.color_system in ("standard", "windows") else look_in_many


def _heatmap(console: Console, one: Heatmap, said: str | None, look: Look | None) -> None:
    _line(console, Text(f"\n{visible(method_name(one.method))}", "bold"))
    for segment in range(len(one.texts)):
        written = Text.assemble(
            *(_part(part, one.largest, look, first=not place) for place, part in enumerate(one.parts(segment)))
        )
        _indented(console, written)
    for note in [*remarks(one), *([f"audit: {said}"] if said else [])]:
        _indented(console, Text(visible(note), "bold italic" if NOT_RANKED in note else "italic"))


def _part(part: Part, largest: float, look: Look | None, *, first: bool) -> tuple[str, Style]:
    text = visible(part.text)
    if part.mark:
        text = f"{text} " if first else f" {text} "
    if part.unread:
        return (text, Style(dim=True)) if look else (f" (not read: {text.strip()})", Style())
    if part.share is None or abs(part.share) < FAINT:
        return text, Style()
    if look:
        return text, look(part.share)
    return f"{text.rstrip()} ({score_text(part.share * largest)}){' ' if part.mark else ''}", Style()


def look_in_many(share: float) -> Style:
    if abs(share) < GROUND:
        return Style(color=LETTERS[share > 0])
    full, amount = HOT if share > 0 else COLD, abs(share)
    red, green, blue = (round(g + amount * (f - g)) for g, f in zip(GREY, full, strict=True))
    return Style(color="#000000", bgcolor=f"rgb({red},{green},{blue})", bold=amount > STRONG)


def look_in_sixteen(share: float) -> Style:
    colour = SIXTEEN[share > 0]
    if abs(share) < GROUND:
        return Style(color=colour)
    return Style(color="black", bgcolor=colour, underline=abs(share) > STRONG)


def _verdict(one: Heatmap) -> Text:
    found = Text.assemble(
        visible(one.model), ": ", (visible(one.predicted), "bold"), f", probability {percent(one.probability)}"
    )
    if one.target == one.predicted:
        return found
    return found + Text(f". Explained: {visible(one.target)}, probability {percent(one.target_probability)}")


def _legend(heatmaps: Sequence[Heatmap], look: Look | None) -> Text:
    signed, without = any(one.signed for one in heatmaps), without_sign(heatmaps)
    if look is None:
        below = "; below 0: speaks against the class" if signed else ""
        below += f" ({without})" if without else ""
        return Text(f"(number): score of the word{below}. No number: below {FAINT:.0%} of the largest.")
    steps = dict.fromkeys(look(share) for share in (0.1, 0.4, 0.7, 1.0))  # of 16 colours two are the same
    scale = [(" word ", step) for step in steps]
    against = [("  against the class ", Style()), *((" word ", look(share)) for share in (-0.1, -1.0))]
    return Text.assemble(
        "little ",
        *scale,
        " most of the text and method",
        *(against if signed else []),
        f"  {without}" if without else "",
    )


def _indented(console: Console, text: Text) -> None:
    """A file has no width: there nothing is broken into lines."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, INDENT)), highlight=False)
    else:
        _line(console, Text(" " * INDENT) + text)


def _line(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True, highlight=False)
