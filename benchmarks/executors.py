"""What more workers bring: a waiting system in processes and on Ray, computing ones in processes.

    python benchmarks/executors.py [waiting] [burning] [hybrid] [--repeats N] [--workers N]

`waiting` takes 50 ms for every answer, like a remote service: `--executor processes` and `ray` with
16 workers are compared with `local`, one process that asks one question at a time. `burning`
computes for 20 ms for every answer and `hybrid` is the built-in memory: `--executor processes` with
two workers is compared with `local`. Each row is the whole command `recall-bench run` on
harbour-office, a new memory for each of 30 checkpoints, in the same minutes. It shows the time of
the whole command and the rate of answers in the middle half of them, when all workers have started
and none has run out of work. Processor time covers the command and all processes that it started,
by kind of process.

The computing rows need two idle processors: `load` is how many processors other programs used.
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
from recall_bench.engine.runs.journal import read_events

WAITING = '''
import asyncio


class Waiting:
    """Sleeps before each answer, like a remote service, and knows nothing."""

    name = "waiting"
    version = "1"
    max_concurrency = 1

    def ingest_day(self, day, content, metadata):
        """Store nothing."""

    async def query(self, question):
        """Sleep, then answer."""
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
        """Store nothing."""

    def query(self, question):
        """Compute, then answer."""
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            sum(range(1000))
        return "There is no record of it."
'''
ADAPTERS = {
    "waiting": WAITING,
    # Slow enough that a worker never sends two answers in one message.
    "slow": WAITING.replace("0.05", "0.2"),
    "burning": BURNING,
}
PERSONA = "harbour-office"
TICKS = os.sysconf("SC_CLK_TCK")
POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class RunMeasurement:
    """Times and rates of one run of the command."""

    wall_s: float
    answers: int
    until_first_s: float
    """From the start of the command to the first answer."""
    until_last_s: float
    """From the start of the command to the last answer."""
    rate: float
    """Answers a second in the middle half of them."""
    cpu_s: Counter[str]
    """Processor seconds by kind of process."""
    load: float
    """How many processors other programs used meanwhile."""


def measure_run(
    system: str, options: Sequence[str], *, repeats: int, scratch: Path
) -> RunMeasurement:
    """Run the command once, in a new folder."""
    into = Path(tempfile.mkdtemp(dir=scratch)) / "run"
    adapter = prepare_adapter(system, scratch)
    command = [sys.executable, "-m", "recall_bench", "run", "--adapter", adapter]
    command += ["--personas", PERSONA, "--lifecycle", "fresh", "--ranges", "every:1"]
    command += ["--repeats", str(repeats)]
    command += ["--no-heatmap-png", "--into", str(into), *options]
    machine_s, own_s, began = read_machine_s(), time.process_time(), time.time()
    cpu_s = run_and_poll(command)
    wall_s = time.time() - began
    others_s = read_machine_s() - machine_s - (time.process_time() - own_s) - sum(cpu_s.values())
    at = sorted(
        event.at.timestamp()
        for event in read_events(into / "journal.jsonl")
        if isinstance(event, Answered)
    )
    quarter = len(at) // 4
    middle = at[quarter:-quarter]
    return RunMeasurement(
        wall_s=wall_s,
        answers=len(at),
        until_first_s=at[0] - began,
        until_last_s=at[-1] - began,
        rate=(len(middle) - 1) / (middle[-1] - middle[0]),
        cpu_s=cpu_s,
        load=others_s / wall_s,
    )


def prepare_adapter(system: str, scratch: Path) -> str:
    """The value of `--adapter` for a system; writes its file if it is one of ours."""
    if system not in ADAPTERS:
        return system
    file = scratch / f"{system}.py"
    file.write_text(ADAPTERS[system])
    return str(file)


def read_machine_s() -> float:
    """Processor seconds that this machine has used since it booted."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    return (sum(map(int, fields)) - int(fields[3]) - int(fields[4])) / TICKS


def run_and_poll(command: Sequence[str]) -> Counter[str]:
    """Run a command to its end; the processor seconds of it and its descendants, by kind."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seen: dict[int, tuple[str, float]] = {}
    while child.poll() is None:
        for pid, (kind, seconds) in list_processes(child.pid).items():
            # A zombie has no command line any more: keep the kind that was read before.
            seen[pid] = (kind or seen.get(pid, ("other", 0.0))[0], seconds)
        time.sleep(POLL_S)
    if child.returncode:
        errors = child.stderr.read().decode() if child.stderr is not None else ""
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{errors}")
    spent: Counter[str] = Counter()
    for kind, seconds in seen.values():
        spent[kind] += seconds  # type: ignore[assignment]
    return spent


def list_processes(root: int) -> dict[int, tuple[str, float]]:
    """A process and its descendants: the kind and the processor seconds so far of each."""
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
        pid: ("driver" if pid == root else find_kind(pid), seconds[pid])
        for pid in found
        if pid in seconds
    }


def find_kind(pid: int) -> str:
    """The kind of a descendant; empty if the process is about to end."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    if not command:
        return ""
    programs = ("default_worker", "worker_process", "worker_template")
    if command.startswith("ray::") or any(name in command for name in programs):
        return "workers"
    return "ray" if "ray" in command else "other"


def print_rows(name: str, rows: Sequence[tuple[str, RunMeasurement]]) -> None:
    """Print each run and its ratio to the first."""
    (_, base), *_ = rows
    print(f"{name}: {base.answers:,} answers")
    for label, run in rows:
        each_ms = {kind: 1000 * spent / run.answers for kind, spent in run.cpu_s.items()}
        cpu = ", ".join(f"{kind} {ms:.1f}" for kind, ms in sorted(each_ms.items()) if ms >= 0.05)
        print(
            f"  {label:<22}{run.wall_s:>8.1f} s in all{run.rate:>9.1f} answers/s"
            f"{run.until_first_s:>7.1f} s to the first"
            f"{base.wall_s / run.wall_s:>7.2f} x in all{run.rate / base.rate:>7.2f} x the rate"
            f"   load {run.load:.1f}; ms of processor an answer: {cpu}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("which", nargs="*", choices=["waiting", "burning", "hybrid", []])
    parser.add_argument("--repeats", type=int, help="How often each question is asked.")
    parser.add_argument(
        "--workers", type=int, default=16, help="Workers of the waiting system [16]."
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        for system in options.which or ("waiting", "burning", "hybrid"):
            if system == "waiting":
                workers = options.workers
                options_by_label = {"local": ""} | {
                    f"{executor}, {workers} workers": f"--executor {executor} --workers {workers}"
                    for executor in ("processes", "ray")
                }
            else:
                options_by_label = {
                    "local": "",
                    "processes, 2 workers": "--executor processes --workers 2",
                }
            repeats = options.repeats or (14 if system == "waiting" else 4)
            rows = [
                (label, measure_run(system, words.split(), repeats=repeats, scratch=scratch))
                for label, words in options_by_label.items()
            ]
            print_rows(system, rows)


if __name__ == "__main__":
    main()
