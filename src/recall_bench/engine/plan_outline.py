"""The work of a plan in numbers, and its progress in the folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.event import Declared
from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import JudgeCard
from recall_bench.core.work_unit import collect_shard_units, list_work_units
from recall_bench.engine.job import Job
from recall_bench.engine.plan_report import (
    CheckpointLine,
    Outline,
    PersonaLine,
    PlanProgress,
)
from recall_bench.engine.runs.journal import read_events


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioWork:
    """One scenario with the checkpoints at which anything is asked."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...]
    """The days that exist."""
    points: tuple[CheckpointPlan, ...]
    """In story order, without those that ask nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The number of calls, all scenarios together."""

    trials: int
    questions: int
    """Different questions, however often each is asked."""
    ingests: int
    settles: int


def list_scenario_work(plan: Plan, declared: Mapping[str, Declared]) -> tuple[ScenarioWork, ...]:
    """Every scenario of the plan with what it owes."""
    return tuple(
        ScenarioWork(
            scenario=card.id,
            items=declared[card.id].items,
            days=declared[card.id].days,
            points=tuple(
                point
                for point in plan_checkpoints(declared[card.id].items, card.last_day, plan)
                if point.asked
            ),
        )
        for card in plan.scenarios
    )


def compute_workload(stories: Sequence[ScenarioWork], plan: Plan) -> Workload:
    """Count the calls of all scenarios, by the plan's lifecycle."""
    items = [(story.scenario, point.asked) for story in stories for point in story.points]
    memories = [memory for story in stories for memory in list_memories(story, plan)]
    return Workload(
        trials=plan.repeats * sum(len(asked) for _, asked in items),
        questions=len({(scenario, item) for scenario, asked in items for item in asked}),
        ingests=sum(days for days, _ in memories),
        settles=sum(settles for _, settles in memories),
    )


def list_memories(story: ScenarioWork, plan: Plan) -> Iterator[tuple[int, int]]:
    """The number of days that each memory of a scenario ingests, and how often it settles.

    `fresh` opens a memory for every checkpoint and repeat; the others ingest the story once.
    `growing` settles before each repeat, `forked` once a checkpoint, before it is copied.
    """
    if not story.points:
        return
    if plan.lifecycle is Lifecycle.FRESH:
        for point in story.points:
            for _ in range(plan.repeats):
                yield sum(day <= point.cutoff for day in story.days), 1
        return
    times = plan.repeats if plan.lifecycle is Lifecycle.GROWING else 1
    last = story.points[-1].cutoff
    yield sum(day <= last for day in story.days), times * len(story.points)


def read_progress(job: Job) -> PlanProgress:
    """Read the progress from the journal in the job's folder; nothing is written."""
    states = TrialStates(job.plan)
    events = read_events(job.journal) if job.journal.exists() else iter(())
    is_begun = next(events, None) is not None
    for event in events:
        states.apply_event(event)
    for scenario, declared in job.questions.items():
        if scenario not in states.scenarios:
            states.apply_event(declared)
    waiting = (TrialState.OPEN, TrialState.ANSWERED)
    if job.shard is None:
        shards = None
        left = sum(each.count_states(*waiting) for each in states.scenarios.values())
    else:
        items = {name: declared.items for name, declared in job.questions.items()}
        shards = sum(map(len, collect_shard_units(job.plan, items, job.shard).values()))
        left = sum(state in waiting for state in job.list_states(states))
    return PlanProgress(
        part=None if job.shard is None else str(job.shard),
        shards=shards,
        owed=job.count_owed(states),
        left=left,
        is_begun=is_begun,
        is_done=is_begun and (states.has_ended if job.shard is None else not left),
    )


def build_outline(
    plan: Plan,
    stories: Sequence[ScenarioWork],
    settings: Settings,
    *,
    folder: str,
    begun: PlanProgress,
    portable: bool,
    cores: int,
    max_shards: int | None = None,
) -> Outline:
    """Build the outline of a plan as the settings execute it."""
    work = compute_workload(stories, plan)
    shards = sum(
        len(list_work_units(story.scenario, story.points, plan, portable=portable))
        for story in stories
    )
    return Outline(
        plan=plan.digest,
        folder=folder,
        system=f"{plan.system.name} {plan.system.version}",
        judge=", ".join((_format_card(plan.judge), *plan.judge_names[1:])),
        appellate=None if plan.appellate is None else _format_card(plan.appellate),
        reader=None if plan.reader is None else _format_card(plan.reader),
        dataset=plan.dataset_digest,
        lifecycle=str(plan.lifecycle),
        repeats=plan.repeats,
        sample=plan.sample,
        personas=tuple(_describe_persona(story, plan) for story in stories),
        trials=work.trials,
        questions=work.questions,
        ingest_calls=work.ingests,
        settle_calls=work.settles,
        shards=shards,
        executor=str(settings.executor),
        workers=count_workers(settings, shards=shards, cores=cores, max_shards=max_shards),
        parallelism=settings.parallelism,
        begun=begun,
    )


def count_workers(
    settings: Settings, *, shards: int, cores: int, max_shards: int | None = None
) -> int:
    """Count the concurrent work units: one in one process, else as set or one for each core.

    Never more than there are, or than the system accepts.
    """
    if settings.executor is Executor.LOCAL:
        return 1
    most = shards if max_shards is None else min(shards, max_shards)
    return max(1, min(settings.workers or cores, most))


def _describe_persona(story: ScenarioWork, plan: Plan) -> PersonaLine:
    return PersonaLine(
        id=story.scenario,
        days=len(story.days),
        questions=len({place for point in story.points for place in point.asked}),
        checkpoints=tuple(
            CheckpointLine(
                label=point.checkpoint.label,
                day=point.cutoff,
                trials=plan.repeats * len(point.asked),
            )
            for point in story.points
        ),
    )


def _format_card(who: JudgeCard | ReaderCard) -> str:
    named = f"{who.name} {who.version}"
    return named if who.model is None else f"{who.model} ({named})"
