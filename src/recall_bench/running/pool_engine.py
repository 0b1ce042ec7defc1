"""The engine of a run with a pool of workers.

The driver keeps the journal, the trial states and the budget; workers keep nothing. So a worker
that dies costs only what it had under way, and any other executor can continue the run.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio

from recall_bench.core.budget import name_provider
from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone
from recall_bench.core.event import (
    Answered,
    Event,
    FeedFailed,
    Judged,
    NotJudged,
    OtherVerdict,
)
from recall_bench.core.folders import remove_folder
from recall_bench.core.memory import PortableSnapshots, get_worker_limit
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import Verdict
from recall_bench.core.work_unit import WorkUnit, is_divisible, list_work_units, weigh_unit
from recall_bench.running.components import ComponentFactory, RunContext
from recall_bench.running.pool_driver import (
    Driver,
)
from recall_bench.running.scenario_run import AnswerQueue
from recall_bench.running.scheduler import Scheduler
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    GradeTask,
    JudgingTask,
    NotShared,
    OtherVerdictsTask,
    ReviewTask,
    RunSpec,
    SnapshotReady,
    TrialBatch,
    WorkerLost,
)
from recall_bench.running.worker_pool import CallLimits, WorkerPool
from recall_bench.systems.reply import is_paid

T = TypeVar("T")


_DISCARD_TIMEOUT_S = 10.0
"""How long the system may take to discard a snapshot."""
_BATCH = 32
"""Answers judged in one task: each task costs a message."""
_LINGER_S = 0.1
"""How long to wait for a batch to fill if the judge only computes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRunner:
    """Runs a plan with a pool that several runs may share."""

    pool: WorkerPool
    calls: CallLimits
    factory: ComponentFactory
    run: str
    """Names the run among those of the pool."""
    exchange: Path
    """The folder where workers exchange snapshots; removed when the run is over."""

    async def __call__(self, plan: Plan, states: TrialStates, context: RunContext) -> None:
        """Ask, judge and review everything that is still owed."""
        scheduler = Scheduler(plan, states, context)
        spec = RunSpec(run=self.run, plan=plan, factory=self.factory)
        driver = Driver(scheduler, self.pool, self.calls, spec)
        engine = PoolEngine(driver, AskDispatcher(driver, self.exchange), JudgeDispatcher(driver))
        # A driver that was killed may have left snapshots there; a link would lead elsewhere.
        remove_folder(self.exchange)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(driver.broadcast_stop)
                await scheduler.run(engine)
                group.cancel_scope.cancel()
        finally:
            remove_folder(self.exchange)
        scheduler.finish(engine)


class PoolEngine:
    """Has scenarios fed, asked and judged by the workers of a pool."""

    sees_costs_late = True

    def __init__(self, driver: "Driver", asker: "AskDispatcher", judge: "JudgeDispatcher") -> None:
        # Never 1, which would mean scenario after scenario.
        self.scenarios_at_once = 2 * driver.pool.size
        self._asker = asker
        self._judge = judge

    def open(self, scenario: str, queue: AnswerQueue) -> "PoolScenario":
        """Prepare nothing: a worker loads the scenario when it gets a task of it."""
        return PoolScenario(scenario, queue, self._asker, self._judge)


@dataclass(frozen=True, slots=True)
class PoolScenario:
    """One scenario, fed, asked and judged by workers."""

    scenario: str
    queue: AnswerQueue
    asker: "AskDispatcher"
    grader: "JudgeDispatcher"

    async def ask(self) -> None:
        """Have everything asked that is still open."""
        await self.asker.ask(self.scenario, self.queue)

    async def judge(self, leftovers: Iterable[Answered]) -> None:
        """Have leftovers and answers judged as they come, then review what is due."""
        await self.grader.judge_scenario(self.scenario, leftovers, self.queue)


class AskDispatcher:
    """Has scenarios fed and asked, unit by unit."""

    def __init__(self, driver: Driver, exchange: Path) -> None:
        scheduler = driver.scheduler
        context, plan = scheduler.context, scheduler.plan
        self._driver = driver
        self._scheduler = scheduler
        self._exchange = exchange
        self._numbers = {card.id: number for number, card in enumerate(plan.scenarios)}
        most = get_worker_limit(context.system)
        name = f"system {plan.system.name}"
        self._slots = None if most is None else driver.calls.limit_units(name, most)
        # Feeding pauses until its snapshots are asked, so a slot is kept for asking.
        feeders = None if most is None else max(1, most - 1)
        self._feed_slots = (
            None if feeders is None else driver.calls.limit_units(f"feeding {name}", feeders)
        )
        # A worker's one meter cannot tell spending on asking from spending on feeding.
        is_portable = context.meter is None and isinstance(
            context.system.snapshots, PortableSnapshots
        )
        has_room = 1 not in (most, driver.calls.max_calls)
        self._is_divisible = is_divisible(plan, portable=is_portable and has_room)
        self._unshared: set[str] = set()
        """Scenarios whose snapshots cannot be exchanged."""
        judges = context.judges
        # A verdict that is paid for waits for its turn at the provider, which asking must not.
        self._has_judging_workers = (
            judges.judge.card.computes and judges.appellate is None and not plan.unjudged
        )
        self._at_once = min(context.parallelism, plan.system.max_concurrency)
        self._callees = [name]
        reader = context.reader
        if reader is not None and is_paid(reader):
            self._callees.append(name_provider(reader.card.model or reader.card.name))

    async def ask(self, scenario: str, queue: AnswerQueue) -> None:
        """Have everything asked that the scenario still owes."""
        plan = self._scheduler.plan
        if not self._is_divisible:
            await self._ask_unit(queue, WorkUnit(scenario=scenario))
        elif plan.lifecycle is Lifecycle.FORKED:
            await self._ask_copies(scenario, queue)
        else:
            points = self._scheduler.states.scenarios[scenario].checkpoint_plans
            units = list_work_units(scenario, points, plan)
            # The longest last would delay the end.
            heaviest_first = sorted(units, key=lambda unit: -weigh_unit(unit, points, plan))
            await self._run_units(partial(self._ask_unit, queue), heaviest_first)

    async def _run_units(
        self, ask: Callable[[WorkUnit], Awaitable[None]], units: Iterable[WorkUnit]
    ) -> None:
        async with anyio.create_task_group() as group:
            for unit in units:
                group.start_soon(self._scheduler.run_guarded, partial(ask, unit))

    async def _ask_unit(
        self, queue: AnswerQueue, unit: WorkUnit, snapshot: str | None = None
    ) -> None:
        """Have a unit asked; by another worker if one dies."""
        scheduler, deaths = self._scheduler, 0
        while scheduler.may_ask and (batches := self._list_open_trials(unit)):
            task = AskTask(
                scenario=unit.scenario,
                batches=batches,
                snapshot=snapshot,
                judges=self._has_judging_workers,
            )
            unjudged: dict[Trial, Answered] = {}
            try:
                async with self._hold_slot():
                    await self._driver.perform(
                        task,
                        callees=self._callees,
                        at_once=self._at_once,
                        on_event=partial(self._take_event, queue, unjudged),
                    )
                return
            except NotShared:
                snapshot = None
            except WorkerLost as lost:
                deaths = deaths + lost.has_begun if self._list_open_trials(unit) == batches else 0
                item = scheduler.states.scenarios[unit.scenario].items[batches[0].items[0]].id
                if self._driver.give_up(deaths, f"at {unit}, at or after question {item}", lost):
                    return
            finally:
                for answered in unjudged.values():
                    queue.submit(answered)

    async def _ask_copies(self, scenario: str, queue: AnswerQueue) -> None:
        """Have one memory fed, and copies of each snapshot asked as soon as it is ready."""
        place = self._exchange / f"{self._numbers[scenario]:06}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        saved: set[str] = set()
        async with anyio.create_task_group() as group:

            def start_asking(ready: SnapshotReady) -> None:
                saved.add(ready.checkpoint)
                ask = partial(self._ask_checkpoint, scenario, ready, queue)
                group.start_soon(self._scheduler.run_guarded, ask)

            # What ends the feeding early must not end the asking that has begun.
            feed = partial(self._feed, scenario, place, saved, start_asking)
            await self._scheduler.run_guarded(feed)
        if scenario in self._unshared:
            await self._ask_unit(queue, WorkUnit(scenario=scenario))

    async def _feed(
        self,
        scenario: str,
        place: Path,
        saved: set[str],
        on_snapshot: Callable[[SnapshotReady], None],
    ) -> None:
        """Have a memory fed up to the last open checkpoint; by another worker if one dies."""
        driver, deaths = self._driver, 0
        while self._scheduler.may_ask:
            batches = self._list_open_trials(WorkUnit(scenario=scenario))
            labels = dict.fromkeys(batch.checkpoint for batch in batches)
            due = tuple(label for label in labels if label not in saved)
            if not due:
                return
            ahead = driver.pool.size + 2
            task = FeedTask(scenario=scenario, checkpoints=due, place=str(place), ahead=ahead)
            try:
                async with self._hold_feed_slot():
                    await driver.perform(
                        task, callees=self._callees[:1], at_once=1, on_snapshot=on_snapshot
                    )
                return
            except NotShared:
                self._unshared.add(scenario)
                return
            except WorkerLost as lost:
                deaths = 0 if saved.intersection(due) else deaths + lost.has_begun
                if driver.give_up(deaths, f"feeding {scenario}", lost):
                    return

    async def _ask_checkpoint(
        self, scenario: str, ready: SnapshotReady, queue: AnswerQueue
    ) -> None:
        """Have every repeat and copy of a checkpoint asked, then discard its snapshot."""
        states, plan = self._scheduler.states.scenarios[scenario], self._scheduler.plan
        point = states.checkpoint_plans[states.row[ready.checkpoint]]
        units = list_work_units(scenario, [point], plan, portable=True)
        place = Path(ready.place)
        try:
            await self._run_units(partial(self._ask_unit, queue, snapshot=ready.place), units)
        finally:
            with anyio.move_on_after(_DISCARD_TIMEOUT_S, shield=True):
                await self._discard(scenario, ready.checkpoint, place)
            shutil.rmtree(place, ignore_errors=True)

    async def _discard(self, scenario: str, checkpoint: str, place: Path) -> None:
        """Let the system discard a snapshot; a failure is recorded and costs no result."""
        context = self._scheduler.context
        if not isinstance(context.system.snapshots, PortableSnapshots):
            return
        try:
            await context.system.snapshots.discard(place)
        except BenchError as fault:
            context.record(
                FeedFailed(
                    at=datetime.now(UTC),
                    scenario=scenario,
                    checkpoint=checkpoint,
                    stage="close",
                    fault=type(fault).__name__,
                    message=str(fault),
                )
            )

    @asynccontextmanager
    async def _hold_feed_slot(self) -> AsyncIterator[None]:
        """Hold a slot for a memory that is fed while its copies are asked."""
        async with AsyncExitStack() as stack:
            if self._feed_slots is not None:
                await stack.enter_async_context(self._feed_slots)
            await stack.enter_async_context(self._driver.calls.allow_feeding(self._callees[0]))
            await stack.enter_async_context(self._hold_slot())
            yield

    @asynccontextmanager
    async def _hold_slot(self) -> AsyncIterator[None]:
        """Hold one of the units that the system can work on at a time."""
        if self._slots is None:
            yield
            return
        async with self._slots:
            yield

    def _list_open_trials(self, unit: WorkUnit) -> tuple[TrialBatch, ...]:
        """List what of a unit is still to be asked."""
        return tuple(
            TrialBatch(
                checkpoint=each.point.checkpoint.label, repeat=each.repeat, items=tuple(each.items)
            )
            for each in self._scheduler.backlog.list_open_trials(
                unit.scenario, unit.checkpoint, unit.repeat, unit.copy
            )
        )

    def _take_event(
        self, queue: AnswerQueue, unjudged: dict[Trial, Answered], event: Event
    ) -> None:
        """Have an answer judged; a worker that judges its own gets until the end of its task."""
        match event:
            case Answered(trial=trial) if self._has_judging_workers:
                unjudged[trial] = event
            case Answered() if not self._scheduler.plan.unjudged:
                queue.submit(event)
            case Judged(trial=trial) | NotJudged(trial=trial):
                unjudged.pop(trial, None)


_Verdict = tuple[Trial, int | None]
"""A trial, and the place of the other judge that judges it; None for the first judge."""


class JudgeDispatcher:
    """Has answers judged and verdicts reviewed, batch by batch."""

    def __init__(self, driver: Driver) -> None:
        judges = driver.scheduler.context.judges
        self._driver = driver
        self._scheduler = driver.scheduler
        self._is_free = judges.judge.card.computes
        self._callees = [
            name_provider(judge.card.model or judge.card.name)
            for judge in judges.list_all()
            if not judge.card.computes
        ]

    async def judge_scenario(
        self, scenario: str, leftovers: Iterable[Answered], queue: AnswerQueue
    ) -> None:
        """Have leftovers judged, then the queue, then what did not fit, then reviews done."""
        scheduler = self._scheduler
        await self._judge_all(scenario, leftovers)
        turn = anyio.Lock()
        async with anyio.create_task_group() as group:
            for _ in range(self._driver.pool.size):
                judge = partial(self._judge_queue, scenario, queue, turn)
                group.start_soon(scheduler.run_guarded, judge)
        if queue.overflowed:
            answered = frozenset({TrialState.ANSWERED})
            await self._judge_all(scenario, scheduler.context.find_answers(scenario, answered))
        if self._may_judge and (due := scheduler.backlog.find_due_reviews(scenario)):
            verdicts = scheduler.backlog.list_first_verdicts(scenario, due)
            await self._run_batches(partial(self._review_batch, scenario), _split_batches(verdicts))
        if self._may_judge:
            others = scheduler.backlog.list_due_verdicts(scenario)
            await self._run_batches(partial(self._judge_others, scenario), _split_batches(others))

    @property
    def _may_judge(self) -> bool:
        return self._is_free or self._scheduler.budget.stop_reason is None

    async def _judge_all(self, scenario: str, answers: Iterable[Answered]) -> None:
        await self._run_batches(partial(self._judge_batch, scenario), _split_batches(answers))

    async def _run_batches(
        self, judge: Callable[[tuple[T, ...]], Awaitable[None]], batches: Iterator[tuple[T, ...]]
    ) -> None:
        """Run the batches in as many tasks as there are workers."""

        async def run_worker() -> None:
            for batch in batches:
                if not self._may_judge:
                    return
                await judge(batch)

        async with anyio.create_task_group() as group:
            for _ in range(self._driver.pool.size):
                group.start_soon(self._scheduler.run_guarded, run_worker)

    async def _judge_queue(self, scenario: str, queue: AnswerQueue, turn: anyio.Lock) -> None:
        linger_s = _LINGER_S if self._is_free else 0.0
        limit = _BATCH if self._is_free else self._scheduler.context.parallelism
        while True:
            # In turn: all at once would each wait for a batch and get a part of one.
            async with turn:
                answers = await queue.take(limit, linger_s)
            if not answers or not self._may_judge:
                return
            await self._judge_batch(scenario, answers)

    async def _judge_batch(self, scenario: str, answers: Sequence[Answered]) -> None:
        def make_task(left: Sequence[Answered]) -> GradeTask:
            return GradeTask(scenario=scenario, answers=tuple(left))

        try:
            await self._run_until_judged(make_task, {(each.trial, None): each for each in answers})
        except (BudgetSpent, JudgeGone) as reason:
            if not self._is_free:
                raise
            # The verdicts cost nothing and are complete; only their reviews are missing.
            self._scheduler.stop(reason)

    async def _review_batch(
        self, scenario: str, verdicts: Sequence[tuple[Answered, Verdict]]
    ) -> None:
        def make_task(left: Sequence[tuple[Answered, Verdict]]) -> ReviewTask:
            return ReviewTask(scenario=scenario, verdicts=tuple(left))

        await self._run_until_judged(
            make_task, {(each.trial, None): (each, first) for each, first in verdicts}
        )

    async def _judge_others(self, scenario: str, answers: Sequence[tuple[Answered, int]]) -> None:
        def make_task(left: Sequence[tuple[Answered, int]]) -> OtherVerdictsTask:
            return OtherVerdictsTask(scenario=scenario, answers=tuple(left))

        await self._run_until_judged(
            make_task, {(each.trial, judge): (each, judge) for each, judge in answers}
        )

    async def _run_until_judged(
        self, make_task: Callable[[Sequence[T]], JudgingTask], left: dict[_Verdict, T]
    ) -> None:
        """Have everything judged; if a worker dies, another one does the rest."""
        deaths = 0
        while left and self._may_judge:
            judged: set[_Verdict] = set()

            def note_verdict(event: Event, judged: set[_Verdict] = judged) -> None:
                if isinstance(event, Judged | NotJudged):
                    judged.add((event.trial, None))
                elif isinstance(event, OtherVerdict):
                    judged.add((event.trial, event.judge))

            try:
                await self._driver.perform(
                    make_task(tuple(left.values())),
                    callees=self._callees,
                    at_once=self._scheduler.context.parallelism,
                    on_event=note_verdict,
                )
                return
            except WorkerLost as lost:
                deaths = 0 if judged else deaths + lost.has_begun
                where = f"judging {next(iter(left))[0].scenario}"
                if self._driver.give_up(deaths, where, lost):
                    return
                left = {place: each for place, each in left.items() if place not in judged}


def _split_batches(things: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(things)
    while batch := tuple(islice(left, _BATCH)):
        yield batch
