"""What isolating a Python adapter costs: the same run in processes of its own and in ours.

    python benchmarks/isolation.py [--repeats 3]

The adapter does nothing but return its last day, so that all of the difference is the isolation's.
Prints processor time, of all processes together, and wall time, and the share that isolation adds.
Other programs on the machine lengthen all of them; the least of each is compared.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ADAPTER = """
class Adapter:
    name = "last-day"

    def __init__(self):
        self.days = []

    def ingest_day(self, day, content, metadata):
        self.days.append(content)

    def query(self, question):
        return self.days[-1][:200] if self.days else ""
"""


def measure_run(folder: Path, *flags: str) -> tuple[float, float]:
    """The processor time of a run and everything it started, and its wall time, in seconds."""
    adapter = folder / "adapter.py"
    adapter.write_text(ADAPTER)
    command = [sys.executable, "-m", "recall_bench", "run", "--adapter", str(adapter), *flags]
    began = time.perf_counter()
    child = subprocess.Popen(
        [*command, "--into", str(folder / "run"), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"the run ended with exit code {child.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began


def main() -> None:
    """Measure both ways in turn, and print the least time of each and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    ways: dict[str, tuple[str, ...]] = {"in-process": ("--in-process",), "isolated": ()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, flags in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                times[name].append(measure_run(Path(folder), *flags))
    least = {name: tuple(map(min, zip(*found, strict=True))) for name, found in times.items()}
    for name, (processor, wall) in least.items():
        print(f"{name:12}{processor:6.2f} s of processor time, {wall:6.2f} s in all")
    added = [
        alone / here - 1 for alone, here in zip(least["isolated"], least["in-process"], strict=True)
    ]
    print(f"isolation adds {added[0]:.1%} of processor time, {added[1]:.1%} of wall time")


if __name__ == "__main__":
    main()
