"""Heatmaps of single texts as HTML: a page of its own, or a piece of a notebook. Looks as in the report (heat.js).

Everything from data is escaped by `markup.tag`. The page has no script, so that its policy can forbid all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from string import Template

from heatcheck.method_names import listed, method_name
from heatcheck.report.assets import asset, check_page, framed, write_whole
from heatcheck.report.figures import MINUS, percent
from heatcheck.report.markup import Markup, escape, join, tag
from heatcheck.report.said import Said
from heatcheck.report.scored import Heatmap, Part
from heatcheck.report.visible import for_page
from heatcheck.results import NOT_RANKED

STEPS = 40  # of the scale, on either side of 0
STYLES = ("page.css", "parts.css", "heatmap.css")
# How a share of the largest score becomes an element's attributes.
Look = Callable[[Part], dict[str, str]]


def page(heatmaps: Sequence[Heatmap], said: Said | None = None) -> str:
    """One HTML file. `said`: what an audit says of the methods."""
    scale = "".join(f".share-{step} {{ --share: {step / STEPS:g}; }}\n" for step in range(STEPS + 1))
    style = "\n".join([*(asset(name) for name in STYLES), scale])
    found = said or Said({})
    texts = [_text(list(group), found.lines) for _, group in groupby(heatmaps, key=lambda one: (one.text, one.pair))]
    below = [tag("p", f"audit: {sentence}", class_="legend") for sentence in found.below]
    content = join(*texts, legend(heatmaps), *below)
    body = Template(asset("heatmap.html")).substitute(content=for_page(content))
    return framed(heatmaps[0].model if heatmaps else "nothing explained", style, body)


def check_place(path: Path) -> None:
    """Said before the work, not after."""
    check_page(path, "heatmap")


def write(path: Path, heatmaps: Sequence[Heatmap], said: Said | None = None) -> Path:
    check_place(path)
    return write_whole(path, page(heatmaps, said), "heatmap")


def verdict(one: Heatmap) -> str:
    """What the model says, and what is explained if that is something else."""
    says = f"{one.predicted} ({percent(one.probability)})"
    return (
        says if one.target == one.predicted else f"{says}; explained: {one.target} ({percent(one.target_probability)})"
    )


def remarks(one: Heatmap) -> Iterator[str]:
    if one.delta is not None:
        yield f"misses the sum it promises by {share_of(one.delta)}"
    yield from one.notes


def share_of(value: float) -> str:
    """
    >>> share_of(0.314), share_of(0.0021), share_of(1e-9)
    ('31%', '0.2%', 'less than 0.1%')
    """
    if value < 0.001:
        return "less than 0.1%"
    return f"{100 * value:.1f}%" if value < 0.0995 else f"{100 * value:.0f}%"


def score_text(score: float) -> str:
    """Two digits that count, however small the score: some methods' scores are thousandths.

    >>> score_text(0.4212), score_text(-0.00012), score_text(1), score_text(0.5), score_text(0)
    ('0.42', '−0.00012', '1.0', '0.50', '0')
    """
    if score == 0:
        return "0"
    written = f"{score:#.2g}" if abs(score) < 10 else f"{score:.3g}"
    return written.replace("-", MINUS)


def _text(heatmaps: Sequence[Heatmap], said: dict[str, str]) -> Markup:
    first = heatmaps[0]
    chips = [
        tag("span", "model ", tag("b", tag("bdi", first.model)), class_="chip"),
        tag("span", "predicted ", tag("b", tag("bdi", verdict(first))), class_="chip"),
    ]
    methods = [_method(one, said.get(one.method)) for one in heatmaps]
    return tag("article", tag("div", *chips, class_="chips"), *methods, class_="text")


def _method(one: Heatmap, said: str | None) -> Markup:
    notes = [tag("li", note, class_="flaw" if NOT_RANKED in note else None) for note in remarks(one)]
    notes += [tag("li", f"audit: {said}", class_="flaw" if NOT_RANKED in said else None)] if said else []
    return tag(
        "section",
        tag("div", method_name(one.method), class_="method-name"),
        tag("div", *_blocks(one, _classes), _strongest(one), tag("ul", *notes, class_="remarks") if notes else None),
        class_="method",
        data_method=one.method,
    )


def _blocks(one: Heatmap, look: Look, style: str | None = None) -> Iterator[Markup]:
    for segment in range(len(one.texts)):
        pieces = [_piece(part, one.largest, look) for part in one.parts(segment)]
        yield tag("div", *pieces, class_="heat", dir="auto", style=style)


def _piece(part: Part, largest: float, look: Look) -> Markup:
    if part.unread:
        return tag("span", part.text, title="not read by the model", **look(part))
    if part.share is None:
        return escape(part.text)
    return tag("span", part.text, title=score_text(part.share * largest), **look(part))


def _classes(part: Part) -> dict[str, str]:
    if part.unread:
        return {"class_": "unread"}
    share = part.share or 0.0
    kinds = ["token", f"share-{round(abs(share) * STEPS)}"]
    kinds += ["negative"] if share < 0 else []
    kinds += ["mark"] if part.mark else []
    return {"class_": " ".join(kinds)}


def _strongest(one: Heatmap) -> Markup:
    words: list[str] = []
    for place, word in enumerate(one.strongest()):
        shown = word.token if len(word.token) <= 24 else word.token[:23] + "…"
        words += [", " if place else "", tag("bdi", f"“{shown}”"), f" {score_text(word.score)}"]
    return tag("p", "strongest: " if words else "no word has a score other than 0", *words, class_="strongest")


def legend(heatmaps: Sequence[Heatmap]) -> Markup:
    def word(share: float) -> Markup:
        return tag("span", "word", **_classes(Part("word", share)))

    steps = [word(share) for share in (0, 0.25, 0.5, 0.75, 1)]
    against = [" · against the class ", word(-1)] if any(one.signed for one in heatmaps) else []
    without = [f" · {sentence}"] if (sentence := without_sign(heatmaps)) else []
    return tag("p", "score: 0 ", *steps, " largest of the text and method", *against, *without, class_="legend")


def without_sign(heatmaps: Sequence[Heatmap]) -> str | None:
    """Beside methods whose scores speak for or against the class, those of the others would seem to speak for it."""
    methods = dict.fromkeys(one.method for one in heatmaps if not one.signed)
    if not methods or not any(one.signed for one in heatmaps):
        return None
    return f"no sign, so for or against: {listed(methods)}"


def fragment(heatmaps: Sequence[Heatmap]) -> Markup:
    """For a notebook: styles stand in the elements, as a style sheet would change the page around it, and colours are
    see-through, so that they suit light and dark themes."""
    blocks = []
    for one in heatmaps:
        head = tag("b", method_name(one.method))
        notes = "".join(f" · {note}" for note in remarks(one))
        title = tag("div", head, " · ", tag("bdi", verdict(one)), notes, style="font-size: 0.9em; margin-top: 8px")
        blocks += [title, *_blocks(one, _inline, "white-space: pre-wrap; line-height: 1.75; unicode-bidi: isolate")]
    return Markup(for_page(tag("div", *blocks)))


def _inline(part: Part) -> dict[str, str]:
    if part.unread:
        return {"style": "opacity: 0.5"}
    share = part.share or 0.0
    colour = "222 46 64" if share >= 0 else "38 110 200"
    mark = "; border: 1px dotted; font-family: monospace; font-size: 0.82em" if part.mark else ""
    return {"style": f"background: rgb({colour} / {0.7 * abs(share):.2f}); border-radius: 3px; padding: 2px 0{mark}"}
