"""Distance of attention (JSD) against change of output (TVD): a point for each model (paper 2, Figures 5 and 6; paper
3, Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heatcheck.report.measures import setting_name
from heatcheck.report.series import variants
from heatcheck.report.source import Row, Run, Variant
from heatcheck.report.trained import Which, by_number, means, numbers
from heatcheck.results import ALL_SEEDS

BASE = "base"
# Kinds of marks in the order of the key, as the page calls them.
KINDS = {
    "seed": "other seeds",
    "uniform": "equal weights",
    "adversarial": "paper 1’s adversary, text by text",
    "attefa": "AtteFa’s adversary",
}


def point(jsd: Row | None, tvd: Row | None, **more: Any) -> dict[str, Any] | None:
    """None if one of the two is missing."""
    x, y = numbers(jsd), numbers(tvd)
    return None if x is None or y is None else {"jsd": x, "tvd": y, **more}


def curves(run: Run, group: str | None) -> list[dict[str, Any]]:
    """A line for each seed (and number) of the trained adversary, its points by growing distance."""
    jsds, tvds = (means(run, f"trained_adversary_{name}", group) for name in ("jsd", "tvd"))
    f1 = means(run, "trained_adversary_f1", group)
    by_name = {(which.subject, which.at): row for which, row in f1.items()}
    lines: dict[str, list[dict[str, Any]]] = {}
    for which, row in jsds.items():
        name = which.setting or ""
        made = point(row, tvds.get(which), at=which.at, f1=numbers(by_name.get((name, which.at))))
        if made is not None:
            lines.setdefault(name, []).append(made)
    return [
        {"name": name, "points": sorted(points, key=lambda one: (one["jsd"][0], one["at"] or 0.0))}
        for name, points in sorted(lines.items(), key=lambda line: by_number(line[0]))
    ]


def marks(run: Run, group: str | None) -> list[dict[str, Any]]:
    return [
        *_simple(run, "seed", group),
        *_simple(run, "uniform", group),
        *_adversarial(run, group),
        *liars(run, group),
    ]


def _simple(run: Run, kind: str, group: str | None) -> Iterator[dict[str, Any]]:
    tvds = means(run, f"{kind}_tvd", group)
    for which, row in means(run, f"{kind}_jsd", group).items():
        if which.reference != ALL_SEEDS:  # the mean of the others
            made = point(row, tvds.get(which), kind=kind, name=which.reference)
            yield from [made] if made else []


def _adversarial(run: Run, group: str | None) -> Iterator[dict[str, Any]]:
    """The solver that the report prefers."""
    for variant in variants(run, "adversarial_jsd")[:1]:
        rows = {
            name: next((row for which, row in means(run, name, group).items() if _is(which, variant)), None)
            for name in ("adversarial_jsd", "adversarial_tvd")
        }
        made = point(*rows.values(), kind="adversarial", name=setting_name(variant.setting, variant.at))
        yield from [made] if made else []


def _is(which: Which, variant: Variant) -> bool:
    return (which.setting, which.at) == (variant.setting, variant.at)


def liars(run: Run, group: str | None = None, *, all_bases: bool = False) -> Iterator[dict[str, Any]]:
    """AtteFa's adversaries: of the model under test, or of every model that was attacked."""
    tvds = means(run, "attefa_tvd", group)
    for which, row in means(run, "attefa_jsd", group).items():
        if all_bases or which.subject == BASE:
            made = point(row, tvds.get(which), kind="attefa", name=f"adversary {liar_name(which)}")
            yield from [made] if made else []


def liar_name(which: Which) -> str:
    """The model that it imitates, and its own seed.

    >>> liar_name(Which("base", "seed 2")), liar_name(Which("seed 50", "seed 2"))
    ('this model · 2', 'seed 50 · 2')
    """
    base = "this model" if which.subject == BASE else which.subject
    return f"{base} · {str(which.reference).removeprefix('seed ')}"


def kinds(found: list[dict[str, Any]]) -> list[list[str]]:
    """[kind, name] of the marks that are there."""
    there = {mark["kind"] for mark in found}
    return [[kind, name] for kind, name in KINDS.items() if kind in there]
