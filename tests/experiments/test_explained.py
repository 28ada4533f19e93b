"""Explanations made once: what a method says of itself reaches the reader, once."""

import torch

from heatcheck.experiments.explained import BATCH_SIZE, explain_texts, read_notes, write_notes
from heatcheck.explain.deep_lift_captum import NOTE
from heatcheck.results import TokenScores
from tests.toys import random_examples, small_subject


def test_a_methods_notes_are_kept_beside_its_tables_and_said_once(tmp_path):
    examples = random_examples(BATCH_SIZE + 3)
    subject = small_subject(examples)
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "of before"]
    for folder in folders[:2]:
        notes: list[str] = []
        found = explain_texts(
            subject, examples, "deep_lift_captum", generator=torch.Generator().manual_seed(0), notes=notes
        )
        assert sum(isinstance(row, TokenScores) for row in found) == len(examples)
        assert notes == [NOTE]  # two batches said it
        write_notes(folder, notes)
    assert read_notes({"deep_lift_captum": folders, "gradient": folders[2:]}) == [f"DeepLIFT (Captum): {NOTE}."]


def test_a_method_without_notes_says_nothing(tmp_path):
    examples = random_examples(3)
    notes: list[str] = []
    list(
        explain_texts(
            small_subject(examples), examples, "gradient", generator=torch.Generator().manual_seed(0), notes=notes
        )
    )
    write_notes(tmp_path, notes)
    assert read_notes({"gradient": [tmp_path]}) == []
