"""The papers' data sets on the real files of the development data: counts, labels, candidates."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from heatcheck.data.dataset import Dataset
from heatcheck.data.recipes.common import SPACY
from heatcheck.data.sources import load
from heatcheck.data.words import without_punctuation
from heatcheck.errors import InputError

DEV_TENTH = "Dev is a tenth of train (stratified, seed 0)."


def sizes(data: Dataset) -> tuple[int, ...]:
    return tuple(len(data.splits[name]) for name in ("train", "dev", "test"))


def by_class(data: Dataset, split: str) -> tuple[int, ...]:
    counts = Counter(e.label for e in data.splits[split])
    return tuple(counts[i] for i in range(len(data.labels)))


def test_sst_has_the_papers_counts(shared_data: Path) -> None:
    data = load("sst", data_dir=shared_data)
    assert sizes(data) == (6355, 821, 1725)
    assert (by_class(data, "train"), by_class(data, "test")) == ((3034, 3321), (863, 862))
    assert data.notes == (
        "712 of 9,613 texts were left out: shorter than 6 words, or the longest of their split (as in paper 1).",
    )
    assert (data.rules.tokenizer, data.rules.digits_as, data.min_frequency) == ("spacy", None, 1)


def test_sst_from_the_published_trees_is_the_same(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "sst").mkdir()
    for name in ("train", "dev", "test"):
        shutil.copy(shared_data / "sst" / f"{name}.txt", tmp_path / "sst")
    from_trees, from_table = (load("sst-full", data_dir=folder) for folder in (tmp_path, shared_data))
    assert sizes(from_trees) == (6920, 872, 1821)
    pairs = [
        (ours, theirs)
        for name in from_trees.splits
        for ours, theirs in zip(from_trees.splits[name], from_table.splits[name], strict=True)
    ]
    differ = [(ours, theirs) for ours, theirs in pairs if ours != theirs]
    assert len(differ) == 2  # the table has "gon na" and "28 k"
    for ours, theirs in differ:
        assert ours.text.replace(" ", "") == theirs.text.replace(" ", "")
        assert ours.label == theirs.label


def test_imdb_has_the_papers_counts_and_true_offsets(shared_data: Path) -> None:
    data = load("imdb-paper", data_dir=shared_data)
    assert sizes(data) == (17212, 4304, 4363)
    assert (by_class(data, "test"), data.min_frequency) == ((2189, 2174), 10)
    first = data.splits["test"][0]
    assert first.text.startswith('A funny thing happened to me while watching "Mosquito": on the one hand, the hero')
    words = data.rules.split(first.text)
    assert [w.form for w in words[7:11]] == ["watching", "mosquito", "on", "the"]
    assert first.text[words[8].start : words[8].end] == "Mosquito"
    for example in data.splits["dev"][:300]:  # the words, and their places, of the review without its punctuation
        assert data.rules.split(example.text) == SPACY.split(without_punctuation(example.text))


def test_imdb_240_keeps_the_papers_share(shared_data: Path) -> None:
    data = load("imdb-240", data_dir=shared_data)
    assert sizes(data) == (13370, 3310, 3432)  # paper 5: roughly 78% of 25,879
    assert data.notes == ("5,767 of 25,879 texts were left out: more than 240 words (as in paper 5).",)
    assert max(len(data.rules.split(e.text)) for e in data.splits["dev"]) == 240
    assert (data.name, data.min_frequency) == ("imdb-240", 10)
    assert data.fingerprint() == "737927d2257057dc"  # models that were trained on it are found again


def test_agnews_test_is_official_and_train_says_it_is_a_part(shared_data: Path) -> None:
    data = load("agnews", data_dir=shared_data)
    assert sizes(data) == (7882, 876, 3800)
    assert by_class(data, "test") == (1900, 1900)
    assert data.notes == (
        "The training texts are 8,758 of AG News' 60,000 in these two classes, from several sources: "
        "world articles have their title more often than business articles.",
        DEV_TENTH,
    )
    assert (data.rules.digits_as, data.min_frequency) == ("qqq", 5)


@pytest.mark.parametrize(("task", "n_train", "n_dev"), [(1, 9000, 1000), (2, 8995, 1005), (3, 1795, 205)])
def test_babi(shared_data: Path, task: int, n_train: int, n_dev: int) -> None:
    data = load(f"babi-{task}", data_dir=shared_data)
    assert sizes(data) == (n_train, n_dev, 1000)
    assert data.labels == ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
    for example in (e for part in data.splits.values() for e in part):
        assert example.label in (example.candidates or ())
        assert set(example.candidates or ()) == {i for i, label in enumerate(data.labels) if label in example.text}
    stories = [{e.id.rpartition("/")[0] for e in data.splits[name]} for name in ("train", "dev")]
    assert not stories[0] & stories[1]


def test_babi_3_says_what_it_was_made_from(shared_data: Path) -> None:
    assert load("babi-3", data_dir=shared_data).notes[0] == (
        "The file with 10,000 training questions is not there: en/qa3_three-supporting-facts_train.txt and "
        "en-valid-10k/qa3_valid.txt are used instead."
    )


def test_babi_story_and_question(shared_data: Path) -> None:
    first, second = load("babi-1", data_dir=shared_data).splits["test"][:2]
    assert (first.text, first.pair) == (
        "John travelled to the hallway. Mary journeyed to the bathroom.",
        "Where is John?",
    )
    assert second.text.startswith(first.text)


def test_snli(shared_data: Path) -> None:
    data = load("snli", data_dir=shared_data)
    assert sizes(data) == (18000, 9842, 9824)
    assert data.labels == ("neutral", "contradiction", "entailment")
    assert by_class(data, "test") == (3219, 3237, 3368)  # as in paper 1's Table 1
    assert data.notes == ("The training pairs are 18,000 of SNLI's 549,367; dev and test are complete.",)
    assert not any('""' in e.text for e in data.splits["train"])


def test_mrpc_has_the_published_counts(shared_data: Path) -> None:
    data = load("mrpc", data_dir=shared_data)
    assert sizes(data) == (3669, 407, 1725)  # 4076 and 1725 as published
    assert (data.task, data.labels, by_class(data, "test")) == ("pair", ("different", "paraphrase"), (578, 1147))
    first = data.splits["test"][0]
    assert (first.text[:12], first.pair[:15], first.label) == ("PCCW's chief", "Current Chief O", 1)
    assert data.notes == (DEV_TENTH,)
    other = load("mrpc", data_dir=shared_data, seed=1)
    assert other.splits["test"] == data.splits["test"]
    assert other.splits["dev"] != data.splits["dev"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "sst",
            "Put sst_dataset.csv of paper 1's repository (successar/AttentionExplanation), or train.txt, dev.txt and "
            "test.txt of Stanford's trainDevTestTrees_PTB.zip (nlp.stanford.edu/sentiment), into its folder sst.",
        ),
        (
            "imdb-paper",
            "Download aclImdb_v1.tar.gz (ai.stanford.edu/~amaas/data/sentiment) and unpack it there, or put "
            "train.jsonl.gz, dev.jsonl.gz and test.jsonl.gz (id, label, text) into its folder imdb.",
        ),
        (
            "agnews",
            "Put train.csv and test.csv of AG News (ag_news_csv.tar.gz, Zhang et al. 2015) into its folder agnews.",
        ),
        (
            "babi-2",
            "Download tasks_1-20_v1-2.tar.gz (bAbI, Weston et al. 2015) and unpack it there, "
            "or put its folders into babi.",
        ),
        (
            "mrpc",
            "Put msr_paraphrase_train.txt and msr_paraphrase_test.txt (Microsoft Research Paraphrase Corpus) into its "
            "folder mrpc.",
        ),
        ("snli", "Download snli_1.0.zip (nlp.stanford.edu/projects/snli) and unpack it there."),
        (
            "adr",
            "Put adr_dataset.csv of paper 1's repository (successar/AttentionExplanation, preprocess/Tweets) into its "
            "folder adr, or tweets of your own as adr/adr.csv with the columns text and label.",
        ),
        (
            "20news-sports",
            "Download 20news-18828.tar.gz or 20news-bydate.tar.gz (qwone.com/~jason/20Newsgroups) and unpack it there.",
        ),
        (
            "mimic-anemia",
            "Ask PhysioNet for access to MIMIC-III (physionet.org/content/mimiciii), and put NOTEEVENTS.csv and "
            "DIAGNOSES_ICD.csv (or .csv.gz) into its folder mimic.",
        ),
        ("cnn", "Download cnn.tgz (questions; cs.nyu.edu/~kcho/DMQA) and unpack it there."),
    ],
)
def test_missing_files_say_what_to_download(tmp_path: Path, name: str, advice: str) -> None:
    with pytest.raises(InputError) as caught:
        load(name, data_dir=tmp_path)
    assert str(caught.value) == f"{name}: its files are not in {tmp_path}. {advice}"
