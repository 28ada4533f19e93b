"""How groups of flags become flags of a command, and how a flag that stands twice is refused."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from typer.core import TyperCommand

from heatcheck.errors import InputError


class OnceEach(TyperCommand):
    """Refuses a flag that stands twice: the first would be forgotten without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell completes what is not a command yet
            return super().parse_args(ctx, args)
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for flag in given:
            if given.count(flag) > 1 and not getattr(flag, "multiple", False):
                raise InputError(
                    f"{flag.opts[0]} is given {given.count(flag)} times. Give it once; where it takes several, put "
                    "commas between them."
                )
        return super().parse_args(ctx, args)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its groups as parameters of its own, which is what Typer makes flags of."""
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            parameters += _flags(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def called(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    described: Any = called
    described.__signature__ = signature.replace(parameters=parameters)
    described.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _flags(group: Any) -> list[inspect.Parameter]:
    kinds = get_type_hints(group, include_extras=True)
    only = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(f.name, only, default=f.default, annotation=kinds[f.name]) for f in fields(group)]
