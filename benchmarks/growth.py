"""How the cost of a run grows: processor time, memory and bytes of journal, to 3 million trials.

    python benchmarks/growth.py [DAYS:CHECKPOINTS:TRIALS ...]
    python benchmarks/growth.py --full

Each size is the whole command `recall-bench run --adapter none --judge stub` on one persona made
for it, as in `engine.py`, every result file included. The baseline of each row is the row before
it: the exponent says how its cost follows the number of trials, 1.00 is linear and 0 is flat.
`--full` goes on to 10,000 days, 1,000 checkpoints and 3,000,000 trials. The last lines extrapolate
the last two rows to 3 and 30 million trials.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import ChildCost, Size, build, run_child
from recall_bench.core.trial_states import MAX_TRIALS

SIZES = ((500, 50, 7_500), (1_000, 100, 30_000), (2_000, 200, 120_000))
FULL = ((5_000, 500, 750_000), (10_000, 1_000, 3_000_000))


@dataclass(frozen=True, kw_only=True)
class Growth:
    """One size and what it took."""

    days: int
    checkpoints: int
    trials: int
    cost: ChildCost
    journal_bytes: int


def measure_growth(days: int, checkpoints: int, trials: int) -> Growth:
    """Run the command on a persona of this size."""
    questions = math.ceil(2 * trials / (checkpoints + 1))
    size = Size("growth", 1, days, days // checkpoints, questions, trials, 1, "")
    with tempfile.TemporaryDirectory() as scratch:
        data, run = Path(scratch, "data"), Path(scratch, "run")
        build(size, data)
        command = [sys.executable, "-m", "recall_bench", "run", "--adapter", "none"]
        command += ["--judge", "stub", "--data", str(data), "--ranges", f"every:{size.step}"]
        cost = run_child([*command, "--into", str(run), "--no-heatmap-png", "--no-page"])
        journal = (run / "journal.jsonl").stat().st_size
    return Growth(
        days=days, checkpoints=checkpoints, trials=trials, cost=cost, journal_bytes=journal
    )


def compute_exponent(before: float, after: float, times: float) -> float:
    """How a cost follows the trials: it grew by `times` to this power."""
    return math.log(after / before) / math.log(times)


def print_rows(sizes: Sequence[tuple[int, int, int]]) -> list[Growth]:
    """Print a row for each size."""
    print(
        f"{'days':>7} {'points':>6} {'trials':>9} {'processor':>16} {'^':>5} "
        f"{'memory':>8} {'^':>5} {'journal':>13}"
    )
    rows: list[Growth] = []
    for size in sizes:
        row = measure_growth(*size)
        powers = ["", ""]
        if rows:
            last, times = rows[-1], row.trials / rows[-1].trials
            powers = [
                f"{compute_exponent(old, new, times):.2f}"
                for old, new in (
                    (last.cost.cpu_s, row.cost.cpu_s),
                    (last.cost.megabytes, row.cost.megabytes),
                )
            ]
        rows.append(row)
        print(
            f"{row.days:>7,} {row.checkpoints:>6,} {row.trials:>9,} {row.cost.cpu_s:>7.1f} s "
            f"{1000 * row.cost.cpu_s / row.trials:>4.2f} ms {powers[0]:>4} "
            f"{row.cost.megabytes:>5.0f} MB {powers[1]:>5} "
            f"{row.journal_bytes / row.trials:>7.0f} bytes",
            flush=True,
        )
    return rows


def print_outlook(rows: Sequence[Growth]) -> None:
    """Print what larger runs would need, if what the last two rows added is added again."""
    if len(rows) < 2:
        return
    before, last = rows[-2:]
    added = last.trials - before.trials
    for trials in (3_000_000, 30_000_000):
        more = (trials - last.trials) / added
        cpu_s = last.cost.cpu_s + more * (last.cost.cpu_s - before.cost.cpu_s)
        megabytes = last.cost.megabytes + more * (last.cost.megabytes - before.cost.megabytes)
        disk = trials * last.journal_bytes / last.trials / 1e9
        print(
            f"{trials:,} trials: about {cpu_s / 60:,.0f} minutes of one processor, "
            f"{megabytes:,.0f} MB of memory, {disk:,.1f} GB of journal"
        )
    print(f"One plan may owe {MAX_TRIALS:,} trials; more take several runs.")


def _parse_size(text: str) -> tuple[int, int, int]:
    days, checkpoints, trials = map(int, text.split(":"))
    if days % checkpoints:
        raise argparse.ArgumentTypeError("the days must be a multiple of the checkpoints")
    return days, checkpoints, trials


def main() -> None:
    """Print the rows, and what comes after them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sizes", nargs="*", type=_parse_size, metavar="DAYS:CHECKPOINTS:TRIALS")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    sizes = tuple(options.sizes) or (SIZES + FULL if options.full else SIZES)
    print_outlook(print_rows(sizes))


if __name__ == "__main__":
    main()
