"""The questions of a scenario, shard by shard, in the hands of a crew."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from recall_bench.core.event import Answered, Event, FeedFailed
from recall_bench.core.memory import PortableSnapshots, get_worker_limit
from recall_bench.core.plan import Lifecycle
from recall_bench.core.shard import WorkUnit, is_divisible, list_work_units, weigh_unit
from recall_bench.errors import BenchError
from recall_bench.executors.assignments import (
    AskTask,
    FeedTask,
    NotShared,
    SnapshotReady,
    TrialBatch,
    WorkerLost,
)
from recall_bench.executors.office import Driver
from recall_bench.running.calls import name_provider
from recall_bench.running.desk import is_paid
from recall_bench.running.docket import AnswerQueue

_DISCARD_TIMEOUT_S = 10.0
"""How long it may take to forget a snapshot, which costs no result."""


class AskDispatcher:
    """Has scenarios fed and asked."""

    def __init__(self, office: Driver, exchange: Path) -> None:
        company, plan = office.company, office.plan
        self._office = office
        self._exchange = exchange
        self._numbers = {card.id: number for number, card in enumerate(plan.scenarios)}
        stood = get_worker_limit(company.system)
        name = f"system {plan.system.name}"
        self._stood = None if stood is None else office.limits.limit_units(name, stood)
        # Feeding pauses for as long as its copies are not asked, so a place is kept for those.
        few = None if stood is None else max(1, stood - 1)
        self._feeders = None if few is None else office.limits.limit_units(f"feeding {name}", few)
        # A worker's one meter cannot tell what is spent on asking from what is spent on feeding.
        travels = company.meter is None and isinstance(company.system.snapshots, PortableSnapshots)
        has_room = 1 not in (stood, office.limits.max_calls)
        self._is_divisible = is_divisible(plan, portable=travels and has_room)
        self._unshared: set[str] = set()
        """Scenarios whose snapshots cannot be handed on."""
        self._at_once = min(company.parallelism, plan.system.max_concurrency)
        self._whom = [name]
        reader = company.reader
        if reader is not None and is_paid(reader):
            self._whom.append(name_provider(reader.card.model or reader.card.name))

    async def ask(self, scenario: str, docket: AnswerQueue) -> None:
        """Put everything the scenario still owes; answers go to the docket."""
        if not self._is_divisible:
            await self._ask_unit(docket, WorkUnit(scenario=scenario))
        elif self._office.plan.lifecycle is Lifecycle.FORKED:
            await self._ask_copies(scenario, docket)
        else:
            sheets = self._office.standings.scenarios[scenario].checkpoint_plans
            plan = self._office.plan
            shards = list_work_units(scenario, sheets, plan)
            # The longest last would keep all others waiting.
            heaviest_first = sorted(shards, key=lambda shard: -weigh_unit(shard, sheets, plan))
            await self._run_units(partial(self._ask_unit, docket), tuple(heaviest_first))

    async def _run_units(
        self, ask: Callable[[WorkUnit], Awaitable[None]], shards: tuple[WorkUnit, ...]
    ) -> None:
        async with anyio.create_task_group() as group:
            for shard in shards:
                group.start_soon(self._office.run_guarded, partial(ask, shard))

    async def _ask_unit(
        self, docket: AnswerQueue, shard: WorkUnit, saved: str | None = None
    ) -> None:
        """Have a shard asked; by another worker, if one dies over it."""
        office, deaths = self._office, 0
        while office.may_ask and (papers := self._list_open_trials(shard)):
            ask = AskTask(scenario=shard.scenario, papers=papers, saved=saved)
            try:
                async with self._hold_slot():
                    await office.perform(
                        ask,
                        whom=self._whom,
                        at_once=self._at_once,
                        heard=partial(self._enqueue_answer, docket),
                    )
                return
            except NotShared:
                saved = None
            except WorkerLost as lost:
                deaths = deaths + lost.has_begun if self._list_open_trials(shard) == papers else 0
                item = office.standings.scenarios[shard.scenario].items[papers[0].items[0]].id
                if office.give_up(deaths, f"at {shard}, at or after question {item}", lost):
                    return

    async def _ask_copies(self, scenario: str, docket: AnswerQueue) -> None:
        """Feed once; ask copies of each snapshot as soon as it lies ready."""
        place = self._exchange / f"{self._numbers[scenario]:06}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        saved_at: set[str] = set()
        async with anyio.create_task_group() as group:

            def start_asking(saved: SnapshotReady) -> None:
                saved_at.add(saved.checkpoint)
                ask = partial(self._ask_checkpoint, scenario, saved, docket)
                group.start_soon(self._office.run_guarded, ask)

            # What ends the feeding early must not end the asking that has begun.
            feed = partial(self._feed, scenario, place, saved_at, start_asking)
            await self._office.run_guarded(feed)
        if scenario in self._unshared:
            await self._ask_unit(docket, WorkUnit(scenario=scenario))

    async def _feed(
        self, scenario: str, place: Path, saved_at: set[str], ready: Callable[[SnapshotReady], None]
    ) -> None:
        """Feed up to the last checkpoint that is owed; by another worker, if one dies over it."""
        office, deaths = self._office, 0
        while office.may_ask:
            owed = dict.fromkeys(
                left.checkpoint for left in self._list_open_trials(WorkUnit(scenario=scenario))
            )
            due = tuple(label for label in owed if label not in saved_at)
            if not due:
                return
            ahead = office.crew.size + 2
            feed = FeedTask(scenario=scenario, checkpoints=due, place=str(place), ahead=ahead)
            try:
                async with self._hold_feed_slot():
                    await office.perform(feed, whom=self._whom[:1], at_once=1, ready=ready)
                return
            except NotShared:
                self._unshared.add(scenario)
                return
            except WorkerLost as lost:
                deaths = 0 if saved_at.intersection(due) else deaths + lost.has_begun
                if office.give_up(deaths, f"feeding {scenario}", lost):
                    return

    async def _ask_checkpoint(
        self, scenario: str, saved: SnapshotReady, docket: AnswerQueue
    ) -> None:
        """Ask every repeat of a checkpoint, then forget its snapshot."""
        shards = tuple(
            WorkUnit(scenario=scenario, checkpoint=saved.checkpoint, repeat=repeat)
            for repeat in range(self._office.plan.repeats)
        )
        place = Path(saved.place)
        try:
            await self._run_units(partial(self._ask_unit, docket, saved=saved.place), shards)
        finally:
            with anyio.move_on_after(_DISCARD_TIMEOUT_S, shield=True):
                await self._discard(scenario, saved.checkpoint, place)
            shutil.rmtree(place, ignore_errors=True)

    async def _discard(self, scenario: str, checkpoint: str, place: Path) -> None:
        """Have the system forget a snapshot. A failure to do so is recorded and costs no result."""
        company = self._office.company
        if not isinstance(company.system.snapshots, PortableSnapshots):
            return
        try:
            await company.system.snapshots.discard(place)
        except BenchError as fault:
            company.record(
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
        """A place for a memory that is fed while its copies are asked."""
        async with AsyncExitStack() as stack:
            if self._feeders is not None:
                await stack.enter_async_context(self._feeders)
            await stack.enter_async_context(self._office.limits.allow_feeding(self._whom[0]))
            await stack.enter_async_context(self._hold_slot())
            yield

    @asynccontextmanager
    async def _hold_slot(self) -> AsyncIterator[None]:
        """A place among the shards that the system stands at a time."""
        if self._stood is None:
            yield
            return
        async with self._stood:
            yield

    def _list_open_trials(self, shard: WorkUnit) -> tuple[TrialBatch, ...]:
        """What of a shard is still to be put."""
        return tuple(
            TrialBatch(checkpoint=sheet.checkpoint.label, repeat=repeat, items=tuple(items))
            for sheet, repeat, items in self._office.owing.list_open_trials(shard.scenario)
            if shard.checkpoint in (None, sheet.checkpoint.label) and shard.repeat in (None, repeat)
        )

    def _enqueue_answer(self, docket: AnswerQueue, event: Event) -> None:
        if isinstance(event, Answered) and not self._office.plan.unjudged:
            docket.submit(event)
