"""--out of `explain` and `report` takes the place of a page, never of anything else."""

from pathlib import Path

import pytest

from heatcheck import report
from heatcheck.errors import InputError
from heatcheck.report import heatmap
from tests.report.sample import write_sample

DATA = "text,label\ngood film,1\nbad film,0\n"


def test_explain_refuses_a_file_that_is_no_page_before_the_work(heatcheck):
    Path("my.csv").write_text(DATA)
    code, _, err = heatcheck("explain", "good film", "--model", "python:nowhere:f", "--out", "my.csv")
    assert code == 2
    assert err == "heatcheck: my.csv: is there and is no page: the heatmap would replace it. Give another --out.\n"
    assert Path("my.csv").read_text() == DATA


def test_report_refuses_a_file_that_is_no_page(heatcheck):
    write_sample(Path("run"), how_many=4)
    Path("my.csv").write_text(DATA)
    code, _, err = heatcheck("report", "run", "--out", "my.csv")
    assert code == 2
    assert err == "heatcheck: my.csv: is there and is no page: the report would replace it. Give another --out.\n"
    assert Path("my.csv").read_text() == DATA


def test_pages_are_replaced_whatever_their_names_and_new_names_are_free(tmp_path):
    run = write_sample(tmp_path / "run", how_many=4)
    new = report.write(run, tmp_path / "page.txt")
    first = new.read_text()
    assert heatmap.write(new, []).read_text() != first  # ours, by how it begins
    assert report.write(run, new).read_text() == first
    other = tmp_path / "other.HTM"
    other.write_text("<p>by hand</p>")
    assert report.write(run, other).read_text() == first


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"<!doctype html>\n<title>mine</title>"])
def test_a_page_of_others_under_another_name_and_bytes_are_kept(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes.txt: is there and is no page"):
        heatmap.write(path, [])
    assert path.read_bytes() == content
