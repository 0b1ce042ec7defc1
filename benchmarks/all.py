"""Every claim on cost in one table: figure, baseline, ratio, target, met or not.

    python benchmarks/all.py [CLAIM ...]

Each claim is a ratio of two figures of the same run on the same machine, in processor time or
bytes, so that it holds on a busy machine too. It is met if the ratio is at most the target.
The scripts named in the table measure more, and say how. Without arguments all claims are measured,
in less than 30 minutes of two processors; a CLAIM is the name of a script and chooses its claims.
The exit code is 1 if one is not met.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import driver
import growth
import isolation
import report
import sweep

import engine
import judging
import recall_bench

WORKERS = 16
PERSONA = "er-physician"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the table."""

    what: str
    figure: str
    baseline: str
    ratio: float
    target: float
    """The most that the ratio may be."""

    @property
    def is_met(self) -> bool:
        """Whether the ratio is at most the target."""
        return self.ratio <= self.target


def check_engine() -> Iterator[Claim]:
    """A run that keeps nothing in memory beside a harness that keeps everything."""
    (size,) = (each for each in engine.SIZES if each.name == "large")
    ours, plain = engine.measure_size(size)
    yield Claim(
        what=f"memory of a run of {size.trials:,} trials, beside a plain harness",
        figure=f"{ours.megabytes:.0f} MB",
        baseline=f"{plain.megabytes:.0f} MB",
        ratio=ours.megabytes / plain.megabytes,
        target=1.0,
    )


def check_growth() -> Iterator[Claim]:
    """Processor time that follows the trials, and memory that hardly does."""
    small, large = (growth.measure_growth(*size) for size in growth.SIZES[1:])
    times = large.trials / small.trials
    for what, unit, before, after, target in (
        ("processor time", "s", small.cost.cpu_s, large.cost.cpu_s, 1.1),
        ("memory", "MB", small.cost.megabytes, large.cost.megabytes, 0.5),
        ("bytes of journal", "bytes", small.journal_bytes, large.journal_bytes, 1.1),
    ):
        yield Claim(
            what=f"{what} of {times:.0f} times the trials, beside {times:.0f} times that of fewer",
            figure=f"{after:,.0f} {unit}",
            baseline=f"{times * before:,.0f} {unit}",
            ratio=after / (times * before),
            target=target,
        )


def check_driver() -> Iterator[Claim]:
    """A driver that only appends and counts, and workers that start at once."""
    trials = 12_000
    size = engine.Size("driver", 1, 350, 7, trials // 25, trials, 1, "")
    with tempfile.TemporaryDirectory() as place:
        data = Path(place, "data")
        engine.build(size, data)
        local = driver.measure_run(data, Path(place, "local"), None)
        spread = driver.measure_run(data, Path(place, "spread"), WORKERS)
    yield Claim(
        what=f"driver of {WORKERS} workers, a trial, beside one process that does it all",
        figure=f"{spread.driver_ms:.3f} ms",
        baseline=f"{local.driver_ms:.3f} ms",
        ratio=spread.driver_ms / local.driver_ms,
        target=0.75,
    )


def check_isolation() -> Iterator[Claim]:
    """What a user's adapter file costs: a process of its own, and a copy at each checkpoint."""
    least = isolation.measure_ways(repeats=3)
    for name, baseline, target in (("growing", "in-process", 1.3), ("forked", "growing", 1.3)):
        ours, others = least[name][0], least[baseline][0]
        yield Claim(
            what=f"an adapter that does nothing, {name}, beside {baseline}",
            figure=f"{ours:.1f} s",
            baseline=f"{others:.1f} s",
            ratio=ours / others,
            target=target,
        )


def check_judging() -> Iterator[Claim]:
    """Verdicts of the offline judge beside counting words, by kind of answer."""
    scenario = recall_bench.load_persona(PERSONA)
    items = [item for item in scenario.items if item.is_open(judging.DAYS)][::10]
    rates = judging.measure_kinds(scenario, items)
    baseline = rates.pop("word overlap (baseline)")
    for (kind, rate), target in zip(rates.items(), (50.0, 100.0, 20_000.0), strict=True):
        yield Claim(
            what=f"a verdict on an answer that is {kind}, beside word overlap",
            figure=f"{1e3 / rate:.2f} ms",
            baseline=f"{1e3 / baseline:.3f} ms",
            ratio=baseline / rate,
            target=target,
        )


def check_sweep() -> Iterator[Claim]:
    """A sweep with the default memory and judge, and a report on it.

    The target of the processor time is 60 s where none and stub take 10. Those of memory and
    report were set after a first measurement, which missed them.
    """
    with tempfile.TemporaryDirectory() as place:
        whole_folder = Path(place, "whole")
        idle = sweep.sweep(PERSONA, 21, "none", "stub", Path(place, "idle"))
        whole = sweep.sweep(PERSONA, 21, "hybrid", "offline", whole_folder)
        yield Claim(
            what=f"{whole.trials:,} trials of the default memory, beside none and stub",
            figure=f"{whole.seconds:.0f} s",
            baseline=f"{idle.seconds:.0f} s",
            ratio=whole.seconds / idle.seconds,
            target=6.0,
        )
        yield Claim(
            what="memory of the same",
            figure=f"{whole.megabytes:.0f} MB",
            baseline=f"{idle.megabytes:.0f} MB",
            ratio=whole.megabytes / idle.megabytes,
            target=3.0,
        )
        yield check_report(whole_folder, Path(place, "report"))


def check_report(run: Path, into: Path) -> Claim:
    """A report beside decoding every line of the journal once.

    The target is 8 s for 50,000 trials, whose journal takes about 2.6 s to decode.
    """
    started = time.process_time()
    report.read(run / "journal.jsonl")
    read_s = time.process_time() - started
    command = [sys.executable, "-m", "recall_bench", "report", str(run), "--into", str(into)]
    cost = engine.run_child(command)
    return Claim(
        what="a report of the same, beside decoding its journal once",
        figure=f"{cost.cpu_s:.1f} s",
        baseline=f"{read_s:.1f} s",
        ratio=cost.cpu_s / read_s,
        target=3.0,
    )


CHECKS = {
    "isolation": check_isolation,
    "driver": check_driver,
    "judging": check_judging,
    "growth": check_growth,
    "engine": check_engine,
    "sweep": check_sweep,
}


def main() -> int:
    """Print a row for each claim as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("claims", nargs="*", choices=[*CHECKS, []], metavar="CLAIM")
    chosen = parser.parse_args().claims or list(CHECKS)
    print("| claim | figure | baseline | ratio | target | met | script |")
    print("|---|--:|--:|--:|--:|---|---|")
    is_met = True
    for name in chosen:
        for claim in CHECKS[name]():
            is_met &= claim.is_met
            cells = (
                claim.what,
                claim.figure,
                claim.baseline,
                f"{claim.ratio:.2f}",
                f"≤ {claim.target:g}",
                "yes" if claim.is_met else "no",
                f"`{name}.py`",
            )
            print(f"| {' | '.join(cells)} |", flush=True)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
