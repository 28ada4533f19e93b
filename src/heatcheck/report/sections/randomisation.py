"""Does the explanation change when the model’s weights become random? (Adebayo et al. 2018, section 3)"""

from __future__ import annotations

from typing import Any

from heatcheck.report.dots import by_method
from heatcheck.report.figures import count
from heatcheck.report.markup import join, tag
from heatcheck.report.methods import Body, Line, cell, folded, footnotes, label, named, table, unranked
from heatcheck.report.missing import without_value
from heatcheck.report.section import Section, drawing, lead, note
from heatcheck.report.source import Row, Run, Variant

MEASURE = "randomisation_correlation"


def section(run: Run) -> Section | None:
    steps = sorted((v for v in run.means if v.measure == MEASURE), key=lambda v: (v.at or 0.0, v.setting or ""))
    rows = [by_method(run, step) for step in steps]
    methods = sorted({name for found in rows for name in found})
    if not methods:
        return None
    marks = unranked(run)
    methods.sort(key=lambda name: (name in marks, _last(rows, name), name))
    body = join(
        lead(
            "The weights are made random layer by layer, from the output down, and the texts are explained again. "
            "Each cell is the rank correlation of the new explanation with the one of the trained model. An "
            "explanation of what the model has learned must fall towards 0; one that stays near 1 shows the text or "
            "the architecture, not the model. ",
            tag("cite", "Adebayo et al. 2018, section 3"),
        ),
        drawing("randomisation"),
        note(without_value(run, MEASURE)),
        footnotes(run, methods),
        folded("The same as a table", table("method", "mean", _bodies(run, steps, rows))),
    )
    chart = {
        "methods": named(run, methods),
        "steps": [{"at": step.at, "name": _name(step)} for step in steps],
        "cells": [
            [cell(found[name]) if name in found else [None, "not measured"] for found in rows] for name in methods
        ],
    }
    return Section(
        "randomisation",
        "Randomisation",
        "Does the explanation depend on what the model has learned?",
        body,
        chart,
        "section_randomisation.js",
    )


def _last(rows: list[dict[str, Row]], name: str) -> float:
    """The correlation that is left when all layers are random; those that fall furthest stand first."""
    values = [found[name]["value"] for found in rows if name in found and found[name]["value"] is not None]
    return abs(values[-1]) if values else 2.0


def _name(step: Variant) -> str:
    layers = f"{count(round(step.at), 'layer')} random" if step.at is not None else "random"
    return f"{layers}, down to {step.setting}" if step.setting else layers


def _bodies(run: Run, steps: list[Variant], rows: list[dict[str, Row]]) -> list[Body]:
    marks = unranked(run)

    def lines(found: dict[str, Row]) -> list[Any]:
        return [Line(label(name, marks), found[name]) for name in sorted(found)]

    return [Body(step.key, _name(step), lines(found)) for step, found in zip(steps, rows, strict=True)]
