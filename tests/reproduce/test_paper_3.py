"""Paper 3's reproduction: its printed numbers, its cases, and the path from small mock data to the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from heatcheck import results
from heatcheck.data.mock import understood
from heatcheck.errors import InputError
from heatcheck.experiments.attefa import deviations
from heatcheck.models.fit import Recipe
from heatcheck.progress import Silent
from heatcheck.reproduce import paper_3, reproduce
from heatcheck.reproduce.cases import Machine, run_requests
from heatcheck.reproduce.page import number
from heatcheck.reproduce.paper_3 import LSTM, MLP, Case
from heatcheck.reproduce.paper_3_numbers import TABLE_2, TABLE_3
from heatcheck.reproduce.paper_3_page import BESIDE, EXTENSIONS, PICTURES, trend
from tests.reproduce.small import row

PAPERS = Path(__file__).parents[2].parent / "shared" / "papers"
TEXT = PAPERS / "3-amini-kosseim-2022-how-unfaithful-is-attention-attefa.txt"
NAMES = {"SST": "sst-full", "AgNews": "agnews", "IMDB": "imdb-paper"}
LN2 = np.log(2)


@pytest.mark.skipif(not TEXT.exists(), reason="the papers' texts are not here")
def test_the_numbers_are_those_of_the_papers_text():
    text = TEXT.read_text()
    bases, adversaries = {}, {}
    for line in text.splitlines():
        name, *cells = line.split() or [""]
        dataset = NAMES.get(name, name.lower())
        if re.fullmatch(r"\S+( (-|\d\.\d{3})){4}", line):
            bases |= {(dataset, LSTM): float(cells[1]), (dataset, MLP): float(cells[3])}
        if re.fullmatch(r"\S+( [\d.]+±[\d.]+){10}", line):
            numbers = [tuple(map(float, cell.split("±"))) for cell in cells]
            adversaries |= {(dataset, LSTM): tuple(numbers[:5]), (dataset, MLP): tuple(numbers[5:])}
    assert len(bases) == len(adversaries) == 2 * 14
    assert TABLE_2.items() <= bases.items()
    assert {key: tuple(map(tuple, row)) for key, row in TABLE_3.items()}.items() <= adversaries.items()
    assert set(TABLE_2) == set(TABLE_3)


def test_the_cases_have_every_table_and_extension():
    names = [case.name for case in paper_3.CASES]
    assert len(names) == len(set(names))
    tables = {(c.dataset, c.encoder): len(c.seeds) for c in paper_3.CASES if c.what == "tables"}
    mocks = [f"mock-{n}" for n in ("1", "2", "5", "10", "1q", "2q", "3q", "4q")]
    assert {d: n for (d, e), n in tables.items() if e == MLP} == dict.fromkeys(mocks, 3) | {"sst-full": 3, "agnews": 1}
    lstm = {d: n for (d, e), n in tables.items() if e == LSTM}
    assert lstm == dict.fromkeys(("mock-5", "mock-1q", "mock-3q", "agnews"), 1) | {"mock-1": 3, "sst-full": 3}
    assert {case.what for case in paper_3.CASES} == {"tables", *EXTENSIONS}
    full = {(c.dataset, c.encoder): c for c in paper_3.FULL_CASES if c.what == "tables"}
    assert set(full) == set(TABLE_3)
    assert {c.seeds for c in full.values()} == {(10, 50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)}
    assert {case.name for case in BESIDE.values()} <= set(names)


def test_every_request_can_be_made(tmp_path):
    for case in paper_3.FULL_CASES:
        request = case.request(tmp_path, None)
        assert request.seed == 10
        assert request.config("attefa").epochs is None  # 80, as in the paper
        if request.data.startswith("mock") and not request.words:
            understood(request.data)
    start = next(c for c in paper_3.CASES if c.variant == "start").request(tmp_path, None)
    assert (start.words, start.data[:22]) == ((), "mock-1(place='start', ")
    assert [file.name for file in paper_3.CASES[0].request(tmp_path, None).words] == list(paper_3.WORDS)


TINY = {
    "recipe": Recipe(epochs=4, vectors="none", batch_size=8, learning_rate=0.02),
    "hidden": 4,
    "embedding_width": 6,
    "epochs": 3,
}
SIZES = "shortest=5, longest=8, train=40, dev=10, test=20"


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Path:
    """Mock data small enough: three sets for MLP, one for LSTM, and two extensions."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("runs")
    (data / "lexicons").mkdir()
    for name, words in zip(paper_3.WORDS, ("bad sad poor", "good fun fine"), strict=True):
        (data / "lexicons" / name).write_text("; a comment\n" + words.replace(" ", "\n") + "\n")
    cases = [
        *(Case(f"{name}({SIZES})", MLP, (50, 257), **TINY) for name in ("mock-1", "mock-2", "mock-4q")),
        Case(f"mock-1({SIZES})", LSTM, (50,), **TINY),
        Case(f"mock-5({SIZES})", MLP, (50,), "heads", "2", heads=2, **TINY),
        Case(f"mock-2q({SIZES})", MLP, (50, 257), "bases", "3", bases=(50,), **TINY),
    ]
    run_requests("paper-3", cases, data, out, only=None, limit=None, machine=Machine(), progress=Silent())
    return out


@pytest.fixture(scope="module")
def blocks(ran) -> dict[str, str]:
    return reproduce("paper-3", data_dir=None, out=ran, only=None, limit=None, threads=1, progress=Silent(), run=False)


def texts(ran: Path, name: str, measure: str) -> np.ndarray:
    """Mean over the texts for each adversary of the base."""
    scores = results.read_table(ran / name, "scores").to_pandas()
    rows = scores[scores["example_id"].notna() & (scores["measure"] == measure) & (scores["subject"] == "base")]
    return rows.groupby("reference", sort=False)["value"].mean().to_numpy()


def attefa(ran: Path, name: str) -> np.ndarray:
    return np.minimum(texts(ran, name, "attefa_tvd") * LN2 / texts(ran, name, "attefa_jsd"), 1)


def test_table_2_is_f1_of_the_bases(blocks, ran):
    examples = results.read_table(ran / "mock-1-mlp", "examples").to_pandas()
    cells = row(blocks["table-2"], "| Mock-1 |")
    assert cells[1::2] == [".975", ".974"]
    assert cells[2].split()[0] == number(f1_score(examples["label"], examples["predicted"], pos_label="positive"))
    assert row(blocks["table-2"], "| Mock-2 |")[4] == "with --full"
    assert row(blocks["table-2"], "| SST |")[2] == "not run yet"


def test_table_3_is_the_definition_of_each_column(blocks, ran):
    cells = row(blocks["table-3"], "| Mock-1 | MLP |")
    assert cells[2:4] == ["2", "20 ± 24"]
    assert cells[7] == ".462 ± .024"  # true TVD: the paper prints .231 ± .012
    tvd, jsd = (texts(ran, "mock-1-mlp", f"attefa_{m}") for m in ("tvd", "jsd"))
    assert cells[8] == f"{number(tvd.mean())} ± {number(tvd.std())}"
    assert cells[10] == f"{number(jsd.mean())} ± {number(jsd.std())}"
    found = attefa(ran, "mock-1-mlp")
    assert cells[11] == ".8153 ± .0425"
    assert cells[12].startswith(f"{number(found.mean(), 4)} ± {number(found.std(), 4)} [")
    assert row(blocks["table-3"], "| Mock-1 | LSTM |")[2] == "1"
    assert row(blocks["seeds"], "| Mock-1 | MLP |")[2] == f"50: {number(found[0], 4)}, 257: {number(found[1], 4)}"


def test_the_picture_has_every_seed_and_the_papers_mean_at_its_place(blocks, ran):
    drawn = ElementTree.fromstring(PICTURES["paper-3-figure-1.svg"](blocks))
    paths = list(drawn.iter("{http://www.w3.org/2000/svg}path"))
    ours = [float(p.get("transform")[10:].split()[0]) for p in paths if p.get("class") == "ours"][2:]  # after the key
    names = ["mock-1-mlp", "mock-1-bilstm", "mock-2-mlp", "mock-4q-mlp"]
    assert ours == pytest.approx([128 + 416 * value for name in names for value in attefa(ran, name)], abs=0.06)
    means = [float(re.search(r"M([\d.]+) [\d.-]+V", p.get("d"))[1]) for p in paths if p.get("class") == "paper"][1:]
    data = dict.fromkeys(name for name, _ in TABLE_3)
    expected = [128 + 416 * TABLE_3[name, encoder].attefa.mean for name in data for encoder in (MLP, LSTM)]
    assert means == pytest.approx(expected, abs=0.06)
    said = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Mock-1", "SST", "AG News ¹", "MLP", "LSTM"} <= set(said)


def test_the_epoch_is_the_best_of_each_adversary(blocks, ran):
    best = {}
    for file in (ran / "mock-1-mlp" / "steps").glob("training-*/heatcheck.json"):
        model = json.loads(file.read_text())
        losses = [-epoch["selected_by"] for epoch in model["history"]]
        best[model["seed"]] = 1 + losses.index(min(losses))
    assert best.keys() == {50, 257}
    values = list(best.values())
    assert row(blocks["table-3"], "| Mock-1 | MLP |")[4] == f"{np.mean(values):.0f} ± {np.std(values):.0f}"


def test_the_papers_two_trends_are_put_to_the_test(blocks, ran):
    mlp, lstm = attefa(ran, "mock-1-mlp").mean(), attefa(ran, "mock-1-bilstm").mean()
    cells = row(blocks["context"], "| Mock-1 |")
    assert cells[1] == ".7849"
    assert float(cells[4].split()[0]) == pytest.approx(mlp - lstm, abs=1e-4)
    assert cells[6] in ("confirmed", "refuted", "cannot tell")
    values = [attefa(ran, f"mock-{n}-mlp").mean() for n in ("1", "2", "4q")]
    cells = row(blocks["frequency"], "| MLP |")
    assert cells[1:3] == ["Mock-1, Mock-2, Mock-4q", "-1.00"]
    assert float(cells[3].split()[0]) == pytest.approx(stats.spearmanr(range(3), values)[0], abs=0.01)
    assert float(cells[5].split()[0]) == pytest.approx(values[0] - values[2], abs=1e-4)
    assert row(blocks["frequency"], "| LSTM |")[1] == "not run yet"


def test_trends_are_scipys():
    found = np.random.default_rng(0).normal(size=(20, 8))
    found[:, 3] = found[:, 5]
    expected = [stats.spearmanr(range(8), values)[0] for values in found]
    np.testing.assert_allclose(trend(found), expected)


def test_extensions_have_a_row_each(blocks, ran):
    heads = row(blocks["heads"], "| mock-5(train=2000) | mlp | 2 |")
    tvd = texts(ran, "mock-5-mlp-heads-2", "attefa_tvd")
    assert (heads[4], heads[6]) == ("1", number(tvd.mean()))
    bases = row(blocks["bases"], "| mock-2q(train=2000) |")
    assert bases[4] == "2 × 2 bases"
    scores = results.read_table(ran / "mock-2q-mlp-bases-3", "scores").to_pandas()
    rows = scores[(scores["measure"] == "attefa") & (scores["setting"] == "published") & scores["example_id"].isna()]
    each = rows[rows["subject"].isin(["base", "seed 50"]) & rows["reference"].str.startswith("seed")]
    assert bases[8].split()[0] == number(each["value"].mean(), 4)
    found = np.stack([values.to_numpy() for _, values in each.groupby("subject")["value"]])
    assert bases[11].split()[0] == number(deviations(found[None])["base seed"][0], 4)
    assert row(blocks["temperature"], "| mock-1 | mlp | 1 |")[4] == "2"
    assert row(blocks["place"], "| mock-1(place='start', strength='strong', train=4000) | cnn |")[3] == "not run yet"


def test_the_papers_scale_is_preferred(ran, tmp_path):
    for name, source in (("mock-1-mlp", "mock-1-bilstm"), ("mock-1-mlp-full", "mock-1-mlp")):
        (tmp_path / name).symlink_to(ran / source)
    settings = {"data_dir": None, "out": tmp_path, "only": None, "limit": None, "threads": 1, "progress": Silent()}
    found = reproduce("paper-3", **settings, run=False)
    assert row(found["table-3"], "| Mock-1 | MLP |")[2] == "2"


def test_what_is_not_there_is_refused(tmp_path):
    settings = {"out": tmp_path, "limit": None, "threads": 1, "progress": Silent()}
    with pytest.raises(InputError, match=r"paper-3 has no case 'babi-1'\. There are: agnews, agnews-bilstm, agnews-ml"):
        reproduce("paper-3", data_dir=tmp_path, only=["babi-1"], **settings)
    with pytest.raises(InputError, match="hu_liu_negative"):
        reproduce("paper-3", data_dir=tmp_path, only=["mock-1-mlp"], **settings)
    assert not list(tmp_path.iterdir())
