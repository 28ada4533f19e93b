"""What the pages in docs/reproduction share: numbers as text, what finished runs hold, and tables put into a page.

A page's prose is written by hand; what stands between `<!-- name -->` and `<!-- /name -->` is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from heatcheck import results
from heatcheck.claim import is_finished
from heatcheck.errors import InputError
from heatcheck.measure.intervals import Interval, bootstrap
from heatcheck.report.assets import write_whole
from heatcheck.reproduce.carried import NOT_YET, carried_over

Lines = Iterator[str]
Picture = Callable[[Mapping[str, str]], str]  # from a page's tables to SVG
BINS = ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))
BIN_HEADS = tuple(f"max α in [{low:g}, {min(high, 1):g}{')' if high < 1 else ']'}" for low, high in BINS)


@dataclass(frozen=True)
class Finished:
    """A finished run and its two tables."""

    folder: Path
    labels: tuple[str, ...]
    task: str
    scores: pd.DataFrame
    examples: pd.DataFrame

    def find(
        self,
        measure: str,
        *,
        statistic: str = "mean",
        group: str | None = None,
        setting: str | None = None,
        subject: str | None = None,
        reference: str | None = None,
        at: float | None = None,
    ) -> Interval | None:
        """The first such number over all texts. `group` None: of all classes together; else None: whichever."""
        rows = self.scores[self.scores["example_id"].isna() & (self.scores["measure"] == measure)]
        rows = rows[rows["group"].isna() if group is None else rows["group"] == group]
        asked = {"statistic": statistic, "setting": setting, "subject": subject, "reference": reference, "at": at}
        for name, value in asked.items():
            rows = rows if value is None else rows[rows[name] == value]
        if not len(rows) or pd.isna(rows.iloc[0]["value"]):
            return None
        value, low, high = (None if pd.isna(x) else float(x) for x in rows.iloc[0][["value", "low", "high"]])
        return Interval(value or 0.0, low, high)

    def aggregate(
        self, measure: str, statistic: str = "mean", group: str | None = None, setting: str | None = None
    ) -> str:
        """Value with its interval; a dash where there is none."""
        return between(self.find(measure, statistic=statistic, group=group, setting=setting), "–")

    def texts(self, measure: str, setting: str | None = None, reference: str | None = None) -> pd.Series:
        """A value per text."""
        chosen = self.scores[
            self.scores["example_id"].notna()
            & (self.scores["measure"] == measure)
            & (self.scores["statistic"] == "value")
            & ((self.scores["setting"] == setting) if setting else True)
            & ((self.scores["reference"] == reference) if reference else True)
        ]
        return chosen.set_index("example_id")["value"].dropna()

    @property
    def groups(self) -> Sequence[str | None]:
        """Question answering has no classes to tell apart; paper 1 gives it overall."""
        return (None,) if self.task == "qa" else self.labels


def read_finished(folder: Path) -> Finished | None:
    if not is_finished(folder):
        return None
    data = results.read_run(folder)["dataset"]
    scores, examples = (results.read_table(folder, table).to_pandas() for table in ("scores", "examples"))
    return Finished(folder, tuple(data["labels"]), data["task"], scores, examples)


def number(value: float | None, digits: int = 3) -> str:
    """
    >>> number(None)
    '–'
    >>> number(0.3456), number(-0.021), number(1.0), number(0.00123, 4)
    ('.346', '-.021', '1.000', '.0012')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def between(found: Interval | None, missing: str = NOT_YET, digits: int = 3) -> str:
    """
    >>> between(Interval(0.5, 0.25, 0.75)), between(Interval(0.5, None, None)), between(None)
    ('.500 [.250, .750]', '.500', 'not run yet')
    """
    if found is None:
        return missing
    value, low, high = (number(x, digits) for x in found)
    return value if found.low is None else f"{value} [{low}, {high}]"


def first_number(cell: str) -> float:
    """Of what `between` wrote, the value.

    >>> first_number(".034 [.033, .034]")
    0.034
    """
    return float(cell.split()[0])


def against(found: Interval | None, threshold: float, above: str, below: str) -> str:
    """
    >>> against(Interval(0.5, 0.4, 0.6), 0.45, "yes", "no"), against(Interval(0.5, 0.4, 0.6), 0.0, "yes", "no")
    ('cannot tell', 'yes')
    """
    if found is None or found.low is None or found.high is None:
        return "–"
    return above if found.low > threshold else below if found.high < threshold else "cannot tell"


def median(values: pd.Series) -> str:
    """Of texts: with its interval and their number."""
    if not len(values):
        return "–"
    return f"{between(bootstrap(values.to_numpy(dtype=float), np.median, seed=0))} ({len(values):,})"


def medians_by_attention(values: pd.Series, most: pd.Series) -> list[str]:
    """By bins of the texts' largest attention weight, as `BIN_HEADS` calls them; to four digits, as reports have it."""
    most = most.round(4)
    return [median(values[(most >= low) & (most < high)]) for low, high in BINS]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation; of one value itself.

    >>> spread([0.25, 0.75]), spread([0.25])
    ('.500 ± .250', '.250')
    """
    mean = number(float(np.mean(values)), digits)
    return mean if len(values) == 1 else f"{mean} ± {number(float(np.std(values)), digits)}"


def joined(blocks: Mapping[str, Callable[[], Lines]]) -> dict[str, str]:
    """The blocks of a page by name, each from its lines."""
    return {name: "\n".join(lines()) for name, lines in blocks.items()}


def heading(*columns: str) -> Lines:
    """The two lines over a table.

    >>> list(heading("data", "F1"))
    ['| data | F1 |', '|---|---|']
    """
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def write_page(path: Path, blocks: Mapping[str, str], pictures: Mapping[str, Picture] = MappingProxyType({})) -> None:
    """Replace the blocks in the page, which must have a place for each; it keeps its prose, and numbers whose runs are
    not here. A new page is the blocks alone. Pictures, drawn from the tables, become files beside it."""
    empty = "".join(f"<!-- {name} --><!-- /{name} -->\n" for name in blocks)
    text, tables = path.read_text(encoding="utf-8") if path.exists() else empty, dict(blocks)
    for name, block in blocks.items():
        text, tables[name] = _replaced(text, name, block, path)
    drawn = {name: draw(tables) for name, draw in pictures.items()}
    write_whole(path, text, "page")
    for name, picture in drawn.items():
        write_whole(path.with_name(name), picture, "picture")


def _replaced(text: str, name: str, block: str, path: Path) -> tuple[str, str]:
    """The page's text, and what is now in the block."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, opened, rest = text.partition(first)
    known, closed, behind = rest.partition(last)
    if not (opened and closed):
        where = f"behind {first}" if opened else "in it"
        raise InputError(
            f"{path}: there is no {last if opened else first} {where}, so where the table {name!r} goes is not known. "
            f"Put {first} and {last} there, each in a line of its own."
        )
    block = carried_over(known, block)
    return f"{before}{first}\n{block}\n{last}{behind}", block
