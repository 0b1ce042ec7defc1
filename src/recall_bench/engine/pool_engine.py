"""The engine of a run with a pool of workers.

The driver keeps the journal, the trial states and the budget; workers keep nothing. So a worker
that dies costs only what it had under way, and any other executor can continue the run.
"""

import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio

from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone, SystemDied, SystemGone
from recall_bench.core.event import (
    AgentEnded,
    Answered,
    Event,
    FeedFailed,
    Judged,
    NotAnswered,
    NotJudged,
    OtherVerdict,
    Paid,
    Settled,
    decode_event,
)
from recall_bench.core.folders import remove_folder
from recall_bench.core.memory import PortableSnapshots, feeds_freely, get_worker_limit
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage
from recall_bench.core.work_unit import WorkUnit, is_divisible, list_work_units, weigh_unit
from recall_bench.engine.checkpoint import MAX_DEATHS
from recall_bench.engine.components import ComponentFactory, RunContext
from recall_bench.engine.scheduler import Scheduler
from recall_bench.engine.worker_messages import (
    NotShared,
    RunSpec,
    SnapshotReady,
    TrialBatch,
    Unit,
    UnitEvents,
    UnitFailure,
    UnitKind,
    UnitLimits,
    WorkerLost,
)
from recall_bench.engine.worker_pool import WorkerPool

T = TypeVar("T")

_DISCARD_TIMEOUT_S = 10.0
"""How long the system may take to discard a snapshot."""
_BATCH = 32
"""Answers judged in one unit: each unit costs a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRunner:
    """Runs a plan with a pool that several runs may share."""

    pool: WorkerPool
    factory: ComponentFactory
    run: str
    """Names the run among those of the pool."""
    exchange: Path
    """The folder where workers exchange snapshots; removed when the run is over."""

    async def __call__(self, plan: Plan, states: TrialStates, context: RunContext) -> None:
        """Ask, judge and review everything that is still owed."""
        scheduler = Scheduler(plan, states, context)
        spec = RunSpec(run=self.run, plan=plan, factory=self.factory)
        engine = PoolEngine(scheduler, self.pool, spec, self.exchange)
        reason: BenchError | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(engine.broadcast_stop)
                try:
                    await scheduler.run(engine)
                except BenchError as error:
                    reason = error
                group.cancel_scope.cancel()
        finally:
            remove_folder(self.exchange)
        if reason is not None:
            raise reason


class PoolEngine:
    """Has units done by the workers of a pool, and records what comes back."""

    sees_costs_late = True

    def __init__(
        self, scheduler: Scheduler, pool: WorkerPool, spec: RunSpec, exchange: Path
    ) -> None:
        context, plan = scheduler.context, scheduler.plan
        self.scheduler = scheduler
        self.pool = pool
        # Never 1, which would mean scenario after scenario.
        self.scenarios_at_once = 2 * pool.size
        self.is_judge_free = context.judges.judge.card.computes
        self._spec = spec
        self._places = {
            card.id: exchange / f"{number:06}" for number, card in enumerate(plan.scenarios)
        }
        most = get_worker_limit(context.system)
        name = f"system {plan.system.name}"
        self._slots = [] if most is None else [pool.limit_units(name, most)]
        # Feeding pauses until its snapshots are asked, so that a worker is kept for asking.
        feeders = min(pool.size, most or pool.size) - 1
        self._feed_slots = [
            pool.limit_units("feeding", max(1, pool.size - 1)),
            pool.limit_units(f"feeding {name}", max(1, feeders)),
            *self._slots,
        ]
        # A worker's one meter cannot tell spending on asking from spending on feeding.
        is_portable = context.meter is None and isinstance(
            context.system.snapshots, PortableSnapshots
        )
        self.exchanges = is_portable and feeders > 0
        """Whether workers ask copies of a memory that another worker feeds."""
        is_fed_again = context.meter is None and feeds_freely(context.system)
        self.is_divisible = is_divisible(plan, portable=self.exchanges or is_fed_again)

    def open(self, scenario: str) -> "PoolScenario":
        """Prepare nothing: a worker loads the scenario when it gets a unit of it."""
        return PoolScenario(self, scenario, self._places[scenario], anyio.Event())

    @property
    def may_judge(self) -> bool:
        """Whether verdicts may still be paid for, or cost nothing."""
        return self.is_judge_free or self.scheduler.budget.stop_reason is None

    @asynccontextmanager
    async def hold_slot(self, *, feeds: bool = False) -> AsyncIterator[None]:
        """Hold one of the units that the system can work on at a time."""
        async with AsyncExitStack() as stack:
            for limiter in self._feed_slots if feeds else self._slots:
                await stack.enter_async_context(limiter)
            yield

    async def perform(
        self,
        unit: Unit,
        on_event: Callable[[Event], None] = lambda _: None,
        on_snapshot: Callable[[SnapshotReady], None] = lambda _: None,
    ) -> None:
        """Have a unit done; every event is recorded before `on_event` is called.

        If such a unit may not begin any more when its turn comes, the reason is raised.
        """

        def handle_events(events: UnitEvents) -> None:
            if events.snapshot is not None:
                on_snapshot(events.snapshot)
            for line in events.lines.splitlines():
                event = decode_event(line)
                self._record(event)
                on_event(event)

        await self.pool.perform(self._spec, unit, partial(self._make_limits, unit), handle_events)

    def _make_limits(self, unit: Unit) -> UnitLimits:
        """Return the limits of this moment, when a worker is free; raise if it may not begin."""
        scheduler, context = self.scheduler, self.scheduler.context
        reason: BenchError | None = scheduler.budget.stop_reason
        if unit.kind is not UnitKind.GRADE:
            reason = scheduler.failure or reason
        elif unit.answers and self.is_judge_free:
            reason = None
        if reason is not None:
            raise reason
        calls = self.pool.calls_each
        return UnitLimits(
            at_once=context.parallelism if calls is None else min(context.parallelism, calls),
            max_calls=calls,
            spent=scheduler.budget.total,
            allowed_usd=context.max_cost_usd,
            allowed_tokens=context.max_tokens,
        )

    def give_up(self, deaths: int, where: str, lost: WorkerLost) -> bool:
        """Whether too many workers died on some work; the run goes on without it."""
        if deaths < MAX_DEATHS:
            return False
        self.scheduler.given_up = self.scheduler.given_up or SystemGone(
            f"{deaths} workers died {where} ({lost}): the system may end the process it is in, or "
            "use up its memory; run the same command again to retry"
        )
        return True

    async def broadcast_stop(self) -> None:
        """Tell every worker once nothing new may be begun; runs beside everything else."""
        await self.scheduler.stopped.wait()
        reason = self.scheduler.budget.stop_reason
        if reason is not None:
            await self.pool.stop(self._spec.run, UnitFailure.from_error(reason))

    def _record(self, event: Event) -> None:
        """Record an event, and charge the budget with what it cost."""
        scheduler, usage, whose = self.scheduler, Usage(), "the judge's"
        scheduler.context.record(event)
        match event:
            case Judged() | NotJudged() | OtherVerdict() | Paid():
                usage = event.usage or usage
            case Answered():
                usage, whose = event.reading_usage or usage, "the reader's"
            case AgentEnded():
                usage, whose = event.usage or usage, "the agent's"
        if usage == Usage():
            return
        scheduler.budget.record_usage(usage, whose)
        try:
            scheduler.budget.refuse_if_spent()
        except BudgetSpent as spent:
            scheduler.stop(spent)
        if scheduler.budget.stop_reason is not None:
            scheduler.stopped.set()


@dataclass(frozen=True, slots=True)
class PoolScenario:
    """One scenario, fed, asked and judged by workers."""

    engine: PoolEngine
    scenario: str
    place: Path
    """Where the snapshots of this scenario are exchanged."""
    all_asked: anyio.Event

    async def ask(self) -> None:
        """Have everything asked that is still open, and the answers judged."""
        scheduler = self.engine.scheduler
        plan = scheduler.plan
        if not self.engine.is_divisible:
            await self._ask_unit(WorkUnit(scenario=self.scenario))
        elif plan.lifecycle is Lifecycle.FORKED and self.engine.exchanges:
            await self._ask_copies()
        else:
            points = scheduler.states.scenarios[self.scenario].checkpoint_plans
            units = list_work_units(self.scenario, points, plan, portable=True)
            # The longest last would delay the end.
            await self._ask_units(sorted(units, key=lambda unit: -weigh_unit(unit, points, plan)))

    async def end_asking(self) -> None:
        """Let what dead workers left unjudged be judged."""
        self.all_asked.set()

    async def _ask_units(self, units: Iterable[WorkUnit], snapshot: str | None = None) -> None:
        guard = self.engine.scheduler.run_guarded
        async with anyio.create_task_group() as group:
            for unit in units:
                group.start_soon(guard, partial(self._ask_unit, unit, snapshot))

    async def _ask_unit(self, unit: WorkUnit, snapshot: str | None = None) -> None:
        """Have a unit asked; by another worker if one dies.

        After some deaths without progress the first question left is asked by itself: if the
        worker dies of it as well, that question is not answered, and the others go on.
        """
        engine, scheduler, deaths = self.engine, self.engine.scheduler, 0
        while scheduler.may_ask and (batches := self._list_open_trials(unit)):
            first = batches[0].replace(items=batches[0].items[:1])
            was_fed = snapshot is not None

            def note(event: Event) -> None:
                nonlocal was_fed
                was_fed = was_fed or isinstance(event, Settled)

            try:
                part = batches if deaths < MAX_DEATHS - 1 else (first,)
                async with engine.hold_slot():
                    await engine.perform(
                        Unit(scenario=self.scenario, batches=part, snapshot=snapshot), note
                    )
                if part is batches or self._list_open_trials(unit) == batches:
                    return
                deaths = 0
            except NotShared:
                snapshot = None
            except WorkerLost as lost:
                has_progress = self._list_open_trials(unit) != batches
                deaths = 0 if has_progress else deaths + lost.has_begun
                if deaths < MAX_DEATHS:
                    continue
                if not was_fed:
                    engine.give_up(deaths, f"while {unit} was fed", lost)
                    return
                self._record_death(first, deaths, lost)
                deaths = 0

    def _record_death(self, batch: TrialBatch, deaths: int, lost: WorkerLost) -> None:
        """Record that a question ended every process that it was asked in."""
        item = self.engine.scheduler.states.scenarios[self.scenario].items[batch.items[0]].id
        trial = Trial(
            scenario=self.scenario, item=item, checkpoint=batch.checkpoint, repeat=batch.repeat
        )
        self.engine.scheduler.context.record(
            NotAnswered(
                at=datetime.now(UTC),
                trial=trial,
                fault=SystemDied.__name__,
                message=f"{deaths} workers died when it was asked ({lost})",
                seconds=0.0,
            )
        )

    def _list_open_trials(self, unit: WorkUnit) -> tuple[TrialBatch, ...]:
        """List what of a unit is still to be asked."""
        return tuple(
            TrialBatch(
                checkpoint=trials.point.checkpoint.label,
                repeat=trials.repeat,
                items=tuple(trials.items),
            )
            for trials in self.engine.scheduler.backlog.list_open_trials(
                unit.scenario, unit.checkpoint, unit.repeat, unit.copy
            )
        )

    async def _ask_copies(self) -> None:
        """Have one memory fed, and copies of each snapshot asked as soon as it is ready."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        guard, saved = self.engine.scheduler.run_guarded, set[str]()
        async with anyio.create_task_group() as group:

            def start_asking(ready: SnapshotReady) -> None:
                saved.add(ready.checkpoint)
                group.start_soon(guard, partial(self._ask_checkpoint, ready))

            # What ends the feeding early must not end the asking that has begun.
            await guard(partial(self._feed, saved, start_asking))
        # Where workers do not share the folder, some snapshots were never ready: one worker feeds
        # and asks the rest. Nothing is left otherwise, or nothing may be asked any more.
        if not self.place.exists():
            await self._ask_unit(WorkUnit(scenario=self.scenario))

    async def _feed(self, saved: set[str], on_snapshot: Callable[[SnapshotReady], None]) -> None:
        """Have a memory fed up to the last open checkpoint; by another worker if one dies."""
        engine, deaths = self.engine, 0
        while engine.scheduler.may_ask:
            batches = self._list_open_trials(WorkUnit(scenario=self.scenario))
            labels = dict.fromkeys(batch.checkpoint for batch in batches)
            due = tuple(label for label in labels if label not in saved)
            if not due:
                return
            place, ahead = str(self.place), engine.pool.size + 2
            unit = Unit(scenario=self.scenario, saves=due, place=place, ahead=ahead)
            try:
                async with engine.hold_slot(feeds=True):
                    await engine.perform(unit, on_snapshot=on_snapshot)
                return
            except NotShared:
                shutil.rmtree(self.place, ignore_errors=True)
                return
            except WorkerLost as lost:
                deaths = 0 if saved.intersection(due) else deaths + lost.has_begun
                if engine.give_up(deaths, f"feeding {self.scenario}", lost):
                    return

    async def _ask_checkpoint(self, ready: SnapshotReady) -> None:
        """Have every repeat and copy of a checkpoint asked, then discard its snapshot."""
        scheduler, place = self.engine.scheduler, Path(ready.place)
        point = scheduler.states.scenarios[self.scenario].get_plan(ready.checkpoint)
        units = list_work_units(self.scenario, [point], scheduler.plan, portable=True)
        try:
            await self._ask_units(units, ready.place)
        finally:
            snapshots = scheduler.context.system.snapshots
            with anyio.move_on_after(_DISCARD_TIMEOUT_S, shield=True):
                try:
                    if isinstance(snapshots, PortableSnapshots):
                        await snapshots.discard(place)
                except BenchError as fault:
                    # It costs no result.
                    scheduler.context.record(
                        FeedFailed(
                            at=datetime.now(UTC),
                            scenario=self.scenario,
                            checkpoint=ready.checkpoint,
                            stage="close",
                            fault=type(fault).__name__,
                            message=str(fault),
                        )
                    )
            shutil.rmtree(place, ignore_errors=True)

    async def judge(self, leftovers: Iterable[Answered]) -> None:
        """Have leftovers judged, what dead workers left unjudged, then reviews and other judges."""
        engine, context = self.engine, self.engine.scheduler.context
        backlog = engine.scheduler.backlog

        def make_judging(batch: Sequence[Answered]) -> Unit:
            return Unit(scenario=self.scenario, answers=tuple(batch))

        await self._judge_all(leftovers, make_judging, lambda answered: (answered.trial, None))
        await self.all_asked.wait()
        answers = context.find_answers(self.scenario, frozenset({TrialState.ANSWERED}))
        await self._judge_all(answers, make_judging, lambda answered: (answered.trial, None))
        if engine.may_judge and (due := backlog.find_due_reviews(self.scenario)):
            await self._judge_all(
                backlog.list_first_verdicts(self.scenario, due),
                lambda batch: Unit(scenario=self.scenario, reviews=tuple(batch)),
                lambda review: (review[0].trial, None),
            )
        if engine.may_judge:
            await self._judge_all(
                backlog.list_due_verdicts(self.scenario),
                lambda batch: Unit(scenario=self.scenario, others=tuple(batch)),
                lambda other: (other[0].trial, other[1]),
            )

    async def _judge_all(
        self,
        things: Iterable[T],
        make_unit: Callable[[Sequence[T]], Unit],
        name: Callable[[T], tuple[Trial, int | None]],
    ) -> None:
        """Have things judged in batches, as many at a time as there are workers.

        `name` is the trial of a thing, and the place of the other judge that judges it; None for
        the first judge.
        """
        engine, waiting = self.engine, iter(things)

        async def judge_batches() -> None:
            while engine.may_judge and (batch := list(islice(waiting, _BATCH))):
                await self._judge_batch({name(thing): thing for thing in batch}, make_unit)

        async with anyio.create_task_group() as group:
            for _ in range(engine.pool.size):
                group.start_soon(engine.scheduler.run_guarded, judge_batches)

    async def _judge_batch(
        self, left: dict[tuple[Trial, int | None], T], make_unit: Callable[[Sequence[T]], Unit]
    ) -> None:
        """Have a batch judged; if a worker dies, another one does the rest."""
        engine, deaths = self.engine, 0

        def note_verdict(event: Event) -> None:
            if isinstance(event, Judged | NotJudged):
                left.pop((event.trial, None), None)
            elif isinstance(event, OtherVerdict):
                left.pop((event.trial, event.judge), None)

        while left and engine.may_judge:
            before, unit = len(left), make_unit(tuple(left.values()))
            try:
                await engine.perform(unit, note_verdict)
                return
            except WorkerLost as lost:
                deaths = 0 if len(left) < before else deaths + lost.has_begun
                if engine.give_up(deaths, f"judging {self.scenario}", lost):
                    return
            except (BudgetSpent, JudgeGone) as reason:
                if not (engine.is_judge_free and unit.answers):
                    raise
                # The verdicts cost nothing and are complete; only their reviews are missing.
                engine.scheduler.stop(reason)
                return
