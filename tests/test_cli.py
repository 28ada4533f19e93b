"""Every command as a user types it: what it prints and writes, and one sentence with exit code 2 when it cannot."""

import json
import re
import shutil
from pathlib import Path

import pytest

from heatcheck.api import Run
from heatcheck.data.readers import READERS
from heatcheck.models import checkpoint
from tests.toys import random_examples, small_subject, write_reviews

QUICK = ["--vectors", "none", "--epochs", "2", "--threads", "1", "--encoder", "average"]


def write(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_audit_prints_a_verdict_and_writes_a_report(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    code, out, err = heatcheck("audit", "--data", data, "--out", "run", *QUICK)
    assert code == 0
    assert "tests" in out
    assert "Report: run/report.html" in out
    assert Path("run/report.html").exists()
    assert "note: Split by us into train, dev and test (80/10/10, stratified, seed 0)." in err
    assert heatcheck("audit", "--data", data, "--out", "run", *QUICK)[0] == 0  # again, from what is there
    Path("run/report.html").unlink()
    assert heatcheck("report", "run")[:2] == (0, "run/report.html\n")
    assert Path("run/report.html").exists()


def test_the_demo_on_a_small_slice(heatcheck):
    """`make demo` as it is, packaged reviews and vectors and BiLSTM, but for one epoch and few texts."""
    code, out, err = heatcheck("audit", "--out", "runs/demo", "--epochs", "1", "--limit", "20", "--threads", "1")
    assert code == 0
    assert "Report: runs/demo/report.html" in out
    assert "words have a pretrained vector (packaged)." in err
    run = Run("runs/demo")
    assert run.description["dataset"]["name"] == "movie-reviews"
    assert run.description["model"]["name"] == "bilstm-additive"
    assert {"tau_gradient", "tau_loo", "permutation_tvd", "adversarial_jsd"} <= set(run.scores["measure"])
    assert "<script" in Path("runs/demo/report.html").read_text(encoding="utf-8")


def test_train_then_run_one_experiment(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    code, out, _ = heatcheck("train", "--data", data, "--out", "model", *QUICK)
    assert code == 0
    assert re.match(r"Trained average-additive: best epoch 2, ROC-AUC [01]\.\d{3} on dev\. Written to model", out)
    assert sorted(p.name for p in Path("model").iterdir()) == ["heatcheck.json", "model.safetensors"]
    assert sorted(p.name for p in Path().iterdir()) == ["model", "reviews.csv"]
    code, out, _ = heatcheck(
        "run", "adversarial_attention", "--model", "model", "--data", data, "--solver", "published", "--threads", 1
    )
    assert code == 0
    assert "Is this the only heatmap" in out
    assert Path("runs/adversarial_attention-reviews-model/scores.parquet").exists()
    assert heatcheck("train", "--data", data, "--out", "model", *QUICK)[0] == 0  # found, not trained again
    code, _, err = heatcheck("train", "--data", data, "--out", "model", "--seed", "3", *QUICK)
    assert code == 2
    assert "heatcheck: model: holds another model. Give another --out, or delete that folder." in err


def test_list_names_everything(heatcheck):
    _, out, _ = heatcheck("list")
    for name in ("movie-reviews", "babi-1", "correlation", "leave_one_out", "bilstm", "additive"):
        assert name in out
    assert "correlation" not in heatcheck("list", "data")[1]


def test_help_names_every_command(heatcheck):
    _, out, _ = heatcheck("--help")
    for command in ("audit", "run", "train", "report", "list", "reproduce"):
        assert command in out
        assert "--help" in heatcheck(command, "--help")[1]


BAD_FILES = {
    "empty.csv": (
        b"",
        "heatcheck: empty.csv: the file is empty. It needs one row per text, with at least a text and a label.",
    ),
    "header.csv": (
        "text,label\n",
        "heatcheck: header.csv: there are column names but no rows below them. Add one for each text.",
    ),
    "latin.csv": (b"text,label\ncaf\xe9,1\n", "heatcheck: latin.csv, line 2: byte 4 of the line (0xe9) is not UTF-8."),
    "columns.csv": (
        "a,b\nx,1\n",
        "heatcheck: columns.csv: it is not obvious which column is the text. Name it with --text.",
    ),
    "one.csv": ("text,label\nx,1\ny,1\n", "heatcheck: one.csv: every row has the same label, '1' (column 'label')."),
    "rows.csv": (
        "text,label\na b,1\n,0\nc,\nd,0\n",
        "heatcheck: rows.csv: 2 rows cannot be used: 1 with no text (column 'text') (row 3); 1 with no label "
        "(column 'label') (row 4). Correct them, or leave them out with --skip-bad-rows.",
    ),
    "ids.csv": ("id,text,label\n7,a b,1\n7,c d,0\n8,e,1\n", "heatcheck: ids.csv: 1 row cannot be used: 1 with an id"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_data_is_one_sentence_and_leaves_nothing_behind(heatcheck, name):
    content, sentence = BAD_FILES[name]
    write(name, content)
    code, out, err = heatcheck("audit", "--data", name, "--out", "run")
    assert code == 2
    assert err.strip().startswith(sentence), err
    assert err.strip().count("\n") == 0
    assert "Traceback" not in err + out
    assert not Path("run").exists()


def test_rows_left_out_are_said_in_the_report(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    data.write_text(data.read_text() + ",good\nno label,\n")
    code, _, err = heatcheck("audit", "--data", data, "--out", "run", "--skip-bad-rows", *QUICK)
    assert code == 0
    note = next(line for line in err.splitlines() if "left out" in line or "cannot be used" in line)
    assert "2 rows" in note
    notes = json.loads(Path("run/run.json").read_text())["notes"]
    assert any("2 rows" in n for n in notes)
    assert "2 rows" in Path("run/report.html").read_text()


def test_wrong_words_are_answered_with_what_there_is(heatcheck, tmp_path):
    checkpoint.save(small_subject(random_examples(4, "pair", labels=3), labels=3), tmp_path / "pair")
    pairs = write(
        "pairs.jsonl",
        "\n".join(json.dumps({"text": "w1 w2", "pair": "w3", "label": f"class {i % 3}"}) for i in range(9)),
    )
    shutil.copytree("pair", "broken")
    Path("broken/model.safetensors").unlink()
    cases = {
        ("run", "corelation"): "There is no experiment 'corelation'. There are: performance, correlation",
        (
            "audit",
            "--data",
            "nothere.csv",
        ): "nothere.csv: there is no such file. Data files in that folder: pairs.jsonl.",
        ("audit", "--data", "ss"): "There is no data called 'ss'. Did you mean 'sst'?",
        ("audit", "--data", "sst"): "sst: say with --data-dir which folder holds the papers' data sets.",
        ("audit", "--data", "sst", "--data-dir", "."): "sst: ",
        ("audit", "--model", "weights.pt"): "weights.pt: pickled weights can run code when loaded and are refused.",
        ("run", "permutation", "--data", pairs, "--model", "broken"): "broken: model.safetensors is missing.",
        (
            "run",
            "permutation",
            "--model",
            "nowhere",
        ): "nowhere: no such folder, and no model of that name can be fetched from the hub. Check the name, or fetch "
        "it where there is a network, and give its folder.",
        ("run", "adversarial_attention", "--data", pairs, "--model", "pair", "--solver", "exact"): (
            "The exact adversary is for single texts and two classes; this task is 'pair' with 3 classes. "
            "Use --solver search or published."
        ),
        (
            "run",
            "adversarial_attention",
            "--solver",
            "best",
        ): "solver 'best' is not one of auto, exact, published, search.",
        ("run", "adversarial_attention", "--epsilon", "2"): "epsilon 2.0 is not between 0 and 1.",
        ("audit", "--device", "tpu"): "device 'tpu' is not one of auto, cpu, cuda, mps.",
        ("audit", "--encoder", "lstm"): "encoder 'lstm' is not one of bilstm, gru, cnn, average, mlp, transformer.",
        ("audit", "--labels", "a"): "--labels 'a': expected at least two classes",
        ("audit", "--text", "t"): "movie-reviews brings its own columns and classes: --text, --pair, --label, --labels",
        ("audit", "--vectors", "glove.txt"): "There are no word vectors 'glove.txt'. Give a .txt or .vec file",
        ("audit", "--seed", "99999999999"): "seed 99999999999 is not between 0 and 2³² − 1.",
        (
            "run",
            "permutation",
            "--epsilon",
            "0.1",
        ): "--solver and --epsilon are for adversarial_attention, not permutation.",
        ("train", "--data", pairs, "--out", pairs): "pairs.jsonl: is a file. Give a folder as --out.",
        ("list", "colours"): "There is no list of 'colours'. There are: data, mock, experiments",
        ("report", "."): ".: no run.json in it. Give the folder that `heatcheck audit` or `heatcheck run` wrote.",
        (
            "reproduce",
            "paper-7",
        ): "There is no reproduction of 'paper-7'. There are: paper-1, paper-2, paper-3, paper-5.",
        ("reproduce", "paper-1"): "paper-1: say with --data-dir which folder holds the papers' data sets.",
    }
    for arguments, sentence in cases.items():
        code, out, err = heatcheck(*arguments)
        assert code == 2, arguments
        assert f"heatcheck: {sentence}" in err, (arguments, err)
        assert "Traceback" not in err + out
    assert not Path("runs").exists()


def test_a_task_that_the_model_was_not_trained_for_is_refused(heatcheck, tmp_path):
    checkpoint.save(small_subject(random_examples(4)), tmp_path / "single")
    pairs = write(
        "pairs.jsonl",
        "\n".join(json.dumps({"text": "w1 w2", "pair": "w3", "label": f"class {i % 2}"}) for i in range(9)),
    )
    code, _, err = heatcheck("run", "permutation", "--data", pairs, "--model", "single")
    assert code == 2
    assert "heatcheck: pairs.jsonl has pairs of texts, but bilstm-additive takes a single text." in err
    code, _, err = heatcheck("audit", "--data", pairs)
    assert code == 2
    assert (
        "heatcheck: pairs.jsonl: there are no train texts to train with. Give more rows, or a trained --model to test."
        in err
    )
    assert not Path("runs").exists()


def test_long_texts_and_endless_words_are_cut_with_a_notice(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    data.write_text(data.read_text() + "great " * 3000 + ",good\n" + "x" * 100_000 + " dull,bad\n")
    assert heatcheck("train", "--data", data, "--out", "model", *QUICK)[0] == 0
    other = write(
        "other.csv", "text,label\n" + "lovely " * 3000 + ",good\n" + "y" * 100_000 + " dull,bad\nlovely,good\n"
    )
    code, _, err = heatcheck("run", "correlation", "--model", "model", "--data", other, "--threads", "1")
    assert code == 0
    assert "note: 2 of 3 texts have more words, or a longer one, than the model takes: cut." in err


def test_help_names_every_kind_of_file_that_is_read(heatcheck):
    for command in ("audit", "run", "train"):
        text = heatcheck(command, "--help")[1]
        assert all(f"{kind} " in text or f"{kind}," in text for kind in READERS), command


def test_without_out_another_run_gets_a_number_and_the_same_one_is_found_again(heatcheck):
    data = write_reviews(Path("reviews.csv"))
    assert heatcheck("train", "--data", data, "--out", "model", *QUICK)[0] == 0
    common = ("run", "permutation", "--model", "model", "--data", data, "--threads", "1")
    runs = {
        (): "permutation-reviews-model",
        ("--limit", "5"): "permutation-reviews-model-2",
        ("--limit", "6"): "permutation-reviews-model-3",
    }
    for _ in range(2):
        for flags, name in runs.items():
            code, out, _ = heatcheck(*common, *flags)
            assert (code, out.splitlines()[-1]) == (0, f"Report: runs/{name}/report.html")
    assert sorted(p.name for p in Path("runs").iterdir()) == sorted(runs.values())
    Path("runs/permutation-reviews-model-2/run.json").write_text("{")
    assert "permutation-reviews-model-4/report" in heatcheck(*common, "--limit", "5")[1]


def test_no_control_character_of_a_name_reaches_the_terminal(heatcheck):
    code, _, err = heatcheck("audit", "--data", "no\x1b[31m\u202ewhere.csv")
    assert code == 2
    assert "heatcheck: no␛[31m‹U+202E›where.csv: there is no such file." in err
