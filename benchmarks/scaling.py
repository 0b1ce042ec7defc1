"""How long a whole sweep takes with 10 to 10,000 workers, and what it then waits for: simulated.

    python benchmarks/scaling.py [--answer S] [--feed S] [--judge S] [--max-calls N] ...
    python benchmarks/scaling.py --measure
    python benchmarks/scaling.py --validate

The plan is the real one: six shipped personas, a checkpoint a week, cut into work units by
`core/work_unit.py`. Workers take units as the executors hand them out, feed and ask, and tell the
driver, which takes one answer at a time, as it does, and hands out the next unit only when it has
heard of the end of the last. What a real run costs the driver, and starting a worker, is measured
on this machine with `--measure`; what a system and a judge take is stated. `--validate` predicts
small runs from such a measurement, carries them out, and prints both. Chance is seeded.
"""

import argparse
import heapq
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from executors import Took, carried_out
from msgspec import structs

from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.settings import Settings
from recall_bench.core.work_unit import WorkUnit, list_work_units, weigh_unit
from recall_bench.running.forecast import dry_plan

PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
CHUNK = 8
"""So many answers move together: the simulation has one event for them."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What things take, in seconds."""

    answer: float = 5.0
    """The system's, for one answer; drawn for each chunk, a quarter more or less."""
    feed: float = 1.0
    """The system's, for one day of the story."""
    judge: float = 2.0
    driver: float = 0.007
    """Processor time of the driver for one trial: its answer and its verdict, with all messages.

    As measured where each comes alone; much less where several come together.
    """
    start: float = 7.0
    """Until a worker is there,"""
    start_each: float = 0.0
    """and this much more for each, where they share few processors: then all come up together."""
    max_calls: int | None = None


@dataclass(frozen=True)
class Piece:
    """A shard: what it feeds and asks, and when a snapshot for it lies ready."""

    scenario: str
    days: int
    questions: int
    day: int
    """The day whose snapshot it needs; 0 if it feeds a memory of its own."""
    repeat: int = 0


@dataclass(frozen=True)
class Ran:
    """What a simulated run came to."""

    hours: float
    limits: str
    driver_busy: float


def plans(settings: Settings, lifecycles: Sequence[str]) -> Iterator[list[Piece]]:
    """The shards of a plan by each lifecycle, heaviest first, as the executors hand them out."""
    with dry_plan(settings) as job:
        owed = {
            card.id: plan_checkpoints(job.components.load(card.id).items, card.last_day, job.plan)
            for card in job.plan.scenarios
        }
        plan = job.plan
    for lifecycle in lifecycles:
        lived = structs.replace(plan, lifecycle=Lifecycle(lifecycle))
        found = [
            (weigh_unit(shard, owed[scenario], lived), piece_of(shard, owed[scenario], lived))
            for scenario in owed
            for shard in list_work_units(scenario, owed[scenario], lived, portable=True)
        ]
        yield [piece for _, piece in sorted(found, key=lambda each: -each[0])]


def piece_of(shard: WorkUnit, owed: Sequence[CheckpointPlan], plan: Plan) -> Piece:
    """What a shard feeds and asks."""
    if shard.checkpoint is None:
        asked = sum(len(sheet.asked) for sheet in owed) * plan.repeats
        return Piece(shard.scenario, max(sheet.cutoff for sheet in owed), asked, 0)
    (sheet,) = (each for each in owed if each.checkpoint.label == shard.checkpoint)
    is_copy = plan.lifecycle is Lifecycle.FORKED
    days, day = (0, sheet.cutoff) if is_copy else (sheet.cutoff, 0)
    return Piece(shard.scenario, days, len(sheet.asked), day, shard.repeat or 0)


def simulated(plan: Sequence[Piece], workers: int, costs: Costs, seed: int = 1) -> Ran:
    """Carry a plan out in thought."""
    chance = random.Random(seed)
    at_once = min(workers, costs.max_calls or workers)
    ready = {piece: costs.start + costs.feed * piece.day for piece in plan}
    # Copies come up as a memory is fed: who is ready first is asked first, else the heaviest.
    waiting = sorted(plan, key=lambda piece: ready[piece] if piece.day else 0.0)
    free = [costs.start + costs.start_each * workers] * at_once
    graders = list(free)
    heapq.heapify(free)
    heapq.heapify(graders)
    events: list[tuple[float, int, int, bool]] = []
    order = driver = driver_busy = last = 0.0
    begun = 0
    while begun < len(waiting) or events:
        if begun < len(waiting) and free:
            piece = waiting[begun]
            now = max(free[0], ready[piece] if piece.day else 0.0)
            if not events or now <= events[0][0]:
                heapq.heappop(free)
                begun += 1
                for at, count, is_last in told(piece, now, costs, chance):
                    order += 1
                    heapq.heappush(events, (at, int(order), count, is_last))
                continue
        at, _, count, is_last = heapq.heappop(events)
        driver = max(driver, at) + costs.driver * count
        driver_busy += costs.driver * count
        if is_last:
            heapq.heappush(free, driver)
        grader = max(heapq.heappop(graders), driver) + costs.judge * count
        heapq.heappush(graders, grader)
        last = max(last, grader if costs.judge else driver)
    return Ran(last / 3600, limit(plan, at_once, workers, costs), driver_busy / last)


def told(
    piece: Piece, now: float, costs: Costs, chance: random.Random
) -> Iterator[tuple[float, int, bool]]:
    """When a worker tells of how many answers, and which is the last it tells of a shard."""
    at = now + costs.feed * piece.days
    left = piece.questions
    while left:
        count = min(CHUNK, left)
        left -= count
        at += costs.answer * count * chance.uniform(0.75, 1.25)
        yield at, count, not left


def limit(plan: Sequence[Piece], at_once: int, workers: int, costs: Costs) -> str:
    """What no run of so many workers can be faster than: the slowest of these."""
    alone = {
        piece: costs.feed * (piece.days + piece.day) + costs.answer * piece.questions
        for piece in plan
    }
    asked = sum(piece.questions for piece in plan)
    work = sum(costs.feed * piece.days + costs.answer * piece.questions for piece in plan)
    waits = "the provider's limit" if at_once < workers else "the system"
    return max(
        (
            (work / at_once, waits),
            (max(alone.values()), "the longest shard"),
            (costs.driver * asked, "the driver"),
            (costs.start + costs.start_each * workers, "starting"),
        )
    )[1]


def table(costs: Costs, crews: Sequence[int], lifecycles: Sequence[str]) -> None:
    """Print a row for each number of workers."""
    settings = Settings(adapter="none", personas=PERSONAS, edition=1, ranges=("every:7",))
    for lifecycle, plan in zip(lifecycles, plans(settings, lifecycles), strict=True):
        asked = sum(piece.questions for piece in plan)
        alone = simulated(plan, 1, costs).hours
        print(
            f"\n{lifecycle}: {asked:,} questions in {len(plan):,} shards, the largest "
            f"{max(piece.questions for piece in plan):,}; {costs.answer:g} s an answer, "
            f"{costs.feed:g} s a day fed, {costs.judge:g} s a verdict, "
            f"{1000 * costs.driver:g} ms of driver a trial"
            + (f", --max-calls {costs.max_calls}" if costs.max_calls else "")
        )
        print("workers      hours  speed-up  efficiency  driver busy  waits for")
        print(f"{1:>7}{alone:>11,.1f}{1:>10.0f}{1:>12.0%}")
        for workers in crews:
            ran = simulated(plan, workers, costs)
            speed_up = alone / ran.hours
            print(
                f"{workers:>7,}{ran.hours:>11,.2f}{speed_up:>10,.0f}{speed_up / workers:>12.0%}"
                f"{ran.driver_busy:>13.0%}  {ran.limits}"
            )


JUDGE = '''
import asyncio


async def judge(exhibit):
    """Take its time, as a model does."""
    await asyncio.sleep(0.1)
    return {"correctness": 0, "completeness": 0, "hallucination": 1}
'''


def alone(scratch: Path) -> float:
    """Milliseconds of the driver for a trial whose answer and verdict each come by themselves."""
    judge = scratch / "judge.py"
    judge.write_text(JUDGE)
    spread = ("--executor", "ray", "--workers", "8", "--judge", str(judge))
    small, large = (
        carried_out("slow", spread, repeats=repeats, scratch=scratch) for repeats in (1, 3)
    )
    trials = large.answers - small.answers
    return round(1000 * (large.cpu_s["driver"] - small.cpu_s["driver"]) / trials, 2)


def measured(scratch: Path) -> dict[str, float]:
    """What a trial costs driver, workers and Ray here, and what starting takes.

    `driver_ms` is for a fast system, of whose answers several come in one message.
    """
    small, large = (_waited(scratch, 8, repeats) for repeats in (1, 4))
    few = _waited(scratch, 2, 1)
    trials = large.answers - small.answers
    each = (small.until_first_s - few.until_first_s) / 6
    return {
        f"{kind}_ms": round(1000 * (large.cpu_s[kind] - small.cpu_s[kind]) / trials, 2)
        for kind in ("driver", "workers", "ray")
    } | {
        "start_s": round(few.until_first_s - 2 * each, 1),
        "start_each_s": round(each, 2),
        "wait_s": round(8 / large.rate, 4),
        "ending_s": round(few.wall_s - few.until_last_s, 1),
        "load": round(max(small.load, large.load, few.load), 1),
    }


def _waited(scratch: Path, workers: int, repeats: int) -> Took:
    spread = ("--executor", "ray", "--workers", str(workers))
    return carried_out("waiting", spread, repeats=repeats, scratch=scratch)


def validated(found: dict[str, float], scratch: Path) -> None:
    """Predict small runs of the waiting system from a measurement, and carry them out."""
    settings = Settings(adapter="none", ranges=("every:1",), repeats=2)
    (plan,) = plans(settings, ["fresh"])
    costs = Costs(answer=found["wait_s"], feed=0, judge=0, driver=found["driver_ms"] / 1000)
    print("workers   predicted   measured   ratio   load")
    for workers in (1, 4, 16):
        mine = replace(costs, start=found["start_s"], start_each=found["start_each_s"])
        predicted = 3600 * simulated(plan, workers, mine).hours + found["ending_s"]
        took = _waited(scratch, workers, 2)
        print(
            f"{workers:>7}{predicted:>10.1f} s{took.wall_s:>9.1f} s{predicted / took.wall_s:>8.2f}"
            f"{took.load:>7.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in ("answer", "feed", "judge", "driver", "start"):
        help_text = f"seconds [{getattr(Costs, name):g}]"
        parser.add_argument(f"--{name}", type=float, default=getattr(Costs, name), help=help_text)
    parser.add_argument("--max-calls", type=int)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 10_000])
    parser.add_argument("--lifecycle", nargs="+", default=["fresh", "forked", "growing"])
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args()
    if options.measure or options.validate:
        with tempfile.TemporaryDirectory() as place:
            found = measured(Path(place))
            if options.measure:
                found["driver_alone_ms"] = alone(Path(place))
            json.dump(found, sys.stdout)
            print(flush=True)
            if options.validate:
                validated(found, Path(place))
        return
    costs = Costs(
        **{name: getattr(options, name) for name in ("answer", "feed", "judge", "driver", "start")},
        max_calls=options.max_calls,
    )
    table(costs, options.workers, options.lifecycle)


if __name__ == "__main__":
    main()
