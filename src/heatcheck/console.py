"""What the commands print: sentences, verdicts, progress bars."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from heatcheck.method_names import method_name
from heatcheck.report.visible import for_terminal

if TYPE_CHECKING:
    import pandas as pd

OUT, ERR = Console(), Console(stderr=True)


def say(line: str, console: Console = OUT) -> None:
    """As it is: no markup, no line break inside a path, and no control character that a name or a text may hold."""
    console.print(for_terminal(line), highlight=False, markup=False, soft_wrap=True)


def show_verdict(found: Mapping[str, Any]) -> None:
    """Headline and findings."""
    OUT.print(Text(f"\n{for_terminal(found['headline'])}", "bold"))
    for finding in found["findings"]:
        mark, colour = {"passes": ("✓", "green"), "fails": ("✗", "red")}.get(finding["outcome"], ("?", "yellow"))
        OUT.print(Text.assemble((f"{mark} {finding['outcome']}", colour), f"  {finding['question']}"))
        say(f"    {finding['finding']}")


def show_means(scores: pd.DataFrame) -> None:
    """What was measured, a line for each method and measure, highest first: for runs that no test judges."""
    from heatcheck.findings import means_of, over_all_texts  # takes a moment to import, as pandas does
    from heatcheck.report.measures import MEASURES

    means = over_all_texts(scores)
    for measure in means[means["experiment"] != "performance"]["measure"].unique():
        say(f"\n{MEASURES[measure].name}" if measure in MEASURES else f"\n{measure}")
        for mean in sorted(means_of(means, measure), key=lambda one: -one.found.value):
            name = "Chance" if mean.reference == "chance" else method_name(mean.subject)
            how = "" if mean.setting is None else f" ({mean.setting})"
            say(f"    {name}{how}: {mean.found} over {mean.found.n:,} texts")


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
