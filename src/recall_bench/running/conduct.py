"""A run from its first scenario to its last: asking, grading and reviewing side by side."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Declared, Judged, RunEnded
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.reader import Reader
from recall_bench.core.review import reviews_due
from recall_bench.core.standing import ScenarioStanding, Standings, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.errors import BenchError
from recall_bench.running.court import Court
from recall_bench.running.desk import Desk, is_paid
from recall_bench.running.docket import Docket
from recall_bench.running.examination import Examination, Meter, Recorder
from recall_bench.running.exhibits import Exhibits
from recall_bench.running.grade import Bench, Grading
from recall_bench.running.lifecycles import examine

_WITHOUT_VERDICT = frozenset({State.ANSWERED, State.NOT_JUDGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """Everyone and everything a run needs beside its plan."""

    system: MemorySystem
    bench: Bench
    load: Callable[[str], Scenario]
    """The scenario called by an id; called at most once for each, when its turn comes."""
    record: Recorder
    unjudged: Callable[[str, frozenset[State]], Iterable[Answered]]
    """Answers of a scenario recorded before this call whose trials stand in one of the states."""
    judged: Callable[[str], Iterable[Judged]]
    """The last verdict on record on each judged trial of a scenario."""
    reader: Reader | None = None
    """Who answers from what the system finds; None leaves answering to the system."""
    meter: Meter | None = None
    """Tells what the system spends at our model endpoint, where it is given one."""
    parallelism: int = 1
    skip_catchup: bool = False
    asks: bool = True
    """Whether questions are put; if not, nothing is fed either, and answers are only judged."""
    max_cost_usd: float | None = None
    """What judging and reading may cost in all, earlier processes included; None is no limit."""
    max_tokens: int | None = None
    """How many tokens that may take in all."""


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
            lost = lost or run.court.adjourned
            if not run.has_work(card.id, may_ask=lost is None):
                continue
            docket = Docket()
            try:
                run.refuse_if_spent(card.id)
                exam = run.examination(card.id, docket)
                if not plan.unjudged:
                    left_over = company.unjudged(card.id, _WITHOUT_VERDICT)
                    graders.start_soon(run.grade, exam, left_over)
                if lost is None and company.asks:
                    await examine(exam)
            except BenchError as error:
                lost = lost or error
            finally:
                docket.close()
    lost = lost or run.court.adjourned
    if lost is not None:
        raise lost
    if all(_is_finished(standings.scenarios[card.id]) for card in plan.scenarios):
        company.record(RunEnded(at=datetime.now(UTC)))


def _is_finished(standing: ScenarioStanding) -> bool:
    return all(standing.is_complete(row) for row in range(len(standing.sheets)))


class _Run:
    """The scenarios of a run in one process."""

    def __init__(self, plan: Plan, standings: Standings, company: Company) -> None:
        self._plan = plan
        self._standings = standings
        self._company = company
        # Answers that are only judged again were read, and paid for, in another run.
        reading = standings.reading_usage if company.asks else Usage()
        self.court = Court(
            company.parallelism,
            spent=standings.usage + reading,
            allowed_usd=company.max_cost_usd,
            allowed_tokens=company.max_tokens,
            pays_reader=is_paid(company.reader),
        )

    def has_work(self, scenario: str, *, may_ask: bool) -> bool:
        """Whether anything can be done for the scenario as things are."""
        standing = self._standings.scenarios.get(scenario)
        if standing is None:
            return may_ask
        if may_ask and self._company.asks and not _is_finished(standing):
            return True
        if self.court.adjourned is None:
            return self._has_answers(standing) or bool(self._due(scenario, standing))
        return self._company.bench.judge.card.computes and self._has_answers(standing)

    def refuse_if_spent(self, scenario: str) -> None:
        """Raise BudgetSpent before anything is fed for answers or verdicts that cannot be paid."""
        standing, company = self._standings.scenarios.get(scenario), self._company
        costs = is_paid(company.reader) or not company.bench.judge.card.computes
        if costs and (standing is None or not _is_finished(standing)):
            self.court.refuse_if_spent()

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
            court=self.court,
            desk=Desk(scenario.fed, plan=self._plan, reader=company.reader, court=self.court),
            meter=company.meter,
            parallelism=company.parallelism,
            skip_catchup=company.skip_catchup,
        )

    async def grade(self, exam: Examination, left_over: Iterable[Answered]) -> None:
        """Judge the scenario's answers as they come, then have verdicts reviewed that are due."""
        company, scenario = self._company, exam.scenario.id
        exhibits = Exhibits(exam.scenario, exam.standing, window=self._plan.judge_memory_window)
        grading = Grading(
            exhibits, plan=self._plan, bench=company.bench, court=self.court, record=exam.record
        )
        overflow = partial(company.unjudged, scenario, frozenset({State.ANSWERED}))
        await grading.run(left_over, exam.docket, overflow, company.parallelism)
        if due := self._due(scenario, exam.standing):
            to_review = self._first_verdicts(scenario, exam.standing, due)
            await grading.review(to_review, company.parallelism)

    def _due(self, scenario: str, standing: ScenarioStanding) -> frozenset[int]:
        if self._company.bench.appellate is None:
            return frozenset()
        return reviews_due(scenario, standing, self._plan)

    def _first_verdicts(
        self, scenario: str, standing: ScenarioStanding, due: frozenset[int]
    ) -> Iterator[tuple[Answered, Verdict]]:
        """Each answer whose verdict is due for review, with that verdict, once."""
        verdicts = {
            slot: judged.verdict
            for judged in self._company.judged(scenario)
            if (slot := standing.slot_of(judged.trial)) in due
        }
        for answered in self._company.unjudged(scenario, frozenset({State.JUDGED})):
            first = verdicts.pop(standing.slot_of(answered.trial), None)
            if first is not None:
                yield answered, first

    @staticmethod
    def _has_answers(standing: ScenarioStanding) -> bool:
        return standing.count(*_WITHOUT_VERDICT) > 0
