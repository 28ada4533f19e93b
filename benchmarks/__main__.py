"""`python -m benchmarks`: measure, print, write benchmarks/results.md. Exit code 1 if a target is missed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

from benchmarks.cases import CASES
from benchmarks.setting import prepare
from benchmarks.table import page, row

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results.md")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    names = options.only.split(",") if options.only else list(CASES)
    sizes = {"texts": 128, "training_texts": 640, "repetitions": 1} if options.quick else FULL
    setting = prepare(options.data_dir, ROOT / "runs" / "bench", **sizes)
    outcomes = []
    for name in names:
        outcomes.append(CASES[name](setting))
        print(row(outcomes[-1]), flush=True)
    if not options.quick and not options.only:
        RESULTS.write_text(page(outcomes, setting), encoding="utf-8")
    correct = all(o.correct for o in outcomes)
    return 0 if correct and (options.quick or all(o.on_target for o in outcomes)) else 1


FULL: dict[str, int | None] = {"texts": None, "training_texts": None, "repetitions": 5}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", help=f"some of {','.join(CASES)}, joined by commas; writes no results.md")
    parser.add_argument("--quick", action="store_true", help="few texts: checks that both sides agree, not the targets")
    parser.add_argument("--data-dir", type=Path, default=ROOT.parent / "shared" / "data", help="folder that holds sst/")
    options = parser.parse_args(arguments)
    unknown = set(options.only.split(",")) - set(CASES) if options.only else set()
    if unknown:
        parser.error(f"--only {unknown.pop()}: not one of {', '.join(CASES)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
