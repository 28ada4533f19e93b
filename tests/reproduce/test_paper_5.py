"""Paper 5's reproduction: its printed numbers, its cases, and the path from small made data to the page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heatcheck import results
from heatcheck.errors import InputError
from heatcheck.models.finetune import FINE_TUNING
from heatcheck.models.fit import Recipe
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.spec import ModelSpec
from heatcheck.progress import Silent
from heatcheck.reproduce import paper_5, reproduce
from heatcheck.reproduce.cases import Machine
from heatcheck.reproduce.paper_5_numbers import FIGURE_1, PAIRS, TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_9
from heatcheck.reproduce.paper_5_page import DATASETS, page
from heatcheck.reproduce.paper_5_runs import Runs, contrast, mean_over_pairs
from tests.reproduce.small import reviews, row, write_sst
from tests.tiny import tiny_folder

PAPERS = Path(__file__).parents[2].parent / "shared" / "papers"
NAMES = {"IMDb": "imdb", "SST-2": "sst", "MNLI": "mnli", "Quora": "quora", "SNLI": "snli"}
ROW = re.compile(r"(IMDb|SST-2|MNLI|Quora|SNLI) (1 )?(\d*\.[.\d ±]*)$")


def printed(table: int) -> dict[str, list[float]]:
    """The numbers of a table of the paper's text, row after row, by data set."""
    (file,) = PAPERS.glob("5-*.txt")
    (rest,) = re.findall(rf"^ ?Table {table}\. .*?(?=^ ?Table \d\. |\Z)", file.read_text(), re.S | re.M)
    found: dict[str, list[float]] = {}
    for line in rest.splitlines():
        row = ROW.search(line)
        if row:
            found.setdefault(NAMES[row[1]], []).extend(float(x) for x in row[3].replace("±", " ").split())
    return found


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not here")
def test_the_numbers_are_those_of_the_papers_text():
    for table, ours in ((1, TABLE_1), (2, TABLE_2)):
        theirs = printed(table)
        assert theirs.keys() == ours.keys()
        for name, taus in ours.items():
            assert list(taus.values()) == theirs[name], (table, name)
    for name, numbers in printed(4).items():
        assert list(TABLE_4[name]) == numbers
    order = [(model, weighting) for model in ("bilstm", "minilm") for weighting in ("uniform", "softmax")]
    for name, numbers in printed(3).items():
        assert [x for kind in order for x in TABLE_3[(name, *kind)]] == numbers
    for name, numbers in printed(9).items():
        assert [x for model in ("bilstm", "minilm") for x in TABLE_9[name, model]] == numbers
    assert len(printed(4)) == 4
    assert len(printed(3)) == len(printed(9)) == 5
    (file,) = PAPERS.glob("5-*.txt")
    said = re.findall(r"all methods for this example is (0\.\d\d)", re.sub(r"\s+", " ", file.read_text()))
    assert [float(x) for x in said] == list(FIGURE_1.values())


def test_the_cases_are_the_papers_and_the_smaller_scale_is_the_transformers_alone():
    names = [case.name for case in paper_5.CASES]
    assert names[:3] == ["sst-bilstm-softmax-0", "sst-minilm-softmax-0", "mrpc-bilstm-softmax-0"]
    assert len(names) == len(set(names)) == 3 * 2 * 2 * 3 + 2 * 3 + 2  # on IMDb MiniLM has one seed
    assert {case.dataset for case in paper_5.CASES} == set(DATASETS)
    assert {(c.dataset, c.texts) for c in paper_5.CASES if c.model == "minilm"} == {
        ("sst", 100), ("mrpc", 100), ("snli", 100), ("imdb-240", 50)
    }  # fmt: skip
    full = {case.name: case for case in paper_5.FULL_CASES}
    assert len(full) == 4 * 2 * 2 * 3
    assert {(c.texts, c.recipe.epochs, c.recipe.patience) for c in full.values()} == {(500, 40, 5)}
    ours = [case for case in paper_5.CASES if case.model == "bilstm"]
    assert all(full[case.name] == case for case in ours)
    assert full["imdb-240-minilm-uniform-2-full"].spec == TransformerSpec("minilm", uniform=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two small data sets in the published formats."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "mrpc").mkdir()
    parts = {"train": reviews(40, 1), "dev": reviews(12, 2), "test": reviews(24, 3)}
    write_sst(folder, **parts)
    for split, part in parts.items():
        pairs = (f"{row[-1]}\t{i}\t{i}\t{row[:-2]}\tthe film {row[:8]}\n" for i, row in enumerate(part))
        (folder / "mrpc" / f"msr_paraphrase_{split}.txt").write_text("quality\n" + "".join(pairs))
    return folder


@pytest.fixture(scope="module")
def ran(made, tmp_path_factory) -> Path:
    """One seed of each model on both, with tiny models; on SST with uniform attention too."""
    out = tmp_path_factory.mktemp("runs")
    body = str(tiny_folder(tmp_path_factory.mktemp("models") / "body", "bert"))
    chosen = [c for c in paper_5.CASES if c.dataset in ("sst", "mrpc") and c.seed == 0]
    small = []
    for case in chosen:
        if case.model == "bilstm":
            spec = replace(case.spec, hidden=4, embedding_width=6)
            assert isinstance(spec, ModelSpec)
            small.append(replace(case, spec=spec, recipe=Recipe(epochs=1, vectors="none")))
        elif case.weighting == "softmax" or case.dataset == "sst":
            spec = TransformerSpec(body, uniform=case.weighting == "uniform")
            small.append(replace(case, spec=spec, recipe=replace(FINE_TUNING, epochs=1)))
    only = ["sst", "mrpc"]
    paper_5.run_cases(made, out, only=only, limit=6, machine=Machine(), progress=Silent(), chosen=small)
    return out


@pytest.fixture(scope="module")
def blocks(ran) -> dict[str, str]:
    return reproduce("paper-5", data_dir=None, out=ran, only=None, limit=None, threads=1, progress=Silent(), run=False)


@pytest.mark.parametrize("model", ["bilstm", "minilm"])
def test_a_model_is_asked_for_its_predictions_alone_where_they_are_all_that_is_needed(ran, model):
    for ending in ("", "-dev"):
        assert set(results.read_run(ran / f"sst-{model}-softmax-0{ending}")["settings"]["experiments"]) == {
            "performance"
        }
    asked = results.read_run(ran / f"sst-{model}-softmax-0-agreement")["settings"]["experiments"]
    assert set(asked) == {"performance", "agreement"}


def test_rows_say_what_is_there_and_what_is_not(blocks):
    assert row(blocks["runs"], "| SST-2 | BiLSTM")[2:] == ["0", "0", "6"]
    assert row(blocks["runs"], "| MRPC ² | MiniLM")[2:] == ["0", "not run yet", "6"]
    assert row(blocks["runs"], "| IMDb | BiLSTM")[2:] == ["not run yet"] * 3
    assert row(blocks["tables-3-9"], "| SNLI ¹ | BiLSTM")[2:8:2] == [".804 ± .004", ".807 ± .002", ".003"]
    assert row(blocks["table-2"], "| attention – LIME")[1:4:2] == [".201", ".133"]
    assert row(blocks["question-1"], "| IMDb")[2] == "not run yet"


def test_accuracy_is_of_the_whole_test_set(blocks, ran):
    examples = results.read_table(ran / "sst-bilstm-uniform-0", "examples").to_pandas()
    assert len(examples) == 24
    right = (examples["label"] == examples["predicted"]).mean()
    cells = row(blocks["tables-3-9"], "| SST-2 | BiLSTM")
    assert cells[3] == f"{right:.3f}".replace("0.", ".", 1)
    dev = results.read_table(ran / "sst-bilstm-softmax-0-dev", "examples").to_pandas()
    assert len(dev) == 12
    assert cells[9] == f"{(dev['label'] == dev['predicted']).mean():.3f}".replace("0.", ".", 1)


@pytest.mark.parametrize("marks", [True, False])
def test_tables_1_and_4_hold_scipys_tau_with_and_without_marks(blocks, ran, marks):
    tokens = results.read_table(ran / "mrpc-minilm-softmax-0-agreement", "tokens").to_pandas()
    assert (tokens["end"] == tokens["start"]).sum() == 6 * 3 * 8  # [CLS], [SEP], [SEP]; eight methods
    tokens = tokens[marks | (tokens["end"] > tokens["start"])]
    for method, second, block, start, column in (
        ("rollout", "gradient_shap", "table-1" if marks else "table-1-words", "| attention – Grad-SHAP", 6),
        ("flow", "lime(samples=1000, hide='pad')", "table-4", "| MRPC ² |" if marks else "| MRPC ², words only |", 2),
    ):
        taus = []
        for _, text in tokens.groupby("example_id"):
            first, other = (text[text["method"] == m].sort_values("position")["score"].abs() for m in (method, second))
            taus.append(stats.kendalltau(first, other)[0])
        value = row(blocks[block], start)[column].split()[0]
        assert float(value) == pytest.approx(np.mean(taus), abs=6e-4)


def test_each_text_has_the_mean_over_the_papers_fifteen_pairs(blocks, ran):
    (table,) = Runs(ran).taus("sst", "bilstm")
    scores = results.read_table(ran / "sst-bilstm-softmax-0-agreement", "scores").to_pandas()
    of_text = scores[(scores["subject"] == "all methods") & scores["example_id"].notna()].set_index("example_id")
    # Captum's DeepLIFT is not ranked, so that the run's own mean is over the same pairs.
    (ours,) = mean_over_pairs([table], PAIRS)
    np.testing.assert_allclose(ours, of_text["value"].reindex(table.index).to_numpy(), atol=1e-9)
    assert row(blocks["figure-1"], "| SST-2 | BiLSTM")[2] == "6"


def test_questions_are_differences_of_the_tables(blocks, ran):
    runs = Runs(ran)
    attention = [pair for pair in PAIRS if "attention" in pair]
    means = [np.mean(mean_over_pairs(runs.taus("sst", model), attention)[0]) for model in ("bilstm", "minilm")]
    value = float(row(blocks["question-1"], "| SST-2")[2].split()[0])
    assert value == pytest.approx(means[0] - means[1], abs=6e-4)
    # Its mean row is over the two data sets that are there, and the paper's over the same two.
    printed = [sum(TABLE_2[d][p] - TABLE_1[d][p] for p in attention) / 5 for d in ("sst", "quora")]
    assert row(blocks["question-1"], "| *mean of these* ")[1] == f"{np.mean(printed):.3f}".replace("0.", ".", 1)
    single, pair = (np.mean(mean_over_pairs(runs.taus(d, "bilstm"), attention)[0]) for d in ("sst", "mrpc"))
    cells = row(blocks["question-2"], "| BiLSTM")
    assert cells[1] == "SST-2 − MRPC ²"
    assert float(cells[3].split()[0]) == pytest.approx(single - pair, abs=6e-4)
    # Of the paper's numbers: (.2243 + .1258) / 2 − (.2375 + .0520 + .2675) / 3; two data sets of five in every way.
    assert cells[2] == "-.011"
    assert float(cells[4]) in {n / 10 for n in range(1, 11)}
    assert cells[5] == "not run yet"  # IMDb and SNLI are missing


def test_completeness_shows_why_captums_form_is_not_ranked(blocks):
    exact, captum = row(blocks["completeness"], "| SST-2 | BiLSTM")[3:5]
    assert exact == "0.0%"
    assert float(captum.rstrip("%")) > 5.0
    assert "| attention – DeepLIFT (Captum's) † |" in blocks["table-2"]
    assert "| attention – DeepLIFT |" in blocks["table-2"]


def test_the_full_scale_is_preferred_and_unfinished_runs_are_not_read(ran, tmp_path):
    run = results.read_run(ran / "sst-minilm-softmax-0")
    for name, status in (("a-minilm-softmax-0", "finished"), ("a-minilm-softmax-1", "running")):
        folder = tmp_path / name
        results.write_json(folder / "run.json", {**run, "status": status})
        table = results.read_table(ran / "sst-minilm-softmax-0", "examples")
        results.write_tables(folder, {"examples": table})
    assert {s: len(r) for s, r in Runs(tmp_path).right("a", "minilm", "softmax").items()} == {0: 24}
    full = tmp_path / "a-minilm-softmax-0-full"
    results.write_json(full / "run.json", run)
    results.write_tables(full, {"examples": table.slice(0, 5)})
    assert {s: len(r) for s, r in Runs(tmp_path).right("a", "minilm", "softmax").items()} == {0: 5}


def test_kept_numbers_make_the_same_page_where_no_run_is(blocks, ran, tmp_path):
    kept = tmp_path / "kept"
    assert page(ran, kept) == blocks
    assert {file.stem for file in kept.iterdir()} == {folder.name for folder in ran.iterdir() if folder.is_dir()}
    assert page(tmp_path / "none", kept) == blocks
    whole = kept / "sst-bilstm-softmax-0.parquet"
    more = pd.concat([pd.read_parquet(whole), pd.read_parquet(whole).rename(index=lambda name: f"{name}, again")])
    more.to_parquet(whole)
    with pytest.raises(InputError, match=r"sst-bilstm-softmax-0.parquet holds 48 texts, the run in .* 24. Remove one"):
        page(ran, kept)
    whole.write_bytes(b"version https://git-lfs")
    with pytest.raises(InputError, match=r"sst-bilstm-softmax-0.parquet cannot be read: it is no Parquet file"):
        page(tmp_path / "none", kept)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        page(ran, tmp_path / "file")
    one = pd.read_parquet(kept / "mrpc-bilstm-softmax-0.parquet")
    assert list(one.columns) == ["right"]  # no texts
    assert (one.attrs["seed"], one.attrs["recipe"]["epochs"]) == (0, 1)


def test_a_trial_is_not_kept(tmp_path):
    with pytest.raises(InputError, match="--limit makes a trial, whose numbers are not to be kept"):
        reproduce(
            "paper-5", data_dir=None, out=tmp_path, only=None, limit=3, threads=1, progress=Silent(), run=False,
            kept=tmp_path / "kept",
        )  # fmt: skip


def test_only_paper_5_keeps_numbers(tmp_path):
    with pytest.raises(InputError, match="paper-1 reads its runs alone: only paper-5 keeps numbers"):
        reproduce(
            "paper-1", data_dir=None, out=tmp_path, only=None, limit=None, threads=1, progress=Silent(), run=False,
            kept=tmp_path / "kept",
        )  # fmt: skip


def test_intervals_count_texts_and_models():
    rng = np.random.default_rng(1)
    one = rng.normal(size=400)
    found = contrast((1, [one]))
    assert found.high - found.low == pytest.approx(2 * 1.96 * one.std() / 20, rel=0.1)
    # Three models that differ by more than texts do: the interval is wider than that of texts alone.
    three = [one, one + 1, one + 2]
    found = contrast((1, three))
    assert (found.value, found.low < 0.4, found.high > 1.6) == (pytest.approx(one.mean() + 1), True, True)
    same = contrast((1, [one]), (-1, [np.zeros(3)]))
    assert same.value == pytest.approx(one.mean())


def test_what_is_not_there_is_refused(tmp_path):
    settings = {"out": tmp_path, "limit": None, "threads": 1, "progress": Silent()}
    with pytest.raises(
        InputError, match=r"paper-5 has no case 'mnli'\. There are: imdb-240, imdb-240-bilstm-softmax-0"
    ):
        reproduce("paper-5", data_dir=tmp_path, only=["mnli"], **settings)
    with pytest.raises(InputError, match=r"paper-1 is at the paper's scale as it is\. Leave --full out\."):
        reproduce("paper-1", data_dir=tmp_path, only=None, full=True, **settings)
    with pytest.raises(InputError, match="say with --data-dir"):
        reproduce("paper-5", data_dir=None, only=None, **settings)
