"""Seeds of the tests that train."""

from __future__ import annotations

from heatcheck.errors import InputError

PAPER_2 = (50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)  # around base seed 10; paper 3 has the same and 10


def check_seeds(seeds: tuple[int, ...], test: str, *, at_least: int) -> None:
    if len(seeds) < at_least:
        raise InputError(f"{test} needs at least {at_least} seeds, not {len(seeds)}: --seeds 1,2,3 for example.")
    twice = [s for i, s in enumerate(seeds) if s in seeds[:i]]
    if twice:
        raise InputError(
            f"{test}: the seed {twice[0]} is given twice. The same seed gives the same model; give another."
        )
    wrong = [s for s in seeds if not 0 <= s < 2**32]
    if wrong:
        raise InputError(f"{test}: the seed {wrong[0]} is not between 0 and 2³² − 1.")
