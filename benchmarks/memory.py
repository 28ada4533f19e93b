"""Does memory grow with the number of texts? Peak of a fresh process that audits N texts, and ten times as many.

The model is a folder on disk, the texts a file; the experiments run through `heatcheck.runner`, which takes texts in
shards. Run as a module it is that process: `python -m benchmarks.memory MODEL DATA OUT` prints its peak in MB.
"""

from __future__ import annotations

import csv
import itertools
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.setting import Setting
from benchmarks.timing import Outcome
from heatcheck.batch import Example

FLAT = 1.25  # ten times the texts may cost this much more
TIMES = 10


def memory(setting: Setting) -> Outcome:
    """Half of the test set, and its texts ten times over under new ids."""
    few = max(len(setting.examples) // 2, 1)
    small, large = (peak(setting, n) for n in (few, TIMES * few))
    return Outcome(
        f"memory, {TIMES * few:,} texts / {few:,} texts",
        f"{large:.0f} MB",
        f"{small:.0f} MB",
        large / small,
        FLAT,
        at_most=True,
        checks=[(f"{(large - small) * 1000 / ((TIMES - 1) * few):.1f} KB for each further text", True)],
    )


def peak(setting: Setting, texts: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "texts.csv"
        write_csv(data, setting.examples, setting.data.labels, texts)
        arguments = [sys.executable, "-m", "benchmarks.memory", str(setting.model_folder), str(data), f"{name}/run"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        root = Path(__file__).parents[1]
        child = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=root)
        return float(child.stdout)


def write_csv(path: Path, examples: Sequence[Example], labels: Sequence[str], texts: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "text", "label", "split"))
        for number, example in enumerate(itertools.islice(itertools.cycle(examples), texts)):
            writer.writerow((f"text-{number}", example.text, labels[example.label], "test"))


def child(model: str, data: str, out: str) -> float:
    """Run the battery in this process and say how much memory it took, in MB."""
    from heatcheck.request import Request
    from heatcheck.runner import execute

    execute(Request(model=str(Path(model).resolve()), data=data, threads=1), Path(out))
    return own_peak()


def own_peak() -> float:
    """Linux counts a parent's peak into ru_maxrss of a child it forks; VmHWM is this process alone."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS: bytes


if __name__ == "__main__":
    print(child(*sys.argv[1:]))
