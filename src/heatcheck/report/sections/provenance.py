"""What it takes to repeat the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heatcheck.report.figures import duration, plain
from heatcheck.report.markup import Markup, join, tag
from heatcheck.report.section import Section, lead
from heatcheck.report.source import Run


def section(run: Run) -> Section:
    about = run.about
    seeds = about.get("seeds")
    parts = [
        _part("Settings", about.get("settings")),
        _part("Methods", about.get("methods")),
        _part("Seeds", seeds if isinstance(seeds, dict) else {"seeds": seeds} if seeds else None),
        _part("Versions", {"heatcheck": about.get("heatcheck_version", "unknown")} | run.part("packages")),
        _part("Fingerprints", about.get("fingerprints")),
        _part("Durations", about.get("durations"), _seconds),
    ]
    body = join(
        lead("Everything needed to repeat this run. The same tables always give this same page, to the byte."),
        tag("details", tag("summary", "Settings, seeds, versions, fingerprints, durations"), *parts),
    )
    return Section("provenance", "How it was made", "How it was made", body)


def _seconds(value: Any) -> str:
    return duration(float(value)) if isinstance(value, int | float) else plain(value)


def _part(title: str, content: Any, show: Callable[[Any], str] = plain) -> Markup | None:
    if not isinstance(content, dict) or not content:
        return None
    rows = [
        tag("tr", tag("th", str(key), scope="row"), tag("td", show(content[key]))) for key in sorted(content, key=str)
    ]
    return join(tag("h3", title), tag("div", tag("table", tag("tbody", *rows), class_="settings"), class_="scroll"))
