"""A page's numbers survive where their runs are not."""

import re
import shutil
from pathlib import Path

import pytest

from heatcheck.progress import Silent
from heatcheck.reproduce import PAPERS, reproduce, write_page
from heatcheck.reproduce.carried import carried_over, table_rows

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


def table(*rows: str) -> str:
    return "\n".join([rows[0], "|" + "---|" * (rows[0].count("|") - 1), *rows[1:]])


@pytest.mark.parametrize("paper", list(PAPERS))
def test_a_page_stays_as_it_is_on_a_machine_without_any_run(tmp_path, paper):
    for file in PAGES.glob(f"{paper}*.*"):  # the page and its pictures
        shutil.copy(file, tmp_path)
    found = reproduce(
        paper, data_dir=None, out=tmp_path / "none", only=None, limit=None, threads=1, progress=Silent(), run=False
    )
    write_page(tmp_path / f"{paper}.md", found, PAPERS[paper].pictures)
    for file in tmp_path.iterdir():
        assert file.read_text() == (PAGES / file.name).read_text(), file.name


@pytest.mark.parametrize("paper", ["paper-1", "paper-3"])
def test_one_run_of_many_takes_no_row_away(paper):
    """Of each table of the page its last row alone is made anew."""
    page = (PAGES / f"{paper}.md").read_text()
    for name, block in re.findall(r"<!-- ([\w-]+) -->\n(.*?)\n<!-- /\1 -->", page, re.DOTALL):
        heads, under, *lines = [line for line in block.splitlines() if line.startswith("|")]
        last = [line for line in lines if not line.startswith("| *")][-1]
        changed = last[: last.rindex("|", 0, -1)] + "| 9 |"
        found = carried_over(block, "\n".join([heads, under, changed])).splitlines()
        assert found[2 : 2 + len(lines)] == [changed if line == last else line for line in found[2 : 2 + len(lines)]]
        assert [line for line in lines if line != last and "| *" not in line[:3]] == [
            line for line in found[2 : 2 + len(lines)] if line != changed and "| *" not in line[:3]
        ], name


def test_numbers_that_are_here_replace_what_the_page_has():
    before = table("| data | F1 | JSD |", "| SST | .8 | .5 |", "| IMDB | .7 | not run yet |")
    now = table("| data | F1 | JSD |", "| SST | not run yet | .6 |", "| IMDB | .75 | .1 |")
    assert carried_over(before, now) == table("| data | F1 | JSD |", "| SST | .8 | .6 |", "| IMDB | .75 | .1 |")


@pytest.mark.parametrize("unknown", ["not run yet", "with --full"])
def test_numbers_of_another_scale_stay(unknown):
    before = table("| data | F1 |", "| SST | .8 |", "| IMDB | .9 |")
    now = table("| data | F1 |", "| SST | .7 |", f"| IMDB | {unknown} |")
    assert carried_over(before, now) == table("| data | F1 |", "| SST | .7 |", "| IMDB | .9 |")


def test_rows_are_known_by_all_cells_that_name_them():
    before = table("| data | temperature | F1 |", "| SST | 0.5 | .8 |", "| SST | 2 | .7 |")
    now = table("| data | temperature | F1 |", "| SST | 0.25 | .6 |", "| SST | 0.5 | not run yet |")
    assert carried_over(before, now).splitlines()[2:] == [
        "| SST | 0.25 | .6 |",
        "| SST | 0.5 | .8 |",
        "| SST | 2 | .7 |",
    ]


def test_a_row_without_a_name_stands_for_all_that_could_be_meant():
    heads = "| data | mark | TVD |"
    open_one = "| IMDB | not run yet | not run yet |"
    before = table(heads, "| SST | a | .1 |", "| SST | b | .2 |", open_one)
    now = table(heads, "| SST | not run yet | not run yet |", "| IMDB | a | .3 |", "| IMDB | c | .4 |")
    assert carried_over(before, now).splitlines()[2:] == [
        "| SST | a | .1 |", "| SST | b | .2 |", "| IMDB | a | .3 |", "| IMDB | c | .4 |",
    ]  # fmt: skip
    nothing = table(heads, "| SST | not run yet | not run yet |", open_one)
    assert carried_over(before, nothing) == before


def test_what_sums_up_others_is_never_of_old_and_new_ones():
    heads = "| data | paper | ours |"
    before = table(heads, "| SST | .4 | .1 |", "| IMDB | .6 | .3 |", "| *mean* | .5 | .2 |")
    none = table(heads, "| SST | .4 | not run yet |", "| IMDB | .6 | not run yet |", "| *mean* | .5 | not run yet |")
    one = table(heads, "| SST | .4 | .5 |", "| IMDB | .6 | not run yet |", "| *mean* | .4 | .5 |")
    both = table(heads, "| SST | .4 | .5 |", "| IMDB | .6 | .7 |", "| *mean* | .5 | .6 |")
    assert carried_over(before, none) == before
    assert carried_over(before, one).splitlines()[2:] == [
        "| SST | .4 | .5 |", "| IMDB | .6 | .3 |", "| *mean* | not run yet | not run yet |",
    ]  # fmt: skip
    assert carried_over(before, both) == both


def test_a_mark_that_another_data_set_gave_stays():
    before = table("| methods | a | b |", "| A † – B | .1 | .2 |", "| C † – D | .3 | .4 |")
    now = table("| methods | a | b |", "| A – B † | not run yet | .5 |", "| C – D | .6 | .7 |")
    assert carried_over(before, now) == table("| methods | a | b |", "| A † – B † | .1 | .5 |", "| C – D | .6 | .7 |")


def test_a_table_with_other_columns_is_replaced():
    now = table("| data | accuracy |", "| SST | not run yet |")
    assert carried_over(table("| data | F1 |", "| SST | .8 |"), now) == now


def test_a_line_that_is_no_row_does_no_harm():
    before = table("| data | F1 |", "| SST | .8 | and more |", "| IMDB | .9 |")
    now = table("| data | F1 |", "| SST | .7 |", "| IMDB | not run yet |")
    assert carried_over(before, now).splitlines()[2:] == ["| SST | .7 |", "| IMDB | .9 |"]


def test_pictures_show_what_the_page_has(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- a -->\n{table('| data | F1 |', '| SST | .8 |')}\n<!-- /a -->\n")
    now = table("| data | F1 |", "| SST | not run yet |", "| IMDB | .9 |")
    write_page(page, {"a": now}, {"a.svg": lambda tables: str(table_rows(tables["a"])[1:])})
    assert (tmp_path / "a.svg").read_text() == "[['SST', '.8'], ['IMDB', '.9']]"
