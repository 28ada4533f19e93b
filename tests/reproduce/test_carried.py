"""A page's numbers survive where their runs are not."""

import shutil
from pathlib import Path

import pytest

from heatcheck.progress import Silent
from heatcheck.reproduce import PAPERS, reproduce, write_page
from heatcheck.reproduce.carried import carried_over

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


def table(*rows: str) -> str:
    return "\n".join([rows[0], "|" + "---|" * (rows[0].count("|") - 1), *rows[1:]])


@pytest.mark.parametrize("paper", list(PAPERS))
def test_a_page_stays_as_it_is_on_a_machine_without_any_run(tmp_path, paper):
    for file in PAGES.glob(f"{paper}*"):
        shutil.copy(file, tmp_path)
    found = reproduce(
        paper, data_dir=None, out=tmp_path / "none", only=None, limit=None, threads=1, progress=Silent(), run=False
    )
    write_page(tmp_path / f"{paper}.md", found, PAPERS[paper].pictures)
    for file in tmp_path.iterdir():
        assert file.read_text() == (PAGES / file.name).read_text(), file.name


def test_numbers_that_are_here_replace_what_the_page_has():
    before = table("| data | F1 | JSD |", "| SST | .8 | .5 |", "| IMDB | .7 | not run yet |")
    now = table("| data | F1 | JSD |", "| SST | not run yet | .6 |", "| IMDB | .75 | .1 |")
    assert carried_over(before, now) == table("| data | F1 | JSD |", "| SST | .8 | .6 |", "| IMDB | .75 | .1 |")


def test_rows_of_a_data_set_are_kept_together_or_not_at_all():
    before = table(
        "| data | mark | TVD |", "| SST | a | .1 |", "| SST | b | .2 |", "| IMDB | not run yet | not run yet |"
    )
    now = table(
        "| data | mark | TVD |", "| SST | not run yet | not run yet |", "| IMDB | a | .3 |", "| IMDB | c | .4 |"
    )
    assert carried_over(before, now).splitlines()[2:] == [
        "| SST | a | .1 |", "| SST | b | .2 |", "| IMDB | a | .3 |", "| IMDB | c | .4 |",
    ]  # fmt: skip


def test_what_sums_up_kept_rows_is_kept_with_them():
    before = table("| data | τ |", "| SST | .1 |", "| IMDB | .3 |", "| *mean of these* | .2 |")
    one = table("| data | τ |", "| SST | .5 |", "| IMDB | not run yet |", "| *mean of these* | .5 |")
    both = table("| data | τ |", "| SST | .5 |", "| IMDB | .7 |", "| *mean of these* | .6 |")
    assert carried_over(before, one).splitlines()[2:] == ["| SST | .5 |", "| IMDB | .3 |", "| *mean of these* | .2 |"]
    assert carried_over(before, both) == both


def test_a_mark_that_another_data_set_gave_stays():
    before = table("| methods † | a | b |", "| SHAP † | .1 | .2 |")
    now = table("| methods | a | b |", "| SHAP | not run yet | .3 |")
    assert carried_over(before, now) == table("| methods † | a | b |", "| SHAP † | .1 | .3 |")


def test_a_table_with_other_columns_is_replaced():
    now = table("| data | accuracy |", "| SST | not run yet |")
    assert carried_over(table("| data | F1 |", "| SST | .8 |"), now) == now


def test_a_picture_of_runs_stays_while_numbers_are_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- a -->\n{table('| data | F1 |', '| SST | .8 |')}\n<!-- /a -->\n")
    (tmp_path / "a.svg").write_text("of SST")
    write_page(page, {"a": table("| data | F1 |", "| SST | not run yet |"), "a.svg": "of nothing"})
    assert (tmp_path / "a.svg").read_text() == "of SST"
    write_page(page, {"a": table("| data | F1 |", "| SST | .9 |"), "a.svg": "of SST again"})
    assert (tmp_path / "a.svg").read_text() == "of SST again"
