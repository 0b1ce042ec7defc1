"""The scheduler of a run: every scenario is fed, asked and judged, and faults end what they must.

It is the same for one process and for a pool of workers; an engine does the work. The one for this
process is here.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone, ReplyPending
from recall_bench.core.event import Answered, Declared, RunEnded
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.retry import PAYS_ONCE, Budget
from recall_bench.core.trial_states import (
    JUDGEABLE,
    ScenarioStates,
    TrialState,
    TrialStates,
    find_due_reviews,
)
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.core.work_unit import WorkUnit, list_states
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import RunContext
from recall_bench.engine.lifecycle import list_open_trials, run_lifecycle
from recall_bench.engine.scenario_run import MAX_WAITING, ScenarioRun, make_tracer
from recall_bench.systems.reply import is_paid, list_paid_work


class ScenarioEngine(Protocol):
    """Does the work for one scenario."""

    def ask(self) -> Awaitable[None]:
        """Feed and ask everything that is still open."""
        ...

    async def end_asking(self) -> None:
        """Note that nothing more will be asked."""
        ...

    async def judge(self, leftovers: Iterable[Answered]) -> None:
        """Judge leftovers and what is asked until asking has ended, then review what is due."""
        ...


class Engine(Protocol):
    """Does the work of a run: in this process, or with a pool of workers."""

    @property
    def scenarios_at_once(self) -> int:
        """How many scenarios are run at a time; 1 asks them in the order of the plan."""
        ...

    @property
    def sees_costs_late(self) -> bool:
        """Whether costs are known only after a call, so that the last one may reach a limit."""
        ...

    def open(self, scenario: str) -> ScenarioEngine:
        """Prepare the work for one scenario."""
        ...


class Scheduler:
    """One run: what is left to do, and why nothing new is begun any more."""

    def __init__(self, plan: Plan, states: TrialStates, context: RunContext) -> None:
        self.plan = plan
        self.states = states
        self.context = context
        self.backlog = Backlog(plan, states, context)
        self.budget = self.backlog.budget
        self.failure: BenchError | None = None
        """Why nothing more is asked."""
        self.given_up: BenchError | None = None
        """Why some of it is not asked, while everything else is."""
        self.stopped = anyio.Event()
        """Set once nothing new may be begun that costs money."""

    @property
    def may_ask(self) -> bool:
        """Whether anything new may be fed or asked."""
        return self.failure is None and self.budget.stop_reason is None

    async def run(self, engine: Engine) -> None:
        """Ask, judge and review everything that is still owed; what ended it early is raised.

        An unreachable system, a changed dataset or a judge that cannot prepare ends the asking;
        what was answered before is judged. An unreachable judge and a spent budget end asking and
        judging once what was under way is recorded.
        """
        async with anyio.create_task_group() as group:
            if engine.scenarios_at_once == 1:
                # The answers of a scenario may still be judged while the next one is asked.
                for card in self.plan.scenarios:
                    await self._run_scenario(card.id, engine, group)
            else:
                free = anyio.Semaphore(engine.scenarios_at_once)
                for card in self._order_by_weight():
                    await free.acquire()
                    group.start_soon(self._run_apart, card.id, engine, free)
        self._finish(engine)

    def _order_by_weight(self) -> list[ScenarioCard]:
        """List the scenarios with work, heaviest first: the longest last would delay the end."""
        cards = [card for card in self.plan.scenarios if self.backlog.is_work_possible(card.id)]
        return sorted(cards, key=lambda card: -card.last_day * card.items)

    async def _run_apart(self, scenario: str, engine: Engine, free: anyio.Semaphore) -> None:
        """Run one scenario from asking to judging, then free its place."""
        try:
            async with anyio.create_task_group() as group:
                await self._run_scenario(scenario, engine, group)
        finally:
            free.release()

    async def _run_scenario(self, scenario: str, engine: Engine, judging: TaskGroup) -> None:
        """Ask one scenario, and judge its answers in a task of the group."""
        if not self.backlog.is_work_possible(scenario, may_ask=self.may_ask):
            return
        with self._catch_faults():
            self.backlog.refuse_if_spent(scenario)
            work = engine.open(scenario)
            try:
                if not self.plan.unjudged:
                    leftovers = self.context.find_answers(scenario, WITHOUT_VERDICT)
                    judging.start_soon(self.run_guarded, partial(work.judge, leftovers))
                if self.may_ask and self.context.asks:
                    await work.ask()
            finally:
                await work.end_asking()

    async def run_guarded(self, call: Callable[[], Awaitable[None]]) -> None:
        """Let a fault end the asking, or everything that costs money, but not the other tasks."""
        with self._catch_faults():
            await call()

    @contextmanager
    def _catch_faults(self) -> Iterator[None]:
        try:
            yield
        except (BudgetSpent, JudgeGone) as reason:
            self.stop(reason)
        except ReplyPending as pending:
            self.budget.pending = pending
        except BenchError as error:
            self.failure = self.failure or error

    def stop(self, reason: BudgetSpent | JudgeGone) -> None:
        """Begin nothing new that costs money."""
        self.budget.stop(reason)
        self.stopped.set()

    def _finish(self, engine: Engine) -> None:
        """Record that the run has ended, or raise why it has not."""
        reason = self.failure or self.budget.stop_reason or self.given_up or self.budget.pending
        if reason is not None:
            was_last = engine.sees_costs_late and isinstance(reason, BudgetSpent)
            backlog, cards = self.backlog, self.plan.scenarios
            if not was_last or any(
                backlog.is_work_possible(card.id, may_pay=True) for card in cards
            ):
                raise reason
        if self.backlog.is_run_done:
            self.context.record(RunEnded(at=datetime.now(UTC)))


_RESTARTS_STORY = "the story that was cut off is repeated"
WITHOUT_VERDICT = frozenset({TrialState.ANSWERED, TrialState.NOT_JUDGED})


class Backlog:
    """What a run still has to do, and the budget it has for that."""

    def __init__(self, plan: Plan, states: TrialStates, context: RunContext) -> None:
        self._plan = plan
        self._states = states
        self._context = context
        # Answers that are only judged again were read, and paid for, in another run.
        reading = states.reading_usage if context.asks else Usage()
        self.budget = Budget(
            context.parallelism,
            spent=states.usage + reading,
            allowed_usd=context.max_cost_usd,
            allowed_tokens=context.max_tokens,
            elsewhere=context.spent_elsewhere,
            max_calls=context.max_calls,
            paid_work=list_paid_work(plan.system, context.reader, judges=not plan.unjudged),
            on_resume=PAYS_ONCE if plan.behaviour is None else _RESTARTS_STORY,
        )

    @property
    def is_run_done(self) -> bool:
        """Whether every trial of the plan has all its outcomes; never true of a shard."""
        return self._context.units is None and self._states.is_done

    def is_work_possible(
        self, scenario: str, *, may_ask: bool = True, may_pay: bool | None = None
    ) -> bool:
        """Whether anything can be done for the scenario now, by the budget or as given."""
        trials = self._states.scenarios.get(scenario)
        if trials is None:
            return may_ask and self._list_units(scenario) != ()
        if may_ask and self._context.asks and not self._is_finished(scenario, trials):
            return True
        if self.budget.stop_reason is None if may_pay is None else may_pay:
            return (
                self._is_verdict_missing(trials)
                or bool(self.find_due_reviews(scenario))
                or bool(trials.find_due_verdicts())
            )
        return self._context.judges.judge.card.computes and self._is_verdict_missing(trials)

    def refuse_if_spent(self, scenario: str) -> None:
        """Raise BudgetSpent before feeding for answers or verdicts that cannot be paid for."""
        trials, context = self._states.scenarios.get(scenario), self._context
        costs = is_paid(context.reader) or not context.judges.judge.card.computes
        if costs and (trials is None or not self._is_finished(scenario, trials)):
            self.budget.refuse_if_spent()

    def list_open_trials(
        self,
        scenario: str,
        checkpoint: str | None = None,
        repeat: int | None = None,
        copy: int | None = None,
    ) -> list[OpenTrials]:
        """List what this run still has to ask of the scenario, or of one part of it."""
        trials, copies = self._states.scenarios[scenario], self._plan.copies
        open_trials = list_open_trials(trials, checkpoint, repeat, copy, copies=copies)
        units = self._list_units(scenario)
        if units is None:
            return list(open_trials)
        places = {(unit.checkpoint, unit.repeat) for unit in units}
        return [
            one
            for one in open_trials
            if places & {(None, None), (one.point.checkpoint.label, one.repeat)}
        ]

    def _list_units(self, scenario: str) -> tuple[WorkUnit, ...] | None:
        return None if self._context.units is None else self._context.units(scenario)

    def _is_finished(self, scenario: str, trials: ScenarioStates) -> bool:
        units = self._list_units(scenario)
        return trials.has_outcomes(None if units is None else list_states(trials, units))

    def find_due_reviews(self, scenario: str) -> frozenset[int]:
        """Find the verdicts that still have to be reviewed, by their slots."""
        # Passes are drawn once a scenario has all its outcomes. A shard with only some of the
        # checkpoints never has them: it reviews its failures, and the merged run draws the same
        # passes that one process would have drawn.
        if self._context.judges.appellate is None:
            return frozenset()
        return find_due_reviews(scenario, self._states.scenarios[scenario], self._plan)

    def list_first_verdicts(
        self, scenario: str, due: frozenset[int]
    ) -> Iterator[tuple[Answered, Verdict]]:
        """List each answer whose verdict is due for review, with that verdict."""
        trials = self._states.scenarios[scenario]
        verdicts = {
            slot: judged.verdict
            for judged in self._context.find_verdicts(scenario)
            if (slot := trials.find_slot(judged.trial)) in due
        }
        for answered in self._context.find_answers(scenario, frozenset({TrialState.JUDGED})):
            first = verdicts.pop(trials.find_slot(answered.trial), None)
            if first is not None:
                yield answered, first

    def list_due_verdicts(self, scenario: str) -> Iterator[tuple[Answered, int]]:
        """List each answer that another judge still has to judge, with the place of that judge."""
        trials = self._states.scenarios[scenario]
        due: dict[int, list[int]] = {}
        for slot, judge in sorted(trials.find_due_verdicts()):
            due.setdefault(slot, []).append(judge)
        if due:
            for answered in self._context.find_answers(scenario, JUDGEABLE):
                for judge in due.pop(trials.find_slot(answered.trial), ()):
                    yield answered, judge

    @staticmethod
    def _is_verdict_missing(trials: ScenarioStates) -> bool:
        return trials.count_states(*WITHOUT_VERDICT) > 0


def run_plan(plan: Plan, states: TrialStates, context: RunContext) -> Awaitable[None]:
    """Ask, judge and review everything that is still owed, in this process."""
    scheduler = Scheduler(plan, states, context)
    return scheduler.run(LocalEngine(scheduler))


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Feeds, asks and judges in this process."""

    scheduler: Scheduler
    scenarios_at_once: int = 1
    sees_costs_late: bool = False

    def open(self, scenario: str) -> "LocalScenario":
        """Load the scenario, let the judges study it, and declare its questions."""
        scheduler = self.scheduler
        plan, states, context = scheduler.plan, scheduler.states, scheduler.context
        loaded = context.load(scenario)
        if not plan.unjudged:
            context.judges.study(loaded)
        if scenario not in states.scenarios:
            now, days = datetime.now(UTC), tuple(episode.day for episode in loaded.fed_episodes)
            context.record(Declared(at=now, scenario=scenario, items=loaded.items, days=days))
        send, receive = anyio.create_memory_object_stream[Answered](MAX_WAITING)
        run = ScenarioRun.make(
            plan,
            loaded,
            states.scenarios[scenario],
            context,
            record=context.record,
            budget=scheduler.budget,
            tracer=partial(make_tracer, loaded),
            answers=send,
            parallelism=context.parallelism,
            skip_catchup=context.skip_catchup,
        )
        return LocalScenario(scheduler, run, receive)


@dataclass(frozen=True, slots=True)
class LocalScenario:
    """One scenario, fed, asked and judged in this process."""

    scheduler: Scheduler
    run: ScenarioRun
    answers: MemoryObjectReceiveStream[Answered]

    def ask(self) -> Awaitable[None]:
        """Feed and ask everything that is still open."""
        open_trials = self.scheduler.backlog.list_open_trials(self.run.scenario.id)
        return run_lifecycle(self.run, open_trials)

    async def end_asking(self) -> None:
        """Let the judge end once it has judged what was asked."""
        if self.run.answers is not None:
            await self.run.answers.aclose()
        if self.run.plan.unjudged:
            self.answers.close()

    async def judge(self, leftovers: Iterable[Answered]) -> None:
        """Judge leftovers and answers as they come, then review, then ask the other judges."""
        context, backlog = self.scheduler.context, self.scheduler.backlog
        scenario, grader = self.run.scenario.id, self.run.make_grader()
        with self.answers:
            await grader.judge_answers(leftovers, context.parallelism)
            await grader.judge_stream(self.answers, context.parallelism)
        if due := backlog.find_due_reviews(scenario):
            await grader.review(backlog.list_first_verdicts(scenario, due), context.parallelism)
        await grader.judge_others(backlog.list_due_verdicts(scenario), context.parallelism)
