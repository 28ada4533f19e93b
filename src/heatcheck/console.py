"""What the commands print: sentences, verdicts, progress bars."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from heatcheck.report.visible import for_terminal

OUT, ERR = Console(), Console(stderr=True)


def say(line: str, console: Console = OUT) -> None:
    """As it is: no markup, no line break inside a path, and no control character that a name or a text may hold."""
    console.print(for_terminal(line), highlight=False, markup=False, soft_wrap=True)


def show_verdict(found: Mapping[str, Any] | None) -> None:
    """Headline and findings; nothing if no test was run."""
    if found:
        OUT.print(Text(f"\n{for_terminal(found['headline'])}", "bold"))
        for finding in found["findings"]:
            mark, colour = {"passes": ("✓", "green"), "fails": ("✗", "red")}.get(finding["outcome"], ("?", "yellow"))
            OUT.print(Text.assemble((f"{mark} {finding['outcome']}", colour), f"  {finding['question']}"))
            say(f"    {finding['finding']}")


class Bars:
    """Progress bars with an estimate, on stderr; finished tasks stay as a line each."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.current: Any = None

    def task(self, name: str, total: float) -> None:
        self.current = self.bars.add_task(name, total=total)

    def advance(self, done: float) -> None:
        self.bars.update(self.current, completed=done)

    def say(self, sentence: str) -> None:
        self.bars.console.print(sentence, highlight=False, markup=False)


@contextlib.contextmanager
def bars() -> Iterator[Bars]:
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=ERR) as shown:
        yield Bars(shown)
