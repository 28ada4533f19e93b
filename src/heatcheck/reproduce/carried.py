"""Numbers that a page has already are not lost where their runs are not: they may have been made on another machine.

A table is made anew from the runs that are here. Where it does not know a number, or has no such row, and the page
does, what the page has stays. A row is known by the cells that name it (`NAMES`). One that sums up others (in italics)
cannot be made of some old and some new ones, and then says so. What no run makes any more is deleted by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

NOT_YET, WITH_FULL = "not run yet", "with --full"
UNKNOWN = (NOT_YET, WITH_FULL)
MARK = " †"  # of methods that miss their sum on some data set, which may be one that is not here
# Columns whose cells name a row.
NAMES = (
    "data", "model", "encoder", "class", "predicted class", "attention of", "solver", "mark", "λ", "guide", "adversary",
    "methods", "the paper says", "difference in F1", "ours is of", "vectors", "temperature", "place", "strength",
    "heads", "bases",
)  # fmt: skip

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
    old, new = table_rows(before), table_rows(now)
    if not old or not new or list(map(_plain, old[0])) != list(map(_plain, new[0])):
        return now
    naming = [place for place, head in enumerate(new[0]) if head in NAMES]
    merged = _merged(old[1:], new[1:], naming)
    if sorted(merged) == sorted(new[1:]):
        return now
    heads, *lines = (f"| {' | '.join(row)} |" for row in (_marked(old[0], new[0]), *_summed(merged, old[1:], new[1:])))
    under = "|" + "---|" * len(new[0])
    return "\n".join([heads, under, *lines, *(line for line in now.splitlines() if not line.startswith("|"))])


def table_rows(block: str) -> list[Row]:
    """The cells of a Markdown table, its heading first; lines of another width are none of its rows.

    >>> table_rows("| a | b |\\n|---|---|\\n| 1 |  |\\n| odd |")
    [['a', 'b'], ['1', '']]
    """
    lines = [line.removeprefix("|").removesuffix("|") for line in block.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")] for number, line in enumerate(lines) if number != 1]
    return [row for row in cells if len(row) == len(cells[0])]


def _merged(old: Sequence[Row], new: Sequence[Row], naming: Sequence[int]) -> list[Row]:
    """In the page's order; new rows stand behind the one that they follow in the table."""

    def name(row: Row) -> Row:
        return [_plain(row[place]) for place in naming]

    def stands_for(row: Row, other: Row) -> bool:
        """A name that is not known yet stands for any."""
        return all(cell in (NOT_YET, known) for cell, known in zip(name(row), name(other), strict=True))

    made = {tuple(name(row)): row for row in new}
    open_ones = [row for row in old if NOT_YET in name(row)]
    answered = [row for row in open_ones if any(stands_for(row, other) and NOT_YET not in name(other) for other in new)]
    merged = [_cells(row, made[tuple(name(row))]) if tuple(name(row)) in made else row for row in old]
    merged = [row for row, before in zip(merged, old, strict=True) if before not in answered]
    end = 0
    for row in new:
        there = [place for place, other in enumerate(merged) if stands_for(row, other)]
        if not there:
            merged.insert(end, row)
        end = (there[-1] if there else end) + 1
    return merged


def _cells(old: Row, new: Row) -> Row:
    found = [before if now in UNKNOWN else now for before, now in zip(old, new, strict=True)]
    return new if found == new else _marked(old, found)


def _summed(merged: Sequence[Row], old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Sums of numbers that are all the page's stay."""
    stale = all(row in old for row in merged if not _sums_up(row))
    known, made = ({row[0]: row for row in table if _sums_up(row)} for table in (old, new))

    def cells(row: Row) -> Row:
        before, now = known.get(row[0], row), made.get(row[0], row)
        return before if stale else [b if b == n else NOT_YET for b, n in zip(before, now, strict=True)]

    return [cells(row) if _sums_up(row) else row for row in merged]


def _sums_up(row: Row) -> bool:
    return row[0].startswith("*")


def _marked(old: Row, new: Row) -> Row:
    """Two methods may stand in a cell, each with its own mark."""
    return [_marks(before, now) if _plain(before) == _plain(now) else now for before, now in zip(old, new, strict=True)]


def _marks(old: str, new: str) -> str:
    parts = zip(old.split(" – "), new.split(" – "), strict=True)
    return " – ".join(before if MARK in before else now for before, now in parts)


def _plain(cell: str) -> str:
    return cell.replace(MARK, "")
