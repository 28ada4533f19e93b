"""The model under test, as far as it is known before anything is trained: what it allows, and what is to be said."""

from __future__ import annotations

from dataclasses import dataclass

from heatcheck.errors import InputError
from heatcheck.experiments.trained.seeds import PAPER_2_BASE, around


@dataclass(frozen=True)
class Base:
    """`fixed`: it was made with equal weights for all words. `replaceable`: a twin can be made so."""

    name: str
    seed: int
    fixed: bool = False
    replaceable: bool = True


def check_moves(base: Base, test: str) -> None:
    if base.fixed:
        raise InputError(
            f"{test} asks what other attention would do, and {base.name} gives every word the same weight, and can "
            "give no other. Take a model that learns its attention."
        )


def check_not_own(seeds: tuple[int, ...], base: Base, test: str, flag: str = "--seeds") -> None:
    """The same seed gives the same model, which would then be counted twice."""
    if base.seed in seeds:
        raise InputError(
            f"{test}: {base.seed} is the seed of {base.name} itself, and would give the same model once more. "
            f"Give others with {flag}."
        )


def on_own_seed(seeds: tuple[int, ...], base: Base, test: str) -> list[str]:
    if around(seeds, base.seed) != seeds:
        return [f"{test}: {base.seed} is the seed of {base.name} itself; {PAPER_2_BASE} takes its place."]
    return []


def on_same_start(seeds: tuple[int, ...], base: Base, test: str) -> list[str]:
    """Not refused: paper 3's nine seeds hold that of its base."""
    if base.seed in seeds:
        return [
            f"{test}: the adversary of seed {base.seed} starts from the weights that {base.name} itself started from, "
            "and may end nearer to it than others."
        ]
    return []


def on_one_seed(seeds: tuple[int, ...], test: str) -> list[str]:
    if len(seeds) == 1:
        return [f"{test}: one seed, so how much another would change is not known. Give several with --seeds."]
    return []
