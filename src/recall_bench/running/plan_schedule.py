"""The work of a plan and a simulation of how long it takes on a number of workers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from statistics import fmean

from recall_bench.core.event import Declared
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.work_unit import WorkUnit, is_divisible, list_asked, list_work_units
from recall_bench.running.measured_runs import ASK, FEED, JUDGE, READ, SETTLE, MeasuredRun
from recall_bench.running.step_timings import StepPace, make_fixed_pace


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioWork:
    """One scenario with the checkpoints at which anything is asked."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...]
    """The days that exist."""
    points: tuple[CheckpointPlan, ...]
    """In story order, without those that ask nothing."""

    def list_days(self, after: int, until: int) -> tuple[int, ...]:
        """The days after `after`, up to and including `until`."""
        return tuple(day for day in self.days if after < day <= until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The number of calls, all scenarios together."""

    trials: int
    questions: int
    """Different questions, however often each is asked."""
    ingests: int
    settles: int


def list_scenario_work(plan: Plan, declared: Mapping[str, Declared]) -> tuple[ScenarioWork, ...]:
    """Every scenario of the plan with what it owes."""
    return tuple(
        ScenarioWork(
            scenario=card.id,
            items=declared[card.id].items,
            days=declared[card.id].days,
            points=tuple(
                point
                for point in plan_checkpoints(declared[card.id].items, card.last_day, plan)
                if point.asked
            ),
        )
        for card in plan.scenarios
    )


def compute_workload(stories: tuple[ScenarioWork, ...], plan: Plan) -> Workload:
    """Count the calls of all scenarios, by the plan's lifecycle."""
    asked = [(story.scenario, point.asked) for story in stories for point in story.points]
    memories = [life for story in stories for life in list_memories(story, plan)]
    return Workload(
        trials=plan.repeats * sum(len(each) for _, each in asked),
        questions=len({(scenario, item) for scenario, each in asked for item in each}),
        ingests=sum(len(days) for days, _ in memories),
        settles=sum(settles for _, settles in memories),
    )


def list_memories(story: ScenarioWork, plan: Plan) -> Iterator[tuple[tuple[int, ...], int]]:
    """The days that each memory of a scenario ingests, and how often it settles.

    `fresh` opens a memory for every checkpoint and repeat; the others ingest the story once.
    `growing` settles before each repeat, `forked` once a checkpoint, before it is copied.
    """
    if not story.points:
        return
    if plan.lifecycle is Lifecycle.FRESH:
        for point in story.points:
            for _ in range(plan.repeats):
                yield story.list_days(0, point.cutoff), 1
        return
    times = plan.repeats if plan.lifecycle is Lifecycle.GROWING else 1
    yield story.list_days(0, story.points[-1].cutoff), times * len(story.points)


NOTHING = StepPace(base_s=0.0)

ABOUT = 1.005
"""Durations within half a per cent of each other count as equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPaces:
    """The pace of each step."""

    feed: StepPace = NOTHING
    settle: StepPace = NOTHING
    ask: StepPace = NOTHING
    read: StepPace = NOTHING
    judge: StepPace = NOTHING
    rest: StepPace = NOTHING
    """The rest of a trial, such as tracing and writing; not concurrent with anything."""
    opening: StepPace = NOTHING
    """Loading a scenario and opening a memory, once for each worker that needs it."""
    start: StepPace = NOTHING
    """Starting a worker, once for each."""

    @property
    def fast(self) -> "StepPaces":
        """Every step at its fast tenth."""
        return StepPaces(
            feed=self.feed.fast,
            settle=self.settle.fast,
            ask=self.ask.fast,
            read=self.read.fast,
            judge=self.judge.fast,
            rest=self.rest,
            opening=self.opening,
            start=self.start,
        )

    @property
    def slow(self) -> "StepPaces":
        """Every step at its slow tenth."""
        return StepPaces(
            feed=self.feed.slow,
            settle=self.settle.slow,
            ask=self.ask.slow,
            read=self.read.slow,
            judge=self.judge.slow,
            rest=self.rest,
            opening=self.opening,
            start=self.start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A shard with its duration, or the feeding that several shards wait for."""

    name: str
    seconds: float
    calls_s: float
    """Seconds of its calls one after another, which a limit on concurrent calls counts."""
    after: str | None = None
    """The feeding task that it waits for."""
    offset_s: float = 0.0
    """Seconds from the start of that task until it can start."""
    scenario: str = ""
    opening_s: float = 0.0
    """Extra seconds on a worker that has not opened the scenario yet."""
    start_s: float = 0.0
    """Extra seconds if it is the first task of its worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionModel:
    """How a worker executes a shard."""

    plan: Plan
    paces: StepPaces
    parallelism: int = 1
    portable: bool = False
    """Whether a memory can be copied to other workers, so that they can share a scenario."""

    @property
    def concurrency(self) -> int:
        """The questions that a memory has concurrently: one, if it computes."""
        card = self.plan.system
        return 1 if card.computes else min(self.parallelism, card.max_concurrency)


def list_tasks(story: ScenarioWork, model: ExecutionModel) -> Iterator[PlannedTask]:
    """The tasks of one scenario."""
    opening, start = model.paces.opening.estimate_at(0), model.paces.start.estimate_at(0)
    for task in _list_tasks(story, model):
        yield replace(task, scenario=story.scenario, opening_s=opening, start_s=start)


def _list_tasks(story: ScenarioWork, model: ExecutionModel) -> Iterator[PlannedTask]:
    plan = model.plan
    shards = list_work_units(story.scenario, story.points, plan, portable=model.portable)
    if not shards:
        return
    if not is_divisible(plan, portable=model.portable):
        yield _make_whole_task(story, model, shards[0])
        return
    at = {point.checkpoint.label: point for point in story.points}
    if plan.lifecycle is Lifecycle.FRESH:
        for shard in shards:
            yield _make_fresh_task(story, model, shard, at[str(shard.checkpoint)])
        return
    yield from _list_forked_tasks(story, model, shards)


def _make_fresh_task(
    story: ScenarioWork, model: ExecutionModel, shard: WorkUnit, point: CheckpointPlan
) -> PlannedTask:
    feeding = _estimate_feeding(story, model, 0, point)
    asking, judging, calls = _estimate_asking(model, point)
    return PlannedTask(
        name=str(shard), seconds=feeding + max(asking, judging), calls_s=feeding + calls
    )


def _list_forked_tasks(
    story: ScenarioWork, model: ExecutionModel, shards: Sequence[WorkUnit]
) -> Iterator[PlannedTask]:
    """One worker feeds and saves; the shard of a checkpoint can begin once that is saved."""
    saved: dict[str, float] = {}
    fed, clock = 0, 0.0
    for point in story.points:
        clock += _estimate_feeding(story, model, fed, point)
        fed = point.cutoff
        saved[point.checkpoint.label] = clock
    name = f"{story.scenario} (feeding)"
    yield PlannedTask(name=name, seconds=clock, calls_s=clock)
    at = {point.checkpoint.label: point for point in story.points}
    for shard in shards:
        label = str(shard.checkpoint)
        point = at[label]
        part = replace(point, asked=list_asked(shard, point, model.plan))
        asking, judging, calls = _estimate_asking(model, part)
        yield PlannedTask(
            name=str(shard),
            seconds=max(asking, judging),
            calls_s=calls,
            after=name,
            offset_s=saved[label],
        )


def _make_whole_task(story: ScenarioWork, model: ExecutionModel, shard: WorkUnit) -> PlannedTask:
    """Make the task of a scenario that stays on one worker; verdicts run beside the asking."""
    plan, points = model.plan, story.points
    starts = [0, *(point.cutoff for point in points)]
    feeding = [
        _estimate_feeding(story, model, fed, point)
        for fed, point in zip(starts, points, strict=False)
    ]
    # A memory that computes cannot be asked and fed at once, in one process.
    overlaps = plan.lifecycle is Lifecycle.FORKED and not plan.system.computes
    clock, judged, calls = 0.0, 0.0, 0.0
    for place, point in enumerate(points):
        if place == 0 or not overlaps:
            clock += feeding[place]
        asking, judging, called = _estimate_asking(model, point)
        asking, judging = plan.repeats * asking, plan.repeats * judging
        calls += feeding[place] + plan.repeats * called
        judged = max(max(judged, clock) + judging, clock + asking)
        ahead = feeding[place + 1] if overlaps and place + 1 < len(points) else 0.0
        clock += max(asking, ahead)
    return PlannedTask(name=str(shard), seconds=max(clock, judged), calls_s=calls)


def _estimate_feeding(
    story: ScenarioWork, model: ExecutionModel, fed: int, point: CheckpointPlan
) -> float:
    paces = model.paces
    days = story.list_days(fed, point.cutoff)
    return sum(map(paces.feed.estimate_at, days)) + paces.settle.estimate_at(point.cutoff)


def _estimate_asking(model: ExecutionModel, point: CheckpointPlan) -> tuple[float, float, float]:
    """Seconds of answering at a checkpoint, of judging beside it, and of all calls."""
    paces, day, asked = model.paces, point.cutoff, len(point.asked)
    answer_s, verdict_s = (
        paces.ask.estimate_at(day) + paces.read.estimate_at(day),
        paces.judge.estimate_at(day),
    )
    asking = answer_s * max(1.0, asked / model.concurrency) + asked * paces.rest.estimate_at(day)
    if model.plan.judge.computes:
        # The judge computes while a system waits, but not while another computation runs.
        takes_turns = model.plan.system.computes
        return (
            asking + asked * verdict_s if takes_turns else asking,
            0.0 if takes_turns else asked * verdict_s,
            asked * answer_s,
        )
    judging = verdict_s * max(1.0, asked / model.parallelism)
    return asking, judging, asked * (answer_s + verdict_s)


def compute_makespan(
    tasks: Sequence[PlannedTask], workers: int, *, max_calls: int | None = None
) -> float:
    """Compute the seconds until the last task is done: a free worker takes the longest task.

    With a limit on concurrent calls, it is at least the time that all calls take under the limit.
    """
    longest: dict[str, float] = {}
    held: dict[str, list[PlannedTask]] = {}
    for task in tasks:
        if task.after is not None:
            longest[task.after] = max(longest.get(task.after, 0.0), task.offset_s + task.seconds)
            held.setdefault(task.after, []).append(task)
    ready = [
        (-max(task.seconds, longest.get(task.name, 0.0)), task.name, task)
        for task in tasks
        if task.after is None
    ]
    heapify(ready)
    ended = _simulate(ready, held, min(workers, max(len(tasks), 1)))
    if max_calls is None:
        return ended
    return max(ended, sum(task.calls_s for task in tasks) / max_calls)


@dataclass(order=True, slots=True)
class _SimulatedWorker:
    """A worker, ordered by the time it is free."""

    free: float
    number: int
    opened: set[str] = field(default_factory=set, compare=False)

    def prepare(self, task: PlannedTask) -> float:
        """The seconds before the task can start; the scenario is open from now on."""
        start = 0.0 if self.opened else task.start_s
        opening = 0.0 if task.scenario in self.opened else task.opening_s
        self.opened.add(task.scenario)
        return start + opening


def _simulate(
    ready: list[tuple[float, str, PlannedTask]], held: dict[str, list[PlannedTask]], workers: int
) -> float:
    pool = [_SimulatedWorker(0.0, number) for number in range(workers)]
    waiting: list[tuple[float, str, PlannedTask]] = []
    ended = 0.0
    while ready or waiting:
        worker = heappop(pool)
        now = worker.free if ready else max(worker.free, waiting[0][0])
        while waiting and waiting[0][0] <= now:
            _, _, task = heappop(waiting)
            heappush(ready, (-task.seconds, task.name, task))
        _, _, task = heappop(ready)
        now += worker.prepare(task)
        for each in held.get(task.name, ()):
            heappush(waiting, (now + each.offset_s, each.name, each))
        worker.free = now + task.seconds
        heappush(pool, worker)
        ended = max(ended, worker.free)
    return ended


def find_critical(tasks: Sequence[PlannedTask]) -> tuple[str, float]:
    """The task that takes longest with any number of workers, and its seconds."""
    found = max(tasks, key=lambda task: (task.offset_s + task.seconds, task.name))
    # The feeding worker starts first, then the one that asks.
    before = (1 if found.after is None else 2) * (found.start_s + found.opening_s)
    return found.name, before + found.offset_s + found.seconds


def find_useful_workers(tasks: Sequence[PlannedTask], *, max_calls: int | None = None) -> int:
    """The number of workers beyond which more save nothing."""
    best = ABOUT * compute_makespan(tasks, len(tasks), max_calls=max_calls)
    low, high = 0, 1
    while compute_makespan(tasks, high, max_calls=max_calls) > best:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = compute_makespan(tasks, middle, max_calls=max_calls) <= best
        low, high = (low, middle) if enough else (middle, high)
    return high


_HALVINGS = 40
"""Steps of the bisection: enough for a billionth of the run."""


def average_opening(runs: Sequence[MeasuredRun]) -> StepPace | None:
    """Average the seconds to load and open a scenario; None if no run measured it."""
    took = [each for run in runs for each in run.openings.values()]
    return make_fixed_pace(fmean(took)).replace(times=len(took)) if took else None


def average_start(runs: Sequence[MeasuredRun]) -> StepPace | None:
    """Average the seconds that workers took to start; None if no run had workers."""
    took = [each for run in runs for each in run.starts_s]
    return make_fixed_pace(fmean(took)).replace(times=len(took)) if took else None


def explain_run(
    run: MeasuredRun, rest: StepPace = NOTHING, *, cores: int = 1, portable: bool
) -> float:
    """Compute the seconds of a run from the paces of its own steps."""
    paces = StepPaces(
        opening=average_opening([run]) or NOTHING,
        start=average_start([run]) or NOTHING,
        feed=run.get_timing(FEED).fit_pace() or NOTHING,
        settle=run.get_timing(SETTLE).fit_pace() or NOTHING,
        ask=run.get_timing(ASK).fit_pace() or NOTHING,
        read=run.get_timing(READ).fit_pace() or NOTHING,
        judge=run.get_timing(JUDGE).fit_pace() or NOTHING,
        rest=rest,
    )
    by_workers, asked_for = next(iter(run.executors), (None, None))
    workers = 1 if by_workers is None else asked_for or cores
    model = ExecutionModel(
        plan=run.plan,
        paces=paces,
        parallelism=math.ceil(run.concurrency / workers),
        portable=portable and by_workers is not None,
    )
    stories = list_scenario_work(run.plan, run.declared)
    return compute_makespan(
        [task for story in stories for task in list_tasks(story, model)], workers
    )


def estimate_rest(
    runs: Sequence[MeasuredRun], *, cores: int = 1, portable: bool = False
) -> StepPace | None:
    """Estimate the time of a trial beyond its steps: tracing, writing, waiting.

    With it, the simulated time of each finished run equals its real time. None if no finished run
    used one executor throughout.
    """
    done = [run for run in runs if run.is_finished and run.marks and _is_uniform(run)]
    if not done:
        return None
    left, trials = 0.0, 0
    for run in done:
        owed = compute_workload(list_scenario_work(run.plan, run.declared), run.plan).trials
        left += owed * _solve_trial_rest(run, cores=cores, portable=portable)
        trials += owed
    return make_fixed_pace(left / trials).replace(times=trials)


def _is_uniform(run: MeasuredRun) -> bool:
    """Whether one executor did the whole run, which is unknown for merged parts."""
    by_workers = any(executor is not None for executor, _ in run.executors)
    return len(run.executors) <= 1 and by_workers >= run.is_shared


def _solve_trial_rest(run: MeasuredRun, *, cores: int, portable: bool) -> float:
    """Solve for the rest of a trial that makes the simulated time equal to the real one.

    It is negative where more ran concurrently than the model assumes, but an answer never takes
    less than no time.
    """
    answer = run.get_timing(ASK).fit_pace() or NOTHING
    low, high = -answer.least_s / run.concurrency, run.wall_s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        took = explain_run(run, make_fixed_pace(middle), cores=cores, portable=portable)
        low, high = (middle, high) if took < run.wall_s else (low, middle)
    return low
