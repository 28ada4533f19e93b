"""What a run prints of numbers that no test judges."""

import io
import math
import re

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress

from heatcheck import console
from heatcheck.errors import InputError


def printed(capsys, rows: list[dict[str, object]]) -> list[str]:
    empty = dict.fromkeys(("example_id", "group", "setting", "reason"))
    console.show_means(
        pd.DataFrame(
            [{**empty, "low": math.nan, "high": math.nan, "statistic": "mean", "n": 9, **row} for row in rows]
        ),
        ["seed_variance", "ground_truth"],
    )
    return [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]


def test_seeds_stand_in_their_order_and_their_mean_last(capsys):
    values = {"seed 1": 0.2, "seed 2": 0.1, "seed 3": 0.4, "all seeds": 0.23}
    common = {"experiment": "seed_variance", "measure": "seed_jsd", "subject": "attention"}
    lines = printed(capsys, [{**common, "reference": name, "value": value} for name, value in values.items()])
    assert [line.partition(": ")[2][:4] for line in lines] == ["0.20", "0.10", "0.40", "0.23"]
    assert "ll seeds" in lines[-1]


def test_chance_says_of_which_texts(capsys):
    common = {"experiment": "ground_truth", "measure": "auprc", "n": 5}
    rows = [
        {**common, "subject": subject, "reference": reference, "setting": setting, "value": value}
        for subject, reference, value in (("gradient", "planted", 0.9), ("random", "chance", 0.1))
        for setting in ("model right", "model wrong")
    ]
    names = [line.partition(": ")[0] for line in printed(capsys, rows)]
    assert names == [
        "Gradient (model right)", "Chance (model right)", "Gradient (model wrong)", "Chance (model wrong)"
    ]  # fmt: skip


def test_nothing_is_written_as_minus_zero(capsys):
    row = {"experiment": "ground_truth", "measure": "auprc", "subject": "gradient", "reference": "planted"}
    lines = printed(capsys, [{**row, "value": -0.001, "low": -0.012, "high": -0.0}])
    assert lines == ["Gradient: 0.00 [-0.01, 0.00] over 9 texts"]


def test_methods_that_are_not_ranked_stand_below_the_others_and_say_so(capsys):
    common = {"experiment": "ground_truth", "measure": "auprc", "reference": "planted"}
    flaw = "not ranked: misses the sum it promises by 90% (median)"
    rows = [
        {**common, "subject": "deep_lift_captum", "value": 0.9, "reason": flaw},
        {**common, "subject": "attention", "value": 0.2, "n": 1},
        {**common, "subject": "gradient", "value": 0.4},
    ]
    assert printed(capsys, rows) == [
        "Gradient: 0.40 over 9 texts", "Attention: 0.20 over 1 text", f"DeepLIFT (Captum): 0.90 over 9 texts ({flaw})"
    ]  # fmt: skip


def remaining(done: float, **settings: float | None) -> str:
    """What stands behind a bar of 80 epochs, of which one takes ten seconds."""
    clock = [0.0]
    shown = Progress(console.Remaining(), get_time=lambda: clock[0], disable=True)
    bar = console.Bars(shown)
    bar.task("train", 80)
    for epoch in range(math.floor(done) + 1):
        bar.advance(epoch, **settings)
        clock[0] += 10
    return console.Remaining().render(shown.tasks[0]).plain


def test_work_that_may_be_over_early_has_a_shortest_and_a_longest_time():
    assert remaining(2, at_least=12) == "0:01:40 to 0:13:00"
    assert remaining(2, at_least=1) == "0:00:00 to 0:13:00"  # it has just gone on
    assert remaining(2, at_least=80) == remaining(2) == "0:13:00"
    assert remaining(0, at_least=12) == "-:--:--"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("begun", [(), ("read",), ("train",), ("read", "train")])
def test_an_error_stands_alone_below_what_was_finished(monkeypatch, terminal, begun):
    """Without an empty line, and without the bar of what will never be."""
    file = io.StringIO()
    monkeypatch.setattr(console, "ERR", Console(file=file, force_terminal=terminal, width=80, _environ={}))

    def fail():
        with console.bars() as progress:
            for name in begun:
                progress.task(name, 2)
                progress.advance(2 if name == "read" else 1)
            raise InputError("wrong")

    with pytest.raises(InputError):
        fail()
    console.say("heatcheck: wrong", console.ERR)
    lines = file.getvalue().rpartition("\x1b[2K")[2].splitlines()  # what is not erased
    assert [name for name in ("read", "train") if name in "".join(lines)] == [*begun][: "read" in begun]
    assert re.sub("\x1b.*?[a-z]", "", lines[-1]) == "heatcheck: wrong"
    assert len(lines) == 1 + ("read" in begun)


def test_a_log_has_a_line_a_minute_and_one_for_what_ended(monkeypatch):
    file, clock = io.StringIO(), [0.0]
    monkeypatch.setattr(console, "ERR", Console(file=file, force_terminal=False, width=40, _environ={}))
    monkeypatch.setattr(console.time, "monotonic", lambda: clock[0])
    with console.bars() as progress:
        progress.task("erasure", 4)
        for done, seconds in ((0, 61), (1, 100), (2, 130), (3, 170), (4, 200), (4, 300)):
            clock[0] = seconds
            progress.advance(done, at_least=3 if done == 2 else None)
        progress.task("tables", 1)
        progress.advance(1)
    assert file.getvalue().splitlines() == [
        "  erasure 0%",
        "  erasure 50%, 0:01:05 to 0:02:10 left",
        "✓ erasure 0:03:20",
        "✓ tables 0:00:00",
    ]


def test_what_several_findings_mean_is_said_once(capsys):
    def finding(name, outcome, meaning):
        return {"outcome": outcome, "question": f"{name}?", "finding": f"{name} is.", "meaning": meaning}

    findings = [finding("a", "fails", "Same."), finding("b", "fails", "Same."), finding("c", "cannot tell", "Other.")]
    console.show_verdict({"headline": "So.", "findings": findings})
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line in ("Same.", "Other.")] == ["Same.", "Other."]
    assert said.index("Same.") < said.index("b is.")
