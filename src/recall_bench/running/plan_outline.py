"""The outline of a plan in numbers, its progress in the folder, and the time of its steps."""

from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import JudgeCard
from recall_bench.core.work_unit import collect_shard_units, list_work_units
from recall_bench.reporting.plan_report import (
    CheckpointLine,
    Outline,
    PersonaLine,
    PlanProgress,
    StepTime,
)
from recall_bench.running.job import Job
from recall_bench.running.measured_runs import FEED, SETTLE
from recall_bench.running.plan_schedule import ScenarioWork, compute_workload, list_memories
from recall_bench.running.step_timings import StepPace
from recall_bench.runs.journal import read_events


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
    work = compute_workload(tuple(stories), plan)
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


START, OPEN = "start", "opening"


def list_steps(
    paces: Mapping[str, StepPace | None], stories: Sequence[ScenarioWork], plan: Plan
) -> Iterator[StepTime]:
    """The steps with a known pace, in the order of `paces`."""
    last = max(point.cutoff for story in stories for point in story.points)
    for step, pace in paces.items():
        if pace is None:
            continue
        days = list(_list_days(step, stories, plan))
        yield StepTime(
            step=step,
            first_s=pace.estimate_at(1),
            last_s=pace.estimate_at(last),
            times=pace.times,
            is_beyond=0 < pace.last_day < last,
            count=len(days),
            total_s=sum(map(pace.estimate_at, days)),
        )


def _list_days(step: str, stories: Sequence[ScenarioWork], plan: Plan) -> Iterator[int]:
    """The story day of every execution of the step."""
    if step == START:
        yield 0
        return
    for story in stories:
        if step == OPEN:
            yield from [0] if story.points else []
        elif step == FEED:
            for days, _ in list_memories(story, plan):
                yield from days
        elif step == SETTLE:
            times = 1 if plan.lifecycle is Lifecycle.FORKED else plan.repeats
            yield from (point.cutoff for point in story.points for _ in range(times))
        else:
            for point in story.points:
                yield from [point.cutoff] * (plan.repeats * len(point.asked))
