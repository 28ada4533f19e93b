"""A method by name, with its settings: `lime`, or `lime(samples=200)`. The text itself is what tables record."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from heatcheck.explain.types import Explainer
from heatcheck.models.protocols import in_words
from heatcheck.named import check_settings, name_and_settings


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

    def draws(self, words: int) -> bool:
        """Of a text of so many words. One with `exact` in its settings (Kernel-SHAP) draws nothing up to there."""
        return self.random and words > self.settings().get("exact", 0)

    def with_settings(self, changes: dict[str, Any], text: str) -> Method:
        check_settings(changes, self.settings(), f"Method {text!r}")
        explainer: Any = self.explain
        return dataclasses.replace(self, explain=dataclasses.replace(explainer, **changes)) if changes else self


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
    return name_and_settings(text, f"Method {text!r}")
