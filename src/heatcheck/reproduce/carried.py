"""Numbers that a page has already are not lost where their runs are not: they may have been made on another machine.

A table is made anew from the runs that are here. Where it says “not run yet”, or has no row at all, and the page knows
better, what the page has stays. A row that sums up others (in italics) stays as well as long as one of those had to be
kept: without their runs it cannot be made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

NOT_YET = "not run yet"
MARK = " †"  # of methods that miss their sum on some data set, which may be one that is not here

Row = list[str]


def carried_over(before: str, now: str) -> str:
    """The block `now`, with what only the same block `before` knows.

    >>> print(carried_over("| data | F1 |\\n|---|---|\\n| SST | .8 |\\n| IMDB | .9 |",
    ...                    "| data | F1 |\\n|---|---|\\n| SST | not run yet |\\n| IMDB | .7 |"))
    | data | F1 |
    |---|---|
    | SST | .8 |
    | IMDB | .7 |
    """
    old, new = rows(before), rows(now)
    if len(old) < 2 or len(new) < 2 or [_plain(cell) for cell in old[0]] != [_plain(cell) for cell in new[0]]:
        return now
    merged = _merged(old[2:], new[2:])
    if merged == new[2:]:
        return now
    summed = {row[0]: row for row in old if _sums_up(row)}
    heads, *lines = (f"| {' | '.join(summed.get(row[0], row))} |" for row in (_marked(old[0], new[0]), *merged))
    under = "|" + "---|" * len(new[0])
    return "\n".join([heads, under, *lines, *(line for line in now.splitlines() if not line.startswith("|"))])


def rows(block: str) -> list[Row]:
    """The cells of a Markdown table, its heading first, then the line under it.

    >>> rows("| a | b |\\n|---|---|\\n| 1 |  |")
    [['a', 'b'], ['---', '---'], ['1', '']]
    """
    lines = (line.removeprefix("|").removesuffix("|") for line in block.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def _merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Rows that begin alike (those of a data set, say) are matched in their order; where their number differs, they
    are kept together or not at all."""
    known, made = _by_name(old), _by_name(new)
    merged: list[Row] = []
    for row in new:
        here, there = made[_plain(row[0])], known.get(_plain(row[0]), [])
        place = next(number for number, other in enumerate(here) if other is row)
        if len(here) == len(there):
            merged.append(_cells(there[place], row))
        elif not there or any(NOT_YET not in other for other in here):
            merged.append(row)
        elif place == 0:
            merged += there
    lost = [row for row in old if _plain(row[0]) not in made]
    if lost:
        merged = [row for row in merged if row[0] != NOT_YET]
    end = next((place for place, row in enumerate(merged) if _sums_up(row)), len(merged))
    return [*merged[:end], *lost, *merged[end:]]


def _by_name(table: Sequence[Row]) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in table:
        found[_plain(row[0])].append(row)
    return dict(found)


def _cells(old: Row, new: Row) -> Row:
    found = [before if now == NOT_YET else now for before, now in zip(old, new, strict=True)]
    return [*_marked(old[:1], found[:1]), *found[1:]]


def _marked(old: Row, new: Row) -> Row:
    return [before if before.count(MARK) > now.count(MARK) else now for before, now in zip(old, new, strict=True)]


def _sums_up(row: Row) -> bool:
    return row[0].startswith("*")


def _plain(cell: str) -> str:
    return cell.replace(MARK, "")
