"""The reproduction's path on a slice of the real data, and the page it fills."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from heatcheck.errors import InputError
from heatcheck.measure.intervals import resampled
from heatcheck.progress import Silent
from heatcheck.reproduce import paper_1, reproduce, write_page
from heatcheck.reproduce.paper_1_numbers import TABLE_1, TABLE_2
from heatcheck.reproduce.paper_1_page import spearman

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the papers' data sets are not here")
def test_a_case_on_a_slice_fills_the_tables(tmp_path, monkeypatch):
    quick = [c for c in paper_1.CASES if c.name in ("babi-1-average-additive", "babi-1-bilstm-additive")]
    recipe = paper_1.Recipe(epochs=1, batch_size=50, vectors="none")
    cases = tuple(paper_1.Case("babi-1", c.encoder, "additive", recipe, hidden=8, embedding_width=10) for c in quick)
    monkeypatch.setattr(paper_1, "CASES", cases)
    blocks = reproduce("paper-1", data_dir=DATA, out=tmp_path, only=["babi-1"], limit=20, threads=1, progress=Silent())
    assert "| bAbI 1 | bilstm, additive | 20 | accuracy | 1.00 |" in blocks["table-1"]
    assert "| bAbI 1 | average, additive | all | 0.72 ± 0.12 |" in blocks["table-2"]
    assert "search" in blocks["figures-4-5"]
    assert "| bAbI 1 |" in blocks["figures-6-8"]


def test_a_page_keeps_its_prose(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Ours\n<!-- a -->\nold\n<!-- /a -->\nwhy\n")
    write_page(page, {"a": "new"})
    assert page.read_text() == "# Ours\n<!-- a -->\nnew\n<!-- /a -->\nwhy\n"
    write_page(tmp_path / "fresh.md", {"a": "x", "b": "y"})
    assert (tmp_path / "fresh.md").read_text() == "<!-- a -->\nx\n<!-- /a -->\n<!-- b -->\ny\n<!-- /b -->\n"


@pytest.mark.parametrize(
    ("page", "missing"),
    [
        ("# Ours\n<!-- a -->\nold\n<!-- /aa -->\nwhy\n", "<!-- /a --> behind <!-- a -->"),
        ("# Ours\n<!-- /a -->\n<!-- a -->\nwhy\n", "<!-- /a --> behind <!-- a -->"),
        ("# Ours\nwhy\n<!-- /a -->\n", "<!-- a --> in it"),
    ],
)
def test_a_page_whose_marks_are_broken_stays_as_it_is(tmp_path, page, missing):
    file = tmp_path / "page.md"
    file.write_text(page)
    with pytest.raises(InputError, match=rf"page.md: there is no {missing}, so where the table 'a' goes is not known"):
        write_page(file, {"a": "new"}, {"a.svg": lambda tables: "<svg/>"})
    assert file.read_text() == page
    assert [p.name for p in tmp_path.iterdir()] == ["page.md"]


def test_ranks_are_those_of_a_resample():
    rng = np.random.default_rng(3)
    x = rng.normal(size=30)
    y = np.round(x + rng.normal(size=30))  # with ties
    found = spearman(x, y)
    by_scipy = resampled(lambda rows: float(spearmanr(x[rows], y[rows]).statistic), len(x), seed=0)
    np.testing.assert_allclose(found, by_scipy, atol=1e-12)
    once = rankdata(x), rankdata(y)
    ranked_once = resampled(lambda rows: float(np.corrcoef(once[0][rows], once[1][rows])[0, 1]), len(x), seed=0)
    assert abs(found.low - ranked_once.low) > 1e-3


def test_every_case_has_the_papers_numbers():
    for case in paper_1.CASES:
        assert case.dataset in TABLE_1
        assert (case.dataset, 0) in TABLE_2


def test_an_unknown_case_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"paper-1 has no case 'sts'\. There are: agnews"):
        reproduce("paper-1", data_dir=tmp_path, out=tmp_path, only=["sts"], limit=None, threads=1, progress=Silent())
