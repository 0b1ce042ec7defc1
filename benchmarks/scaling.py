"""Simulate how long a whole sweep takes with 10 to 10,000 workers, and what limits it.

    python benchmarks/scaling.py [--answer S] [--feed S] [--judge S] [--copies N] ...
    python benchmarks/scaling.py --measure
    python benchmarks/scaling.py --validate

The plan is real: six shipped personas of 1,000 days, a checkpoint a week, split into work units by
`core/work_unit.py`. Workers take units in the order of the executors, feed, ask and report to the
driver. The driver handles one answer at a time, and hands out the next unit after the last report
of the one before. `--measure` measures on this machine what a run costs the driver and what
starting a worker takes; what a system and a judge take are options. `--validate` predicts small
runs of harbour-office from such a measurement, runs them, and prints both. Random numbers are
seeded.
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

from executors import PERSONA, RunMeasurement, measure_run
from msgspec import structs

from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.settings import Settings
from recall_bench.core.work_unit import WorkUnit, list_asked, list_work_units, weigh_unit
from recall_bench.engine.forecast import dry_plan

PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
CHUNK = 8
"""Answers that share one event of the simulation."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Durations of the parts of a run, in seconds."""

    answer: float = 5.0
    """The system's time for one answer; drawn for each chunk, up to a quarter more or less."""
    feed: float = 1.0
    """The system's time for one day of the story."""
    judge: float = 2.0
    driver: float = 0.007
    """Processor time of the driver for one trial: its answer and its verdict, with all messages.

    Measured with one event a message; much less where a message holds several.
    """
    start: float = 7.0
    """Until a worker has started."""
    start_each: float = 0.0
    """Added for each worker, where they share few processors: then all start together."""
    max_calls: int | None = None


@dataclass(frozen=True)
class SimulatedUnit:
    """A work unit: what it feeds and asks, and which snapshot it needs."""

    scenario: str
    days: int
    questions: int
    day: int
    """The day whose snapshot it needs; 0 if it feeds a memory of its own."""
    repeat: int = 0
    copy: int = 0


@dataclass(frozen=True)
class SimulatedRun:
    """The result of a simulated run."""

    hours: float
    limit: str
    driver_busy: float


def plan_units(
    settings: Settings, lifecycles: Sequence[str], copies: int = 1
) -> Iterator[list[SimulatedUnit]]:
    """The work units of a plan by each lifecycle, heaviest first, as the executors do.

    Only a forked memory has copies.
    """
    with dry_plan(settings) as job:
        schedules = {
            card.id: plan_checkpoints(job.components.load(card.id).items, card.last_day, job.plan)
            for card in job.plan.scenarios
        }
        plan = job.plan
    for lifecycle in lifecycles:
        is_copied = lifecycle == Lifecycle.FORKED
        variant = structs.replace(
            plan, lifecycle=Lifecycle(lifecycle), copies=copies if is_copied else 1
        )
        weighed = [
            (weigh_unit(unit, schedule, variant), build_unit(unit, schedule, variant))
            for scenario, schedule in schedules.items()
            for unit in list_work_units(scenario, schedule, variant, portable=True)
        ]
        yield [unit for _, unit in sorted(weighed, key=lambda each: -each[0])]


def build_unit(unit: WorkUnit, schedule: Sequence[CheckpointPlan], plan: Plan) -> SimulatedUnit:
    """What a work unit feeds and asks."""
    if unit.checkpoint is None:
        questions = sum(len(each.asked) for each in schedule) * plan.repeats
        return SimulatedUnit(unit.scenario, max(each.cutoff for each in schedule), questions, 0)
    (checkpoint,) = (each for each in schedule if each.checkpoint.label == unit.checkpoint)
    is_copy = plan.lifecycle is Lifecycle.FORKED
    days, day = (0, checkpoint.cutoff) if is_copy else (checkpoint.cutoff, 0)
    asked = len(list_asked(unit, checkpoint, plan))
    return SimulatedUnit(unit.scenario, days, asked, day, unit.repeat or 0, unit.copy or 0)


def simulate_run(
    plan: Sequence[SimulatedUnit], workers: int, costs: Costs, seed: int = 1
) -> SimulatedRun:
    """Simulate a run of a plan."""
    chance = random.Random(seed)
    at_once = min(workers, costs.max_calls or workers)
    ready = {unit: costs.start + costs.feed * unit.day for unit in plan}
    # Snapshots appear while a memory is fed: units go out in that order, else heaviest first.
    waiting = sorted(plan, key=lambda unit: ready[unit] if unit.day else 0.0)
    free = [costs.start + costs.start_each * workers] * at_once
    graders = list(free)
    heapq.heapify(free)
    heapq.heapify(graders)
    events: list[tuple[float, int, int, bool]] = []
    order = driver = driver_busy = last = 0.0
    begun = 0
    while begun < len(waiting) or events:
        if begun < len(waiting) and free:
            unit = waiting[begun]
            now = max(free[0], ready[unit] if unit.day else 0.0)
            if not events or now <= events[0][0]:
                heapq.heappop(free)
                begun += 1
                for at, count, is_last in simulate_unit(unit, now, costs, chance):
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
    return SimulatedRun(last / 3600, find_limit(plan, at_once, workers, costs), driver_busy / last)


def simulate_unit(
    unit: SimulatedUnit, now: float, costs: Costs, chance: random.Random
) -> Iterator[tuple[float, int, bool]]:
    """The reports of a worker on a unit: time, number of answers, whether it is the last."""
    at = now + costs.feed * unit.days
    left = unit.questions
    while left:
        count = min(CHUNK, left)
        left -= count
        at += costs.answer * count * chance.uniform(0.75, 1.25)
        yield at, count, not left


def find_limit(plan: Sequence[SimulatedUnit], at_once: int, workers: int, costs: Costs) -> str:
    """What bounds the time of a run with this many workers: the slowest of these parts."""
    alone = {
        unit: costs.feed * (unit.days + unit.day) + costs.answer * unit.questions for unit in plan
    }
    questions = sum(unit.questions for unit in plan)
    work = sum(costs.feed * unit.days + costs.answer * unit.questions for unit in plan)
    calls = "the provider's limit" if at_once < workers else "the system"
    return max(
        (
            (work / at_once, calls),
            (max(alone.values()), "the longest unit"),
            (costs.driver * questions, "the driver"),
            (costs.start + costs.start_each * workers, "starting"),
        )
    )[1]


def print_tables(
    costs: Costs, worker_counts: Sequence[int], lifecycles: Sequence[str], copies: int
) -> None:
    """Print a table for each lifecycle, a row for each number of workers."""
    settings = Settings(
        adapter="none", personas=PERSONAS, arcs="arcs-1000d.yaml", edition=2, ranges=("every:7",)
    )
    plans = plan_units(settings, lifecycles, copies)
    for lifecycle, plan in zip(lifecycles, plans, strict=True):
        questions = sum(unit.questions for unit in plan)
        alone = simulate_run(plan, 1, costs).hours
        print(
            f"\n{lifecycle}: {questions:,} questions in {len(plan):,} work units, the largest "
            f"{max(unit.questions for unit in plan):,}; {costs.answer:g} s an answer, "
            f"{costs.feed:g} s a day fed, {costs.judge:g} s a verdict, "
            f"{1000 * costs.driver:g} ms of driver a trial"
            + (f", --max-calls {costs.max_calls}" if costs.max_calls else "")
        )
        print("workers      hours  speed-up  efficiency  driver busy  limited by")
        print(f"{1:>7}{alone:>11,.1f}{1:>10.0f}{1:>12.0%}")
        for workers in worker_counts:
            run = simulate_run(plan, workers, costs)
            speed_up = alone / run.hours
            print(
                f"{workers:>7,}{run.hours:>11,.2f}{speed_up:>10,.0f}{speed_up / workers:>12.0%}"
                f"{run.driver_busy:>13.0%}  {run.limit}"
            )


JUDGE = '''
import asyncio


async def judge(exhibit):
    """Sleep, like a call of a model."""
    await asyncio.sleep(0.1)
    return {"correctness": 0, "completeness": 0, "hallucination": 1}
'''


def measure_single_messages(scratch: Path) -> float:
    """Milliseconds of the driver for a trial whose answer and verdict are a message each."""
    judge = scratch / "judge.py"
    judge.write_text(JUDGE)
    options = ("--executor", "ray", "--workers", "8", "--judge", str(judge))
    small, large = (
        measure_run("slow", options, repeats=repeats, scratch=scratch) for repeats in (1, 3)
    )
    trials = large.answers - small.answers
    return round(1000 * (large.cpu_s["driver"] - small.cpu_s["driver"]) / trials, 2)


def measure_costs(scratch: Path) -> dict[str, float]:
    """What a trial costs driver, workers and Ray here, and how long starting takes.

    `driver_ms` is for a fast system, where a message holds several answers.
    """
    small, large = (_measure_waiting(scratch, 8, repeats) for repeats in (1, 4))
    few = _measure_waiting(scratch, 2, 1)
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


def _measure_waiting(scratch: Path, workers: int, repeats: int) -> RunMeasurement:
    options = ("--executor", "ray", "--workers", str(workers))
    return measure_run("waiting", options, repeats=repeats, scratch=scratch)


def validate(found: dict[str, float], scratch: Path) -> None:
    """Predict small runs of the waiting system from a measurement, and measure them."""
    settings = Settings(adapter="none", personas=(PERSONA,), ranges=("every:1",), repeats=2)
    (plan,) = plan_units(settings, ["fresh"])
    costs = Costs(answer=found["wait_s"], feed=0, judge=0, driver=found["driver_ms"] / 1000)
    print("workers   predicted   measured   ratio   load")
    for workers in (1, 4, 16):
        own = replace(costs, start=found["start_s"], start_each=found["start_each_s"])
        predicted = 3600 * simulate_run(plan, workers, own).hours + found["ending_s"]
        run = _measure_waiting(scratch, workers, 2)
        print(
            f"{workers:>7}{predicted:>10.1f} s{run.wall_s:>9.1f} s{predicted / run.wall_s:>8.2f}"
            f"{run.load:>7.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in ("answer", "feed", "judge", "driver", "start"):
        help_text = f"seconds [{getattr(Costs, name):g}]"
        parser.add_argument(f"--{name}", type=float, default=getattr(Costs, name), help=help_text)
    parser.add_argument("--max-calls", type=int)
    parser.add_argument("--copies", type=int, default=1, help="of a forked memory [1]")
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 10_000])
    parser.add_argument("--lifecycle", nargs="+", default=["fresh", "forked", "growing"])
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args()
    if options.measure or options.validate:
        with tempfile.TemporaryDirectory() as place:
            found = measure_costs(Path(place))
            if options.measure:
                found["driver_alone_ms"] = measure_single_messages(Path(place))
            json.dump(found, sys.stdout)
            print(flush=True)
            if options.validate:
                validate(found, Path(place))
        return
    costs = Costs(
        **{name: getattr(options, name) for name in ("answer", "feed", "judge", "driver", "start")},
        max_calls=options.max_calls,
    )
    print_tables(costs, options.workers, options.lifecycle, options.copies)


if __name__ == "__main__":
    main()
