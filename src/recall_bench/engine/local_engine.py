"""The engine of a run in one process."""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from recall_bench.core.event import Answered, Declared
from recall_bench.core.plan import Plan
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.engine.components import RunContext
from recall_bench.engine.grader import Grader
from recall_bench.engine.lifecycle import run_lifecycle
from recall_bench.engine.scenario_run import AnswerQueue, ScenarioRun, make_tracer
from recall_bench.engine.scheduler import Scheduler
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.systems.reply import ReplyFinisher


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

    def open(self, scenario: str, queue: AnswerQueue) -> "LocalScenario":
        """Load the scenario, let the judges study it, and declare its questions."""
        scheduler = self.scheduler
        plan, states, context = scheduler.plan, scheduler.states, scheduler.context
        loaded = context.load(scenario)
        if not plan.unjudged:
            context.judges.study(loaded)
        if scenario not in states.scenarios:
            now, days = datetime.now(UTC), tuple(each.day for each in loaded.fed_episodes)
            context.record(Declared(at=now, scenario=scenario, items=loaded.items, days=days))
        budget = scheduler.budget
        run = ScenarioRun(
            plan=plan,
            scenario=loaded,
            trials=states.scenarios[scenario],
            system=context.system,
            record=context.record,
            queue=queue,
            budget=budget,
            finisher=ReplyFinisher(
                partial(make_tracer, loaded),
                plan=plan,
                reader=context.reader,
                budget=budget,
            ),
            meter=context.meter,
            parallelism=context.parallelism,
            skip_catchup=context.skip_catchup,
        )
        return LocalScenario(scheduler, run)


@dataclass(frozen=True, slots=True)
class LocalScenario:
    """One scenario, fed, asked and judged in this process."""

    scheduler: Scheduler
    run: ScenarioRun

    def ask(self) -> Awaitable[None]:
        """Feed and ask everything that is still open."""
        open_trials = self.scheduler.backlog.list_open_trials(self.run.scenario.id)
        return run_lifecycle(self.run, open_trials)

    async def judge(self, leftovers: Iterable[Answered]) -> None:
        """Judge leftovers and answers as they come, then review, then ask the other judges."""
        run, context, backlog = self.run, self.scheduler.context, self.scheduler.backlog
        scenario, grader = run.scenario.id, self.make_grader()
        overflow = partial(context.find_answers, scenario, frozenset({TrialState.ANSWERED}))
        await grader.run(leftovers, run.queue, overflow, context.parallelism)
        if due := backlog.find_due_reviews(scenario):
            await grader.review(backlog.list_first_verdicts(scenario, due), context.parallelism)
        await grader.judge_others(backlog.list_due_verdicts(scenario), context.parallelism)

    def make_grader(self) -> Grader:
        """Make the grader of this scenario's answers."""
        run = self.run
        return Grader(
            ExhibitFactory(run.scenario, run.trials, window=run.plan.judge_memory_window),
            plan=run.plan,
            judges=self.scheduler.context.judges,
            budget=run.budget,
            record=run.record,
        )
