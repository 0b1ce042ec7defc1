"""Do the steps of behaviour stories, and record what was observed.

The events of a story are recorded together when all its steps are done. A story that was cut off is
done again from its beginning, so nothing counts twice. Where a story keeps its answers, its events
are recorded as they happen, and what was answered is not asked again.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from recall_bench.core.errors import BudgetSpent, NotOffered, ReaderPending, SystemFault
from recall_bench.core.event import (
    INGEST,
    QUERY,
    AgentEnded,
    Answered,
    Event,
    FeedFailed,
    Ingested,
    NotAnswered,
    Observed,
    ReadingPaid,
    RunEnded,
    Settled,
    StoryEnded,
    StoryStarted,
)
from recall_bench.core.event_redaction import redact_event
from recall_bench.core.memory import (
    ConsolidatingMemory,
    EraseReply,
    ErasingMemory,
    KillableMemory,
    ListingMemory,
    Memory,
    MemorySystem,
    MemoryWithFolder,
    ReopeningSystem,
)
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.retry import Budget, choose_limit
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStates
from recall_bench.core.usage import Usage
from recall_bench.engine.agent_events import record_day_sessions, record_question_sessions
from recall_bench.engine.checkpoint import finish_trial
from recall_bench.engine.components import RunContext
from recall_bench.engine.scenario_run import make_tracer, record_exchanges, record_spending
from recall_bench.engine.scheduler import Backlog
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    ConsolidateStep,
    EraseStep,
    LoadStep,
    LookStep,
    MemoryLane,
    PollStep,
    RestartStep,
    SettleStep,
    Step,
    WaitStep,
    WriteStep,
)
from recall_bench.features.suites.load_generator import LoadGenerator
from recall_bench.features.suites.planted_files import search_folder
from recall_bench.features.suites.resource_meter import ResourceMeter
from recall_bench.metrics.planted_strings import contains, find_planted
from recall_bench.systems.memory_call import ask_memory, call_system
from recall_bench.systems.reply import ReplyFinisher

T = TypeVar("T")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
"""Between two polls; each pause is half as long again as the one before."""


async def run_stories(
    stories: Mapping[str, BehaviourStory], plan: Plan, states: TrialStates, context: RunContext
) -> None:
    """Do every story of the plan that was not done before.

    A story with a reply that comes later is done again when the reply is there.
    """
    budget = Backlog(plan, states, context).budget
    pending: list[ReaderPending] = []
    for card in plan.scenarios:
        if card.id in states.ended_stories:
            continue
        story = StoryRun(stories[card.id], plan, states.scenarios[card.id], context, budget)
        try:
            events = await story.run()
        except BaseException:
            # Paid for, though the story is done again.
            story.record_unrecorded()
            raise
        if story.pending:
            pending += story.pending
            continue
        for event in events:
            context.record(event)
        story.record_payment(story.polling_usage)
    if pending:
        raise pending[-1]
    context.record(RunEnded(at=datetime.now(UTC)))


class StoryRun:
    """One story, done with the memories of one system."""

    def __init__(
        self,
        story: BehaviourStory,
        plan: Plan,
        states: ScenarioStates,
        context: RunContext,
        budget: Budget,
    ) -> None:
        self.story = story
        self.states = states
        self.record = context.record
        self.is_kept = any(
            isinstance(step, AskStep) and step.is_kept for step in story.list_steps()
        )
        """Whether what was recorded of the story stays if it is cut off."""
        self.plan = plan
        self.system = context.system
        self.meter = context.meter
        self.budget = budget
        self.items = {item.id: item for item in story.scenario.items}
        self.finisher = ReplyFinisher(
            partial(make_tracer, story.scenario), plan=plan, reader=context.reader, budget=budget
        )
        self.pending: list[ReaderPending] = []
        """Answers that the reader gives later."""
        self._arrived: Counter[str] = Counter()
        self._open: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self._lanes = [_LaneRun(self, lane) for lane in story.lanes]
        self.polling_usage = Usage()
        """What reading cost for answers that are compared and not recorded."""
        self.stop_reason: BudgetSpent | None = None
        """Why no lane begins anything new."""

    async def run(self) -> list[Event]:
        """Do the steps of all lanes at once, and return what is still to be recorded."""
        name = self.story.scenario.id
        started = StoryStarted(at=datetime.now(UTC), scenario=name)
        if self.is_kept:
            if self.states.done_count == self.states.owed_count:
                return [StoryEnded(at=datetime.now(UTC), scenario=name)]
            if not self.states.done_count:
                self.record(started)
        is_load = any(isinstance(step, LoadStep) for step in self.story.list_steps())
        meter = ResourceMeter(is_here=self.system.card.computes) if is_load else None
        async with anyio.create_task_group() as group:
            for lane in self._lanes:
                group.start_soon(lane.run, meter)
        if self.stop_reason is not None:
            raise self.stop_reason
        events: list[Event] = [] if self.is_kept else [started]
        events += (event for lane in self._lanes for event in lane.events)
        return [*events, StoryEnded(at=datetime.now(UTC), scenario=name)]

    def record_unrecorded(self) -> None:
        """Record what reader and agent cost in a story that was cut off, where no event says."""
        reading, by_agent = self.polling_usage, Usage()
        for event in (event for lane in self._lanes for event in lane.events):
            match event:
                case Answered(reading_usage=Usage() as usage):
                    reading += usage
                case AgentEnded(usage=Usage() as usage):
                    by_agent += usage
        self.record_payment(reading)
        self.record_payment(by_agent, by_agent=True)

    def record_payment(self, usage: Usage, *, by_agent: bool = False) -> None:
        """Record what no other event states, if it is anything."""
        if usage != Usage():
            name, at = self.story.scenario.id, datetime.now(UTC)
            self.record(ReadingPaid(at=at, scenario=name, usage=usage, by_agent=by_agent))

    def stop(self, reason: BudgetSpent) -> None:
        """Let each lane end before its next step: what is being read is paid for."""
        self.stop_reason = self.stop_reason or reason
        for barrier in self._open.values():
            barrier.set()

    async def wait(self, name: str) -> None:
        """Wait until every lane has come to this step."""
        if self.stop_reason is not None:
            return
        self._arrived[name] += 1
        awaited = sum(
            any(isinstance(step, WaitStep) and step.name == name for step in lane.steps)
            for lane in self.story.lanes
        )
        if self._arrived[name] == awaited:
            self._open[name].set()
        await self._open[name].wait()


class _LaneRun:
    """One memory of a story."""

    def __init__(self, story: StoryRun, lane: MemoryLane) -> None:
        self._story = story
        self._lane = lane
        self.scenario = story.story.scenario
        self.budget = story.budget
        self._memory: Memory | None = None
        self._day = 0
        self._fault: SystemFault | None = None
        """What keeps the memory from being used any more."""
        self._meter: ResourceMeter | None = None
        self.events: list[Event] = []
        self._do: dict[type[Step], Callable[..., Awaitable[None]]] = {
            WriteStep: self._write,
            SettleStep: self._settle,
            AskStep: self._ask,
            EraseStep: self._erase,
            ConsolidateStep: self._consolidate,
            RestartStep: self._restart,
            LookStep: self._look,
            PollStep: self._poll,
            WaitStep: self._wait,
            LoadStep: self._load,
        }

    async def run(self, meter: ResourceMeter | None = None) -> None:
        """Open the memory, do the steps, and close it."""
        self._meter = meter
        try:
            await self._open()
            for step in self._lane.steps:
                if self._story.stop_reason is not None:
                    return
                # Questions to a memory that cannot be used fail, and other lanes wait for this one.
                if self._is_open or isinstance(step, AskStep | WaitStep):
                    await self._do[type(step)](step)
        except BudgetSpent as reason:
            self._story.stop(reason)
        finally:
            if self._memory is not None:
                with anyio.CancelScope(shield=True):
                    await self._close()

    @property
    def _system(self) -> MemorySystem:
        return self._story.system

    @property
    def _answer_timeout_s(self) -> float | None:
        return choose_limit(self._story.plan.answer_timeout_s, self._system.card)

    @property
    def _is_open(self) -> bool:
        return self._memory is not None and self._fault is None

    @property
    def _opened(self) -> Memory:
        if self._memory is None:
            raise AssertionError("no step is done with a memory that could not be opened")
        return self._memory

    def record(self, event: Event) -> None:
        """Record an event, now or when the story is done."""
        if self._story.is_kept:
            self._story.record(redact_event(event))
        else:
            self.events.append(redact_event(event))

    def _record_exchanges(self, phase: str, stage: str) -> None:
        """Record what an agent was sent since the last call, what it replied, and the cost."""
        story, name = self._story, self.scenario.id
        record_exchanges(self.record, self._system, name, phase, opened_as=self._lane.opened_as)
        # Paid for, also if the story is done again.
        record_spending(story.record, story.meter, name, phase, stage=stage)

    async def _open(self) -> None:
        name = self._lane.opened_as
        try:
            self._memory = await self._call("open", partial(self._system.open, name))
        except SystemFault as fault:
            self._fail("open", self._story.story.phases[0], fault)

    async def _close(self) -> None:
        try:
            await self._call("close", self._opened.close)
        except SystemFault as fault:
            self._fail("close", self._story.story.phases[-1], fault)

    async def _call(self, stage: str, call: Callable[[], Awaitable[T]]) -> T:
        return await call_system(stage, call, timeout_s=self._story.plan.feed_timeout_s)

    def _fail(self, stage: str, phase: str, fault: SystemFault, day: int | None = None) -> None:
        self._fault = self._fault or fault
        self.record(
            FeedFailed(
                at=datetime.now(UTC),
                scenario=self.scenario.id,
                checkpoint=phase,
                stage=stage,
                fault=type(fault).__name__,
                message=str(fault),
                day=day,
            )
        )

    async def _feed(
        self, stage: str, phase: str, call: Callable[[], Awaitable[None]], *, day: int | None = None
    ) -> float | None:
        """How long a call took; None if it failed, and the memory cannot be used any more."""
        started = time.perf_counter()
        try:
            await self._call(stage, call)
        except SystemFault as fault:
            self._fail(stage, phase, fault, day)
            return None
        return time.perf_counter() - started

    async def _write(self, step: WriteStep) -> None:
        self.budget.check()
        episode = self._story.story.get_episode(step.episode)
        ingest = partial(self._opened.ingest, episode)
        try:
            seconds = await self._feed("ingest", step.phase, ingest, day=episode.day)
        finally:
            record_day_sessions(self, self._opened, episode, step.phase)
            self._record_exchanges(step.phase, INGEST)
        if seconds is not None:
            self._day = max(self._day, episode.day)
            self.record(
                Ingested(
                    at=datetime.now(UTC),
                    scenario=self.scenario.id,
                    day=episode.day,
                    checkpoint=step.phase,
                    seconds=seconds,
                )
            )

    async def _settle(self, step: SettleStep) -> None:
        try:
            seconds = await self._feed("settle", step.phase, self._opened.settle)
        finally:
            self._record_exchanges(step.phase, INGEST)
        if seconds is not None:
            at, name = datetime.now(UTC), self.scenario.id
            self.record(Settled(at=at, scenario=name, checkpoint=step.phase, seconds=seconds))

    async def _ask(self, step: AskStep) -> None:
        for name in step.items:
            trial = Trial(scenario=self.scenario.id, item=name, checkpoint=step.phase)
            if step.is_kept and self._story.states.find_state(trial) is not TrialState.OPEN:
                continue
            try:
                outcome = await self._ask_item(self._story.items[name], step.phase)
            except ReaderPending as pending:
                self._story.pending.append(pending)
                continue
            self._record_exchanges(step.phase, QUERY)
            self.record(outcome)

    async def _ask_item(self, item: Item, phase: str) -> Answered | NotAnswered:
        story, plan = self._story, self._story.plan
        trial = Trial(scenario=self.scenario.id, item=item.id, checkpoint=phase)
        if self._fault is not None:
            return NotAnswered(
                at=datetime.now(UTC),
                trial=trial,
                fault=type(self._fault).__name__,
                message=str(self._fault),
                seconds=0.0,
            )
        story.budget.check()
        story.finisher.refuse_if_spent()
        question = item.ask(
            self._lane.opened_as, self.scenario.compute_date(max(self._day, 1)), plan.top_k
        )
        try:
            reply = await ask_memory(
                self._opened,
                question,
                timeout_s=self._answer_timeout_s,
                calls=story.budget.calls,
            )
        finally:
            record_question_sessions(self, self._opened, question.id, trial, None)
        return await finish_trial(story.finisher, trial, question, reply, until=self._day)

    async def _erase(self, step: EraseStep) -> None:
        memory = self._opened
        if not isinstance(memory, ErasingMemory):
            raise TypeError("stories that erase are drawn for systems that offer it")
        await self._act(step, "erase", partial(memory.erase, step.scope, step.value))

    async def _consolidate(self, step: ConsolidateStep) -> None:
        memory = self._opened
        if isinstance(memory, ConsolidatingMemory):
            await self._act(step, "consolidate", memory.consolidate)

    async def _act(
        self, step: Step, action: str, call: Callable[[], Awaitable[EraseReply | None]]
    ) -> None:
        """Let the memory do something that it may refuse, and record what came of it."""
        started = time.perf_counter()
        try:
            reply = await self._call(action, call)
        except (SystemFault, NotOffered) as fault:
            self._observe(step, action, fault=str(fault))
            return
        finally:
            self._record_exchanges(step.phase, INGEST)
        seconds = time.perf_counter() - started
        if reply is None:
            self._observe(step, action, seconds=seconds)
        else:
            confirmed, count = reply.confirmed, reply.count
            self._observe(step, action, confirmed=confirmed, count=count, seconds=seconds)

    async def _restart(self, step: RestartStep) -> None:
        system, memory = self._system, self._opened
        if not isinstance(system, ReopeningSystem):
            return
        started = time.perf_counter()
        try:
            is_killed = step.kill and await self._kill(memory)
            if not is_killed:
                await self._call("close", memory.close)
            self._memory = None
            self._memory = await self._call("reopen", partial(system.reopen, memory))
        except (SystemFault, NotOffered) as fault:
            lost = fault if isinstance(fault, SystemFault) else SystemFault(str(fault))
            self._fail("reopen", step.phase, lost)
            return
        seconds = time.perf_counter() - started
        self._observe(step, "restart", confirmed=is_killed, seconds=seconds)

    async def _kill(self, memory: Memory) -> bool:
        """Kill the process of a memory; False if it is not ours to kill."""
        if not isinstance(memory, KillableMemory):
            return False
        try:
            await self._call("kill", memory.kill)
        except NotOffered:
            return False
        return True

    async def _look(self, step: LookStep) -> None:
        memory = self._opened
        if isinstance(memory, ListingMemory):
            try:
                entries = await self._call("stored", memory.list_stored)
            except NotOffered:
                pass
            except SystemFault as fault:
                self._observe(step, "list", fault=str(fault))
            else:
                texts = [entry.text for entry in entries]
                counts = {
                    string: float(sum(contains(text, string) for text in texts))
                    for string in step.planted
                }
                matches = tuple(string for string in step.planted if counts[string])
                self._observe(step, "list", count=len(entries), found=matches, values=counts)
        if (folder := self._find_folder()) is not None:
            matches = await anyio.to_thread.run_sync(search_folder, folder, step.planted)
            self._observe(step, "search", found=matches)

    async def _poll(self, step: PollStep) -> None:
        item, started, pause = self._story.items[step.item], time.perf_counter(), _FIRST_PAUSE_S
        questions = 0
        while True:
            is_done = await self._is_as_wanted(step, item)
            questions += 1
            passed = time.perf_counter() - started
            if is_done or passed >= step.patience_s:
                break
            await anyio.sleep(min(pause, step.patience_s - passed))
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        again = [await self._is_as_wanted(step, item) for _ in range(step.again if is_done else 0)]
        self._observe(
            step,
            "poll",
            item=item.id,
            confirmed=questions == 1 and is_done,
            count=questions,
            seconds=passed if is_done else None,
            values={"lost again": float(again.count(False))} if step.again else {},
        )

    async def _is_as_wanted(self, step: PollStep, item: Item) -> bool:
        """Whether answer or passages now have the atoms, or the answer is free of the canaries.

        A store that returns a note has it, whether the reader quotes it or not.
        """
        outcome = await self._ask_item(item, step.phase)
        self._record_exchanges(step.phase, QUERY)
        if isinstance(outcome, NotAnswered):
            return False
        self._story.polling_usage += outcome.reading_usage or Usage()
        answer = outcome.answer
        if step.wants:
            text = "\n".join(passage.text for passage in answer.passages)
            return any(
                all(contains(content, atom) for atom in item.truth.atoms)
                for content in (answer.text, text)
            )
        return not find_planted(answer.text, item.truth.canaries)

    async def _wait(self, step: WaitStep) -> None:
        await self._story.wait(step.name)

    async def _load(self, step: LoadStep) -> None:
        story, scenario = self._story, self.scenario
        at = scenario.compute_date(max(self._day, 1))
        load = LoadGenerator(
            memory=self._opened,
            questions=[
                (item, item.ask(self._lane.opened_as, at, story.plan.top_k))
                for item in (story.items[name] for name in step.items)
            ],
            episodes=[story.story.get_episode(name) for name in step.episodes],
            most=self._system.card.max_concurrency,
            answer_timeout_s=self._answer_timeout_s,
            feed_timeout_s=story.plan.feed_timeout_s,
        )
        meter = self._meter
        before_s = None if meter is None else meter.read_cpu()
        try:
            measured = await load.run(step)
            resources = {} if meter is None else meter.measure(self._find_folder(), before_s)
        finally:
            # What the writes cost cannot be separated; most arrivals are questions.
            self._record_exchanges(step.phase, QUERY)
        self._observe(
            step,
            "load",
            count=measured.arrivals,
            seconds=measured.seconds,
            values=measured.values | resources,
            histograms=measured.histograms,
        )

    def _find_folder(self) -> Path | None:
        memory = self._memory
        return memory.state_folder if isinstance(memory, MemoryWithFolder) else None

    def _observe(self, step: Step, action: str, **values: object) -> None:
        event = Observed(
            at=datetime.now(UTC),
            scenario=self.scenario.id,
            lane=self._lane.name,
            phase=step.phase,
            action=action,
        )
        self.record(event.replace(**values))
