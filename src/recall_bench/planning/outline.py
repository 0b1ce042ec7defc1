"""A plan in numbers: who, what and how often, before anything is fed or asked."""

from collections.abc import Sequence

from recall_bench.core.plan import Plan
from recall_bench.core.reader import ReaderCard
from recall_bench.core.record import Record
from recall_bench.core.shard import list_work_units
from recall_bench.core.verdict import JudgeCard
from recall_bench.planning.begun import PlanProgress
from recall_bench.planning.workload import ScenarioWork, compute_workload
from recall_bench.settings import Executor, Settings


class CheckpointLine(Record, frozen=True, kw_only=True):
    """One checkpoint of one persona."""

    label: str
    day: int
    """The last story day that is fed."""
    trials: int
    """Repeats counted."""


class PersonaLine(Record, frozen=True, kw_only=True):
    """One persona and what it is asked."""

    id: str
    days: int
    questions: int
    checkpoints: tuple[CheckpointLine, ...]
    """Those at which anything is asked."""


class Outline(Record, frozen=True, kw_only=True):
    """All of it."""

    plan: str
    """Its digest, by which two runs are known to be of one plan."""
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
    """Different ones."""
    ingest_calls: int
    settle_calls: int
    shards: int
    executor: str
    workers: int
    """Shards that are worked on at a time."""
    parallelism: int
    """Questions and verdicts at a time, in each of them."""
    begun: PlanProgress
    """What is owed in this folder, and what of it is left."""


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
    """The plan as the settings have it carried out."""
    work = compute_workload(tuple(stories), plan)
    shards = sum(
        len(list_work_units(story.scenario, story.sheets, plan, portable=portable))
        for story in stories
    )
    return Outline(
        plan=plan.digest,
        folder=folder,
        system=f"{plan.system.name} {plan.system.version}",
        judge=_format_card(plan.judge),
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
    """How many shards are worked on at a time: one by one in one process, else as told or a core.

    Never more than there are, or than the system says it can stand.
    """
    if settings.executor is Executor.LOCAL:
        return 1
    most = shards if max_shards is None else min(shards, max_shards)
    return max(1, min(settings.workers or cores, most))


def _describe_persona(story: ScenarioWork, plan: Plan) -> PersonaLine:
    return PersonaLine(
        id=story.scenario,
        days=len(story.days),
        questions=len({place for sheet in story.sheets for place in sheet.asked}),
        checkpoints=tuple(
            CheckpointLine(
                label=sheet.checkpoint.label,
                day=sheet.cutoff,
                trials=plan.repeats * len(sheet.asked),
            )
            for sheet in story.sheets
        ),
    )


def _format_card(who: JudgeCard | ReaderCard) -> str:
    named = f"{who.name} {who.version}"
    return named if who.model is None else f"{who.model} ({named})"
