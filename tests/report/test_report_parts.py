"""Packing, counting and choosing, against the plainest way to do the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import DistilBertConfig, DistilBertForSequenceClassification, PreTrainedTokenizerFast

from heatcheck.batch import Example
from heatcheck.experiments.erasing.words import Words
from heatcheck.experiments.explained import explain_texts
from heatcheck.models.huggingface import HuggingFaceClassifier
from heatcheck.models.pretrained import TransformerSpec
from heatcheck.models.subject import Subject
from heatcheck.models.tokens import PretrainedTokens
from heatcheck.report import heat, shapes
from heatcheck.report.embed import chosen
from heatcheck.report.measures import MEASURES, Measure, measure
from heatcheck.report.series import all_series, series
from heatcheck.report.source import Run, Variant, load
from heatcheck.report.strip import strip_drawing
from heatcheck.report.telling import telling
from heatcheck.results import ExampleRow, Origin, Score, TokenScores, tables, write_json, write_tables

from .sample import EMOJI, write_sample

JSD = Variant("adversarial_jsd", "exact", 0.01)
GENERATOR = torch.Generator()


@pytest.fixture(scope="module")
def run(run_folder: Path) -> Run:
    return load(run_folder)


def made(folder: Path, *scores: TokenScores, text: str = "one two") -> Run:
    rows = [ExampleRow("a", text, None, "x", "x", 1.0, None, 2), *scores]
    write_tables(folder, tables(rows, Origin("data", "model", 0), "explain"))
    write_json(folder / "run.json", {"schema_version": 1})
    return load(folder)


def token_scores(
    method: str, spans: list[tuple[int, int]], scores: list[float], words: Sequence[int | None] = ()
) -> TokenScores:
    count = len(spans)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return TokenScores(
        "a", method, "x", [0] * count, list(range(count)), starts, ends, [""] * count, scores, list(words)
    )


def unpack(largest: float, packed: str) -> list[float | None]:
    codes = [
        64 * heat.ALPHABET.index(packed[at]) + heat.ALPHABET.index(packed[at + 1]) for at in range(0, len(packed), 2)
    ]
    return [None if code == 0 else (code - 2048) / 2047 * largest for code in codes]


def test_packed_scores_come_back_and_spans_land_on_the_words(run: Run) -> None:
    entry = heat.packed(run, ["emoji"])["emoji"]
    words, at = [], 0
    for gap, length in zip(entry["spans"][0][::2], entry["spans"][0][1::2], strict=True):
        words.append(EMOJI[at + gap : at + gap + length])
        at += gap + length
    assert words == EMOJI.split()
    rows = [row for row in run.tokens.to_pylist() if row["example_id"] == "emoji" and row["method"] == "gradient"]
    expected = [row["score"] for row in sorted(rows, key=lambda row: row["position"])]
    assert unpack(*entry["methods"]["gradient"]) == pytest.approx(expected, abs=max(expected) / 2000)


def test_signed_missing_overlapping_and_impossible_tokens(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        token_scores("signed", [(0, 3), (4, 7)], [-2.0, 1.0]),
        token_scores("partial", [(4, 7)], [0.5]),
        token_scores("pieces", [(0, 3), (0, 3), (4, 7), (9, 99), (3, 3)], [0.25, 0.5, 1.0, 7.0, 7.0]),
        token_scores("zero", [(0, 3), (4, 7)], [0.0, 0.0]),
    )
    entry = heat.packed(run, ["a"])["a"]
    assert entry["spans"] == [[0, 3, 1, 3], []]
    found = {method: unpack(*packed) for method, packed in entry["methods"].items()}
    assert found["signed"] == pytest.approx([-2.0, 1.0], abs=0.001)
    assert found["partial"] == [None, 0.5]
    assert found["pieces"] == pytest.approx([0.75, 1.0], abs=0.001)
    assert found["zero"] == [0.0, 0.0]
    assert heat.signed_methods(run) == {"signed"}


def test_pieces_of_a_word_are_one_word_and_add_up(tmp_path: Path) -> None:
    text = "unfunny, e\u0301té 电影!"
    pieces = ["un", "fun", "ny", ",", "e", "\u0301té", "电", "影", "!"]
    spans, at = [], 0
    for piece in pieces:
        at = text.index(piece, at)
        spans.append((at, at + len(piece)))
        at += len(piece)
    scores = [1.0, -3.0, 0.5, 0.25, 1.0, 1.0, 0.5, 1.0, 0.0]
    run = made(tmp_path, token_scores("lime", spans, scores), text=text)
    entry = heat.packed(run, ["a"])["a"]
    assert entry["spans"][0] == [0, 7, 0, 1, 1, 4, 1, 1, 0, 1, 0, 1]
    assert unpack(*entry["methods"]["lime"]) == pytest.approx([-1.5, 0.25, 2.0, 0.5, 1.0, 0.0], abs=0.001)


def metaspace_subject() -> Subject[HuggingFaceClassifier]:
    """Its tokenizer cuts texts at spaces only, so that a word may hold marks of punctuation."""
    pieces = ["[PAD]", "[UNK]", "▁a", "▁film", "##.", "▁well", "##-", "##made"]
    words = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    sizes = {"dim": 8, "n_heads": 2, "n_layers": 1, "hidden_dim": 8, "vocab_size": len(pieces)}
    network = DistilBertForSequenceClassification(DistilBertConfig(**sizes)).eval()
    reading = {"pad_id": 0, "mask_id": 1, "max_length": 64, "types": None, "ordinary_ids": torch.arange(2, 8)}
    model = HuggingFaceClassifier(network, **reading)
    return Subject("m", model, PretrainedTokens(tokenizer, 2, None), ("x", "y"), 0, TransformerSpec("m"), None)


def test_the_words_shown_are_the_words_erased(tmp_path: Path) -> None:
    text = "a well-made film."
    example, subject = Example("a", text, 0), metaspace_subject()
    (batch,) = subject.batches([example], 1)
    place, rows = Words.of(batch).place[0], list(explain_texts(subject, [example], "occlusion", generator=GENERATOR))
    erased = ["" for _ in range(place.max() + 1)]
    for word, (start, end) in zip(place, batch.offsets[0].tolist(), strict=True):
        erased[word] += text[start:end]
    assert erased == ["a", "well-made", "film."]
    run = made(tmp_path, *rows, text=text)
    assert shown(heat.packed(run, ["a"])["a"]["spans"][0], text) == erased
    assert run.tokens["word"].to_pylist() == place.tolist()


def shown(gaps: list[int], text: str) -> list[str]:
    words, at = [], 0
    for gap, length in zip(gaps[::2], gaps[1::2], strict=True):
        words.append(text[at + gap : at + gap + length])
        at += gap + length
    return words


def test_words_are_known_by_number_and_by_characters_where_a_run_does_not_say(tmp_path: Path) -> None:
    text = "well-made film"
    spans, scores = [(0, 4), (4, 5), (5, 7), (7, 9), (10, 14)], [1.0, 1.0, 1.0, 1.0, 2.0]
    by_number = token_scores("lime", spans, scores, [0, 0, 1, 1, 2])  # another cut than characters would give
    run = made(tmp_path, by_number, token_scores("old", spans, scores), text=text)
    entry = heat.packed(run, ["a"])["a"]
    assert shown(entry["spans"][0], text) == ["well-", "made", "film"]
    assert [unpack(*entry["methods"][name]) for name in ("lime", "old")] == [[2.0, 2.0, 2.0]] * 2
    without = pq.read_table(tmp_path / "tokens.parquet").drop_columns(["word"])
    pq.write_table(without, tmp_path / "tokens.parquet")
    assert shown(heat.packed(load(tmp_path), ["a"])["a"]["spans"][0], text) == ["well", "-", "made", "film"]


def test_a_mark_is_no_word_and_joins_none(tmp_path: Path) -> None:
    """Numbers count within a text: the two texts of a pair have a word 0 each."""
    spans = TokenScores("a", "lime", "x", [0, 0, 1], [0, 1, 3], [0, 3, 0], [3, 7, 2], [""] * 3, [1.0] * 3, [0, None, 0])
    rows = [ExampleRow("a", "one two", "no", "x", "x", 1.0, None, 2), spans]
    write_tables(tmp_path, tables(rows, Origin("data", "model", 0), "explain"))
    write_json(tmp_path / "run.json", {"schema_version": 1})
    assert heat.packed(load(tmp_path), ["a"])["a"]["spans"] == [[0, 3, 0, 4], [0, 2]]


def test_histogram_counts_like_a_plain_loop() -> None:
    values = np.array([-1.2, -1.0, -0.95, 0.0, 0.1, 0.3, 0.99, 1.0, 1.0])
    counts = [0] * 20
    for value in values:
        inside = min(max(value, -1), 1)
        fits = [at for at in range(20) if shapes.TAU_EDGES[at] <= inside < shapes.TAU_EDGES[at + 1]]
        counts[fits[0] if fits else 19] += 1
    assert shapes.histogram([values], shapes.TAU_EDGES)["counts"] == [counts]
    assert shapes.histogram([np.array([])], shapes.TAU_EDGES)["mean"] == [None]


def test_violins_keep_within_the_data_and_few_values_stay_dots() -> None:
    values = np.random.default_rng(0).beta(2, 8, 500)
    drawn = shapes.violin(values)
    assert drawn["quartiles"] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]).tolist(), abs=1e-4)
    assert max(drawn["density"]) == 1
    assert min(drawn["grid"]) >= values.min() - 0.02
    assert max(drawn["grid"]) <= values.max() + 0.02
    assert shapes.violin(np.array([0.3, 0.1])) == {"n": 2, "quartiles": [0.15, 0.2, 0.25], "points": [0.1, 0.3]}
    assert shapes.violin(np.array([])) == {"n": 0}
    assert shapes.violin(np.zeros(50))["density"][0] == 1


def test_telling_texts_have_the_largest_products(run: Run) -> None:
    products = {
        example: run.by_id[example]["max_attention"] * value
        for example, value in series(run, JSD).values.items()
        if run.by_id[example]["n_tokens"] >= 5
    }
    assert telling(run, JSD) == sorted(products, key=lambda example: (-products[example], example))[:8]


def test_chosen_texts_begin_with_those_shown_and_skip_what_does_not_fit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatcheck.report.embed.MOST_CHARACTERS", 20_000)
    found = chosen(run, ["test-0007"])
    assert "test-0007" in found
    assert "huge" not in found
    assert found == [example for example in run.by_id if example in set(found)]
    assert found == chosen(run, ["test-0007"])


def test_series_cover_every_measure_and_setting(run: Run) -> None:
    keys = [one.variant.key for one in all_series(run)]
    assert keys[:2] == ["tau_gradient/kendall", "tau_gradient/top_k"]
    assert keys[-2:] == ["adversarial_tvd/exact@0.01", "adversarial_tvd/published@0.01"]
    assert len(keys) == 11


def test_the_distance_of_the_top_words_is_never_called_a_tau(run: Run) -> None:
    distances = [one for one in all_series(run) if one.variant.setting == "top_k"]
    assert [one.variant.label for one in distances] == [
        "distance of the top words, attention–gradient",
        "distance of the top words, attention–LOO",
        "distance of the top words, gradient–LOO",
    ]
    for one in distances:
        about = measure(one.variant.measure, one.variant.setting)
        assert (about.low, about.high, about.scale) == (0, 1, "0 same order, 1 reversed")


def test_a_reason_names_methods_as_people_do(tmp_path: Path) -> None:
    rows = [
        ExampleRow("a", "one two", None, "x", "x", 1.0, None, 2),
        Score(
            "tau_loo", None, "attention", "leave_one_out", "a", "x", setting="kendall", reason="leave_one_out is flat"
        ),
    ]
    write_tables(tmp_path, tables(rows, Origin("data", "model", 0), "correlation"))
    write_json(tmp_path / "run.json", {"schema_version": 1})
    (found,) = all_series(load(tmp_path))
    assert found.missing() == "1 text without a value, left out of the chart: Leave-one-out is flat (1)."


def test_rare_classes_share_a_panel(tmp_path: Path) -> None:
    run = load(write_sample(tmp_path, how_many=80, classes=[f"class {number}" for number in range(12)], nasty=False))
    assert len(run.panels) == 8
    assert run.panel_names[-1] == "5 others"
    assert sorted(name for panel in run.panels for name in panel) == sorted(run.classes)


def test_every_measure_of_the_report_has_a_range() -> None:
    assert all(about.low < about.high for about in MEASURES.values())


def test_strip_stretches_to_values_beyond_the_range() -> None:
    drawn = strip_drawing(Measure("m", "m", 0, 1), 3.0, None, None, 0.5)
    assert '<line x1="296.0" x2="296.0" y1="6" y2="22" class="estimate">' in drawn


def test_strip_stretches_to_the_whole_interval() -> None:
    drawn = strip_drawing(Measure("m", "m", 0, 1), 0.9, -0.5, 1.5, 0.5)
    assert '<line x1="4.0" x2="296.0" y1="14" y2="14" class="band">' in drawn
    assert '<line x1="208.4" x2="208.4" y1="6" y2="22" class="estimate">' in drawn
    assert all(f">{end}</text>" in drawn for end in ("−0.5", "1.5"))


@pytest.mark.parametrize("threshold", [-0.061, 0.0, 0.5, 1.0])
def test_the_labels_of_a_strip_keep_apart(threshold: float) -> None:
    """A letter is up to 7 wide, and half a letter at least is left free."""
    drawn = strip_drawing(Measure("m", "m", -0.061, 1), 0.5, None, None, threshold)
    found = re.findall(r'<text x="([\d.]+)" y="39" text-anchor="(\w+)">([^<]+)</text>', drawn)
    places = []
    for x, anchor, text in found:
        width = 7 * len(text)
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        places.append((left, left + width))
    first, second, third = sorted(places)
    assert second[0] - first[1] >= 3.5
    assert third[0] - second[1] >= 3.5
