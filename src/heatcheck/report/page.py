"""One HTML file: template, style, scripts and data put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template

from heatcheck.errors import InputError
from heatcheck.report.assets import asset, check_page, framed, write_whole
from heatcheck.report.embed import chosen, payload
from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, join, script_json, tag
from heatcheck.report.section import Section
from heatcheck.report.sections import sections
from heatcheck.report.source import Run, load
from heatcheck.report.verdict import header, notes, verdict
from heatcheck.report.visible import for_page

STYLES = ("page.css", "parts.css", "charts.css", "methods.css", "trained.css")
SHARED_SCRIPTS = (
    "dom.js",
    "heat.js",
    "cards.js",
    "charts.js",
    "histogram.js",
    "scatter.js",
    "violins.js",
    "dots.js",
    "curves.js",
    "matrix.js",
    "plane.js",
)


def render(run_folder: Path, beside: Sequence[Path] = ()) -> str:
    """The report of a run as one HTML page. The same tables give the same bytes. `beside`: further runs, whose AtteFa
    is drawn with this one's."""
    run = replace(load(Path(run_folder)), beside=tuple(_with_attefa(Path(folder)) for folder in beside))
    parts = sections(run)
    examples = chosen(run, [example for part in parts for example in part.shows])
    charts = {part.id: part.chart for part in parts if part.chart is not None}
    script = _script([part.script for part in parts if part.script])
    body = Template(asset("page.html")).substitute(
        header=for_page(header(run)),
        navigation=_navigation(parts),
        content=for_page(_content(run, parts, len(examples))),
        data=script_json(payload(run, examples, charts, [series for part in parts for series in part.series])),
        script=script,
    )
    return framed(run.name, "\n".join(asset(name) for name in STYLES), body, script)


def _with_attefa(folder: Path) -> Run:
    run = load(folder)
    if run.has("attefa"):
        return run
    raise InputError(f"{folder}: has no AtteFa to be drawn beside another's. Run it first: heatcheck run attefa.")


def write(run_folder: Path, to: Path | None = None, beside: Sequence[Path] = ()) -> Path:
    """By default as report.html into the run's folder."""
    if to is not None:
        check_page(Path(to), "report")
    path = Path(to) if to is not None else Path(run_folder) / "report.html"
    return write_whole(path, render(run_folder, beside), "report")


def _content(run: Run, parts: Sequence[Section], embedded: int) -> Markup:
    return join(
        verdict(run, {part.id for part in parts}),
        notes(run),
        _left_out(embedded, len(run.examples)),
        *(part.html() for part in parts),
    )


def _left_out(embedded: int, total: int) -> Markup | None:
    if embedded == total:
        return None
    sentence = (
        f"To keep this file small it holds {count(embedded)} of the {count(total)} texts, chosen arbitrarily but "
        "always the same, and those shown below. Numbers, histograms and violins count all texts; lists, the "
        "scatter plot and the search have only the texts in the file."
    )
    return tag("p", sentence, class_="warning", id="left-out")


def _navigation(parts: Sequence[Section]) -> Markup:
    links = [tag("li", tag("a", part.link, href=f"#{part.id}")) for part in parts]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _script(own: Sequence[str]) -> str:
    """One script in one scope: nothing leaks into the page's global names."""
    bodies = "\n".join(asset(name) for name in (*SHARED_SCRIPTS, *own))
    return f'"use strict";\n(() => {{\n{bodies}\n}})();\n'
