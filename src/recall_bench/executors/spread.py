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
from recall_bench.core.standing import Standings
from recall_bench.executors.asking import Asking
from recall_bench.executors.assignments import Brief
from recall_bench.executors.crew import Crew
from recall_bench.executors.judging import Judging
from recall_bench.executors.limits import Limits
from recall_bench.executors.office import Office
from recall_bench.running.company import Company
from recall_bench.running.docket import Docket
from recall_bench.staff import Hiring


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Conducts a run with a crew, which others may share."""

    crew: Crew
    limits: Limits
    hire: Hiring
    run: str
    """Names the run among those of the crew."""
    exchange: Path
    """The folder through which snapshots are handed on; gone when the run is over."""

    async def __call__(self, plan: Plan, standings: Standings, company: Company) -> None:
        """Ask, grade and review everything that is still owed.

        What ends a run early, and what is done all the same, is as in a single process.
        """
        brief = Brief(run=self.run, plan=plan, hire=self.hire)
        office = Office(self.crew, self.limits, brief, standings=standings, company=company)
        try:
            async with anyio.create_task_group() as beside:
                beside.start_soon(office.herald)
                await _Work(office, Asking(office, self.exchange), Judging(office)).carry_out()
                beside.cancel_scope.cancel()
        finally:
            shutil.rmtree(self.exchange, ignore_errors=True)
        office.conclude()


@dataclass(frozen=True, slots=True)
class _Work:
    office: Office
    asking: Asking
    judging: Judging

    async def carry_out(self) -> None:
        """See every scenario through, some at a time."""
        begun = anyio.Semaphore(2 * self.office.crew.size)
        async with anyio.create_task_group() as group:
            for card in self._heaviest_first():
                await begun.acquire()
                group.start_soon(self._scenario, card.id, begun)

    def _heaviest_first(self) -> list[ScenarioCard]:
        """The scenarios with something to do. The longest last would keep all others waiting."""
        cards = [card for card in self.office.plan.scenarios if self.office.owing.has_work(card.id)]
        return sorted(cards, key=lambda card: -card.last_day * card.items)

    async def _scenario(self, scenario: str, begun: anyio.Semaphore) -> None:
        try:
            await self.office.guarded(partial(self._ask_and_grade, scenario))
        finally:
            begun.release()

    async def _ask_and_grade(self, scenario: str) -> None:
        office = self.office
        if not office.owing.has_work(scenario, may_ask=office.may_ask):
            return
        office.owing.refuse_if_spent(scenario)
        docket = Docket()
        async with anyio.create_task_group() as group:
            if not office.plan.unjudged:
                left_over = self.judging.left_over(scenario)
                grade = partial(self.judging.grade, scenario, left_over, docket)
                group.start_soon(office.guarded, grade)
            try:
                if office.may_ask and office.company.asks:
                    await office.guarded(partial(self.asking.ask, scenario, docket))
            finally:
                docket.close()
