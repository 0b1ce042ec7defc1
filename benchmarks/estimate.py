"""What an estimate says before a run, beside what the run then takes.

    python benchmarks/estimate.py [FOLDER]

A memory that waits is measured on a few checkpoints of harbour-office, one question at a time;
the time of more checkpoints is estimated from that, with one question at a time and with four, and
then really taken. Runs are written to FOLDER, or to one that is removed afterwards.
"""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import anyio

import recall_bench
from recall_bench.core.settings import Settings
from recall_bench.running.forecast import dry_plan, estimate_run
from recall_bench.systems.python.system import build_python_system

FEED_S, ANSWER_S = 0.02, 0.05


class Waiting:
    """Takes its time, as a service does, and knows nothing."""

    name = "waiting"
    version = "1"
    max_concurrency = 8

    async def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Wait for a day to be taken in."""
        del day, content, metadata
        await anyio.sleep(FEED_S)

    async def query(self, question: object) -> str:
        """Wait, and say that there is nothing."""
        del question
        await anyio.sleep(ANSWER_S)
        return "There is no record of it."


def main(root: Path) -> None:
    """Measure, estimate, run, compare."""
    few, many = ("15d", "30d"), ("10d", "15d", "20d", "25d", "30d")
    recall_bench.run(adapter=Waiting, ranges=few, into=root / "earlier", heatmap_png=False)
    print(f"{'questions at a time':<22}{'estimated':>10}{'range':>16}{'taken':>10}{'ratio':>8}")
    for parallelism in (1, 4):
        settings = Settings(
            adapter="waiting", ranges=many, parallelism=parallelism, into=root / f"p{parallelism}"
        )
        with dry_plan(settings, own=build_python_system(Waiting, {})) as job:
            found = estimate_run(job, earlier=[root / "earlier"])
        hours = found.hours
        assert hours is not None
        assert hours.low is not None
        assert hours.high is not None
        said, low, high = (3600 * each for each in (hours.expected, hours.low, hours.high))
        started = perf_counter()
        recall_bench.run(
            adapter=Waiting,
            ranges=many,
            parallelism=parallelism,
            into=settings.into,
            heatmap_png=False,
        )
        took = perf_counter() - started
        print(
            f"{parallelism:<22}{said:>8.1f} s{low:>8.1f} to {high:<4.1f}{took:>8.1f} s"
            f"{said / took:>8.2f}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
