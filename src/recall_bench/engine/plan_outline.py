"""A plan in numbers: what it asks and feeds, in how many units, and its progress in the folder."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recall_bench.core.event import Declared
from recall_bench.core.memory import PortableSnapshots, ReaderCard, feeds_freely, get_worker_limit
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.settings import Executor
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.verdict import JudgeCard
from recall_bench.core.work_unit import collect_shard_units, list_work_units
from recall_bench.engine.executor import count_cores
from recall_bench.engine.job import Job
from recall_bench.engine.runs.journal import read_events


class PlanProgress(Record, frozen=True, kw_only=True):
    """The trials that a folder owes, and how many are left."""

    part: str | None
    """The part of the plan; None for all of it."""
    shards: int | None
    """The work units of the part."""
    owed: int
    left: int
    """Trials that are still to be asked or judged."""
    is_begun: bool
    is_done: bool


class CheckpointLine(Record, frozen=True, kw_only=True):
    """One checkpoint of one persona."""

    label: str
    day: int
    """The last story day that is ingested."""
    trials: int
    """Repeats included."""


class PersonaLine(Record, frozen=True, kw_only=True):
    """One persona and its questions."""

    id: str
    days: int
    questions: int
    checkpoints: tuple[CheckpointLine, ...]
    """The checkpoints at which anything is asked."""


class Outline(Record, frozen=True, kw_only=True):
    """A plan in numbers."""

    plan: str
    """The digest of the plan, which identifies it."""
    folder: str
    system: str
    judge: str
    appellate: str | None
    reader: str | None
    dataset: str
    """The digest of histories and questions."""
    lifecycle: str
    repeats: int
    sample: int | None
    personas: tuple[PersonaLine, ...]
    trials: int
    questions: int
    """Different questions."""
    ingest_calls: int
    settle_calls: int
    shards: int
    """Work units."""
    executor: str
    workers: int
    """Concurrent work units."""
    parallelism: int
    """Concurrent questions, and concurrent verdicts, in each unit."""
    begun: PlanProgress
    """The progress in this folder."""


class ScenarioWork(NamedTuple):
    """One scenario with the checkpoints at which anything is asked."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...]
    """The days that exist."""
    points: tuple[CheckpointPlan, ...]
    """In story order, without those that ask nothing."""


class Workload(NamedTuple):
    """The number of calls, all scenarios together."""

    trials: int
    questions: int
    """Different questions, however often each is asked."""
    ingests: int
    settles: int


def list_scenario_work(plan: Plan, declared: Mapping[str, Declared]) -> tuple[ScenarioWork, ...]:
    """List every scenario of the plan with what it owes."""
    stories = []
    for card in plan.scenarios:
        items, days = declared[card.id].items, declared[card.id].days
        points = plan_checkpoints(items, card.last_day, plan)
        asking = tuple(point for point in points if point.asked)
        stories.append(ScenarioWork(card.id, items, days, asking))
    return tuple(stories)


def compute_workload(stories: Sequence[ScenarioWork], plan: Plan) -> Workload:
    """Count the calls of all scenarios, by the plan's lifecycle.

    `fresh` opens a memory for every checkpoint and repeat; the others ingest the story once.
    `growing` settles before each repeat, `forked` once a checkpoint, before it is copied.
    """
    trials = questions = ingests = settles = 0
    for story in stories:
        trials += plan.repeats * sum(len(point.asked) for point in story.points)
        questions += len({item for point in story.points for item in point.asked})
        fed = [sum(day <= point.cutoff for day in story.days) for point in story.points]
        if plan.lifecycle is Lifecycle.FRESH:
            ingests += plan.repeats * sum(fed)
        else:
            ingests += fed[-1] if fed else 0
        settles += len(fed) * (1 if plan.lifecycle is Lifecycle.FORKED else plan.repeats)
    return Workload(trials, questions, ingests, settles)


def make_outline(job: Job) -> Outline:
    """Describe what the job would do, as its settings execute it."""
    plan, settings, system = job.plan, job.settings, job.components.system
    stories = list_scenario_work(plan, job.questions)
    work, most = compute_workload(stories, plan), get_worker_limit(system)
    is_local = settings.executor is Executor.LOCAL
    # As the pool has it: not where one meter has to tell feeding from asking, nor where feeding
    # and asking cannot go on at a time.
    is_portable = isinstance(system.snapshots, PortableSnapshots) and 1 not in (
        most,
        settings.max_calls,
    )
    is_portable = (
        not is_local and job.components.meter is None and (is_portable or feeds_freely(system))
    )
    units = sum(
        len(list_work_units(story.scenario, story.points, plan, portable=is_portable))
        for story in stories
    )
    workers = (
        1 if is_local else max(1, min(settings.workers or count_cores(), units, most or units))
    )
    return Outline(
        plan=plan.digest,
        folder=str(job.folder),
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
        shards=units,
        executor=str(settings.executor),
        workers=workers,
        parallelism=settings.parallelism,
        begun=_read_progress(job),
    )


def _read_progress(job: Job) -> PlanProgress:
    """Read the progress from the journal in the job's folder; nothing is written."""
    states, is_begun = TrialStates(job.plan), False
    if job.journal.exists():
        events = read_events(job.journal)
        is_begun = next(events, None) is not None
        for event in events:
            states.apply_event(event)
    for scenario, declared in job.questions.items():
        if scenario not in states.scenarios:
            states.apply_event(declared)
    waiting = (TrialState.OPEN, TrialState.ANSWERED)
    if job.shard is None:
        units = None
        count = sum(scenario.count_states(*waiting) for scenario in states.scenarios.values())
    else:
        items = {name: declared.items for name, declared in job.questions.items()}
        units = sum(map(len, collect_shard_units(job.plan, items, job.shard).values()))
        count = sum(state in waiting for state in job.list_states(states))
    return PlanProgress(
        part=None if job.shard is None else str(job.shard),
        shards=units,
        owed=job.count_owed(states),
        left=count,
        is_begun=is_begun,
        is_done=is_begun and (states.has_ended if job.shard is None else not count),
    )


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


def _format_card(card: JudgeCard | ReaderCard) -> str:
    named = f"{card.name} {card.version}"
    return named if card.model is None else f"{card.model} ({named})"
