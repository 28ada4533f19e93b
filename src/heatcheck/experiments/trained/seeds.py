"""Seeds of the tests that train."""

from __future__ import annotations

from heatcheck.errors import InputError

PAPER_2 = (50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)  # paper 3 has the same, and that of paper 2's base:
PAPER_2_BASE = 10


def check_seeds(seeds: tuple[int, ...], test: str, *, at_least: int, one_seed: bool | None = None) -> None:
    """`one_seed`: is a single one what the user asked for in as many words? None: that cannot be asked of this test."""
    if one_seed and len(seeds) != 1:
        raise InputError(f"{test}: --one-seed, and {len(seeds)} seeds. Name the one with --seeds, or leave it out.")
    if len(seeds) < at_least and not one_seed:
        alone = "" if one_seed is None else " Add --one-seed if what another seed would change need not be known."
        raise InputError(f"{test} needs at least {at_least} seeds, not {len(seeds)}: --seeds 1,2,3 for example.{alone}")
    twice = [s for i, s in enumerate(seeds) if s in seeds[:i]]
    if twice:
        raise InputError(
            f"{test}: the seed {twice[0]} is given twice. The same seed gives the same model; give another."
        )
    wrong = [s for s in seeds if not 0 <= s < 2**32]
    if wrong:
        raise InputError(f"{test}: the seed {wrong[0]} is not between 0 and 2³² − 1.")


def around(seeds: tuple[int, ...], base: int) -> tuple[int, ...]:
    """The paper's seeds, as they are by default, stand around that of its base. If the model under test has one of
    them, the two change places. Other seeds stay.

    >>> around((50, 257, 500231), 257), around((1, 2), 257)
    ((50, 10, 500231), (1, 2))
    """
    if seeds != PAPER_2[: len(seeds)]:
        return seeds
    return tuple(PAPER_2_BASE if seed == base else seed for seed in seeds)
