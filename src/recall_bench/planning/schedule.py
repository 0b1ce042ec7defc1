"""How long shards take on so many workers: each by what it makes a worker wait for, longest first.

Within a shard feeding, asking and judging go as a run carries them out: as many questions at a
time as the run and the system allow; verdicts beside the asking; copies of a memory that only waits
are asked while it is fed on. Whatever computes keeps everything else in its process from going on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.shard import WorkUnit, is_divisible, list_work_units
from recall_bench.planning.pace import StepPace
from recall_bench.planning.workload import ScenarioWork

NOTHING = StepPace(base_s=0.0)

ABOUT = 1.005
"""Hours within half of a hundredth of each other are the same hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPaces:
    """What each step takes."""

    feed: StepPace = NOTHING
    settle: StepPace = NOTHING
    ask: StepPace = NOTHING
    read: StepPace = NOTHING
    judge: StepPace = NOTHING
    rest: StepPace = NOTHING
    """All else of a trial: tracing, writing down; done in its turn, like computing."""
    opening: StepPace = NOTHING
    """Loading a scenario and opening a memory for it, once a worker that has to do with it."""
    start: StepPace = NOTHING
    """Until a worker can do anything, once a worker."""

    @property
    def fast(self) -> "StepPaces":
        """All in the fast tenth at once."""
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
        """All in the slow tenth at once."""
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
    """A shard with its duration, or the pass of feeding that several shards wait for."""

    name: str
    seconds: float
    calls_s: float
    """How long its calls take one after another: what a limit of calls at a time counts."""
    after: str | None = None
    """The pass it waits for."""
    offset_s: float = 0.0
    """So long after the pass began it can begin."""
    scenario: str = ""
    opening_s: float = 0.0
    """What it takes beforehand where its worker had nothing to do with the scenario yet."""
    start_s: float = 0.0
    """What it takes beforehand where it is the first of its worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionModel:
    """How a worker goes about a shard."""

    plan: Plan
    paces: StepPaces
    parallelism: int = 1
    portable: bool = False
    """Whether shards of one scenario can be on several workers though its memory is copied."""

    @property
    def at_a_time(self) -> int:
        """The questions that are before a memory at once; one that computes takes them in turn."""
        card = self.plan.system
        return 1 if card.computes else min(self.parallelism, card.max_concurrency)


def list_tasks(story: ScenarioWork, manner: ExecutionModel) -> Iterator[PlannedTask]:
    """What workers are handed for one scenario."""
    opening, start = manner.paces.opening.estimate_at(0), manner.paces.start.estimate_at(0)
    for task in _list_tasks(story, manner):
        yield replace(task, scenario=story.scenario, opening_s=opening, start_s=start)


def _list_tasks(story: ScenarioWork, manner: ExecutionModel) -> Iterator[PlannedTask]:
    plan = manner.plan
    shards = list_work_units(story.scenario, story.sheets, plan, portable=manner.portable)
    if not shards:
        return
    if not is_divisible(plan, portable=manner.portable):
        yield _make_whole_task(story, manner, shards[0])
        return
    at = {sheet.checkpoint.label: sheet for sheet in story.sheets}
    if plan.lifecycle is Lifecycle.FRESH:
        for shard in shards:
            yield _make_fresh_task(story, manner, shard, at[str(shard.checkpoint)])
        return
    yield from _list_forked_tasks(story, manner, shards)


def _make_fresh_task(
    story: ScenarioWork, manner: ExecutionModel, shard: WorkUnit, sheet: CheckpointPlan
) -> PlannedTask:
    feeding = _estimate_feeding(story, manner, 0, sheet)
    asking, judging, calls = _estimate_asking(manner, sheet)
    return PlannedTask(
        name=str(shard), seconds=feeding + max(asking, judging), calls_s=feeding + calls
    )


def _list_forked_tasks(
    story: ScenarioWork, manner: ExecutionModel, shards: Sequence[WorkUnit]
) -> Iterator[PlannedTask]:
    """One worker feeds and saves; the shard of a checkpoint can begin once that is saved."""
    saved: dict[str, float] = {}
    told, clock = 0, 0.0
    for sheet in story.sheets:
        clock += _estimate_feeding(story, manner, told, sheet)
        told = sheet.cutoff
        saved[sheet.checkpoint.label] = clock
    name = f"{story.scenario} (feeding)"
    yield PlannedTask(name=name, seconds=clock, calls_s=clock)
    at = {sheet.checkpoint.label: sheet for sheet in story.sheets}
    for shard in shards:
        label = str(shard.checkpoint)
        asking, judging, calls = _estimate_asking(manner, at[label])
        yield PlannedTask(
            name=str(shard),
            seconds=max(asking, judging),
            calls_s=calls,
            after=name,
            offset_s=saved[label],
        )


def _make_whole_task(story: ScenarioWork, manner: ExecutionModel, shard: WorkUnit) -> PlannedTask:
    """A scenario that stays with one worker, step by step; verdicts come while it goes on."""
    plan, sheets = manner.plan, story.sheets
    starts = [0, *(sheet.cutoff for sheet in sheets)]
    feeding = [
        _estimate_feeding(story, manner, told, sheet)
        for told, sheet in zip(starts, sheets, strict=False)
    ]
    # A memory that computes cannot be asked and fed at once, in one process.
    overlaps = plan.lifecycle is Lifecycle.FORKED and not plan.system.computes
    clock, judged, calls = 0.0, 0.0, 0.0
    for place, sheet in enumerate(sheets):
        if place == 0 or not overlaps:
            clock += feeding[place]
        asking, judging, called = _estimate_asking(manner, sheet)
        asking, judging = plan.repeats * asking, plan.repeats * judging
        calls += feeding[place] + plan.repeats * called
        judged = max(max(judged, clock) + judging, clock + asking)
        ahead = feeding[place + 1] if overlaps and place + 1 < len(sheets) else 0.0
        clock += max(asking, ahead)
    return PlannedTask(name=str(shard), seconds=max(clock, judged), calls_s=calls)


def _estimate_feeding(
    story: ScenarioWork, manner: ExecutionModel, told: int, sheet: CheckpointPlan
) -> float:
    paces = manner.paces
    days = story.list_days(told, sheet.cutoff)
    return sum(map(paces.feed.estimate_at, days)) + paces.settle.estimate_at(sheet.cutoff)


def _estimate_asking(manner: ExecutionModel, sheet: CheckpointPlan) -> tuple[float, float, float]:
    """Seconds until all of a sheet is answered, seconds of judging beside it, and of all calls."""
    paces, day, asked = manner.paces, sheet.cutoff, len(sheet.asked)
    put, verdict = (
        paces.ask.estimate_at(day) + paces.read.estimate_at(day),
        paces.judge.estimate_at(day),
    )
    asking = put * max(1.0, asked / manner.at_a_time) + asked * paces.rest.estimate_at(day)
    if manner.plan.judge.computes:
        # Beside a system that waits it computes meanwhile; beside one that computes, in its turn.
        is_alone = manner.plan.system.computes
        return (
            asking + asked * verdict if is_alone else asking,
            0.0 if is_alone else asked * verdict,
            asked * put,
        )
    judging = verdict * max(1.0, asked / manner.parallelism)
    return asking, judging, asked * (put + verdict)


def compute_makespan(
    tasks: Sequence[PlannedTask], workers: int, *, max_calls: int | None = None
) -> float:
    """The seconds until the last task is done: whoever is free takes the longest that can begin.

    No order is quicker than the calls that a limit lets be made at a time.
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
    """A worker, by when it is free."""

    free: float
    number: int
    knows: set[str] = field(default_factory=set, compare=False)

    def prepare(self, task: PlannedTask) -> float:
        """The seconds until it can set about the task; from now on it knows the scenario."""
        start = 0.0 if self.knows else task.start_s
        opening = 0.0 if task.scenario in self.knows else task.opening_s
        self.knows.add(task.scenario)
        return start + opening


def _simulate(
    ready: list[tuple[float, str, PlannedTask]], held: dict[str, list[PlannedTask]], workers: int
) -> float:
    hands = [_SimulatedWorker(0.0, number) for number in range(workers)]
    waiting: list[tuple[float, str, PlannedTask]] = []
    ended = 0.0
    while ready or waiting:
        hand = heappop(hands)
        now = hand.free if ready else max(hand.free, waiting[0][0])
        while waiting and waiting[0][0] <= now:
            _, _, task = heappop(waiting)
            heappush(ready, (-task.seconds, task.name, task))
        _, _, task = heappop(ready)
        now += hand.prepare(task)
        for each in held.get(task.name, ()):
            heappush(waiting, (now + each.offset_s, each.name, each))
        hand.free = now + task.seconds
        heappush(hands, hand)
        ended = max(ended, hand.free)
    return ended


def find_critical(tasks: Sequence[PlannedTask]) -> tuple[str, float]:
    """What takes longest however many workers there are, and how long."""
    found = max(tasks, key=lambda task: (task.offset_s + task.seconds, task.name))
    # The worker that feeds begins first, and then the one that asks what was fed.
    before = (1 if found.after is None else 2) * (found.start_s + found.opening_s)
    return found.name, before + found.offset_s + found.seconds


def find_useful_workers(tasks: Sequence[PlannedTask], *, max_calls: int | None = None) -> int:
    """The workers beyond which more save nothing."""
    best = ABOUT * compute_makespan(tasks, len(tasks), max_calls=max_calls)
    low, high = 0, 1
    while compute_makespan(tasks, high, max_calls=max_calls) > best:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = compute_makespan(tasks, middle, max_calls=max_calls) <= best
        low, high = (low, middle) if enough else (middle, high)
    return high
