"""What isolating a Python adapter costs, and what copying its process at each checkpoint saves.

    python benchmarks/isolation.py [--repeats 3]

A plain adapter that does nothing is asked half a year of executive-assistant at every week, about
4,100 trials, with the stub judge and without picture and page:

* `in-process` in our process, one memory asked in place: the baseline of isolation;
* `growing` in a process of its own, one memory asked in place: what a harness without leak-free
  checkpoints does, and the baseline of `forked`;
* `forked`, the default: its process is copied at each checkpoint;
* `fresh`: a new process is fed from the first day at each checkpoint.

Prints processor time, of all processes together, and wall time; of each the least is compared,
because other programs on the machine lengthen all of them.
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
    name, version = "nothing", "1"

    def setup(self):
        self.days = 0

    def ingest_day(self, day, content, metadata):
        self.days = day

    def query(self, question):
        return str(self.days)

    def teardown(self):
        self.days = 0
"""
WAYS: dict[str, tuple[str, ...]] = {
    "in-process": ("--in-process", "--lifecycle", "growing"),
    "growing": ("--lifecycle", "growing"),
    "forked": (),
    "fresh": ("--lifecycle", "fresh"),
}


def measure_run(folder: Path, *flags: str) -> tuple[float, float]:
    """The processor time of a run and everything it started, and its wall time, in seconds."""
    adapter = folder / "adapter.py"
    adapter.write_text(ADAPTER)
    command = [sys.executable, "-m", "recall_bench", "run", "--adapter", str(adapter), *flags]
    command += ["--personas", "executive-assistant", "--ranges", "every:7", "--judge", "stub"]
    command += ["--no-heatmap-png", "--no-page", "--into", str(folder / "run"), "--quiet"]
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"the run ended with exit code {child.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began


def measure_ways(repeats: int) -> dict[str, tuple[float, ...]]:
    """The least processor and wall time of each way, measured in turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(repeats):
        for name, flags in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                times[name].append(measure_run(Path(folder), *flags))
    return {name: tuple(map(min, zip(*runs, strict=True))) for name, runs in times.items()}


def main() -> None:
    """Measure all ways, and print the least time of each and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    least = measure_ways(parser.parse_args().repeats)
    for name, (processor, wall) in least.items():
        print(f"{name:12}{processor:6.2f} s of processor time, {wall:6.2f} s in all")
    for name, baseline in (("growing", "in-process"), ("forked", "growing"), ("forked", "fresh")):
        ratio = least[name][0] / least[baseline][0]
        print(f"{name} takes {ratio:.2f} times the processor time of {baseline}")


if __name__ == "__main__":
    main()
