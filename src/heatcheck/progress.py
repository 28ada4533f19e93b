"""How long work tells where it is. Work reports; who watches decides what to show."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """`task` opens a piece of work of `total` units; `advance` moves it to `done`, of a new `total` if there is one. It
    may be over earlier, but not before `at_least` units."""

    def task(self, name: str, total: float) -> None: ...

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None: ...

    def say(self, sentence: str) -> None: ...


class Silent:
    """Nobody watches."""

    def task(self, name: str, total: float) -> None:
        pass

    def advance(self, done: float, total: float | None = None, *, at_least: float | None = None) -> None:
        pass

    def say(self, sentence: str) -> None:
        pass
