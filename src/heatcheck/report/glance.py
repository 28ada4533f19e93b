"""Which method passes which test: a table in the place of many cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heatcheck.method_names import method_name
from heatcheck.report.figures import NONE
from heatcheck.report.markup import Markup, tag
from heatcheck.results import ALL_METHODS
from heatcheck.verdict.checks import STEADY
from heatcheck.verdict.findings import Number

MOST_CARDS = 9  # three rows of them; where there are more, those of the methods become a table
QUESTIONS = {  # and what the number is
    "erasure": ("names what the output rests on", "gain over random words"),
    "ground_truth": ("finds the planted words", "average precision"),
    "repeatability": ("says the same again", "τ of two seeds"),
    "randomisation": ("notices a model that forgot", "τ with random weights"),
}
TOGETHER = (STEADY, ALL_METHODS)  # subjects of findings on several methods, which stay cards
SYMBOLS = {"passes": ("passes", "✓"), "fails": ("fails", "✕")}

Finding = dict[str, Any]


def of_methods(findings: Sequence[Finding]) -> list[Finding]:
    """Those about one method each; of few findings none, which fit as cards."""
    if len(findings) <= MOST_CARDS:
        return []
    return [f for f in findings if f.get("experiment") in QUESTIONS and f.get("subject") not in (None, *TOGETHER)]


def table(findings: Sequence[Finding]) -> Markup | None:
    """A row for each method, in the order of the findings; a column for each test."""
    if not findings:
        return None
    cells = {(str(f["subject"]), str(f["experiment"])): f for f in findings}
    tests = [name for name in QUESTIONS if any(name == test for _, test in cells)]
    heads = [tag("th", "method", scope="col")]
    heads += [tag("th", title, tag("small", number), scope="col") for title, number in (QUESTIONS[t] for t in tests)]
    lines = [
        tag("tr", tag("th", method_name(subject), scope="row"), *(_cell(cells.get((subject, name))) for name in tests))
        for subject in dict.fromkeys(subject for subject, _ in cells)
    ]
    return tag(
        "div",
        tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines), class_="glance"),
        class_="scroll",
    )


def _cell(finding: Finding | None) -> Markup:
    if finding is None:
        return tag("td", NONE)
    kind, symbol = SYMBOLS.get(str(finding.get("outcome")), ("unclear", "?"))
    outcome = str(finding.get("outcome"))
    mark = tag("span", symbol, class_="symbol", aria_hidden="true")
    value = finding.get("value")
    number = f" {Number(value):.2f}" if isinstance(value, int | float) else ""
    return tag(
        "td", tag("span", mark, outcome, class_=f"outcome {kind}"), number, title=str(finding.get("finding", ""))
    )
