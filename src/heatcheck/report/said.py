"""What an audit says of each explanation method, in one line: which tests it fails, leaves open and passes, how far it
agrees with others, how well it finds the words that matter, and whether it may be ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.compute as pc

from heatcheck import results
from heatcheck.report.figures import count, figure
from heatcheck.report.methods import Pairs, left_out, own_marks
from heatcheck.report.source import Run, Variant

TERMS = {  # what is explained below the lines that use it
    "τ": "τ is 1 where two methods order the words alike, 0 where they have nothing in common.",
    "comprehensiveness": "comprehensiveness is how far the output drops when words are taken out in the method's "
    "order, between the worst (0) and the best (1) found.",
}
ALONE = "tested there, but beside no other method that may be ranked"
KENDALL, NORMALISED = Variant("kendall"), ":normalised"


@dataclass(frozen=True)
class Said:
    """A line for each method that the audit tested, and what stands once below all of them."""

    lines: dict[str, str]
    below: tuple[str, ...] = ()


def said(folder: Path, methods: Sequence[str]) -> Said:
    run = _aggregates(folder)
    marks, tested = _marks(run), _tested(run)
    lines = {name: _line(run, name) or ALONE for name in methods if name in tested}
    untested = dict.fromkeys(name for name in methods if name not in tested)
    named = [f"{name} (not ranked)" if name in marks else name for name in sorted(tested)]
    others = f"not tested there: {', '.join(untested)}; tested: {', '.join(named) or 'none'}"
    terms = [meaning for term, meaning in TERMS.items() if any(term in line for line in lines.values())]
    return Said(lines, (*([others] if untested else []), *terms))


def _aggregates(folder: Path) -> Run:
    """Only the rows over all texts: an audit has millions of others."""
    about = results.read_run(folder)
    scores = results.read_table(folder, "scores")
    rows = scores.filter(pc.is_null(scores["example_id"]))
    return Run(about, rows.to_pylist(), [], scores.slice(0, 0), scores.slice(0, 0))


def _tested(run: Run) -> set[str]:
    erased = {method for variant, rows in run.means.items() if _is_erasure(variant) for method, _ in rows}
    judged = {_subject(finding) for finding in _findings(run)}
    named = (_marks(run).keys() | judged | erased).union(*_pairs(run)) - {results.ALL_METHODS, results.RANDOM}
    return {name for name in named if not name.startswith(results.REVERSED)}


def _pairs(run: Run) -> Pairs:
    rows = run.means.get(KENDALL, {})
    return {(one, other): row for (one, other), row in rows.items() if other is not None}


def _marks(run: Run) -> dict[str, str]:
    """Methods that are not to be ranked, or count once with another, and why."""
    own = own_marks(run)
    return {name: why for name, why in own.items() if why} | left_out(_pairs(run), own)


def _line(run: Run, method: str) -> str:
    parts = [*_verdict(run, method), *_agreement(run, method), *_erasure(run, method)]
    mark = _marks(run).get(method)
    return "; ".join([*parts, mark] if mark else parts)


def _findings(run: Run) -> list[dict[str, Any]]:
    return run.part("verdict").get("findings") or []


def _subject(finding: dict[str, Any]) -> str:
    """Older runs have findings on attention alone, and do not say so."""
    return str(finding.get("subject", "attention"))


def _verdict(run: Run, method: str) -> Iterator[str]:
    """Questions of the tests by outcome, the worst first."""
    for outcome in ("fails", "cannot tell", "passes"):
        own = [f for f in _findings(run) if _subject(f) == method and f["outcome"] == outcome]
        if own:
            yield f"{outcome}: {', '.join('“' + f['question'] + '”' for f in own)}"


def _agreement(run: Run, method: str) -> Iterator[str]:
    """Only with methods that may be ranked."""
    marks = _marks(run)
    others: dict[str, float] = {}
    for (one, other), row in _pairs(run).items():
        rest = {one: other, other: one}.get(method)
        if rest is not None and rest not in marks and row["value"] is not None:
            others[rest] = row["value"]
    if others:
        yield f"mean τ with {count(len(others), 'other method')}: {figure(fmean(others.values()))}"


def _erasure(run: Run, method: str) -> Iterator[str]:
    found = []
    for variant, rows in run.means.items():
        row = rows.get((method, None))
        if _is_erasure(variant) and row:
            operator = str(variant.setting).removesuffix(NORMALISED)
            random = rows.get((results.RANDOM, None))
            beside = f", random words: {figure(random['value'])}" if random else ""
            found.append(f"{figure(row['value'])} ({operator}{beside})")
    if found:
        yield f"comprehensiveness {', '.join(found)}"


def _is_erasure(variant: Variant) -> bool:
    return variant.measure == "aopc_comprehensiveness" and (variant.setting or "").endswith(NORMALISED)
