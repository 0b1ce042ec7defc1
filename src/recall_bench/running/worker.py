"""One worker: carries out assignments with a staff of its own, and tells what happens."""

import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from recall_bench.core.budget import Budget
from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone
from recall_bench.core.event import Event, encode_event
from recall_bench.core.passage_tracer import PassageTracer
from recall_bench.core.plan import ScenarioCard
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import plan_checkpoints
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.running.components import Components
from recall_bench.running.grader import Grader
from recall_bench.running.lifecycle import OpenTrials, ask_snapshot, feed_and_pack, run_lifecycle
from recall_bench.running.scenario_run import AnswerQueue, ScenarioRun
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    GradeTask,
    ReviewTask,
    RunSpec,
    SnapshotReady,
    Task,
    TaskFailure,
    TaskLimits,
    TaskStarted,
    TrialBatch,
    WorkerMessage,
)
from recall_bench.systems.reply import ReplyFinisher, is_paid

_KEPT = 4
"""So many scenarios stay loaded: shards of one tend to come one after another."""


class _RelayQueue(AnswerQueue):
    """Takes answers that somebody else will judge, and asks for a turn after each.

    Without a turn nothing is sent while a system computes.
    """

    def __init__(self) -> None:
        super().__init__(capacity=0)

    @property
    def is_deep(self) -> bool:
        return True


@dataclass(slots=True, kw_only=True)
class _LoadedScenario:
    """A scenario, and room for its trials."""

    scenario: Scenario
    standing: ScenarioStates
    tracer: PassageTracer
    inspected: set[str] = field(default_factory=set)
    """The checkpoints at which no memory is looked into any more, by label."""


@dataclass(slots=True, kw_only=True)
class _WorkerRun:
    """A run this worker takes part in."""

    brief: RunSpec
    planned: dict[str, ScenarioCard]
    staff: Components | None = None
    courts: list[Budget] = field(default_factory=list)
    loaded: OrderedDict[str, _LoadedScenario] = field(default_factory=OrderedDict)
    adjourned: BudgetSpent | JudgeGone | None = None


class Worker:
    """Takes part in runs. Each staff is called together when its first assignment comes."""

    def __init__(self) -> None:
        self._engagements: dict[str, _WorkerRun] = {}
        self._calling = anyio.Lock()

    def prepare(self, brief: RunSpec) -> None:
        """Hear of a run."""
        planned = {card.id: card for card in brief.plan.scenarios}
        self._engagements[brief.run] = _WorkerRun(brief=brief, planned=planned)

    async def perform(
        self, run: str, assignment: Task, terms: TaskLimits, tell: Callable[[WorkerMessage], None]
    ) -> None:
        """Carry out one assignment; `tell` hears of every event at once, and why it ended early.

        Nothing but a cancellation is raised.
        """
        tell(TaskStarted())
        try:
            await self._perform(self._engagements[run], assignment, terms, tell)
        except BenchError as error:
            tell(TaskFailure.from_error(error))
        except BaseExceptionGroup as group:
            tell(_describe_failure(group))
        except Exception:  # noqa: BLE001 - a bug is told to whoever reports it
            tell(TaskFailure(kind="bug", message=traceback.format_exc()))

    def stop(self, run: str, reason: TaskFailure) -> None:
        """Begin nothing new for the run; what is under way may finish."""
        engagement, error = self._engagements.get(run), reason.to_error()
        if engagement is None or not isinstance(error, BudgetSpent | JudgeGone):
            return
        engagement.adjourned = error
        for court in engagement.courts:
            court.stop(error)

    async def close(self) -> None:
        """Let every staff go."""
        for engagement in self._engagements.values():
            if engagement.staff is not None:
                staff, engagement.staff = engagement.staff, None
                await staff.close()

    async def _perform(
        self,
        engagement: _WorkerRun,
        assignment: Task,
        terms: TaskLimits,
        tell: Callable[[WorkerMessage], None],
    ) -> None:
        staff = await self._build_components(engagement)
        court = Budget(
            terms.at_once,
            spent=terms.spent,
            allowed_usd=terms.allowed_usd,
            allowed_tokens=terms.allowed_tokens,
            max_calls=terms.max_calls,
            pays_reader=is_paid(staff.reader),
        )
        if engagement.adjourned is not None:
            court.stop(engagement.adjourned)
        engagement.courts.append(court)
        try:
            duty = _TaskRun(engagement, staff, court, terms, tell)
            await duty.execute(assignment)
        finally:
            engagement.courts.remove(court)

    async def _build_components(self, engagement: _WorkerRun) -> Components:
        async with self._calling:
            if engagement.staff is None:
                staff = engagement.brief.hire()
                try:
                    staff.refuse_others(engagement.brief.plan)
                except BaseException:
                    await staff.close()
                    raise
                engagement.staff = staff
            return engagement.staff


class _TaskRun:
    """One assignment under way."""

    def __init__(
        self,
        engagement: _WorkerRun,
        staff: Components,
        court: Budget,
        terms: TaskLimits,
        tell: Callable[[WorkerMessage], None],
    ) -> None:
        self._engagement = engagement
        self._plan = engagement.brief.plan
        self._staff = staff
        self._court = court
        self._terms = terms
        self._tell = tell

    async def execute(self, assignment: Task) -> None:
        """Do what is asked."""
        loaded = self._load_scenario(assignment.scenario)
        match assignment:
            case AskTask():
                await self._ask(loaded, assignment)
            case FeedTask():
                rows = loaded.standing.row
                due = [
                    loaded.standing.checkpoint_plans[rows[label]]
                    for label in assignment.checkpoints
                ]
                await feed_and_pack(
                    self._make_scenario_run(loaded), due, assignment, self._report_snapshot
                )
            case GradeTask() | ReviewTask():
                await self._judge(loaded, assignment)

    async def _ask(self, loaded: _LoadedScenario, assignment: AskTask) -> None:
        papers = [_find_open_trials(loaded.standing, left) for left in assignment.papers]
        if assignment.saved is None:
            await run_lifecycle(self._make_scenario_run(loaded), papers)
        else:
            await ask_snapshot(self._make_scenario_run(loaded), papers, Path(assignment.saved))

    async def _judge(self, loaded: _LoadedScenario, assignment: GradeTask | ReviewTask) -> None:
        plan, bench = self._plan, self._staff.bench
        exhibits = ExhibitFactory(loaded.scenario, loaded.standing, window=plan.judge_memory_window)
        grading = Grader(exhibits, plan=plan, bench=bench, court=self._court, record=self._record)
        if isinstance(assignment, GradeTask):
            over = AnswerQueue()
            over.close()
            await grading.run(assignment.answers, over, tuple, self._terms.at_once)
        else:
            await grading.review(assignment.verdicts, self._terms.at_once)
        self._court.check()

    def _make_scenario_run(self, loaded: _LoadedScenario) -> ScenarioRun:
        staff = self._staff
        return ScenarioRun(
            plan=self._plan,
            scenario=loaded.scenario,
            standing=loaded.standing,
            system=staff.system,
            record=self._record,
            docket=_RelayQueue(),
            court=self._court,
            desk=ReplyFinisher(
                loaded.tracer, plan=self._plan, reader=staff.reader, court=self._court
            ),
            meter=staff.meter,
            parallelism=self._terms.at_once,
            inspected=loaded.inspected,
        )

    def _load_scenario(self, scenario: str) -> _LoadedScenario:
        kept = self._engagement.loaded
        found = kept.get(scenario)
        if found is None:
            loaded = self._staff.load_planned(self._engagement.planned[scenario])
            card, plan = self._engagement.planned[scenario], self._plan
            standing = ScenarioStates(
                loaded.items, plan_checkpoints(loaded.items, card.last_day, plan), plan.repeats
            )
            # Before anything is asked: a judge who cannot prepare could grade none of it.
            if not plan.unjudged:
                self._staff.bench.study(loaded)
            tracer = PassageTracer(loaded.fed_episodes)
            found = kept[scenario] = _LoadedScenario(
                scenario=loaded, standing=standing, tracer=tracer
            )
            while len(kept) > _KEPT:
                kept.popitem(last=False)
        kept.move_to_end(scenario)
        return found

    def _record(self, event: Event) -> None:
        self._tell(encode_event(event) + b"\n")

    def _report_snapshot(self, checkpoint: str, place: Path) -> None:
        self._tell(SnapshotReady(checkpoint=checkpoint, place=str(place)))


def _find_open_trials(standing: ScenarioStates, left: TrialBatch) -> OpenTrials:
    return standing.checkpoint_plans[standing.row[left.checkpoint]], left.repeat, list(left.items)


def _describe_failure(group: BaseExceptionGroup[BaseException]) -> TaskFailure:
    """The failure several tasks met together; the whole group's traceback if a bug is there."""
    faults, others = group.split(BenchError)
    leaf: BaseException | None = faults if others is None else None
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if isinstance(leaf, BenchError):
        return TaskFailure.from_error(leaf)
    return TaskFailure(kind="bug", message="".join(traceback.format_exception(group)))
