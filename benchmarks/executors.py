"""What more workers bring: a waiting system on Ray, computing ones in processes.

    python benchmarks/executors.py [waiting] [burning] [hybrid] [--repeats N] [--workers N]

`waiting` takes 50 ms for every answer, as a service does: `--executor ray` with 16 workers beside
the same with one. `burning` computes for 20 ms of every answer and `hybrid` is the built-in memory:
`--executor processes` with two workers beside `local`, one process. Each row is the whole command
`recall-bench run` on harbour-office with a memory for each of 30 checkpoints, in the same minutes:
from the command to its last file, and the rate of answers in the middle half of them, when all
workers are there and none has run out of work. Processor time is that of the command and of all
processes it started, by what they are.

The computing rows need two idle processors: `load` is how many of them others used meanwhile.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.event import Answered
from recall_bench.runs.journal import read_events

WAITING = '''
import asyncio


class Waiting:
    """Takes its time, as a service does, and knows nothing."""

    name = "waiting"
    version = "1"
    max_concurrency = 1

    def ingest_day(self, day, content, metadata):
        """Forget it."""

    async def query(self, question):
        """Wait."""
        await asyncio.sleep(0.05)
        return "There is no record of it."
'''
BURNING = '''
import time


class Burning:
    """Computes for 20 ms of processor time before it answers."""

    name = "burning"
    version = "1"
    max_concurrency = 1

    def ingest_day(self, day, content, metadata):
        """Forget it."""

    def query(self, question):
        """Count, for as long."""
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            sum(range(1000))
        return "There is no record of it."
'''
OWN = {
    "waiting": WAITING,
    # So slow that no two answers of a worker are told in one message.
    "slow": WAITING.replace("0.05", "0.2"),
    "burning": BURNING,
}
TICKS = os.sysconf("SC_CLK_TCK")
LOOK_EVERY_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Took:
    """One run of the command."""

    wall_s: float
    answers: int
    until_first_s: float
    """From the command to the first answer,"""
    until_last_s: float
    """and to the last."""
    rate: float
    """Answers a second, in the middle half of them."""
    cpu_s: Counter[str]
    load: float
    """How many processors others used meanwhile."""


def carried_out(system: str, spread: Sequence[str], *, repeats: int, scratch: Path) -> Took:
    """Run the command once, in a new folder."""
    into = Path(tempfile.mkdtemp(dir=scratch)) / "run"
    command = [sys.executable, "-m", "recall_bench", "run", "--adapter", adapter(system, scratch)]
    command += ["--personas", "harbour-office", "--lifecycle", "fresh", "--ranges", "every:1"]
    command += ["--repeats", str(repeats)]
    command += ["--no-heatmap-png", "--into", str(into), *spread]
    used, own, began = used_s(), time.process_time(), time.time()
    cpu_s = watched(command)
    wall_s = time.time() - began
    others_s = used_s() - used - (time.process_time() - own) - sum(cpu_s.values())
    at = sorted(
        event.at.timestamp()
        for event in read_events(into / "journal.jsonl")
        if isinstance(event, Answered)
    )
    quarter = len(at) // 4
    middle = at[quarter:-quarter]
    return Took(
        wall_s=wall_s,
        answers=len(at),
        until_first_s=at[0] - began,
        until_last_s=at[-1] - began,
        rate=(len(middle) - 1) / (middle[-1] - middle[0]),
        cpu_s=cpu_s,
        load=others_s / wall_s,
    )


def adapter(system: str, scratch: Path) -> str:
    """How the command names a system."""
    if system not in OWN:
        return system
    file = scratch / f"{system}.py"
    file.write_text(OWN[system])
    return str(file)


def used_s() -> float:
    """How many processor seconds this machine has used since it was started."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    return (sum(map(int, fields)) - int(fields[3]) - int(fields[4])) / TICKS


def watched(command: Sequence[str]) -> Counter[str]:
    """Run a command to its end; the processor seconds of it and of all it started, by kind."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seen: dict[int, tuple[str, float]] = {}
    while child.poll() is None:
        for pid, (kind, seconds) in family(child.pid).items():
            # One that has ended, and that nobody has asked how, has no name any more.
            seen[pid] = (kind or seen.get(pid, ("other", 0.0))[0], seconds)
        time.sleep(LOOK_EVERY_S)
    if child.returncode:
        complaint = child.stderr.read().decode() if child.stderr is not None else ""
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{complaint}")
    spent: Counter[str] = Counter()
    for kind, seconds in seen.values():
        spent[kind] += seconds  # type: ignore[assignment]
    return spent


def family(root: int) -> dict[int, tuple[str, float]]:
    """A process and its descendants: what each is, and its processor seconds so far."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            seconds[int(entry.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    found, generation = {root}, {root}
    while generation := {pid for pid, parent in parents.items() if parent in generation}:
        found |= generation
    return {
        pid: ("driver" if pid == root else kind_of(pid), seconds[pid])
        for pid in found
        if pid in seconds
    }


def kind_of(pid: int) -> str:
    """What a process of ours is; nothing if it is about to be gone."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    if not command:
        return ""
    own = ("default_worker", "worker_process", "worker_template")
    if command.startswith("ray::") or any(name in command for name in own):
        return "workers"
    return "ray" if "ray" in command else "other"


def compared(name: str, rows: Sequence[tuple[str, Took]]) -> None:
    """Print each run beside the first."""
    (_, base), *_ = rows
    print(f"{name}: {base.answers:,} answers")
    for label, took in rows:
        each_ms = {kind: 1000 * spent / took.answers for kind, spent in took.cpu_s.items()}
        cpu = ", ".join(f"{kind} {ms:.1f}" for kind, ms in sorted(each_ms.items()) if ms >= 0.05)
        print(
            f"  {label:<22}{took.wall_s:>8.1f} s in all{took.rate:>9.1f} answers/s"
            f"{took.until_first_s:>7.1f} s to the first"
            f"{base.wall_s / took.wall_s:>7.2f} x in all{took.rate / base.rate:>7.2f} x the rate"
            f"   load {took.load:.1f}; ms of processor an answer: {cpu}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("which", nargs="*", choices=["waiting", "burning", "hybrid", []])
    parser.add_argument("--repeats", type=int, help="Put every question so many times.")
    parser.add_argument("--workers", type=int, default=16, help="Of the waiting system [16].")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        for system in options.which or ("waiting", "burning", "hybrid"):
            if system == "waiting":
                crews = {
                    f"ray, {workers} workers": f"--executor ray --workers {workers}"
                    for workers in (1, options.workers)
                }
            else:
                crews = {"local": "", "processes, 2 workers": "--executor processes --workers 2"}
            repeats = options.repeats or (16 if system == "waiting" else 4)
            rows = [
                (label, carried_out(system, spread.split(), repeats=repeats, scratch=scratch))
                for label, spread in crews.items()
            ]
            compared(system, rows)


if __name__ == "__main__":
    main()
