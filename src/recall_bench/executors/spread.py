"""A plan carried out by a crew of workers.

The driver keeps the journal, the count and the purse; workers keep nothing. So a worker that
dies costs what it had under way, a driver that is killed costs no more than a single process
would, and a run can go on with another executor than it began with.
"""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.standing import TrialStates
from recall_bench.executors.asking import AskDispatcher
from recall_bench.executors.assignments import RunSpec
from recall_bench.executors.crew import WorkerPool
from recall_bench.executors.judging import JudgeDispatcher
from recall_bench.executors.limits import CallLimits
from recall_bench.executors.office import Driver
from recall_bench.running.company import RunContext
from recall_bench.running.docket import AnswerQueue
from recall_bench.staff import ComponentFactory


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRunner:
    """Conducts a run with a crew, which others may share."""

    crew: WorkerPool
    limits: CallLimits
    hire: ComponentFactory
    run: str
    """Names the run among those of the crew."""
    exchange: Path
    """The folder through which snapshots are handed on; gone when the run is over."""

    async def __call__(self, plan: Plan, standings: TrialStates, company: RunContext) -> None:
        """Ask, grade and review everything that is still owed.

        What ends a run early, and what is done all the same, is as in a single process.
        """
        brief = RunSpec(run=self.run, plan=plan, hire=self.hire)
        office = Driver(self.crew, self.limits, brief, standings=standings, company=company)
        try:
            async with anyio.create_task_group() as beside:
                beside.start_soon(office.broadcast)
                await _PoolRun(
                    office, AskDispatcher(office, self.exchange), JudgeDispatcher(office)
                ).run()
                beside.cancel_scope.cancel()
        finally:
            shutil.rmtree(self.exchange, ignore_errors=True)
        office.finish()


@dataclass(frozen=True, slots=True)
class _PoolRun:
    office: Driver
    asking: AskDispatcher
    judging: JudgeDispatcher

    async def run(self) -> None:
        """See every scenario through, some at a time."""
        begun = anyio.Semaphore(2 * self.office.crew.size)
        async with anyio.create_task_group() as group:
            for card in self._order_by_weight():
                await begun.acquire()
                group.start_soon(self._run_scenario, card.id, begun)

    def _order_by_weight(self) -> list[ScenarioCard]:
        """The scenarios with something to do. The longest last would keep all others waiting."""
        cards = [
            card
            for card in self.office.plan.scenarios
            if self.office.owing.is_work_possible(card.id)
        ]
        return sorted(cards, key=lambda card: -card.last_day * card.items)

    async def _run_scenario(self, scenario: str, begun: anyio.Semaphore) -> None:
        try:
            await self.office.run_guarded(partial(self._ask_and_grade, scenario))
        finally:
            begun.release()

    async def _ask_and_grade(self, scenario: str) -> None:
        office = self.office
        if not office.owing.is_work_possible(scenario, may_ask=office.may_ask):
            return
        office.owing.refuse_if_spent(scenario)
        docket = AnswerQueue()
        async with anyio.create_task_group() as group:
            if not office.plan.unjudged:
                left_over = self.judging.list_leftovers(scenario)
                grade = partial(self.judging.judge_scenario, scenario, left_over, docket)
                group.start_soon(office.run_guarded, grade)
            try:
                if office.may_ask and office.company.asks:
                    await office.run_guarded(partial(self.asking.ask, scenario, docket))
            finally:
                docket.close()
