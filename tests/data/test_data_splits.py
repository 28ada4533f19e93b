from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heatcheck.batch import Example
from heatcheck.data.splits import cut, same_text, three_way

EXAMPLES = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 2)), min_size=1, max_size=60).map(
    lambda rows: [Example(str(i), text, label) for i, (text, label) in enumerate(rows)]
)


@given(examples=EXAMPLES, fraction=st.floats(0, 1), seed=st.integers(0, 5))
def test_cut_is_a_partition_in_order_that_keeps_equal_texts_together(
    examples: list[Example], fraction: float, seed: int
) -> None:
    stays, taken = cut(examples, fraction, seed)
    ids = [int(e.id) for e in stays], [int(e.id) for e in taken]
    assert all(part == sorted(part) for part in ids)
    assert sorted(ids[0] + ids[1]) == list(range(len(examples)))
    assert not {same_text(e) for e in stays} & {same_text(e) for e in taken}


def numbered(n: int, n_classes: int) -> list[Example]:
    return [Example(str(i), f"text {i}", i % n_classes) for i in range(n)]


@given(n=st.integers(15, 300), seed=st.integers(0, 100))
def test_three_way_is_stratified(n: int, seed: int) -> None:
    parts = three_way(numbered(n, 3), seed)
    of_class = Counter(i % 3 for i in range(n))
    for name, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        counts = Counter(e.label for e in parts[name])
        assert all(abs(counts[label] - share * of_class[label]) <= 1.1 for label in of_class)


def test_split_depends_on_the_seed_and_not_on_order_or_other_rows() -> None:
    examples = numbered(200, 2)
    test = {e.text for e in three_way(examples, 0)["test"]}
    assert {e.text for e in three_way(examples[::-1], 0)["test"]} == test
    assert {e.text for e in three_way(examples, 1)["test"]} != test
    larger = {e.text for e in three_way(numbered(220, 2), 0)["test"]}
    assert len(test - larger) <= 2  # most rows stay where they were
