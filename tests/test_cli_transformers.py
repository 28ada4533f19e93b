"""The command line on Hugging Face models and black boxes, as a practitioner meets it."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from heatcheck.cli import app
from heatcheck.errors import InputError
from tests.tiny import tiny_folder

METHODS = "attention,gradient,integrated_gradients(steps=8),lime(samples=40),leave_one_out"
TEXTS = ["good film , fun", "bad film , not fun", "the act is sad", "good good 映画", "not bad a film", "sad and bad ."]


@pytest.fixture
def files(tmp_path):
    """A model folder and a CSV of eight texts."""
    return tiny_folder(tmp_path / "model"), table(tmp_path / "texts.csv", ["text", "label"], rows())


def rows(labels=("negative", "positive")):
    return [(f"{text} w{i}", labels[i % 2]) for i, text in enumerate(TEXTS + TEXTS[:2])]


def table(path: Path, header, content) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *content])
    return path


def run(*arguments) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=True)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_an_audit_of_a_transformer_ends_in_a_report_and_is_the_same_when_repeated(tmp_path, files):
    model, data = files
    arguments = ("audit", "--model", model, "--data", data, "--out", tmp_path / "run", "--methods", METHODS)
    assert "Report:" in run(*arguments)
    description = json.loads((tmp_path / "run" / "run.json").read_text())
    scores = pq.read_table(tmp_path / "run" / "scores.parquet").to_pandas()
    assert {"agreement", "erasure", "explain", "performance"} <= set(scores["experiment"])
    assert description["verdict"]["headline"]
    tokens = pq.read_table(tmp_path / "run" / "tokens.parquet").to_pandas()
    assert set(tokens["method"]) == {
        "attention",
        "gradient",
        "integrated_gradients(steps=8)",
        "lime(samples=40)",
        "leave_one_out",
    }
    texts = dict(
        zip(*pq.read_table(tmp_path / "run" / "examples.parquet", columns=["example_id", "text"]), strict=True)
    )
    for row in tokens.itertuples():
        assert str({str(k): str(v) for k, v in texts.items()}[row.example_id])[row.start : row.end] == row.token
    before = (tmp_path / "run" / "scores.parquet").read_bytes()
    run(*arguments)
    assert (tmp_path / "run" / "scores.parquet").read_bytes() == before


def test_an_encoder_decoder_is_audited_without_attention(tmp_path, files):
    model = tiny_folder(tmp_path / "bart", "bart")
    arguments = ("--model", model, "--data", files[1], "--limit", 2)
    said = run("run", "randomisation", *arguments, "--out", tmp_path / "run")
    note = "note: attention, rollout, attention_x_gradient were left out: BartForSequenceClassification has three"
    assert note in " ".join(said.split())
    scores = pq.read_table(tmp_path / "run" / "scores.parquet").to_pandas()
    scores = scores[scores["measure"] == "randomisation_correlation"]
    served = {"gradient", "integrated_gradients", "deep_lift", "lime(samples=300)", "leave_one_out"}
    assert set(scores["subject"]) == served
    assert set(scores["setting"]) == {"head", *(f"layer {n}" for n in (1, 2, 3, 4)), "embeddings"}
    result = CliRunner().invoke(app, ["explain", "good film", "--model", str(model), "--method", "rollout"])
    assert isinstance(result.exception, InputError)


def test_a_method_with_a_flaw_is_marked_in_every_table(tmp_path, files):
    model, data = files
    run("run", "randomisation", "--model", model, "--data", data, "--limit", 2, "--out", tmp_path / "run",
        "--methods", "gradient,deep_lift_captum")  # fmt: skip
    scores = pq.read_table(tmp_path / "run" / "scores.parquet").to_pandas()
    over_all = scores[scores["example_id"].isna() & (scores["measure"] == "randomisation_correlation")]
    flawed = over_all["subject"] == "deep_lift_captum"
    assert over_all[flawed]["reason"].str.startswith("not ranked").all()
    assert over_all[~flawed]["reason"].isna().any()


def test_equal_methods_count_once_and_words_are_removed_as_asked(tmp_path, files):
    model, data = files
    methods = "attention,gradient,gradient_x_input,input_x_gradient"
    run("run", "agreement,erasure", "--model", model, "--data", data, "--out", tmp_path / "run", "--methods", methods,
        "--operators", "pad,sample", "--unit", "token")  # fmt: skip
    scores = pq.read_table(tmp_path / "run" / "scores.parquet").to_pandas()
    pairs = scores[scores["example_id"].isna() & (scores["measure"] == "kendall") & scores["reference"].notna()]
    twin = "not ranked: ranks the words of every text as gradient does, and counts once"
    assert set(pairs[pairs["reference"] == "gradient_x_input"]["reason"]) == {twin}
    texts = scores[(scores["measure"] == "kendall") & scores["setting"].isna() & scores["example_id"].notna()]
    means = texts[texts["subject"] == "all methods"].set_index("example_id")["value"]
    one = texts[(texts["subject"] == "attention") & (texts["reference"] == "gradient")].set_index("example_id")["value"]
    assert means.to_dict() == one.to_dict()
    assert set(scores[scores["measure"] == "gain_over_random"]["setting"]) == {"pad", "sample"}
    findings = json.loads((tmp_path / "run" / "run.json").read_text())["verdict"]["findings"]
    assert any(f["experiment"] == "erasure" for f in findings)


def test_what_no_test_judges_is_printed_as_numbers(tmp_path, files):
    model, data = files
    marks = tmp_path / "marks.jsonl"
    rationales = [{"text": text, "mask": [1, *[0] * (len(text.split()) - 1)]} for text, _ in rows()]
    marks.write_text("\n".join(map(json.dumps, rationales[1:])))
    out = run("run", "plausibility", "--model", model, "--data", data, "--out", tmp_path / "run", "--rationales", marks,
              "--rationale-format", "mask", "--methods", "attention,gradient")  # fmt: skip
    lines = [line.strip() for line in out.splitlines()]
    assert "token F1" in lines
    for name in ("Attention", "Gradient", "Chance"):
        assert any(re.fullmatch(rf"{name}: 0\.\d\d \[0\.\d\d, \d\.\d\d\] over 7 texts", line) for line in lines), out
    assert f"1 of 8 texts has no rationale in {marks}, neither by id nor by text" in out
    headline = "No method is shown to mark the words that people marked more than chance would; fewer than 10 texts"
    assert headline in " ".join(out.split())


def test_a_black_box_of_the_current_folder(tmp_path, files, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def predict(texts):\n"
        "    shares = ((t.count('good') + 1) / (t.count(' ') + 3) for t in texts)\n"
        "    return [[1 - p, p] for p in shares]\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ("--data", files[1], "--out", "run", "--methods", "leave_one_out,occlusion,kernel_shap(samples=64)")
    run("audit", "--model", "python:mine:predict", *arguments)
    scores = pq.read_table(tmp_path / "run" / "scores.parquet").to_pandas()
    assert {"kernel_shap(samples=64)", "leave_one_out", "occlusion"} <= set(scores["subject"])
    with pytest.raises(
        InputError,
        match="gradient needs a model that can be entered at its word embeddings",
    ):
        run(
            "run",
            "agreement",
            "--model",
            "python:mine:predict",
            "--data",
            files[1],
            "--methods",
            "gradient,lime",
            "--out",
            "x",
        )
    with pytest.raises(InputError, match="Run heatcheck where mine can be imported, and name a function that is in it"):
        run("audit", "--model", "python:mine:nothing", "--data", files[1])


def test_pairs_and_numbered_labels(tmp_path):
    model = tiny_folder(tmp_path / "model", labels=("no", "maybe", "yes"))
    content = [(text, other, i % 3) for i, (text, other) in enumerate(zip(TEXTS, reversed(TEXTS), strict=True))]
    data = table(tmp_path / "pairs.csv", ["text", "pair", "label"], content)
    run(
        "run", "agreement", "--model", model, "--data", data, "--methods", "gradient,rollout", "--out", tmp_path / "run"
    )
    examples = pq.read_table(tmp_path / "run" / "examples.parquet").to_pandas()
    assert list(examples.sort_values("example_id")["label"]) == ["no", "maybe", "yes"] * 2
    assert set(pq.read_table(tmp_path / "run" / "tokens.parquet")["segment"].to_pylist()) == {0, 1}


def test_labels_that_only_have_other_names_are_renamed_as_the_sentence_says(tmp_path):
    model = tiny_folder(tmp_path / "model", labels=("LABEL_0", "LABEL_1"))
    data = table(tmp_path / "texts.csv", ["text", "label"], rows())
    common = ("run", "agreement", "--model", model, "--data", data, "--methods", "gradient,rollout", "--out")
    with pytest.raises(InputError, match="Rename labels with --labels, each as YOURS=LABEL_0"):
        run(*common, tmp_path / "out")
    with pytest.raises(InputError, match="Rename the labels with --labels, each as negative=LABEL_0"):
        run(*common, tmp_path / "out", "--labels", "negative,positive")
    run(*common, tmp_path / "out", "--labels", "negative=LABEL_0,positive=LABEL_1")
    assert set(pq.read_table(tmp_path / "out" / "examples.parquet")["label"].to_pylist()) == {"LABEL_0", "LABEL_1"}


def test_long_texts_are_cut_with_a_notice_or_read_in_windows(tmp_path, files):
    long = [(" ".join(["good film"] * 40), "positive"), ("bad", "negative")] * 2
    data = table(tmp_path / "long.csv", ["text", "label"], [(f"{t} w{i}", label) for i, (t, label) in enumerate(long)])
    common = ("run", "agreement", "--model", files[0], "--data", data, "--methods", "gradient,attention")
    run(*common, "--out", tmp_path / "cut")
    notes = json.loads((tmp_path / "cut" / "run.json").read_text())["notes"]
    assert (
        "2 of 4 texts have more words, or a longer one, than the model takes: cut. --windows reads them whole." in notes
    )
    run(*common, "--windows", "--out", tmp_path / "windows")
    tokens = pq.read_table(tmp_path / "windows" / "tokens.parquet").to_pandas()
    assert tokens.groupby(["example_id", "method"]).size().max() == 81


BAD = {
    "labels that differ": (
        ("text", "label"),
        [("good", "happy"), ("bad", "sad")],
        "label that is no class (column 'label') (rows 2, 3: first 'happy'). No row is left. Classes are: negative,",
    ),
    "no words": (
        ("text", "label"),
        [("\u200b", "positive"), ("bad film", "negative")],
        "no word that the model's tokenizer",
    ),
    "empty pair": (
        ("text", "pair", "label"),
        [("good", "", "positive"), ("bad", "film", "negative")],
        "1 with no text (column 'pair')",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_sentence_and_nothing_is_written(tmp_path, files, what):
    header, content, sentence = BAD[what]
    data = table(tmp_path / "bad.csv", header, content)
    with pytest.raises(InputError) as error:
        run(
            "run",
            "agreement",
            "--model",
            files[0],
            "--data",
            data,
            "--methods",
            "gradient,lime",
            "--out",
            tmp_path / "out",
        )
    assert sentence in str(error.value)
    assert not (tmp_path / "out" / "scores.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "correlation"), "correlation needs an attention model (of `heatcheck train`), which model is not."),
        (("run", "agreement", "--methods", "lyme"), "There is no explanation method 'lyme'"),
        (("run", "agreement", "--methods", "attention(layer=7),gradient"), "layer 7"),
        (("run", "plausibility"), "Name their file with --rationales"),
        (("run", "plausibility", "--rationales", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_what_a_transformer_cannot_serve_is_said(tmp_path, files, arguments, sentence):
    with pytest.raises(InputError) as error:
        run(*arguments, "--model", files[0], "--data", files[1], "--out", tmp_path / "out")
    assert sentence in str(error.value)


@pytest.mark.parametrize("files_of_a_stranger", [(), ("model.safetensors",)])
def test_a_folder_that_holds_a_model_of_others_is_left_alone(tmp_path, files, files_of_a_stranger):
    stranger = tiny_folder(tmp_path / "stranger")
    for name in files_of_a_stranger:
        (stranger / name).unlink()
    data = table(tmp_path / "train.csv", ["text", "label"], rows() * 4)
    with pytest.raises(InputError, match="stranger: holds another model"):
        run("train", "--model", files[0], "--data", data, "--epochs", 1, "--out", stranger)


def test_fine_tuning_code_of_the_models_author(tmp_path):
    model = tiny_folder(tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    config |= {"auto_map": {"AutoModelForSequenceClassification": "theirs.Theirs"}}
    (model / "config.json").write_text(json.dumps(config))
    (model / "theirs.py").write_text(
        "from transformers import BertForSequenceClassification\nclass Theirs(BertForSequenceClassification): pass\n"
    )
    data = table(tmp_path / "train.csv", ["text", "label"], [(f"{t} w{i}", c) for i, (t, c) in enumerate(rows() * 4)])
    arguments = ("train", "--model", model, "--data", data, "--epochs", 1, "--out", tmp_path / "tuned")
    with pytest.raises(InputError, match="--trust-remote-code"):
        run(*arguments)
    assert list(tmp_path.glob("*tuned*")) == []
    assert list(tmp_path.glob(".tuned*")) == []
    for _ in range(2):
        assert "Trained model-fine-tuned" in run(*arguments, "--trust-remote-code")


def test_fine_tuning_from_the_command_line(tmp_path, files):
    content = [(f"{t} w{i}", label) for i, (t, label) in enumerate(rows() * 4)]
    data = table(tmp_path / "train.csv", ["text", "label"], content)
    arguments = ("train", "--model", files[0], "--data", data, "--epochs", 1, "--out", tmp_path / "tuned")
    assert "Trained model-fine-tuned: best epoch 1" in run(*arguments)
    run(*arguments)  # found again
    for other in (("--seed", 5), ("--precision", "bfloat16")):
        with pytest.raises(InputError, match="holds another model"):
            run(*arguments, *other)
    written = tmp_path / "tuned" / "heatcheck.json"
    known = json.loads(written.read_text())
    del known["recipe"]["precision"]  # of before there was a choice
    written.write_text(json.dumps(known))
    run(*arguments)
    run(
        "run",
        "agreement",
        "--model",
        tmp_path / "tuned",
        "--data",
        data,
        "--methods",
        "gradient,rollout",
        "--out",
        tmp_path / "r",
    )
    notes = json.loads((tmp_path / "r" / "run.json").read_text())["notes"]
    assert any("the model was trained on them, or chosen by them" in note for note in notes)


def test_strange_names_are_shown_as_text(tmp_path):
    labels = ("<script>alert(1)</script>", 'a"b\u202e')
    model = tiny_folder(tmp_path / "model", labels=labels)
    texts = [(f"<b>good</b> 🎬 \u202eabc\u202c x{i}", labels[i % 2]) for i in range(6)]
    data = table(tmp_path / "<img src=x>.csv", ["text", "label"], texts)
    run(
        "run",
        "agreement",
        "--model",
        model,
        "--data",
        data,
        "--methods",
        "gradient,attention",
        "--out",
        tmp_path / "run",
    )
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x>" not in page
    assert "<b>good" not in page


def test_train_fine_tunes_the_packaged_minilm_unless_told_otherwise(tmp_path):
    data = table(tmp_path / "train.csv", ["text", "label"], [(f"{t} w{i}", c) for i, (t, c) in enumerate(rows() * 4)])
    arguments = ("train", "--data", data, "--epochs", 1, "--out")
    assert "Trained minilm-fine-tuned" in run(*arguments, tmp_path / "tuned", "--max-length", 8)
    assert json.loads((tmp_path / "tuned" / "config.json").read_text())["hidden_size"] == 384
    ours = ("--encoder", "bilstm"), ("--attention", "dot"), ("--vectors", "none"), ("--weighting", "entmax")
    for number, flags in enumerate(ours):
        assert "Trained bilstm" in run(*arguments, tmp_path / f"ours-{number}", *flags)


def test_where_deep_lift_has_no_rule_every_place_says_what_stands_in(tmp_path, heatcheck):
    model, data = tiny_folder(tmp_path / "long", "longformer"), table(tmp_path / "t.csv", ["text", "label"], rows())
    said = "there is no rule for the operation 'as_strided', so this is Captum's form, which misses its sum"
    code, out, _ = heatcheck("explain", " ".join(TEXTS), "--model", model, "--method", "deep_lift")
    assert code == 0
    for shown in (out, html.unescape(Path("explanation.html").read_text())):
        assert said in shown
        assert "not ranked: its scores do not add up to what they explain" in shown
    tests = ("agreement", "erasure", "randomisation")
    code, out, _ = heatcheck("run", ",".join(tests), "--model", model, "--data", data, "--limit", 4, "--out", "run",
                             "--methods", "deep_lift,gradient")  # fmt: skip
    assert code == 0
    assert f"DeepLIFT: {said}." in json.loads(Path("run/run.json").read_text())["notes"]
    scores = pq.read_table("run/scores.parquet").to_pandas()
    for test in tests:
        over_all = scores[(scores["experiment"] == test) & scores["example_id"].isna() & scores["value"].notna()]
        own = over_all[(over_all["subject"] == "deep_lift") | (over_all["reference"] == "deep_lift")]
        assert own["reason"].str.startswith("not ranked: misses the sum it promises by").all(), own
