"""A method by name, with its settings: `lime`, or `lime(samples=200)`. The text itself is what tables record."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import dataclass
from typing import Any

from heatcheck.errors import InputError
from heatcheck.explain.types import Explainer
from heatcheck.models.protocols import in_words


@dataclass(frozen=True)
class Method:
    """An explainer and what a table must know of it."""

    explain: Explainer
    needs: type[Any] | tuple[type[Any], ...]  # the protocol that the model must offer, or one of these
    random: bool = False  # another seed gives other scores
    ranked: bool = True  # False: shown with its flaw, never compared with others
    about: str = ""

    def serves(self, model: Any) -> bool:
        return isinstance(model, self.needs)

    @property
    def needed(self) -> str:
        """For sentences."""
        kinds = self.needs if isinstance(self.needs, tuple) else (self.needs,)
        return " or ".join(in_words(kind) for kind in kinds)

    def settings(self) -> dict[str, Any]:
        """What a run records; a plain function has no settings."""
        explainer: Any = self.explain
        return vars(explainer).copy() if dataclasses.is_dataclass(explainer) else {}

    def with_settings(self, changes: dict[str, Any], text: str) -> Method:
        known = self.settings()
        for name in changes:
            if name not in known:
                has = f"It has: {', '.join(known)}." if known else "It has none."
                raise InputError(f"Method {text!r}: there is no setting {name!r}. {has}")
            if known[name] is not None and not isinstance(changes[name], _like(known[name])):
                kind = type(known[name]).__name__
                raise InputError(f"Method {text!r}: {name} is {changes[name]!r}, which is no {kind}.")
        explainer: Any = self.explain
        return dataclasses.replace(self, explain=dataclasses.replace(explainer, **changes)) if changes else self


def _like(default: Any) -> type[Any] | tuple[type[Any], ...]:
    """What may stand in the place of a setting's default; 1 is a number with a fraction too."""
    return (int, float) if isinstance(default, float) else type(default)


def split(text: str) -> tuple[str, ...]:
    """A list of methods, commas inside settings left alone.

    >>> split("gradient, lime(samples=200, width=1)")
    ('gradient', 'lime(samples=200, width=1)')
    """
    found, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return tuple(name.strip() for name in found if name.strip())


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Name and settings of a method.

    >>> parse("lime(samples=200)")
    ('lime', {'samples': 200})
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Name):
            return tree.id, {}
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.args:
            return tree.func.id, {str(k.arg): ast.literal_eval(k.value) for k in tree.keywords}
    except (SyntaxError, ValueError):
        pass
    raise InputError(f"Method {text!r} is not of the form name or name(setting=value, ...).")
