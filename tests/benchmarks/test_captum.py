"""The rows against Captum on a tiny model; the times are not looked at."""

import pytest
from benchmarks.cases_captum import DETERMINISTIC, RANDOM, against_captum

from tests.tiny import tiny_subject
from tests.toys import random_examples


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*DETERMINISTIC, *RANDOM])
def test_both_sides_agree(name, tmp_path):
    examples = [e for e in random_examples(24) if len(e.text.split()) > 4][:2]
    row = against_captum(name, tiny_subject(tmp_path), examples)
    assert row.correct, row.checks
