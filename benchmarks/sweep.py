"""What a sweep with the default memory costs: one persona of 1,000 days at 48 checkpoints.

    python benchmarks/sweep.py [--step DAYS] [--persona ID]

The whole command `recall-bench run --adapter hybrid` with the offline judge, isolation and every
result file, but no picture: processor time of the process and all it started, the largest of them,
and how many pairs of question and answer are distinct, because only those need judging. The
baseline, in the same minutes, is the same command with a memory that knows nothing and a judge that
does not read: what is left is asking, journal and result files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60.0


@dataclass(frozen=True)
class SweepCost:
    """What one command took."""

    seconds: float
    megabytes: float
    trials: int
    pairs: int


def sweep(persona: str, step: int, adapter: str, judge: str, into: Path) -> SweepCost:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "recall_bench", "run", "--personas", persona]
    command += ["--edition", "2", "--arcs", "arcs-1000d.yaml", "--ranges", f"every:{step}"]
    command += ["--adapter", adapter, "--judge", judge, "--groups-enabled", "--quiet"]
    command += ["--into", str(into), "--no-heatmap-png"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    trials, pairs = 0, set()
    with (into / "journal.jsonl").open("rb") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "answered":
                trials += 1
                pairs.add((event["trial"]["item"], event["answer"]["text"]))
    return SweepCost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, trials, len(pairs))


def main() -> None:
    """Print both sweeps and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--step", type=int, default=21)
    parser.add_argument("--persona", default="er-physician")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recall-bench-sweep-") as scratch:
        idle = sweep(options.persona, options.step, "none", "stub", Path(scratch, "idle"))
        whole = sweep(options.persona, options.step, "hybrid", "offline", Path(scratch, "whole"))
    print(
        f"none and stub: {idle.trials:,} trials, {idle.seconds:.1f} s of processor time, "
        f"{idle.megabytes:.0f} MB (baseline)"
    )
    print(
        f"hybrid and offline: {whole.trials:,} trials, {whole.pairs:,} distinct pairs of question "
        f"and answer, {whole.seconds:.1f} s, {whole.megabytes:.0f} MB; "
        f"{whole.seconds / idle.seconds:.1f} times the baseline; target {LIMIT_S:g} s"
    )


if __name__ == "__main__":
    main()
