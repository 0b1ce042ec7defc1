"""One run as its driver holds it: assignments go out, and what comes back goes on record."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio

from recall_bench.core.budget import name_provider
from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone, SystemGone
from recall_bench.core.event import (
    Answered,
    Event,
    FeedFailed,
    Judged,
    NotJudged,
    Paid,
    RunEnded,
    decode_event,
)
from recall_bench.core.memory import PortableSnapshots, get_worker_limit
from recall_bench.core.plan import Lifecycle, Plan, Trial
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Judge, Verdict
from recall_bench.core.work_unit import WorkUnit, is_divisible, list_work_units, weigh_unit
from recall_bench.running.backlog import WITHOUT_VERDICT, Backlog
from recall_bench.running.components import RunContext
from recall_bench.running.scenario_run import AnswerQueue
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    GradeTask,
    NotShared,
    ReviewTask,
    RunSpec,
    SnapshotReady,
    Task,
    TaskFailure,
    TaskLimits,
    TrialBatch,
    WorkerLost,
)
from recall_bench.running.worker_pool import CallLimits, WorkerPool
from recall_bench.systems.reply import is_paid

ATTEMPTS = 3
"""So often may a worker die over an assignment, with nothing to show for it."""


class Driver:
    """Sends assignments to a crew, keeps the books, and knows when to begin nothing new."""

    def __init__(
        self,
        crew: WorkerPool,
        limits: CallLimits,
        brief: RunSpec,
        *,
        standings: TrialStates,
        company: RunContext,
    ) -> None:
        self.crew = crew
        self.plan: Plan = brief.plan
        self.standings = standings
        self.company = company
        self.owing = Backlog(brief.plan, standings, company)
        self.court = self.owing.court
        self.lost: BenchError | None = None
        """Why nothing more is asked."""
        self.given_up: BenchError | None = None
        """Why some of it is not asked, while everything else is."""
        self.limits = limits
        self._brief = brief
        self._bell = anyio.Event()

    @property
    def may_ask(self) -> bool:
        """Whether anything new may be fed or asked."""
        return self.lost is None and self.court.stop_reason is None

    async def perform(
        self,
        assignment: Task,
        *,
        whom: Sequence[str],
        at_once: int,
        heard: Callable[[Event], None] | None = None,
        ready: Callable[[SnapshotReady], None] | None = None,
    ) -> None:
        """Have an assignment carried out, with at most so many calls at a time to each of `whom`.

        Every event is on record before `heard` hears of it. If nothing of the kind is to be begun
        any more when its turn comes, the reason for that is raised.
        """

        def handle_message(message: bytes | SnapshotReady) -> None:
            if isinstance(message, SnapshotReady):
                if ready is not None:
                    ready(message)
                return
            for line in message.splitlines():
                event = decode_event(line)
                self._record(event)
                if heard is not None:
                    heard(event)

        async with self.limits.allow_calls(whom, at_once) as granted:
            terms = partial(self._make_limits, assignment, granted)
            await self.crew.perform(self._brief, assignment, terms, handle_message)

    def _make_limits(self, assignment: Task, granted: int) -> TaskLimits:
        """What holds now that a worker is there; raises why it is not to begin."""
        why: BenchError | None = self.court.stop_reason
        if isinstance(assignment, AskTask | FeedTask):
            why = self.lost or why
        elif isinstance(assignment, GradeTask) and self.company.bench.judge.card.computes:
            why = None
        if why is not None:
            raise why
        return TaskLimits(
            at_once=granted,
            max_calls=None if self.limits.max_calls is None else granted,
            spent=self.court.total,
            allowed_usd=self.company.max_cost_usd,
            allowed_tokens=self.company.max_tokens,
        )

    async def run_guarded(self, call: Callable[[], Awaitable[None]]) -> None:
        """What goes wrong in one task ends the asking, or all that costs money; not the others."""
        try:
            await call()
        except (BudgetSpent, JudgeGone) as reason:
            self.stop(reason)
        except BenchError as error:
            self.lost = self.lost or error

    def stop(self, reason: BudgetSpent | JudgeGone) -> None:
        """Begin nothing new that costs money, and have the crew told."""
        self.court.stop(reason)
        self._bell.set()

    def give_up(self, deaths: int, where: str, lost: WorkerLost) -> bool:
        """Whether so many workers died over some work that it is left alone; the rest goes on."""
        if deaths < ATTEMPTS:
            return False
        self.given_up = self.given_up or SystemGone(
            f"{deaths} workers died {where} ({lost}): the system may end the process it is in, or "
            "use up its memory; the same command tries again"
        )
        return True

    async def broadcast(self) -> None:
        """Once nothing new is to be begun, tell the crew. To be run beside everything else."""
        await self._bell.wait()
        if self.court.stop_reason is not None:
            await self.crew.stop(self._brief.run, TaskFailure.from_error(self.court.stop_reason))

    def finish(self) -> None:
        """Say that the run has ended; or raise why it has not."""
        lost = self.lost or self.court.stop_reason or self.given_up
        if lost is not None and not (isinstance(lost, BudgetSpent) and self._is_done):
            raise lost
        if self.owing.is_all_done:
            self.company.record(RunEnded(at=datetime.now(UTC)))

    @property
    def _is_done(self) -> bool:
        """Whether there is nothing left to pay for: a limit that was just reached ended nothing."""
        return not any(self.owing.is_anything_left(card.id) for card in self.plan.scenarios)

    def _record(self, event: Event) -> None:
        self.company.record(event)
        usage = _find_cost(event)
        if usage is None:
            return
        self.court.record_usage(
            usage, "the reader's" if isinstance(event, Answered) else "the judge's"
        )
        try:
            self.court.refuse_if_spent()
        except BudgetSpent as spent:
            self.stop(spent)
        if self.court.stop_reason is not None:
            self._bell.set()


def _find_cost(event: Event) -> Usage | None:
    """What an event says was paid by us."""
    match event:
        case Judged(usage=usage) | NotJudged(usage=usage) | Paid(usage=usage):
            return usage
        case Answered(reading_usage=usage):
            return usage
    return None


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


T = TypeVar("T")

_BATCH = 32
"""So many answers are judged in one assignment, if they are there: each costs a message."""
_LINGER_S = 0.1
"""How long a judge that only computes waits for a batch to fill: it is in no hurry."""


class JudgeDispatcher:
    """Has the answers of scenarios graded, and verdicts reviewed that are due."""

    def __init__(self, office: Driver) -> None:
        bench = office.company.bench
        self._office = office
        self._is_free = bench.judge.card.computes
        judges = (bench.judge, bench.appellate)
        self._whom = [
            _name_provider(judge) for judge in judges if judge and not judge.card.computes
        ]

    def list_leftovers(self, scenario: str) -> Iterable[Answered]:
        """What an earlier process left unjudged; to be asked for before anything is asked anew."""
        return self._office.company.unjudged(scenario, WITHOUT_VERDICT)

    async def judge_scenario(
        self, scenario: str, left_over: Iterable[Answered], docket: AnswerQueue
    ) -> None:
        """Judge what an earlier process left, then what comes, then what did not fit."""
        company = self._office.company
        await self._judge_all(scenario, left_over)
        turn = anyio.Lock()
        async with anyio.create_task_group() as group:
            for _ in range(self._office.crew.size):
                come = partial(self._judge_queue, scenario, docket, turn)
                group.start_soon(self._office.run_guarded, come)
        if docket.overflowed:
            await self._judge_all(
                scenario, company.unjudged(scenario, frozenset({TrialState.ANSWERED}))
            )
        if self._may_judge and (due := self._office.owing.find_due_reviews(scenario)):
            verdicts = self._office.owing.list_first_verdicts(scenario, due)
            await self._run_batches(partial(self._review_batch, scenario), _split_batches(verdicts))

    @property
    def _may_judge(self) -> bool:
        return self._is_free or self._office.court.stop_reason is None

    async def _judge_all(self, scenario: str, answers: Iterable[Answered]) -> None:
        await self._run_batches(partial(self._judge_batch, scenario), _split_batches(answers))

    async def _run_batches(
        self, judge: Callable[[tuple[T, ...]], Awaitable[None]], batches: Iterator[tuple[T, ...]]
    ) -> None:
        """Each batch to one of as many tasks as there are workers."""

        async def run_worker() -> None:
            for batch in batches:
                if not self._may_judge:
                    return
                await judge(batch)

        async with anyio.create_task_group() as group:
            for _ in range(self._office.crew.size):
                group.start_soon(self._office.run_guarded, run_worker)

    async def _judge_queue(self, scenario: str, docket: AnswerQueue, turn: anyio.Lock) -> None:
        linger_s = _LINGER_S if self._is_free else 0.0
        limit = _BATCH if self._is_free else self._office.company.parallelism
        while True:
            # One after another: all at once would each wait for a batch and share one out.
            async with turn:
                answers = await docket.take(limit, linger_s)
            if not answers:
                return
            if not self._may_judge:
                return
            await self._judge_batch(scenario, answers)

    async def _judge_batch(self, scenario: str, answers: Sequence[Answered]) -> None:
        def make_task(left: Sequence[Answered]) -> GradeTask:
            return GradeTask(scenario=scenario, answers=tuple(left))

        try:
            await self._run_until_judged(
                make_task, {answered.trial: answered for answered in answers}
            )
        except (BudgetSpent, JudgeGone) as reason:
            if not self._is_free:
                raise
            # Verdicts cost nothing and are all there: only their reviews are not.
            self._office.stop(reason)

    async def _review_batch(
        self, scenario: str, verdicts: Sequence[tuple[Answered, Verdict]]
    ) -> None:
        def make_task(left: Sequence[tuple[Answered, Verdict]]) -> ReviewTask:
            return ReviewTask(scenario=scenario, verdicts=tuple(left))

        await self._run_until_judged(
            make_task, {answered.trial: (answered, at) for answered, at in verdicts}
        )

    async def _run_until_judged(
        self, assignment: Callable[[Sequence[T]], GradeTask | ReviewTask], left: dict[Trial, T]
    ) -> None:
        """Have all of it judged; what is left, by another worker, if one dies over it."""
        deaths = 0
        while left and self._may_judge:
            heard: set[Trial] = set()
            try:
                await self._run_task(assignment(tuple(left.values())), heard)
                return
            except WorkerLost as lost:
                deaths = 0 if heard else deaths + lost.has_begun
                where = f"judging {next(iter(left)).scenario}"
                if self._office.give_up(deaths, where, lost):
                    return
                left = {trial: each for trial, each in left.items() if trial not in heard}

    async def _run_task(self, assignment: GradeTask | ReviewTask, heard: set[Trial]) -> None:
        def note_verdict(event: Event) -> None:
            if isinstance(event, Judged | NotJudged):
                heard.add(event.trial)

        at_once = self._office.company.parallelism
        await self._office.perform(assignment, whom=self._whom, at_once=at_once, heard=note_verdict)


def _name_provider(judge: Judge) -> str:
    return name_provider(judge.card.model or judge.card.name)


def _split_batches(things: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(things)
    while batch := tuple(islice(left, _BATCH)):
        yield batch
