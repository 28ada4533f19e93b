"""Running a paper's cases, each an ordinary run folder below `out`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from heatcheck import api
from heatcheck.errors import InputError
from heatcheck.progress import Progress
from heatcheck.request import Request


@dataclass(frozen=True)
class Machine:
    """What the cases run on; no part of what they are."""

    threads: int = 1
    device: str = "cpu"
    workers: int = 1

    def on(self, request: Request) -> Request:
        return replace(request, threads=self.threads, device=self.device, workers=self.workers)


class Named(Protocol):
    """`groups`: further names by which --only finds it, such as its data set."""

    @property
    def name(self) -> str: ...

    @property
    def groups(self) -> tuple[str, ...]: ...


Case = TypeVar("Case", bound=Named)


def run_chosen(
    paper: str,
    cases: Sequence[Case],
    only: Sequence[str] | None,
    progress: Progress,
    run_case: Callable[[Case], None],
) -> None:
    """One after another, in their order."""
    for case in chosen(paper, cases, only):
        progress.say(case.name)
        run_case(case)


class Requesting(Named, Protocol):
    """A case that is one run."""

    def request(self, data_dir: Path, limit: int | None) -> Request: ...


def run_requests(
    paper: str,
    cases: Sequence[Requesting],
    data_dir: Path,
    out: Path,
    *,
    only: Sequence[str] | None,
    limit: int | None,
    machine: Machine,
    progress: Progress,
) -> None:
    """Run every case that is not there yet."""

    def run_case(case: Requesting) -> None:
        request = machine.on(case.request(data_dir, limit))
        api.run_request(request, out / case.name, command=command(paper, case), progress=progress)

    run_chosen(paper, cases, only, progress, run_case)


def chosen(paper: str, cases: Sequence[Case], only: Sequence[str] | None) -> Iterator[Case]:
    """All, or those that `only` names."""
    known = {name for case in cases for name in (case.name, *case.groups)}
    for name in only or ():
        if name not in known:
            raise InputError(f"{paper} has no case {name!r}. There are: {', '.join(sorted(known))}.")
    return (case for case in cases if not only or {case.name, *case.groups} & set(only))


def command(paper: str, case: Named) -> str:
    """What run.json says it came from."""
    return f"heatcheck reproduce {paper} --only {case.name}"
