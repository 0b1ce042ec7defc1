"""A run from its first scenario to its last: asking and grading side by side."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Declared, RunEnded
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.standing import ScenarioStanding, Standings, State
from recall_bench.errors import BenchError
from recall_bench.running.docket import Docket
from recall_bench.running.examination import Examination, Recorder
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
    parallelism: int = 1
    skip_catchup: bool = False


async def conduct(plan: Plan, standings: Standings, company: Company) -> None:
    """Ask and grade everything that is still owed.

    A system that cannot be reached, a dataset that changed or a judge that cannot prepare
    ends the asking; what was answered before is graded all the same, and then it is raised.
    """
    lost: BenchError | None = None
    async with anyio.create_task_group() as graders:
        for card in plan.scenarios:
            standing = standings.scenarios.get(card.id)
            if _is_settled(standing) or (lost is not None and not _has_answers(standing)):
                continue
            docket = Docket()
            try:
                exam = _examination(plan, standings, company, card.id, docket)
                left_over = company.unjudged(card.id, _WITHOUT_VERDICT)
                graders.start_soon(_grade, exam, company, left_over)
                if lost is None:
                    await examine(exam)
            except BenchError as error:
                lost = lost or error
            finally:
                docket.close()
    if lost is not None:
        raise lost
    if all(_is_finished(standings.scenarios[card.id]) for card in plan.scenarios):
        company.record(RunEnded(at=datetime.now(UTC)))


def _is_settled(standing: ScenarioStanding | None) -> bool:
    return standing is not None and _is_finished(standing)


def _has_answers(standing: ScenarioStanding | None) -> bool:
    return standing is not None and standing.count(*_WITHOUT_VERDICT) > 0


def _is_finished(standing: ScenarioStanding) -> bool:
    return all(standing.is_complete(row) for row in range(len(standing.sheets)))


def _examination(
    plan: Plan, standings: Standings, company: Company, scenario_id: str, docket: Docket
) -> Examination:
    scenario = company.load(scenario_id)
    company.bench.study(scenario)
    if scenario_id not in standings.scenarios:
        days = tuple(episode.day for episode in scenario.episodes)
        company.record(
            Declared(at=datetime.now(UTC), scenario=scenario_id, items=scenario.items, days=days)
        )
    return Examination(
        plan=plan,
        scenario=scenario,
        standing=standings.scenarios[scenario_id],
        system=company.system,
        record=company.record,
        docket=docket,
        parallelism=company.parallelism,
        skip_catchup=company.skip_catchup,
    )


async def _grade(exam: Examination, company: Company, left_over: Iterable[Answered]) -> None:
    grading = Grading(
        exam.scenario, exam.standing, plan=exam.plan, bench=company.bench, record=exam.record
    )
    overflow = partial(company.unjudged, exam.scenario.id, frozenset({State.ANSWERED}))
    await grading.run(left_over, exam.docket, overflow, company.parallelism)
