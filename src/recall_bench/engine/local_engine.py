"""The engine of a run in one process."""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from recall_bench.core.event import Answered, Declared
from recall_bench.core.plan import Plan
from recall_bench.core.trial_states import TrialStates
from recall_bench.engine.components import RunContext
from recall_bench.engine.lifecycle import run_lifecycle
from recall_bench.engine.scenario_run import MAX_WAITING, ScenarioRun, make_tracer
from recall_bench.engine.scheduler import Scheduler


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
