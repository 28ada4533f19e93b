"""Ours and the peer in turn, so that whatever else the machine does hits both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Ours, Peer = TypeVar("Ours"), TypeVar("Peer")


@dataclass(frozen=True)
class Timed(Generic[Ours, Peer]):
    """Median seconds of each side, and what each side returned last."""

    ours_seconds: float
    peer_seconds: float
    ours: Ours
    peer: Peer


@dataclass(frozen=True)
class Outcome:
    """One row of the table. `ratio` has to be at least `target` (for memory: at most); every check has to hold."""

    name: str
    ours: str
    peer: str
    ratio: float
    target: float
    at_most: bool = False
    checks: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def on_target(self) -> bool:
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target

    @property
    def correct(self) -> bool:
        return all(holds for _, holds in self.checks)


def side_by_side(
    ours: Callable[[], Ours], peer: Callable[[], Peer], *, repetitions: int, ours_per_peer: int = 1
) -> Timed[Ours, Peer]:
    """`repetitions` of the peer, each with half of our runs before it and half behind."""
    our_seconds: list[float] = []
    peer_seconds: list[float] = []
    for _ in range(repetitions):
        for run in range(ours_per_peer + 1):
            if run == (ours_per_peer + 1) // 2:
                peer_result = timed(peer, peer_seconds)
            else:
                our_result = timed(ours, our_seconds)
    return Timed(statistics.median(our_seconds), statistics.median(peer_seconds), our_result, peer_result)


Returned = TypeVar("Returned")


def timed(function: Callable[[], Returned], seconds: list[float]) -> Returned:
    """CPU time: with one thread it is the time of day on an idle machine, and other programs do not count."""
    began = time.process_time()
    result = function()
    seconds.append(time.process_time() - began)
    return result


def outcome(name: str, timing: Timed[Ours, Peer], target: float, checks: list[tuple[str, bool]]) -> Outcome:
    ours, peer = timing.ours_seconds, timing.peer_seconds
    return Outcome(name, f"{ours:.3g} s", f"{peer:.3g} s", peer / ours, target, checks=checks)
