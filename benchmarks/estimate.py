"""Compare the estimated time of a run with the measured one.

    python benchmarks/estimate.py [FOLDER]

A memory that sleeps is measured at two checkpoints of harbour-office, one question at a time. From
that run the time of five checkpoints is estimated, with one question at a time and with four, and
then measured. Runs are written to FOLDER, or to one that is removed afterwards.
"""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import anyio

import recall_bench
from recall_bench.core.settings import Settings
from recall_bench.engine.forecast import dry_plan, estimate_run
from recall_bench.systems.python.system import build_python_system

FEED_S, ANSWER_S = 0.02, 0.05
PERSONAS = ("harbour-office",)


class SleepingAdapter:
    """Sleeps before each reply, like a remote service, and knows nothing."""

    name = "waiting"
    version = "1"
    max_concurrency = 8

    async def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Sleep, and store nothing."""
        del day, content, metadata
        await anyio.sleep(FEED_S)

    async def query(self, question: object) -> str:
        """Sleep, and answer that there is no record."""
        del question
        await anyio.sleep(ANSWER_S)
        return "There is no record of it."


def main(root: Path) -> None:
    """Measure, estimate, run, compare."""
    few, many = ("15d", "30d"), ("10d", "15d", "20d", "25d", "30d")
    recall_bench.run(
        adapter=SleepingAdapter,
        personas=PERSONAS,
        ranges=few,
        into=root / "earlier",
        heatmap_png=False,
    )
    print(f"{'questions at a time':<22}{'estimated':>10}{'measured':>10}{'ratio':>8}")
    for parallelism in (1, 4):
        settings = Settings(
            adapter="waiting",
            personas=PERSONAS,
            ranges=many,
            parallelism=parallelism,
            into=root / f"p{parallelism}",
        )
        with dry_plan(settings, own=build_python_system(SleepingAdapter, {})) as job:
            found = estimate_run(job, earlier=[root / "earlier"])
        hours = found.hours
        assert hours is not None
        expected = 3600 * hours.expected
        started = perf_counter()
        recall_bench.run(
            adapter=SleepingAdapter,
            personas=PERSONAS,
            ranges=many,
            parallelism=parallelism,
            into=settings.into,
            heatmap_png=False,
        )
        took = perf_counter() - started
        print(f"{parallelism:<22}{expected:>8.1f} s{took:>8.1f} s{expected / took:>8.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
