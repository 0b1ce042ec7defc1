"""Processor time of a trial in a driver with many workers, and in one process.

    python benchmarks/driver.py [--trials N] [--workers N]

The built-in `none` answers at once and the judge `stub` says nothing, so what is left is the
harness. Both rows run the same plan of one persona, a memory for each checkpoint, without result
files. `driver` is the process that writes the journal, `workers` are all others, and `first` is
the wall time from the start to the first recorded answer. Then the same number of workers is started.
"""

import argparse
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from engine import Size, build
from recall_bench.core.event import Answered, Event
from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.assembly import assemble
from recall_bench.engine.executor import choose_runner
from recall_bench.engine.process_worker import start_process


@dataclass(frozen=True, kw_only=True)
class DriverCost:
    """Times of one run."""

    trials: int
    wall_s: float
    first_s: float
    driver_s: float
    workers_s: float

    @property
    def driver_ms(self) -> float:
        """Processor milliseconds of the driver for a trial."""
        return 1000 * self.driver_s / self.trials


def measure_run(data: Path, into: Path, workers: int | None) -> DriverCost:
    """Run the plan once, in this process or by workers of it."""
    settings = Settings(
        adapter="none",
        judge="stub",
        data=data,
        ranges=("every:7",),
        lifecycle=Lifecycle.FRESH,
        into=into,
        heatmap_png=False,
        skip_preflight=True,
        executor=Executor.LOCAL if workers is None else Executor.PROCESSES,
        workers=workers,
    )
    job = assemble(settings)
    answered: list[float] = []

    def observe(event: Event, _: TrialStates) -> None:
        if isinstance(event, Answered):
            answered.append(time.perf_counter())

    started, own, others = time.perf_counter(), time.process_time(), _count_children_s()
    anyio.run(job.run, observe, choose_runner(job))
    return DriverCost(
        trials=len(answered),
        wall_s=time.perf_counter() - started,
        first_s=answered[0] - started,
        driver_s=time.process_time() - own,
        workers_s=_count_children_s() - others,
    )


def measure_start(workers: int) -> float:
    """Processor seconds of starting this many workers."""

    async def start_all() -> None:
        async with anyio.create_task_group() as group:
            for number in range(workers):
                group.start_soon(start_and_close, number)

    async def start_and_close(number: int) -> None:
        await (await start_process(number)).close()

    before = _count_children_s()
    anyio.run(start_all)
    return _count_children_s() - before


def _count_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a row for one process and one for workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=12_000)
    parser.add_argument("--workers", type=int, default=16)
    options = parser.parse_args()
    size = Size("driver", 1, 350, 7, options.trials // 25, options.trials, 1, "")
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        build(size, scratch / "data")
        print(f"{'workers':>7} {'trials':>7} {'first':>7} {'driver':>14} {'workers':>14}")
        for workers in (None, options.workers):
            cost = measure_run(scratch / "data", scratch / f"run-{workers}", workers)
            print(
                f"{workers or 'local':>7} {cost.trials:>7,} {cost.first_s:>5.1f} s "
                f"{cost.driver_ms:>8.3f} ms each {1000 * cost.workers_s / cost.trials:>8.3f} ms each"
                f" {cost.wall_s:.1f} s",
                flush=True,
            )
    start_s = measure_start(options.workers)
    print(f"starting {options.workers} workers: {start_s:.1f} s of processor time")


if __name__ == "__main__":
    main()
