"""A run from its first scenario to its last: asking, grading and reviewing side by side."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Declared, RunEnded
from recall_bench.core.plan import Plan
from recall_bench.core.standing import Standings, State
from recall_bench.core.tracing import Tracer
from recall_bench.errors import BenchError
from recall_bench.running.company import Company
from recall_bench.running.desk import Desk
from recall_bench.running.docket import Docket
from recall_bench.running.examination import Examination
from recall_bench.running.exhibits import Exhibits
from recall_bench.running.grade import Grading
from recall_bench.running.lifecycles import examine
from recall_bench.running.owing import WITHOUT_VERDICT, Owing


async def conduct(plan: Plan, standings: Standings, company: Company) -> None:
    """Ask, grade and review everything that is still owed.

    A system that cannot be reached, a dataset that changed or a judge that cannot prepare
    ends the asking; what was answered before is graded all the same, and then it is raised.
    A judge that is gone and money that is spent end asking and grading alike: BudgetSpent or
    JudgeGone is raised once what was under way is on record.
    """
    run = _Run(plan, standings, company)
    lost: BenchError | None = None
    async with anyio.create_task_group() as graders:
        for card in plan.scenarios:
            lost = lost or run.owing.court.adjourned
            if not run.owing.has_work(card.id, may_ask=lost is None):
                continue
            docket = Docket()
            try:
                run.owing.refuse_if_spent(card.id)
                exam = run.examination(card.id, docket)
                if not plan.unjudged:
                    left_over = company.unjudged(card.id, WITHOUT_VERDICT)
                    graders.start_soon(run.grade, exam, left_over)
                if lost is None and company.asks:
                    await examine(exam, run.owing.papers(card.id))
            except BenchError as error:
                lost = lost or error
            finally:
                docket.close()
    lost = lost or run.owing.court.adjourned
    if lost is not None:
        raise lost
    if run.owing.is_all_done:
        company.record(RunEnded(at=datetime.now(UTC)))


class _Run:
    """The scenarios of a run in one process."""

    def __init__(self, plan: Plan, standings: Standings, company: Company) -> None:
        self._plan = plan
        self._standings = standings
        self._company = company
        self.owing = Owing(plan, standings, company)

    def examination(self, scenario_id: str, docket: Docket) -> Examination:
        """The scenario loaded, studied by the judges and declared."""
        company, standings = self._company, self._standings
        scenario = company.load(scenario_id)
        if not self._plan.unjudged:
            company.bench.study(scenario)
        if scenario_id not in standings.scenarios:
            now, items = datetime.now(UTC), scenario.items
            days = tuple(episode.day for episode in scenario.fed)
            company.record(Declared(at=now, scenario=scenario_id, items=items, days=days))
        return Examination(
            plan=self._plan,
            scenario=scenario,
            standing=standings.scenarios[scenario_id],
            system=company.system,
            record=company.record,
            docket=docket,
            court=self.owing.court,
            desk=Desk(
                Tracer(scenario.fed), plan=self._plan, reader=company.reader, court=self.owing.court
            ),
            meter=company.meter,
            parallelism=company.parallelism,
            skip_catchup=company.skip_catchup,
        )

    async def grade(self, exam: Examination, left_over: Iterable[Answered]) -> None:
        """Judge the scenario's answers as they come, then have verdicts reviewed that are due."""
        company, scenario = self._company, exam.scenario.id
        exhibits = Exhibits(exam.scenario, exam.standing, window=self._plan.judge_memory_window)
        grading = Grading(
            exhibits,
            plan=self._plan,
            bench=company.bench,
            court=self.owing.court,
            record=exam.record,
        )
        overflow = partial(company.unjudged, scenario, frozenset({State.ANSWERED}))
        await grading.run(left_over, exam.docket, overflow, company.parallelism)
        if due := self.owing.due(scenario):
            to_review = self.owing.first_verdicts(scenario, due)
            await grading.review(to_review, company.parallelism)
