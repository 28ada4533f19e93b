"""Explanation methods of other packages, found by their entry points.

A package that has in its pyproject.toml

    [project.entry-points."heatcheck.explainers"]
    my_method = "my_package:METHOD"

where METHOD is a `heatcheck.explain.method.Method`, adds `my_method` to the methods there are. Nothing is imported
before the method is asked for. `heatcheck.testing.check_explainer` says whether it keeps the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points

from heatcheck.errors import InputError
from heatcheck.explain.method import Method

GROUP = "heatcheck.explainers"


def plugin(name: str, own: Collection[str]) -> Method | None:
    """The method that another package calls so; None if none does. `own` names are ours alone."""
    entry = found(frozenset(own)).get(name)
    return None if entry is None else load(entry)


def plugins(own: Collection[str]) -> dict[str, Method]:
    """All of them."""
    return {name: load(entry) for name, entry in found(frozenset(own)).items()}


@functools.cache
def found(own: frozenset[str]) -> dict[str, EntryPoint]:
    """By name; looked for once, as every folder of the Python path is read."""
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, package(e))):
        if not entry.name.isidentifier():
            raise InputError(
                f"{package(entry)}: the method name {entry.name!r} is not a plain name like my_method. "
                "Uninstall the package, or tell its author."
            )
        if entry.name in own:
            raise InputError(
                f"{package(entry)} adds an explanation method {entry.name!r}, which heatcheck has itself. "
                "Uninstall the package, or tell its author to choose another name."
            )
        if entry.name in entries:
            raise InputError(
                f"{package(entries[entry.name])} and {package(entry)} both add an explanation method {entry.name!r}. "
                "Uninstall one of them."
            )
        entries[entry.name] = entry
    return entries


def load(entry: EntryPoint) -> Method:
    try:
        method = entry.load()
    except Exception as error:  # a stranger's code raises what it likes
        raise InputError(
            f"{package(entry)}: its explanation method {entry.name!r} cannot be loaded "
            f"({type(error).__name__}: {error}). Update or uninstall the package."
        ) from error
    if not isinstance(method, Method):
        raise InputError(
            f"{package(entry)}: its explanation method {entry.name!r} ({entry.value}) is a {type(method).__name__}, "
            "not a heatcheck.explain.method.Method. Tell its author."
        )
    return method


def package(entry: EntryPoint) -> str:
    return "a package" if entry.dist is None else entry.dist.name
