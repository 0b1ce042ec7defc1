"""The composition root: turns settings into a job, after checking everything."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from recall_bench.core.errors import BenchError, Problems, UsageError, raise_problems
from recall_bench.core.event import Declared
from recall_bench.core.event_redaction import redact_plan
from recall_bench.core.memory import UNDECLARED, MemorySystem, Reader, SystemCard
from recall_bench.core.plan import (
    FULL,
    Checkpoint,
    Lifecycle,
    Plan,
    SampleMode,
    ScenarioCard,
    WorldCard,
    find_other_names,
    list_default_ranges,
    parse_ranges,
)
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import is_in_plan, plan_checkpoints
from recall_bench.core.settings import Settings
from recall_bench.engine.components import Components
from recall_bench.engine.job import Job
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.output_paths import (
    choose_run_folder,
    refuse_clashes,
    refuse_unwritable,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import STUB
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import resolve_judges
from recall_bench.stories.drawn import BuildProgress, choose_drawn_stories
from recall_bench.stories.shipped import SAMPLE
from recall_bench.stories.story_folders import StoryFolder, find_story, resolve_personas
from recall_bench.systems.resolver import resolve_system

T = TypeVar("T")

_SAMPLE_RANGES = ("every:5",)
"""The sample persona has thirty days: the usual ranges would be one and the same."""


def assemble(
    settings: Settings, own: MemorySystem | None = None, building: BuildProgress | None = None
) -> Job:
    """Assemble a job and check everything; nothing is fed or asked yet.

    All that is wrong is found before the first call is paid for. One's own system may stand in
    for the one that is named; `building` shows a shipped persona being played.
    """
    if settings.world_seed is not None:
        from recall_bench.stories.seeds import resolve_seed

        settings = resolve_seed(settings, _find_earlier_world(settings))
    check = SettingsCheck(settings)
    stories = check.collect_stories(building)
    cards = tuple(
        card for story in stories.values() if (card := check.inspect_story(story)) is not None
    )
    system = own or check.try_call(resolve_system, settings)
    lifecycle = check.try_call(choose_lifecycle, settings, system)
    judges = check.try_call(resolve_judges, settings)
    reader = check.try_call(resolve_reader, settings, None if system is None else system.card)
    checkpoints = check.try_call(_parse_checkpoints, settings, cards, check.warnings)
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    plan = build_plan(
        settings,
        cards=cards,
        checkpoints=require(checkpoints),
        system=require(system),
        judges=require(judges),
        reader=reader,
        lifecycle=require(lifecycle),
    )
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan),
        components=_make_components(settings, stories, require(system), require(judges), reader),
        factory=None if own is not None else partial(build_components, settings),
        questions=check.questions,
        warnings=[
            *check.warnings,
            *_collect_plan_notes(plan, check.questions),
            *(
                _note_repeated_days(plan, check.questions, require(system))
                if settings.lifecycle is None
                else ()
            ),
        ],
    )
    if job.plan.judge.name != STUB:
        from recall_bench.engine.score_bounds import plan_bounds

        job.bounds = plan_bounds(plan, require(judges).judge, reader)
    return check_writable(job)


def build_components(settings: Settings) -> Components:
    """Build the components that the settings name, in any process."""
    folders = resolve_personas(settings)
    stories = {name: find_story(folder, settings.arcs) for name, folder in folders.items()}
    system = resolve_system(settings)
    reader = resolve_reader(settings, system.card)
    return _make_components(settings, stories, system, resolve_judges(settings), reader)


def _make_components(
    settings: Settings,
    stories: Mapping[str, StoryFolder],
    system: MemorySystem,
    judges: Judges,
    reader: Reader | None,
) -> Components:
    def load_story(name: str) -> Scenario:
        return stories[name].load(settings)

    return Components(system=system, judges=judges, load=load_story, reader=reader)


def check_writable(job: Job, *, is_rebuilt: bool = False) -> Job:
    """The job, once its folder is known to hold no other run and its files can be written."""
    job.check_folder(is_rebuilt=is_rebuilt)
    job.warnings += [
        f"--{name.replace('_', '-')} has no effect with --executor {job.settings.executor}"
        for name in job.settings.unused_worker_settings
    ]
    if not job.settings.skip_preflight:
        refuse_unwritable(job.settings)
    return job


class SettingsCheck:
    """Collects problems instead of stopping at the first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._problems: list[BenchError] = []
        self.warnings: list[str] = []
        self.questions: dict[str, Declared] = {}

    def try_call(self, call: Callable[..., T], *parameters: object) -> T | None:
        """Return the result of the call, or None with the problem noted."""
        try:
            return call(*parameters)
        except Problems as several:
            self._problems += several.problems
        except BenchError as problem:
            self._problems.append(problem)
        return None

    def collect_stories(self, building: BuildProgress | None) -> dict[str, StoryFolder]:
        """Collect the stories by persona; problems are noted."""
        folders = self.try_call(resolve_personas, self._settings, building) or {}
        arcs = self._settings.arcs
        stories = {name: self.try_call(find_story, path, arcs) for name, path in folders.items()}
        return {name: story for name, story in stories.items() if story is not None}

    def inspect_story(self, story: StoryFolder) -> ScenarioCard | None:
        """Return the card of a story, or None with its problems noted."""
        from recall_bench.stories.persona import inspect_persona

        persona = inspect_persona(
            story.folder,
            arcs=story.arcs,
            allow_gaps=self._settings.allow_gaps,
            calendar=self._settings.calendar,
            ingest=self._settings.ingest,
        )
        self._problems += persona.problems
        self.warnings += persona.warnings
        if persona.card is not None:
            self.questions[persona.card.id] = Declared(
                at=datetime.now(UTC),
                scenario=persona.card.id,
                items=persona.items,
                days=persona.days,
            )
        return persona.card

    def raise_problems(self) -> None:
        """Raise the problems, if there are any."""
        raise_problems(self._problems)


def require(part: T | None) -> T:
    """Return a part that a check without problems has made sure of."""
    if part is None:
        raise AssertionError("a missing part is a problem, and problems end the check")
    return part


def build_plan(
    settings: Settings,
    *,
    cards: tuple[ScenarioCard, ...],
    checkpoints: tuple[Checkpoint, ...],
    system: MemorySystem,
    judges: Judges,
    reader: Reader | None,
    lifecycle: Lifecycle,
) -> Plan:
    """Build the plan of the settings, without their secrets."""
    plan = Plan(
        scenarios=cards,
        checkpoints=checkpoints,
        system=system.card,
        judge=judges.judge.card,
        other_judges=tuple(judge.card for judge in judges.others),
        appellate=judges.appellate.card if judges.appellate is not None else None,
        reader=reader.card if reader is not None else None,
        top_k=settings.top_k,
        max_context_tokens=settings.max_context_tokens,
        lifecycle=lifecycle,
        copies=settings.copies if lifecycle is Lifecycle.FORKED else 1,
        repeats=settings.repeats,
        seed=settings.seed,
        sample=settings.sample,
        sampling=SampleMode.DRAWN if settings.sample is None else settings.sampling,
        groups_enabled=settings.groups_enabled,
        dry_run=settings.dry_run,
        answer_timeout_s=settings.answer_timeout_s,
        feed_timeout_s=settings.feed_timeout_s,
        judge_timeout_s=settings.judge_timeout_s,
        judge_memory_window=settings.judge_memory_window,
        review=settings.review,
        calendar=settings.calendar,
        ingest=settings.ingest,
        error_budget=settings.error_budget,
        world=make_world_card(settings),
    )
    return redact_plan(plan)


def make_world_card(settings: Settings) -> WorldCard | None:
    """The card of the seed that the stories are drawn from; None for stories as released."""
    if settings.world_seed is None:
        return None
    from recall_bench.stories.seeds import parse_world_seed

    return parse_world_seed(settings.world_seed).make_card(choose_drawn_stories(settings))


def _find_earlier_world(settings: Settings) -> WorldCard | None:
    """The card of the run that these settings continue."""
    place = settings.resume or settings.into
    if settings.world_seed is None or place is None or not (place / JOURNAL).is_file():
        return None
    return RunFolder.open(place).plan.world


def choose_lifecycle(settings: Settings, system: MemorySystem | None) -> Lifecycle:
    """Choose the lifecycle: as set, else forked if the system can snapshot."""
    named = settings.lifecycle
    if settings.skip_catchup_ingest and named is not Lifecycle.GROWING:
        raise UsageError(
            "--skip-catchup-ingest needs --lifecycle growing; the other lifecycles feed new "
            "memories"
        )
    if system is None:
        return Lifecycle.FRESH
    if named is Lifecycle.FORKED and system.snapshots is None:
        raise UsageError(
            f"--lifecycle forked: {system.card.name} cannot be copied; use fresh or growing"
        )
    usual = Lifecycle.FORKED if system.snapshots is not None else Lifecycle.FRESH
    chosen = usual if named is None else named
    if settings.copies > 1 and chosen is not Lifecycle.FORKED:
        reason = (
            f"with --lifecycle {chosen.value} no memory is copied"
            if system.snapshots is not None
            else f"{system.card.name} cannot be copied"
        )
        raise UsageError(f"--copies: {reason}; leave it out")
    return chosen


def _parse_checkpoints(
    settings: Settings, cards: tuple[ScenarioCard, ...], warnings: list[str]
) -> tuple[Checkpoint, ...]:
    """Parse the ranges; what is left out because it is the same day is added to the warnings."""
    is_sample = settings.data is None and {card.id for card in cards} == {SAMPLE}
    last_day = max((card.last_day for card in cards), default=1)
    words = settings.ranges or (_SAMPLE_RANGES if is_sample else list_default_ranges(last_day))
    warnings += (
        f"--ranges: {other} is the same day as {name}, and is asked once, as {name}"
        for other, name in find_other_names(words, last_day).items()
    )
    return parse_ranges(words, last_day)


def _explain_silence(plan: Plan, questions: Mapping[str, Declared]) -> str:
    """Why nothing is asked, and from which day on something could be."""
    items = [
        item
        for card in plan.scenarios
        for item in questions[card.id].items
        if is_in_plan(item.truth.category, plan)
    ]
    if not items:
        return "no question is of a category that is asked; --groups-enabled asks all of them"
    first = min(item.known_from for item in items)
    return (
        "no question can be answered at any of these checkpoints; the first can be asked on day "
        f"{first}, so give --ranges {first}d or later"
    )


def _collect_plan_notes(plan: Plan, questions: Mapping[str, Declared]) -> list[str]:
    """Collect notes on what may not be intended; UsageError if the plan asks nothing."""
    owed = [
        point
        for card in plan.scenarios
        for point in plan_checkpoints(questions[card.id].items, card.last_day, plan)
    ]
    if not any(point.asked for point in owed):
        raise UsageError(_explain_silence(plan, questions))
    silent = [
        checkpoint.label
        for checkpoint in plan.checkpoints
        if not any(point.asked for point in owed if point.checkpoint == checkpoint)
    ]
    notes = [] if plan.dry_run or not silent else [f"nothing is asked at {', '.join(silent)}"]
    if plan.system.version == UNDECLARED:
        notes.append(
            f"{plan.system.name} does not declare its version, so a change cannot be detected; "
            "choose another folder with --into after a change"
        )
    end = max(card.last_day for card in plan.scenarios)
    beyond = [checkpoint for checkpoint in plan.checkpoints if checkpoint.days >= end]
    labels = [checkpoint.label for checkpoint in beyond]
    if len(beyond) > 1 and not plan.dry_run:
        joined = f"{', '.join(labels[:-1])} and {labels[-1]}"
        notes.append(
            f"{joined} all end on day {end} and ask the same; name fewer --ranges to save calls"
        )
    elif len(beyond) == 1 and end < beyond[0].days < FULL:
        notes.append(f"--ranges: the story ends on day {end}, so {labels[0]} is that day")
    return notes


_MANY_TIMES = 10
"""From this many times the days of a story on, feeding them is worth a note."""


def resolve_reader(settings: Settings, card: SystemCard | None) -> Reader | None:
    """The reader of a run; None, and no reader's code is imported, if the system answers itself."""
    if settings.reader is None and (card is None or card.answers):
        return None
    from recall_bench.systems import readers

    return readers.resolve_reader(settings, card)


def _note_repeated_days(
    plan: Plan, questions: Mapping[str, Declared], system: MemorySystem
) -> Iterator[str]:
    """Say what the lifecycle that was chosen costs a system that cannot be copied."""
    if plan.lifecycle is not Lifecycle.FRESH:
        return
    from recall_bench.engine.plan_outline import compute_workload, list_scenario_work

    stories = list_scenario_work(plan, questions)
    grown = plan.replace(lifecycle=Lifecycle.GROWING)
    fed, least = (compute_workload(stories, variant).ingests for variant in (plan, grown))
    if fed >= _MANY_TIMES * least > 0:
        memories = sum(len(story.points) for story in stories) * plan.repeats
        repeat = "" if plan.repeats == 1 else " of each repeat"
        obstacle = getattr(system, "copy_obstacle", None)
        reason = "" if obstacle is None else f" ({obstacle})"
        yield (
            f"{plan.system.name} cannot be copied{reason}, so each checkpoint{repeat} feeds a new "
            f"memory: {memories:,} memories and {fed:,} days in all. --lifecycle growing feeds "
            f"{least:,} days, but then a question may change the memory"
        )
