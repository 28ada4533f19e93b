"""The pages in a real browser: what tests of them share. The browser itself is a fixture of conftest.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Letters of charts that stand outside their chart, and the sections of tables that are wider than their place.
CUT_LETTERS = """() => [...document.querySelectorAll('svg.chart')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < frame.left - 2.5 || box.right > frame.right + 2.5);
  }).map((text) => text.textContent);
})"""
CUT_TABLES = """() => [...document.querySelectorAll('.numbers')]
  .filter((node) => node.offsetWidth > node.parentNode.clientWidth).map((node) => node.closest('section').id)"""


class Opened:
    """A page with everything it complained about and everything it tried to load."""

    def __init__(self, context: Any, path: Path) -> None:
        self.path = path
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def check(self) -> None:
        """Nothing went wrong, nothing was fetched, no text of the data did anything."""
        assert self.complaints == []
        assert self.requests == [self.path.as_uri()]
        assert not self.page.title().startswith("hacked")  # what hostile texts would make of it


@contextmanager
def opened_in(browser: Any, path: Path, width: int = 1280, height: int = 900, **more: Any) -> Iterator[Opened]:
    """A page in a window of its own."""
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    try:
        opened = Opened(context, path)
        yield opened
        opened.check()
    finally:
        context.close()
