"""What playing a world costs: seconds, bytes written and peak memory.

    python benchmarks/world.py [PERSONA|DIR ...]

Every persona named, or every shipped one, is played for 1,000 days of its first edition with its
questions, two at a time, each in a process of its own; then every second edition of 1,000 days that is
there, released or not. Two baselines stand beside it, of the same run: its first
quarter played in the same way, times four (1.00 is linear; processor time, which a busy machine
changes least), and copying the files it wrote; a second edition has one length. Then the first of
them is played for 1,000, 3,000 and 10,000 days, one at a time.
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
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.generate.shipped_personas import SOURCES
from recall_bench.generate.worlds import build_world, list_shipped_personas

DAYS = 1_000
LENGTHS = (1_000, 3_000, 10_000)
PROCESSES = 2
TOY = Path(__file__).parents[1] / "tests" / "world" / "bakery"
"""What is played while the package has no sources."""


@dataclass(frozen=True)
class Played:
    """One play: what it took and what it wrote."""

    seconds: float
    cpu_s: float
    peak_mb: float
    written_mb: float
    copying_s: float


def played(persona: str, days: int | None) -> Played:
    """Play in a child process, the second edition without days; then copy what it wrote."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        command = [sys.executable, __file__, "--play", persona, str(days or ""), str(out)]
        started = time.perf_counter()
        child = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert child.stderr is not None
        complaint = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{persona}, {days} days: cannot be played\n{complaint.decode()}")
        started = time.perf_counter()
        shutil.copytree(out, Path(scratch, "copy"))
        copying_s = time.perf_counter() - started
        written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    cpu_s = usage.ru_utime + usage.ru_stime
    return Played(seconds, cpu_s, usage.ru_maxrss / 1024, written / 1e6, copying_s)


def side_by_side(personas: list[str]) -> None:
    """Every persona at full length, two at a time."""
    print(f"{DAYS:,} days, {PROCESSES} processes")
    print(
        f"{'persona':24}{'seconds':>9}{'cpu s':>8}{'MB':>8}{'peak MB':>9}"
        f"{'of 4 quarters':>15}{'of a copy':>11}"
    )
    jobs = [(persona, days) for persona in personas for days in (DAYS, DAYS // 4)]
    started = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = dict(zip(jobs, pool.map(lambda job: played(*job), jobs), strict=True))
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


def second_editions(personas: list[str]) -> None:
    """Every second edition of 1,000 days, two at a time."""
    there = [name for name in personas if (SOURCES / name / "life-1000d").is_dir()]
    if not there:
        return
    print(f"\nsecond editions, {PROCESSES} processes")
    print(f"{'persona':24}{'seconds':>9}{'cpu s':>8}{'MB':>8}{'peak MB':>9}{'of a copy':>11}")
    started = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = list(pool.map(lambda name: played(name, None), there))
    elapsed = time.perf_counter() - started
    for persona, whole in zip(there, done, strict=True):
        print(
            f"{persona:24}{whole.seconds:>9.1f}{whole.cpu_s:>8.1f}{whole.written_mb:>8.1f}"
            f"{whole.peak_mb:>9.0f}{whole.seconds / whole.copying_s:>11.1f}"
        )
    print(f"all: {elapsed:.1f} s")


def growth(persona: str) -> None:
    """One persona at several lengths."""
    print(f"\n{Path(persona).name}, longer and longer")
    print(
        f"{'days':>8}{'seconds':>9}{'cpu s':>8}{'cpu s / 1,000 d':>17}{'of first':>10}"
        f"{'MB':>8}{'peak MB':>9}"
    )
    first: float | None = None
    for days in LENGTHS:
        found = played(persona, days)
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
            if days:
                build_world(persona, Path(out), days=int(days), edition=1)
            else:
                build_world(persona, Path(out), arcs=DEFAULT_ARCS, edition=2)
        except BenchError as error:
            sys.exit(str(error))
        return
    personas = words or list(list_shipped_personas()) or [str(TOY)]
    side_by_side(personas)
    second_editions(personas)
    growth(personas[0])


if __name__ == "__main__":
    main(sys.argv[1:])
