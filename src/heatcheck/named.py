"""A name with settings, as users write it: `lime(samples=200)`, `mock-5(place="start")`. Values are literals only."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from heatcheck.errors import InputError

_FORM = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def name_and_settings(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """Name and settings; `what` is how a message calls it.

    >>> name_and_settings("mock-5(place='start', noise=1)", "Data")
    ('mock-5', {'place': 'start', 'noise': 1})
    """
    written = _FORM.fullmatch(text)
    settings = None if written is None else _settings(written[2] or "")
    if written is None or settings is None:
        raise InputError(f"{what} is not of the form name or name(setting=value, ...).")
    return written[1], settings


def _settings(inside: str) -> dict[str, Any] | None:
    """What stands between the brackets; None if it is anything but distinct names with literal values."""
    try:
        call = ast.parse(f"_({inside})", mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            found = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg is not None}
            return found if len(found) == len(call.keywords) else None
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        pass
    return None


def check_settings(changes: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
    """Is each setting one of `known`, and its value of the kind of the default there? A default of None takes all."""
    for name, value in changes.items():
        if name not in known:
            has = f"It has: {', '.join(known)}." if known else "It has none."
            raise InputError(f"{what}: there is no setting {name!r}. {has}")
        if not _like(value, known[name]):
            raise InputError(f"{what}: {name} is {value!r}, which is no {type(known[name]).__name__}.")


def _like(value: Any, default: Any) -> bool:
    """1 is a number with a fraction too; True is no number, though Python counts with it."""
    if default is None:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    return isinstance(value, (int, float) if isinstance(default, float) else type(default))
