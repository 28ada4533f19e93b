"""The top of the page: what was examined and what came out, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from heatcheck.report import glance
from heatcheck.report.figures import plain
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.measures import Measure, measure
from heatcheck.report.methods import folded
from heatcheck.report.source import Run
from heatcheck.report.strip import strip_drawing
from heatcheck.verdict.findings import Number

# Outcome -> (CSS class, symbol, word): never colour alone.
OUTCOMES = {
    "passes": ("passes", "✓", "Passes"),
    "fails": ("fails", "✕", "Fails"),
    "cannot tell": ("unclear", "?", "Cannot tell"),
}
_FINISHED = {"complete", "completed", "done", "finished", "ok"}


def header(run: Run) -> Markup:
    headline = run.part("verdict").get("headline")
    return tag(
        "header",
        tag("p", "heatcheck · can this model’s heatmaps be trusted?", class_="eyebrow"),
        tag("h1", str(headline or run.name)),
        _facts(run),
        _unfinished(run),
        class_="top",
    )


def _facts(run: Run) -> Markup:
    rows = [(key.capitalize(), _described(run.part(part))) for key, part in (("model", "model"), ("data", "dataset"))]
    command = run.about.get("command")
    if command:
        words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        # A line may end between words only: a browser would end it behind any hyphen too.
        spans = [
            join(" " if place else None, tag("span", word, class_="word"))
            for place, word in enumerate(words.split(" "))
        ]
        rows.append(("Command", tag("code", *spans)))
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows if value), class_="facts")


def _described(about: dict[str, Any]) -> Markup | None:
    """Name and description, or the task for data."""
    extra = about.get("description") or about.get("task")
    name = tag("strong", tag("bdi", str(about["name"]))) if about.get("name") else None
    return join(name, f" — {plain(extra)}" if extra else None) or None


def _unfinished(run: Run) -> Markup | None:
    status = run.about.get("status")
    if status is None or str(status).lower() in _FINISHED:
        return None
    return tag(
        "p", f"The status of this run is “{status}”: what follows may be incomplete.", class_="warning", role="note"
    )


def verdict(run: Run, sections: Collection[str]) -> Markup | None:
    findings = run.part("verdict").get("findings") or []
    if not findings:
        return None
    tabled = glance.of_methods(findings)
    return tag(
        "section",
        tag("h2", "Verdict", class_="quiet"),
        glance.table(tabled),
        _cards([finding for finding in findings if finding not in tabled], sections),
        folded(f"Each of these {len(tabled)} outcomes in a sentence", _cards(tabled, sections)),
        id="verdict",
    )


def _cards(findings: Sequence[dict[str, Any]], sections: Collection[str]) -> Markup | None:
    return tag("div", *(_card(finding, sections) for finding in findings), class_="cards") if findings else None


def _card(finding: dict[str, Any], sections: Collection[str]) -> Markup:
    kind, symbol, word = OUTCOMES.get(str(finding.get("outcome")), ("unclear", "?", plain(finding.get("outcome"))))
    experiment = str(finding.get("experiment", ""))
    link = tag("a", "See the evidence", href=f"#{experiment}") if experiment in sections else None
    return tag(
        "article",
        tag("p", tag("span", symbol, class_="symbol", aria_hidden="true"), word, class_="outcome"),
        tag("h3", str(finding.get("question", experiment))),
        _strip(finding),
        tag("p", str(finding.get("finding", "")), class_="finding"),
        tag("p", str(finding.get("meaning", "")), class_="meaning"),
        tag("p", link, class_="more") if link else None,
        class_=f"card {kind}",
    )


def _strip(finding: dict[str, Any]) -> Markup | None:
    """The estimate, its interval and the threshold on the measure's whole range."""
    value, low, high, threshold = (_number(finding.get(key)) for key in ("value", "low", "high", "threshold"))
    if value is None:
        return None
    about = measure(str(finding.get("measure", "")))
    return tag(
        "div",
        _reading(about, value, low, high),
        strip_drawing(about, value, low, high, threshold),
        class_="strip",
    )


def _reading(about: Measure, value: float, low: float | None, high: float | None) -> Markup:
    """As in the sentence below it."""
    written = [None if number is None else f"{Number(number):.{about.digits}f}" for number in (value, low, high)]
    bounds = f" [{written[1]}, {written[2]}]" if None not in written else ""
    return tag("p", tag("strong", written[0]), bounds, tag("span", about.short), class_="reading")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def notes(run: Run) -> Markup | None:
    written = run.about.get("notes") or []
    if not written:
        return None
    items = [tag("li", str(note)) for note in written]
    return tag("aside", tag("h2", "Please note"), tag("ul", *items), class_="notes", id="notes")
