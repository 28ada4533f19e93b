"""The papers' data sets in their published formats, on small made files: for those whose files cannot be had here."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from heatcheck.data.sources import load
from heatcheck.data.vocabulary import build
from heatcheck.data.words import WordRules, without_punctuation
from heatcheck.errors import InputError


def put(root: Path, name: str, content: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error(name: str, folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(name, data_dir=folder)
    return str(caught.value).replace(str(folder), "D")


def words(n: int, first: str = "w") -> str:
    return " ".join([first, *["word"] * (n - 1)])


def ids(data: object) -> set[str]:
    return {e.id for part in data.splits.values() for e in part}  # type: ignore[attr-defined]


def test_sst_bad_files(tmp_path: Path) -> None:
    put(tmp_path, "sst/train.txt", "(3 (2 A) (3 gem))\nnot a tree\n")
    assert error("sst", tmp_path) == "D/sst/train.txt, line 2: expected a tree such as (3 (2 A) (3 gem))."
    put(tmp_path, "sst/sst_dataset.csv", "text,label,exp_split\na b,1,train\na b,2,train\n")
    assert error("sst", tmp_path) == "D/sst/sst_dataset.csv, row 3: label '2' is not one of 0, 1."
    put(tmp_path, "sst/sst_dataset.csv", "text,label,exp_split\na b,1,valid\n")
    assert error("sst", tmp_path) == "D/sst/sst_dataset.csv, row 2: exp_split 'valid' is not one of train, dev, test."
    put(tmp_path, "sst/sst_dataset.csv", "text,label\na b,1\n")
    assert error("sst", tmp_path) == (
        "D/sst/sst_dataset.csv: the recipe expects a column 'exp_split'. Columns found: 'text', 'label'."
    )


def test_imdb_from_folders(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for n, kind in enumerate(("neg", "pos")):
            for i in range(20):
                put(tmp_path, f"aclImdb/{split}/{kind}/{i}_{n}.txt", f"{kind} {i}, {split}.<br />{words(7)}")
        put(tmp_path, f"aclImdb/{split}/pos/99_9.txt", words(6))
        put(tmp_path, f"aclImdb/{split}/pos/98_9.txt", words(400))
        put(tmp_path, f"aclImdb/{split}/pos/97_9.txt", words(399))
    data = load("imdb-paper", data_dir=tmp_path)
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 33, "dev": 8, "test": 8}
    assert not {"train/99_9", "train/98_9"} & ids(data)
    assert "train/97_9" in ids(data)
    first = data.splits["train"][0].text
    assert first.startswith("neg 0, train.<br />w word")
    assert [w.form for w in data.rules.split(first)][:5] == ["neg", "0", "train", "w", "word"]
    rules, blanked = WordRules("spacy"), [replace(e, text=without_punctuation(e.text)) for e in data.splits["train"]]
    plain = build(blanked, rules, 2)
    ours = build(data.splits["train"], data.rules, 2)
    assert ours.words == plain.words
    for one, other in zip(data.splits["train"], blanked, strict=True):
        assert (ours.row(one).columns == plain.row(other).columns).all()


def test_imdb_240_counts_words(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for kind in ("neg", "pos"):
            for i in range(20):
                put(tmp_path, f"aclImdb/{split}/{kind}/{i}_1.txt", f"{kind} {i} {split} {words(7)}")
        put(tmp_path, f"aclImdb/{split}/pos/98_9.txt", words(241))
        put(tmp_path, f"aclImdb/{split}/pos/97_9.txt", words(240))
    kept = ids(load("imdb-240", data_dir=tmp_path))
    assert "train/97_9" in kept
    assert not {"train/98_9", "test/98_9"} & kept


def test_mrpc_as_published(tmp_path: Path) -> None:
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    rows = "".join(f'{i % 2}\t{i}\t9{i}\tHe said "yes {i}.\tHe said {i}, yes.\r\n' for i in range(40))
    put(tmp_path, "mrpc/msr_paraphrase_train.txt", header + rows)
    put(tmp_path, "mrpc/msr_paraphrase_test.txt", header + "1\t7\t8\tIt rose 2%.\tUp 2% it went.\n")
    data = load("mrpc", data_dir=tmp_path)
    (only,) = data.splits["test"]
    assert (only.id, only.text, only.pair, only.label) == ("test/1", "It rose 2%.", "Up 2% it went.", 1)
    assert (len(data.splits["train"]), len(data.splits["dev"])) == (36, 4)
    assert data.splits["train"][0].text.startswith('He said "yes')
    put(tmp_path, "mrpc/msr_paraphrase_test.txt", header + "1\t7\tIt rose.\tUp.\n")
    assert error("mrpc", tmp_path) == (
        "D/mrpc/msr_paraphrase_test.txt, line 2: expected quality, two ids and two strings, separated by tabs."
    )
    put(tmp_path, "mrpc/msr_paraphrase_test.txt", header + "2\t7\t8\tIt rose.\tUp.\n")
    assert error("mrpc", tmp_path) == "D/mrpc/msr_paraphrase_test.txt, row 2: label '2' is not one of 0, 1."


def test_agnews_as_published(tmp_path: Path) -> None:
    rows = "".join(f'"{1 + i % 4}","Title {i}","Said ""yes"" {i}"\n' for i in range(80))
    put(tmp_path, "agnews/train.csv", rows)
    put(tmp_path, "agnews/test.csv", '"3","Stocks","Up."\n"2","Goal","In."\n"1","Vote","Held."\n')
    data = load("agnews", data_dir=tmp_path)
    assert [(e.id, e.text, e.label) for e in data.splits["test"]] == [("test/1", "Up.", 1), ("test/3", "Held.", 0)]
    assert (len(data.splits["train"]), len(data.splits["dev"])) == (36, 4)
    assert data.splits["train"][0].text == 'Said "yes" 2'  # 0 went to dev, 1 is sports
    put(tmp_path, "agnews/test.csv", '"3","Up."\n')
    assert error("agnews", tmp_path) == "D/agnews/test.csv, row 1: expected class, title and description, got 2 fields."


def test_babi_as_published(tmp_path: Path) -> None:
    story = (
        "1 Mary went to the hall.\n2 Where is Mary? \thall\t1\n3 Mary went to the attic.\n4 Where is Mary?\tattic\t3\n"
    )
    folder = "tasks_1-20_v1-2/en-10k/qa3_three-supporting-facts"
    put(tmp_path, f"{folder}_train.txt", story * 10)
    put(tmp_path, f"{folder}_test.txt", story)
    data = load("babi-3", data_dir=tmp_path)
    assert data.labels == ("attic", "hall")
    assert [(e.text, e.candidates) for e in data.splits["test"]] == [
        ("Mary went to the hall.", (1,)),
        ("Mary went to the hall. Mary went to the attic.", (0, 1)),
    ]
    assert data.notes == ("Dev is a tenth of the training stories (seed 0).",)
    put(tmp_path, f"{folder}_train.txt", "Mary went.\n")
    assert (
        error("babi-3", tmp_path)
        == f"D/{folder}_train.txt, line 1: expected a line number and a sentence, got 'Mary went.'."
    )


def test_snli_as_published(tmp_path: Path) -> None:
    rows = [("entailment", "a man", "a person"), ("-", "x", "y"), ("neutral", "a dog", "a pet")]
    lines = "\n".join(json.dumps({"gold_label": g, "sentence1": a, "sentence2": b}) for g, a, b in rows)
    for name in ("train", "dev", "test"):
        put(tmp_path, f"snli_1.0/snli_1.0_{name}.jsonl", lines)
    data = load("snli", data_dir=tmp_path)
    assert [(e.id, e.label, e.text, e.pair) for e in data.splits["train"]] == [
        ("train/1", 2, "a man", "a person"),
        ("train/3", 0, "a dog", "a pet"),
    ]
    assert data.notes == ()
    (tmp_path / "snli_1.0/snli_1.0_dev.jsonl").unlink()
    assert error("snli", tmp_path).startswith("D/snli_1.0/snli_1.0_dev.jsonl: there is no such file.")


def test_adr_as_published(tmp_path: Path) -> None:
    lines = [f"{i}\t7\t{i % 2}\t{words(6, str(i))}" for i in range(20)]
    lines += ["50\t7\t1\tNot Available", f"51\t7\t1\t{words(5)}", f'52\t7\t1\t"quoted {words(99)}']
    put(tmp_path, "adr/adr.tsv", "\n".join(lines))
    data = load("adr", data_dir=tmp_path)
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 14, "dev": 2, "test": 4}
    assert data.notes == (
        "2 of 22 texts were left out: not between 6 and 99 words (as in paper 1).",
        "Test is a fifth, dev a tenth of the rest (stratified, seed 0).",
    )
    assert data.min_frequency == 2
    put(tmp_path, "adr/adr.tsv", "1\t2\t3\n")
    assert error("adr", tmp_path) == (
        "D/adr/adr.tsv, line 1: expected tweet id, user id, label and text, separated by tabs."
    )


def test_adr_with_header_and_split(tmp_path: Path) -> None:
    rows = [f"{words(6, str(i))},{i % 2},{split}" for i, split in enumerate(["train"] * 6 + ["dev"] * 2 + ["test"] * 2)]
    put(tmp_path, "adr/adr_dataset.csv", "\n".join(["text,label,exp_split", *rows]))
    data = load("adr", data_dir=tmp_path)
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 6, "dev": 2, "test": 2}
    assert data.labels == ("no reaction", "reaction")


def post(group: str, text: str) -> bytes:
    return f"From: a@b.c\nSubject: {group}\n\nX writes:\n> {group}\n{text} caf\xe9\n\n--\nsigned".encode("latin-1")


SIZES = {"train": 12, "dev": 4, "test": 4}


def test_20news_without_split(tmp_path: Path) -> None:
    for group in ("rec.sport.baseball", "rec.sport.hockey", "sci.space"):
        for i in range(10):
            put(tmp_path, f"20news-18828/{group}/{i}", post(group, words(7, f"{group[-3:]}{i}")))
    put(tmp_path, "20news-18828/rec.sport.hockey/99", post("", words(5)))
    put(tmp_path, "20news-18828/rec.sport.hockey/98", post("", words(500)))
    data = load("20news-sports", data_dir=tmp_path)
    assert {name: len(part) for name, part in data.splits.items()} == SIZES
    texts = {e.id: e.text for part in data.splits.values() for e in part}
    assert texts["20news-18828/rec.sport.baseball/0"] == f"{words(7, 'all0')} café"
    assert data.notes == (
        "2 of 22 texts were left out: not between 7 and 499 words (as in paper 1).",
        "Test is a fifth, dev a fifth of the rest (stratified, seed 0).",
    )
    assert data.rules.digits_as == "qqq"


def test_20news_by_date_is_pooled(tmp_path: Path) -> None:
    for part, n in (("train", 6), ("test", 4)):
        for group in ("rec.sport.baseball", "rec.sport.hockey"):
            for i in range(n):
                put(
                    tmp_path,
                    f"20news/20news-bydate-{part}/{group}/{i}",
                    post(group, words(9, f"{group[-3:]}{part}{i}")),
                )
    data = load("20news-sports", data_dir=tmp_path)
    assert {name: len(part) for name, part in data.splits.items()} == SIZES


def mimic(folder: Path, n_patients: int = 20) -> None:
    """Patient i has stay 100 + i; odd ones have diabetes and chronic anemia, even ones acute anemia; patient 0 both."""
    with gzip.open(folder / "NOTEEVENTS.csv.gz", "wt", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CATEGORY", "DESCRIPTION", "ISERROR", "TEXT"])
        for i in range(n_patients):
            writer.writerow([i, i, 100 + i, "d", "Discharge summary", "Report", "", f'Name: "{i}"\n{words(8)}'])
            writer.writerow([i, i, 100 + i, "d", "Nursing", "Report", "", "not this one"])
        writer.writerow([98, 1, 101, "d", "Discharge summary", "Report", "1", "an error"])
        writer.writerow([97, 1, 101, "e", "Discharge summary", "Addendum", "", "and more"])
        writer.writerow([99, 1, 101, "d", "Discharge summary", "Addendum", "", "more of it"])
    with (folder / "DIAGNOSES_ICD.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"])
        for i in range(n_patients):
            writer.writerows([[i, i, 100 + i, n, code] for n, code in enumerate(codes_of(i))])


def codes_of(patient: int) -> list[str]:
    if patient == 0:
        return ["2851", "28529"]
    return ["25000", "28521"] if patient % 2 else ["4019", "2851"]


def test_mimic(tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    mimic(tmp_path / "mimic")
    diabetes = load("mimic-diabetes", data_dir=tmp_path)
    anemia = load("mimic-anemia", data_dir=tmp_path)
    label_of = {e.id: e.label for part in diabetes.splits.values() for e in part}
    assert label_of == {f"{i}/{100 + i}": i % 2 for i in range(20)}
    label_of = {e.id: e.label for part in anemia.splits.values() for e in part}
    assert label_of == {f"{i}/{100 + i}": 1 - i % 2 for i in range(1, 20)}
    assert (anemia.labels, diabetes.labels) == (("chronic", "acute"), ("no diabetes", "diabetes"))
    text_of = {e.id: e.text for part in diabetes.splits.values() for e in part}
    assert text_of["1/101"] == f'Name: "1"\n{words(8)}\n\nmore of it\n\nand more'


def test_mimic_with_the_papers_lists(tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    mimic(tmp_path / "mimic")
    for split, stays in (("train", "101\n102\n103\n"), ("dev", "104\n"), ("test", "105\n106\n")):
        put(tmp_path, f"mimic/{split}_50_hadm_ids.csv", stays)
    data = load("mimic-diabetes", data_dir=tmp_path)
    assert {name: [e.id for e in part] for name, part in data.splits.items()} == {
        "train": ["1/101", "2/102", "3/103"],
        "dev": ["4/104"],
        "test": ["5/105", "6/106"],
    }
    assert data.notes[-1] == "Stays and splits are those of paper 1's lists."


def test_mimic_bad_files(tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    mimic(tmp_path / "mimic")
    notes = tmp_path / "mimic" / "NOTEEVENTS.csv.gz"
    whole = notes.read_bytes()
    notes.write_bytes(whole[:-15])
    assert error("mimic-anemia", tmp_path) == (
        "D/mimic/NOTEEVENTS.csv.gz: the file is damaged or cut short "
        "(Compressed file ended before the end-of-stream marker was reached). Download or copy it again."
    )
    notes.write_bytes(whole)
    put(tmp_path, "mimic/DIAGNOSES_ICD.csv", "HADM_ID,CODE\n1,2\n")
    assert error("mimic-anemia", tmp_path) == (
        "D/mimic/DIAGNOSES_ICD.csv: there is no column 'ICD9_CODE'. It must be the file as PhysioNet publishes it."
    )
    put(tmp_path, "mimic/DIAGNOSES_ICD.csv", "HADM_ID,ICD9_CODE\n1,2\n1\n")
    assert error("mimic-anemia", tmp_path) == (
        "D/mimic/DIAGNOSES_ICD.csv, row 3: the number of fields is not that of the header."
    )


def question(paragraph: str, answer: str) -> str:
    return f"http://x\n\n{paragraph}\n\n@placeholder won\n\n{answer}\n\n@entity1:Ann\n@entity10:Bob"


def test_cnn(tmp_path: Path) -> None:
    put(tmp_path, "cnn/questions/training/a.question", question("@entity10 beat @entity2 , @entity10 said", "@entity2"))
    put(tmp_path, "cnn/questions/training/b.question", question("@entity1 lost", "@entity10"))
    put(tmp_path, "cnn/questions/validation/a.question", question("@entity1 's day", "@entity1"))
    assert error("cnn", tmp_path) == (
        "D/cnn/questions/test: there are no .question files. "
        "Download cnn.tgz (questions; cs.nyu.edu/~kcho/DMQA) and unpack it there."
    )
    put(tmp_path, "cnn/questions/test/a.question", question("@entity1", "@entity1"))
    data = load("cnn", data_dir=tmp_path)
    assert data.labels == ("@entity1", "@entity2", "@entity10")
    (only,) = data.splits["train"]
    assert (only.id, only.label, only.pair, only.candidates) == ("training/a", 1, "@placeholder won", (1, 2))
    assert data.notes == ("1 questions were left out: their answer is not in the paragraph.",)
    assert [w.form for w in data.rules.split(only.text)][:3] == ["@entity10", "beat", "@entity2"]
    put(tmp_path, "cnn/questions/test/b.question", "http://x\n\nparagraph\n\nquestion\n\nBob\n")
    assert error("cnn", tmp_path) == (
        "D/cnn/questions/test/b.question: expected address, paragraph, question and an answer @entityN, "
        "with blank lines between."
    )
