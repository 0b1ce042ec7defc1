"""The scheduler of a run: every scenario is fed, asked and judged, and faults end what they must.

It is the same for one process and for a pool of workers; an engine does the work.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone, ReplyPending
from recall_bench.core.event import Answered, RunEnded
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.backlog import WITHOUT_VERDICT, Backlog
from recall_bench.engine.components import RunContext


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
            if not was_last or self._is_anything_left():
                raise reason
        if self.backlog.is_run_done:
            self.context.record(RunEnded(at=datetime.now(UTC)))

    def _is_anything_left(self) -> bool:
        return any(self.backlog.is_anything_left(card.id) for card in self.plan.scenarios)
