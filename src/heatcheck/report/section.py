"""What a section hands to the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heatcheck.report.markup import Markup, tag
from heatcheck.report.series import Series


@dataclass(frozen=True)
class Section:
    """`id` is the experiment's name, to which verdict cards link; `link` is the word in the navigation.

    `script` draws `chart` when the page opens. `shows` are texts that must be in the page even if others stay out.
    `series` are numbers of the texts that the section made itself, to be listed and sorted by.
    """

    id: str
    link: str
    title: str
    body: Markup
    chart: dict[str, Any] | None = None
    script: str | None = None
    shows: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()

    def html(self) -> Markup:
        return tag("section", tag("h2", self.title), self.body, id=self.id)


def lead(*sentences: str) -> Markup:
    """What is this, for a newcomer."""
    return tag("p", *sentences, class_="lead")


def note(sentence: str | None) -> Markup | None:
    return None if sentence is None else tag("p", sentence, class_="note")


def drawing(name: str) -> Markup:
    """The place where the section's script draws."""
    return tag("div", class_="drawing", data_drawing=name)
