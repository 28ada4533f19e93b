"""Tables of aggregates: what a single text has, and small numbers on a small screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heatcheck import report
from heatcheck.results import TABLES

from .browser import CUT_TABLES, opened_in
from .sample import write_sample


def changed(folder: Path, measure: str, **changes: Any) -> Path:
    """The sample with other aggregates of this measure; a function is given the value that was there."""
    path = folder / "scores.parquet"
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if row["measure"] == measure and row["example_id"] is None:
            row |= {key: new(row[key]) if callable(new) else new for key, new in changes.items()}
    pq.write_table(pa.Table.from_pylist(rows, TABLES["scores"]), path)
    return folder


def means(page: str) -> list[str]:
    """The first column of the permutation table, as read."""
    section = page[page.index('id="permutation"') :]
    cells = re.findall(r"</th><td>(.*?)</td>", section[: section.index("</table>")])
    return [re.sub("<.*?>", "", cell).replace("\u00a0", " ") for cell in cells]


def test_the_deviation_of_a_single_text_is_not_shown(tmp_path: Path) -> None:
    folder = write_sample(tmp_path, ["permutation"], how_many=20, nasty=False)
    assert all(re.fullmatch(r"0\.\d+ ± 0\.\d+", cell) for cell in means(report.render(folder)))
    one = means(report.render(changed(folder, "permutation_tvd", n=1)))
    assert len(one) > 1
    assert all(re.fullmatch(r"0\.\d+", cell) for cell in one)


@pytest.mark.parametrize("width", [360, 380])
def test_small_numbers_fit_a_narrow_screen(browser: Any, tmp_path: Path, width: int) -> None:
    """They have three decimals, in five columns."""
    folder = write_sample(tmp_path, ["permutation"], how_many=40, nasty=False)
    smaller = changed(folder, "permutation_tvd", **dict.fromkeys(("value", "low", "high"), small))
    with opened_in(browser, report.write(smaller), width) as opened:
        assert "0.0" in opened.page.locator("#permutation .numbers").inner_text()
        assert opened.page.evaluate(CUT_TABLES) == []


def small(value: float | None) -> float | None:
    return None if value is None else value / 20
