"""The row of attention flow on small graphs; the times are not looked at."""

from benchmarks.cases_attention_flow import attention_flow


def test_both_sides_agree_and_the_row_says_by_how_much():
    row = attention_flow(texts=2, tokens=6, long=12)
    assert row.correct
    said = [text for text, _ in row.checks]
    assert said[0].startswith("largest difference")
    assert said[1].startswith("12 tokens, 6 layers: encoder")
