"""One HTML file: template, style, scripts and data put together."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template

from heatcheck.errors import InputError
from heatcheck.report.embed import chosen, payload
from heatcheck.report.figures import count
from heatcheck.report.markup import Markup, escape, join, script_json, tag
from heatcheck.report.sections import sections
from heatcheck.report.sections.section import Section
from heatcheck.report.source import Run, load
from heatcheck.report.verdict import header, notes, title, verdict
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


def render(run_folder: Path) -> str:
    """The report of a run as one HTML page. The same tables give the same bytes."""
    run = load(Path(run_folder))
    parts = sections(run)
    examples = chosen(run, [example for part in parts for example in part.shows])
    charts = {part.id: part.chart for part in parts if part.chart is not None}
    style = "\n".join(_asset(name) for name in STYLES)
    script = _script([part.script for part in parts if part.script])
    return Template(_asset("page.html")).substitute(
        title=for_page(escape(f"heatcheck: {title(run)}")),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        header=for_page(header(run)),
        navigation=_navigation(parts),
        content=for_page(_content(run, parts, len(examples))),
        data=script_json(payload(run, examples, charts, [series for part in parts for series in part.series])),
    )


def write(run_folder: Path, to: Path | None = None) -> Path:
    """Write the report whole or not at all; by default as report.html into the run's folder."""
    path = Path(to) if to is not None else Path(run_folder) / "report.html"
    page = render(run_folder)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")  # two processes may write it
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written ({error.strerror}). Give another path.") from error
    return path


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
    bodies = "\n".join(_asset(name) for name in (*SHARED_SCRIPTS, *own))
    return f'"use strict";\n(() => {{\n{bodies}\n}})();\n'


def _hash(content: str) -> str:
    """What the Content-Security-Policy allows: this very text, nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return resources.files("heatcheck.report").joinpath(name).read_text(encoding="utf-8")
