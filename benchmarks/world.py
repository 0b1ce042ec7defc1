"""What building a world costs: seconds, bytes written and peak memory.

    python benchmarks/world.py [PERSONA|DIR ...]

Every persona named, or every trade, is simulated with its questions for 1,000 days, two at a time,
each in a new process. There are two baselines from the same run: the first quarter built in the same
way, times four (1.00 is linear; in processor time, which depends least on other load), and a copy of
the written files. Then the first persona is built for 1,000, 3,000 and 10,000 days, one at a time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.errors import BenchError
from recall_bench.features.personas.simulator.trades import load_trades
from recall_bench.features.personas.worlds import build_world

DAYS = 1_000
LENGTHS = (1_000, 3_000, 10_000)
PROCESSES = 2


@dataclass(frozen=True)
class BuildCost:
    """What one build took and wrote."""

    seconds: float
    cpu_s: float
    peak_mb: float
    written_mb: float
    copying_s: float


def measure_build(persona: str, days: int) -> BuildCost:
    """Build in a child process; copy the files."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        command = [sys.executable, __file__, "--play", persona, str(days), str(out)]
        started = time.perf_counter()
        child = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert child.stderr is not None
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{persona}, {days} days: cannot be built\n{errors.decode()}")
        started = time.perf_counter()
        shutil.copytree(out, Path(scratch, "copy"))
        copying_s = time.perf_counter() - started
        written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    cpu_s = usage.ru_utime + usage.ru_stime
    return BuildCost(seconds, cpu_s, usage.ru_maxrss / 1024, written / 1e6, copying_s)


def print_builds(personas: list[str]) -> None:
    """Build every persona for 1,000 days and for a quarter, two at a time."""
    print(f"{DAYS:,} days, {PROCESSES} processes")
    print(
        f"{'persona':24}{'seconds':>9}{'cpu s':>8}{'MB':>8}{'peak MB':>9}"
        f"{'of 4 quarters':>15}{'of a copy':>11}"
    )
    jobs = [(persona, days) for persona in personas for days in (DAYS, DAYS // 4)]
    started = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = dict(zip(jobs, pool.map(lambda job: measure_build(*job), jobs), strict=True))
    elapsed = time.perf_counter() - started
    for persona in personas:
        whole, quarter = done[persona, DAYS], done[persona, DAYS // 4]
        print(
            f"{Path(persona).name:24}{whole.seconds:>9.1f}{whole.cpu_s:>8.1f}"
            f"{whole.written_mb:>8.1f}{whole.peak_mb:>9.0f}"
            f"{whole.cpu_s / (4 * quarter.cpu_s):>15.2f}"
            f"{whole.seconds / whole.copying_s:>11.1f}"
        )
    print(f"all, with the quarters: {elapsed:.1f} s")


def print_growth(persona: str) -> None:
    """Build one persona for several lengths."""
    print(f"\n{Path(persona).name}, several lengths")
    print(
        f"{'days':>8}{'seconds':>9}{'cpu s':>8}{'cpu s / 1,000 d':>17}{'of first':>10}"
        f"{'MB':>8}{'peak MB':>9}"
    )
    first: float | None = None
    for days in LENGTHS:
        found = measure_build(persona, days)
        rate = found.cpu_s / days * 1000
        first = first or rate
        print(
            f"{days:>8,}{found.seconds:>9.1f}{found.cpu_s:>8.1f}{rate:>17.2f}{rate / first:>10.2f}"
            f"{found.written_mb:>8.1f}{found.peak_mb:>9.0f}",
            flush=True,
        )


def main(words: list[str]) -> None:
    if words[:1] == ["--play"]:
        persona, days, out = words[1:]
        try:
            build_world(persona, Path(out), days=int(days))
        except BenchError as error:
            sys.exit(str(error))
        return
    personas = words or list(load_trades())
    print_builds(personas)
    print_growth(personas[0])


if __name__ == "__main__":
    main(sys.argv[1:])
