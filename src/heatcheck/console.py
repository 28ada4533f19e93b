"""What the commands print: sentences, verdicts, progress bars."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from heatcheck.method_names import method_name
from heatcheck.report.figures import count
from heatcheck.report.visible import for_terminal

if TYPE_CHECKING:
    import pandas as pd

OUT, ERR = Console(), Console(stderr=True)
EVERY = 60.0  # seconds between lines of progress in a log


def say(line: str, console: Console = OUT) -> None:
    """As it is: no markup, no line break inside a path, and no control character that a name or a text may hold."""
    console.print(for_terminal(line), highlight=False, markup=False, soft_wrap=True)


def show_verdict(found: Mapping[str, Any]) -> None:
    """Headline and findings. What is meant by several in a row is said after the first."""
    before = ""
    OUT.print(Text(f"\n{for_terminal(found['headline'])}", "bold"))
    for finding in found["findings"]:
        mark, colour = {"passes": ("✓", "green"), "fails": ("✗", "red")}.get(finding["outcome"], ("?", "yellow"))
        OUT.print(Text.assemble((f"{mark} {finding['outcome']}", colour), f"  {finding['question']}"))
        say(f"    {finding['finding']}")
        if finding["outcome"] != "passes" and finding["meaning"] != before:
            say(f"    {finding['meaning']}")
        before = finding["meaning"]


def show_means(scores: pd.DataFrame, experiments: Iterable[str]) -> None:
    """What was measured, a line for each method and measure, highest first: for experiments that no test judges.
    Methods that are not to be ranked stand below the others, and say so; texts of which the model is wrong come last.
    Seeds are no competitors: they stand in the order of the run, their mean last."""
    from heatcheck.report.measures import MEASURES
    from heatcheck.results import CHANCE, MODEL_WRONG, NOT_RANKED
    from heatcheck.verdict.findings import over_all_texts  # takes a moment to import, as pandas does

    means = over_all_texts(scores)
    means = means[means["experiment"].isin(list(experiments))]
    for measure in means["measure"].unique():
        say(f"\n{MEASURES[measure].name}" if measure in MEASURES else f"\n{measure}")
        rows = means[means["measure"] == measure]
        several = rows["reference"].dropna().drop_duplicates().ne(CHANCE).sum() > 1
        seeds = (rows["experiment"] == "seed_variance").all()
        rows = rows.assign(unranked=rows["reason"].fillna("").str.startswith(NOT_RANKED))
        if not seeds:
            rows = rows.assign(wrong=rows["setting"] == MODEL_WRONG)
            rows = rows.sort_values(["wrong", "unranked", "value"], ascending=[True, True, False])
        for _, row in rows.iterrows():
            say(f"    {_whose(row, several)}: {_value(row)}" + (f" ({row['reason']})" if row["unranked"] else ""))


def _whose(row: pd.Series, several: bool) -> str:
    """With what it is compared with, if that is not the same for all."""
    from heatcheck.results import CHANCE

    setting = f" ({row['setting']})" if isinstance(row["setting"], str) else ""
    if row["reference"] == CHANCE:
        return f"Chance{setting}"
    reference = f" – {method_name(row['reference'])}" if several and isinstance(row["reference"], str) else ""
    return method_name(row["subject"]) + reference + setting


def _value(row: pd.Series) -> str:
    if row["value"] != row["value"]:
        return f"no value, as {row['reason']}"
    interval = "" if row["low"] != row["low"] else f" [{row['low']:z.2f}, {row['high']:z.2f}]"
    return f"{row['value']:z.2f}{interval} over {count(int(row['n']), 'text')}"


class Bars:
    """Progress bars with an estimate, on stderr; finished tasks stay as a line each."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.current: Any = None

    def task(self, name: str, total: float) -> None:
        self.bars.start()
        self.current = self.bars.add_task(name, total=total)

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None:
        self.bars.update(self.current, completed=done, total=total, at_least=at_least)

    def say(self, sentence: str) -> None:
        self.bars.console.print(sentence, highlight=False, markup=False)


class Remaining(TimeRemainingColumn):
    """Of work that may be over early: the shortest and the longest that it can take, `0:01:10 to 0:09:20`."""

    def render(self, task: Task) -> Text:
        longest = super().render(task)
        at_least = task.fields.get("at_least")
        if at_least is None or not task.speed or task.finished or at_least >= (task.total or 0):
            return longest
        shortest = timedelta(seconds=int(max(at_least - task.completed, 0) / task.speed))
        return Text(f"{shortest} to ", longest.style) + longest


class Lines:
    """For a log, where bars would show when all is over: a line when a task ends, and one a minute on the way."""

    def task(self, name: str, total: float) -> None:
        self.name, self.total, self.over = name, total, False
        self.began = self.told = time.monotonic()

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None:
        self.total = self.total if total is None else total
        now = time.monotonic()
        if done >= self.total and not self.over:
            self.over = True
            say(f"✓ {self.name} {_duration(now - self.began)}", ERR)
        elif done < self.total and now - self.told >= EVERY:
            self.told = now
            ends = [end for end in (at_least, self.total) if end is not None and end >= done]
            left = " to ".join(dict.fromkeys(_duration((now - self.began) * (end / done - 1)) for end in ends if done))
            say(f"  {self.name} {done / self.total:.0%}{f', {left} left' if left else ''}", ERR)

    def say(self, sentence: str) -> None:
        say(sentence, ERR)


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))


@contextlib.contextmanager
def bars() -> Iterator[Bars | Lines]:
    if not ERR.is_terminal:
        yield Lines()
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        Remaining(elapsed_when_finished=True),
    )
    shown = Progress(*columns, console=ERR)
    try:
        yield Bars(shown)
    except Exception:  # its sentence stands alone, not beside a bar that will never be full
        for task in shown.tasks:
            if not task.finished:
                shown.remove_task(task.id)
        raise
    finally:
        if shown.tasks:
            shown.stop()
        else:
            shown.live.stop()  # where nothing was drawn, `stop` would add an empty line
