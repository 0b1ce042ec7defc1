"""A run from its first scenario to its last: asking, grading and reviewing side by side."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from recall_bench.core.errors import BenchError
from recall_bench.core.event import Answered, Declared, RunEnded
from recall_bench.core.passage_tracer import PassageTracer
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.running.backlog import WITHOUT_VERDICT, Backlog
from recall_bench.running.components import ComponentFactory, RunContext
from recall_bench.running.driver import AskDispatcher, Driver, JudgeDispatcher
from recall_bench.running.grader import Grader
from recall_bench.running.lifecycle import run_lifecycle
from recall_bench.running.scenario_run import AnswerQueue, ScenarioRun
from recall_bench.running.worker_messages import RunSpec
from recall_bench.running.worker_pool import CallLimits, WorkerPool
from recall_bench.systems.reply import ReplyFinisher


async def run_plan(plan: Plan, standings: TrialStates, company: RunContext) -> None:
    """Ask, grade and review everything that is still owed.

    A system that cannot be reached, a dataset that changed or a judge that cannot prepare
    ends the asking; what was answered before is graded all the same, and then it is raised.
    A judge that is gone and money that is spent end asking and grading alike: BudgetSpent or
    JudgeGone is raised once what was under way is on record.
    """
    run = _LocalRun(plan, standings, company)
    lost: BenchError | None = None
    async with anyio.create_task_group() as graders:
        for card in plan.scenarios:
            lost = lost or run.owing.court.stop_reason
            if not run.owing.is_work_possible(card.id, may_ask=lost is None):
                continue
            docket = AnswerQueue()
            try:
                run.owing.refuse_if_spent(card.id)
                exam = run.open_scenario(card.id, docket)
                if not plan.unjudged:
                    left_over = company.unjudged(card.id, WITHOUT_VERDICT)
                    graders.start_soon(run.grade, exam, left_over)
                if lost is None and company.asks:
                    await run_lifecycle(exam, run.owing.list_open_trials(card.id))
            except BenchError as error:
                lost = lost or error
            finally:
                docket.close()
    lost = lost or run.owing.court.stop_reason
    if lost is not None:
        raise lost
    if run.owing.is_all_done:
        company.record(RunEnded(at=datetime.now(UTC)))


class _LocalRun:
    """The scenarios of a run in one process."""

    def __init__(self, plan: Plan, standings: TrialStates, company: RunContext) -> None:
        self._plan = plan
        self._standings = standings
        self._company = company
        self.owing = Backlog(plan, standings, company)

    def open_scenario(self, scenario_id: str, docket: AnswerQueue) -> ScenarioRun:
        """The scenario loaded, studied by the judges and declared."""
        company, standings = self._company, self._standings
        scenario = company.load(scenario_id)
        if not self._plan.unjudged:
            company.bench.study(scenario)
        if scenario_id not in standings.scenarios:
            now, items = datetime.now(UTC), scenario.items
            days = tuple(episode.day for episode in scenario.fed_episodes)
            company.record(Declared(at=now, scenario=scenario_id, items=items, days=days))
        return ScenarioRun(
            plan=self._plan,
            scenario=scenario,
            standing=standings.scenarios[scenario_id],
            system=company.system,
            record=company.record,
            docket=docket,
            court=self.owing.court,
            desk=ReplyFinisher(
                PassageTracer(scenario.fed_episodes),
                plan=self._plan,
                reader=company.reader,
                court=self.owing.court,
            ),
            meter=company.meter,
            parallelism=company.parallelism,
            skip_catchup=company.skip_catchup,
        )

    async def grade(self, exam: ScenarioRun, left_over: Iterable[Answered]) -> None:
        """Judge the scenario's answers as they come, then have verdicts reviewed that are due."""
        company, scenario = self._company, exam.scenario.id
        exhibits = ExhibitFactory(
            exam.scenario, exam.standing, window=self._plan.judge_memory_window
        )
        grading = Grader(
            exhibits,
            plan=self._plan,
            bench=company.bench,
            court=self.owing.court,
            record=exam.record,
        )
        overflow = partial(company.unjudged, scenario, frozenset({TrialState.ANSWERED}))
        await grading.run(left_over, exam.docket, overflow, company.parallelism)
        if due := self.owing.find_due_reviews(scenario):
            to_review = self.owing.list_first_verdicts(scenario, due)
            await grading.review(to_review, company.parallelism)


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
