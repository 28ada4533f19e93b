"""Paper 2's reproduction: its printed numbers, its cases, and the path from small made data to the page."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import f1_score

from heatcheck import api, results
from heatcheck.errors import InputError
from heatcheck.machine import available_cores
from heatcheck.models.fit import Recipe
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Silent
from heatcheck.reproduce import paper_2, reproduce, write_page
from heatcheck.reproduce.cases import Machine, run_requests
from heatcheck.reproduce.page import number
from heatcheck.reproduce.paper_2_numbers import TABLE_2, TABLE_3, TABLE_4, TABLE_5
from heatcheck.reproduce.paper_2_page import PICTURES
from heatcheck.reproduce.plane import LEFT, RIGHT, WIDTH
from tests.reproduce.small import reviews, row, write_sst

PAPERS = Path(__file__).parents[2].parent / "shared" / "papers"
TEXT = PAPERS / "2-wiegreffe-pinter-2019-attention-is-not-not-explanation.txt"


def numbers(line: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?(?![\w.])", line)]


@pytest.mark.skipif(not TEXT.exists(), reason="the papers' texts are not here")
def test_the_numbers_are_those_of_the_papers_text():
    text = TEXT.read_text()
    for dataset, start in (("sst", "SST"), ("imdb-paper", "IMDb"), ("agnews", "AgNews")):
        (found,) = re.findall(rf"^{start}\t(0\.\d\d\t0\.\d+\t0\.\d+)$", text, re.M)
        assert tuple(numbers(found)) == TABLE_2[dataset]
    for guide, start in zip(TABLE_3["sst"], ("UNIFORM", "TRAINED MLP", "BASE LSTM", "ADVERSARY"), strict=True):
        (found,) = re.findall(rf"^{start}(?: \(4\))?\t(.*0\.\d\d\d.*)$", text, re.M)
        assert numbers(re.sub("</?b>", " ", found))[2:] == [TABLE_3[d][guide] for d in ("sst", "imdb-paper")]
    for dataset, start in (("sst", "SST"), ("imdb-paper", "IMDb")):
        (found,) = re.findall(rf"^{start}\t(\S+e-4\t0\.\d+\t0\.\d+\t0\.\d+)$", text, re.M)
        weight, *rest = numbers(found)
        assert (weight, tuple(rest)) == (TABLE_4[dataset], TABLE_5[dataset][weight])
    lower = text[text.index("Dataset\t$\\lambda$\tF1\tTVD\tJSD\tDataset") : text.index("Table 5: All results")]
    lower = lower[lower.index("\t0\t0.816") :]  # SST beside IMDb; Anemia and Diabetes stand above
    printed = [numbers(line.replace("SST", "")) for line in lower.splitlines() if line.strip()]
    assert [cells[:4] for cells in printed] == [[weight, *found] for weight, found in TABLE_5["sst"].items()]
    right = [cells[4:] for cells in printed if cells[4:]]
    assert right == [[weight, *found] for weight, found in TABLE_5["imdb-paper"].items()]


def test_the_cases_are_the_papers():
    names = ["sst-sweep", "sst-far-guide", "agnews-uniform", "sst-apart", "imdb-paper-near-guide", "imdb-paper-sweep"]
    assert [case.name for case in paper_2.CASES] == names
    sweep = paper_2.SWEEP.configs()
    assert len(sweep["trained_adversary"].lambdas) == 16
    assert (sweep["trained_adversary"].epochs, sweep["trained_adversary"].patience) == (80, 10)
    assert len(sweep["seed_variance"].seeds) == 8
    # The guide's adversary is one of the sweep's: trained once.
    guide = sweep["guided_mlp"].adversary
    assert replace(guide, lambdas=sweep["trained_adversary"].lambdas) == sweep["trained_adversary"]
    assert set(guide.lambdas) < set(sweep["trained_adversary"].lambdas)
    imdb = paper_2.CASES[-1].configs()["trained_adversary"]
    assert (imdb.lambdas, imdb.epochs) == ((0.001, 0.005), 12)
    assert len(paper_2.FULL_CASES[-1].lambdas) == 10
    for case in paper_2.CASES:
        assert set(case.lambdas) <= set(TABLE_5.get(case.dataset, {0.001: ()}))


def models(out: Path) -> dict[str, int]:
    """Every model that a test trained, with its time."""
    return {str(folder): folder.stat().st_mtime_ns for folder in out.glob("*/steps/training-*")}


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Path:
    """All tests of SST with tiny models and two λ."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("runs")
    write_sst(data, train=reviews(40, 1), dev=reviews(12, 2), test=reviews(24, 3))
    tiny = {
        "spec": ModelSpec(hidden=4, embedding_width=6), "recipe": Recipe(epochs=2, vectors="none"), "epochs": 2,
        "hidden": 4,
    }  # fmt: skip
    cases = [replace(paper_2.SWEEP, lambdas=(0.0, 0.001), **tiny), replace(paper_2.APART, **tiny)]
    settings = {"only": ["sst"], "limit": 20, "machine": Machine(), "progress": Silent()}
    run_requests("paper-2", cases, data, out, **settings)
    trained = models(out)
    assert len(trained) == 8 + 3 + 2 + 12 + 3 + 3 + 3  # seeds, uniform, two λ, guided; and of `apart`
    run_requests("paper-2", cases, data, out, **settings)
    assert models(out) == trained  # nothing is trained again
    return out


@pytest.fixture(scope="module")
def blocks(ran) -> dict[str, str]:
    return reproduce("paper-2", data_dir=None, out=ran, only=None, limit=None, threads=1, progress=Silent(), run=False)


def predicted(ran: Path, experiment: str, subject: str) -> tuple[np.ndarray, np.ndarray]:
    """True and predicted classes."""
    scores = results.read_table(ran / "sst-sweep", "scores").to_pandas()
    rows = scores[(scores["experiment"] == experiment) & (scores["measure"] == "predicted_class")]
    labels = results.read_table(ran / "sst-sweep", "examples").to_pandas().set_index("example_id")["label"]
    found = rows[rows["subject"] == subject].set_index("example_id")["value"]
    return (labels.loc[found.index] == "positive").to_numpy(dtype=int), found.to_numpy(dtype=int)


def test_table_2_is_f1_of_the_models(blocks, ran):
    cells = row(blocks["table-2"], "| SST |")
    assert cells[1:3] == [".81", ".831"]
    assert cells[3].split()[0] == number(f1_score(*predicted(ran, "uniform_attention", "base")))
    uniform = [f1_score(*predicted(ran, "uniform_attention", f"uniform, seed {s}")) for s in (50, 257, 500231)]
    assert cells[6].split()[0] == number(np.mean(uniform))
    assert (cells[5], cells[7]) == (".822", ".009")
    assert row(blocks["table-2"], "| IMDB |")[3] == "not run yet"
    assert float(cells[8].split()[0]) == pytest.approx(float(cells[4].split()[0]) - np.mean(uniform), abs=2e-3)


def test_table_3_and_what_the_paper_concludes_from_it(blocks, ran):
    means = {}
    for guide, title in (("base", "base LSTM"), ("adversary", "adversary, λ = 0.001")):
        by_seed = [f1_score(*predicted(ran, "guided_mlp", f"{guide}, seed {s}")) for s in (50, 257, 500231)]
        means[guide] = np.mean(by_seed)
        assert row(blocks["table-3"], f"| {title} |")[2].split()[0] == number(means[guide])
    cells = row(blocks["guides"], "| the LSTM's weights are better than an adversary's |")
    assert cells[2] == ".232"
    assert float(cells[3].split()[0]) == pytest.approx(means["base"] - means["adversary"], abs=6e-4)
    assert cells[4] in ("confirmed", "refuted", "cannot tell")
    gain = row(blocks["table-3"], "| adversary, λ = 0.001 |")[3]
    loss = row(blocks["guides"], "| adversaries make poor guides: worse than none |")
    assert loss[2] == ".220"
    assert numbers_in(loss[3]) == [-x for x in numbers_in(gain)[:1]] + [-x for x in numbers_in(gain)[:0:-1]]


def numbers_in(cell: str) -> list[float]:
    """
    >>> numbers_in("-.027 [-.050, .001]")
    [-0.027, -0.05, 0.001]
    """
    return [float(n) for n in cell.replace("[", "").replace("]", "").replace(",", "").split()]


@pytest.mark.parametrize(
    ("folder", "near", "far"),
    [
        ("imdb-paper-sweep", "not run yet", None),
        ("imdb-paper-near-guide", None, "not run yet"),
        ("imdb-paper-sweep-full", None, "not run yet"),
    ],
)
def test_a_guide_is_of_the_run_that_has_it(ran, tmp_path, folder, near, far):
    """A finished run of IMDB has one adversary as a guide; here SST's tables stand in for it."""
    shutil.copytree(ran / "sst-sweep", tmp_path / folder)
    found = reproduce(
        "paper-2", data_dir=None, out=tmp_path, only=None, limit=None, threads=1, progress=Silent(), run=False
    )
    for guide, claim, wanted in (
        ("adversary, λ = 0.001", "adversaries make poor guides: worse than none", near),
        ("adversary that is far ²", "those that are far do (our question)", far),
    ):
        in_table, in_claims = row(found["table-3"], f"| {guide} |")[5], row(found["guides"], f"| {claim} |")[6]
        assert (in_table, in_claims) == (wanted, wanted) if wanted else "[" in in_table and "[" in in_claims


def test_tables_4_and_5_have_true_tvd(blocks, ran):
    scores = results.read_table(ran / "sst-sweep", "scores").to_pandas()
    texts = scores[scores["example_id"].notna() & (scores["at"] == 0.001)]
    cells = row(blocks["table-5"], "| SST | 0.001 |")
    assert cells[2::2] == [".815", ".076", ".623"]  # the paper prints .038
    assert cells[3].split()[0] == number(f1_score(*predicted_at(ran, 0.001)))
    for place, measure in ((5, "tvd"), (7, "jsd")):
        mean = texts[texts["measure"] == f"trained_adversary_{measure}"]["value"].mean()
        assert cells[place].split()[0] == number(mean)
    assert row(blocks["table-5"], "| SST | 1e-05 |")[3] == ""
    assert row(blocks["table-4"], "| SST |")[1:5] == ["0.000525", ".823", ".072", ".514"]
    assert row(blocks["table-4"], "| SST |")[5] == "none is that far"


def predicted_at(ran: Path, weight: float) -> tuple[np.ndarray, np.ndarray]:
    scores = results.read_table(ran / "sst-sweep", "scores").to_pandas()
    rows = scores[(scores["measure"] == "predicted_class") & (scores["at"] == weight)].set_index("example_id")["value"]
    labels = results.read_table(ran / "sst-sweep", "examples").to_pandas().set_index("example_id")["label"]
    return (labels.loc[rows.index] == "positive").to_numpy(dtype=int), rows.to_numpy(dtype=int)


def test_figures_3_5_and_6_have_all_their_marks(blocks, ran):
    scores = results.read_table(ran / "sst-sweep", "scores").to_pandas()
    examples = results.read_table(ran / "sst-sweep", "examples").to_pandas().set_index("example_id")
    seeds = scores[scores["example_id"].notna() & (scores["measure"] == "seed_jsd")]
    assert row(blocks["figure-5"], "| SST | other seeds ▲ |")[2].split()[0] == number(seeds["value"].mean())
    starts = [line.split(" | ")[1] for line in blocks["figure-5"].splitlines() if line.startswith("| SST")]
    assert starts == [
        "other seeds ▲", "uniform, seed 257 ■", "uniform, seed 50 ■", "uniform, seed 500231 ■", "paper 1's adversary +",
        "adversary, λ = 0 ●", "adversary, λ = 0.001 ●", "*mean height of the curve*",
    ]  # fmt: skip
    for label in examples["predicted"].unique():
        of_class = seeds[seeds["example_id"].map(examples["predicted"]) == label].groupby("example_id")["value"].max()
        cells = row(blocks["figure-3"], f"| SST | {label} | other seeds |")
        assert cells[3].split()[0] == number(of_class.median())
        assert cells[3].endswith(f"({len(of_class)})")
    assert len(row(blocks["figure-6"], "| SST | 0.001 |")) == 6


def test_the_picture_has_every_mark_at_its_place(blocks, tmp_path):
    write_page(tmp_path / "page.md", {"figure-5": blocks["figure-5"]}, PICTURES)
    assert "svg" not in (tmp_path / "page.md").read_text()
    (picture,) = PICTURES
    root = ElementTree.fromstring((tmp_path / picture).read_text())
    sst, imdb = root.findall("{*}g")
    assert len(sst.findall("{*}circle")) == len(TABLE_5["sst"]) + 2
    assert len(imdb.findall("{*}circle")) == len(TABLE_5["imdb-paper"])
    signs = [text.text for text in sst.findall("{*}text") if text.text in "▲■+"]
    assert signs == ["▲", "■", "■", "■", "+"]
    # The paper's last point on IMDB: JSD .691 of .7 is nearly at the right end of the axis.
    x = max(float(circle.get("cx")) for circle in imdb.findall("{*}circle"))
    assert x == pytest.approx(LEFT + (WIDTH - LEFT - RIGHT) * 0.691 / 0.7, abs=0.1)


def test_adversaries_apart_have_a_row_each(blocks, ran):
    scores = results.read_table(ran / "sst-apart", "scores").to_pandas()
    between = scores[scores["example_id"].notna() & (scores["measure"] == "trained_adversary_apart")]
    mean = between[(between["subject"] == "number 2") & (between["reference"] == "number 3")]["value"].mean()
    assert row(blocks["apart"], "| number 3 |")[5].split()[0] == number(mean)
    assert row(blocks["apart"], "| number 1 |")[4:] == ["", ""]


@pytest.mark.parametrize(("asked", "workers"), [(None, available_cores()), (3, 3)])
def test_models_are_trained_side_by_side_whatever_the_number_of_threads(tmp_path, monkeypatch, asked, workers):
    found = []
    monkeypatch.setattr(api, "run_request", lambda request, *_, **__: found.append((request.threads, request.workers)))
    settings = {"data_dir": tmp_path, "out": tmp_path, "only": ["sst-apart"], "limit": None, "progress": Silent()}
    reproduce("paper-2", threads=1, workers=asked, **settings)
    assert found == [(1, workers)]


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"paper-2 has no case 'snli'\. There are: agnews, agnews-uniform, imdb-paper"):
        reproduce("paper-2", data_dir=tmp_path, out=tmp_path, only=["snli"], limit=None, threads=1, progress=Silent())
