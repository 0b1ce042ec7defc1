"""What a report costs: six personas of 1,000 days, 143 checkpoints, about 50,000 trials.

    python benchmarks/report.py [RUN]

The run is made first, unless the folder of one is given: all shipped personas asked every seven
days, fifty older questions at a time, by the built-in `bm25`, with marks drawn by lot that fall
with corpus size, because what a judge takes is not the report's. Then the report is written as
`recall-bench report` writes it, in a process of its own: every view, the text, the page and the figures. The baseline, in the same minute, is reading the journal once
and decoding every line. `list` is measured too. All is processor time.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import recall_bench
from recall_bench.core.verdict import Exhibit
from recall_bench.features.personas.simulator.trades import load_trades

LIMIT_S, LIST_LIMIT_S = 8.0, 0.25


def judge(exhibit: Exhibit) -> dict[str, object]:
    """Marks by lot: the same for the same answer at the same size, and worse for a larger one."""
    name = f"{exhibit.scenario}\0{exhibit.item.id}\0{exhibit.days}"
    lot = int.from_bytes(sha256(name.encode()).digest()[:4], "big") / 2**32
    right = lot > 0.2 + exhibit.days / 2500
    return {
        "correctness": 3 if right else 1,
        "completeness": 2 if right else 0,
        "hallucination": 0 if lot < exhibit.days / 5000 else 1,
        "reasoning": "right by lot" if right else "wrong by lot",
    }


def make(folder: Path) -> None:
    """The run to report on."""
    finished = recall_bench.run(
        personas=load_trades(),
        arcs="arcs-1000d.yaml",
        edition=2,
        adapter="bm25",
        judge=f"{Path(__file__).resolve()}:judge",
        ranges=("every:7",),
        sample=50,
        groups_enabled=True,
        heatmap_png=False,
        into=folder,
    )
    assert finished.exit_code == 0, finished


def read(journal: Path) -> int:
    """The baseline: every line decoded, and forgotten."""
    with journal.open("rb") as lines:
        return sum(1 for line in lines if json.loads(line))


def measure(*arguments: str) -> float:
    """The processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "recall_bench", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Print all times, and their ratio to the baseline."""
    with tempfile.TemporaryDirectory(prefix="recall-bench-report-") as scratch:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch) / "run"
        if not run.exists():
            started = time.process_time()
            make(run)
            print(f"run made in {time.process_time() - started:.1f} s")
        started = time.process_time()
        events = read(run / "journal.jsonl")
        baseline = time.process_time() - started
        print(f"journal decoded once: {events:,} events, {baseline:.1f} s (baseline)")
        report = Path(scratch) / "report"
        took = measure("report", str(run), "--into", str(report))
        share = f"{took / baseline:.1f} times the baseline; target {LIMIT_S} s"
        print(f"report: {took:.1f} s, {share}")
        for path in report.iterdir():
            print(f"  {path.name}: {path.stat().st_size / 1e6:.1f} MB")
        listing = min(measure("list") for _ in range(5))
        print(f"list: {listing:.2f} s; target {LIST_LIMIT_S} s")


if __name__ == "__main__":
    main()
