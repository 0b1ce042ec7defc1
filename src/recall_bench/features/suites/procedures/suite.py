"""The procedures suite: eight weeks of log with conventions in it, then tasks.

The same tasks are given to an empty memory (the floor), and to an empty one with the conventions
stated in each task (the ceiling). The figures say whether tasks follow the conventions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cache
from hashlib import sha256
from typing import NamedTuple

import msgspec

from recall_bench.core.errors import DataError
from recall_bench.core.event import Answered, TrialResult
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.engine.runs.trial_log import FoundPassages
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    MemoryLane,
    SettleStep,
    Step,
    WriteStep,
)
from recall_bench.features.suites.procedures.outcome_checks import (
    CHECKS_VERSION,
    OutcomeCheck,
    OutcomeForm,
    TaskOutcome,
    find_failures,
    read_outcome,
)
from recall_bench.features.suites.procedures.task_source import (
    HISTORY_DAYS,
    KINDS,
    PERSONAS,
    ConventionTask,
    RuleWording,
    TaskFile,
    describe_task,
    load_tasks,
)
from recall_bench.features.suites.shares import get_not_offered
from recall_bench.features.suites.story_writer import StoryRequest
from recall_bench.reporting.suites.figures import Case, Figure, SuiteResults, make_share
from recall_bench.stories.persona_story import Persona, read_persona
from recall_bench.stories.shipped import unpack_story
from recall_bench.stories.story_folders import load_story

VERSION = f"1.{CHECKS_VERSION}"
CATEGORY = "procedures"

WEEKS, TASKS = "weeks", "tasks"
PHASES = (WEEKS, TASKS)
MEMORY, FLOOR, CEILING = "memory", "floor", "ceiling"
VARIANTS = (MEMORY, FLOOR, CEILING)
ACTING = "acting"
"""What a memory lacks that only returns passages, with no model that reads them."""
NOTHING_ACTS = (
    "nothing acts here: let a model do the tasks with what is recalled (--reader provider:model), "
    "or an agent (--adapter loop:MEMORY --agent-model provider:model)"
)
_SESSION = "# session: "
_KIND_WORDS = {
    "stated": "a rule stated on purpose",
    "in-passing": "a rule stated in passing",
    "revised": "a rule that replaced another",
    "exception": "an exception",
    "combined": "two rules or more",
}
_FORM_WORDS = {
    OutcomeForm.TEXT: "a text",
    OutcomeForm.JSON: "a JSON document",
    OutcomeForm.CALLS: "tool calls",
}


class PersonaHistory(NamedTuple):
    """The half year of a shipped persona, and the persona."""

    persona: Persona
    scenario: Scenario

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The days before the tasks."""
        return tuple(item for item in self.scenario.episodes if item.day <= HISTORY_DAYS)


@cache
def load_history(persona: str) -> PersonaHistory:
    """Load the half year of a shipped persona."""
    return PersonaHistory(read_persona(unpack_story(persona)), load_story(persona))


def insert_telling(text: str, telling: RuleWording) -> str:
    r"""The log of a day with a telling at the end of its session; a new session goes to the end.

    >>> telling = RuleWording(day=1, session="b", by="Ada", heading="Tags", text="Begin with v.")
    >>> insert_telling("# session: b\nQuiet.\n\n# session: c\nRain.", telling)
    '# session: b\nQuiet.\n\n### Tags\nBegin with v.\n\n# session: c\nRain.'
    """
    heading = "" if telling.heading is None else f"### {telling.heading}\n"
    added = heading + telling.text.strip()
    lines = text.rstrip().split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(_SESSION)]
    mine = [n for n in starts if lines[n].removeprefix(_SESSION).strip() == telling.session]
    if not mine:
        return "\n".join(lines) + f"\n\n{_SESSION}{telling.session}\n{added}"
    end = next((number for number in starts if number > mine[-1]), len(lines))
    before, after = "\n".join(lines[:end]).rstrip(), "\n".join(lines[end:])
    return f"{before}\n\n{added}" + (f"\n\n{after}" if after else "")


def tell_rules(episodes: Iterable[Episode], tellings: Iterable[RuleWording]) -> tuple[Episode, ...]:
    """The days with all tellings in them."""
    by_day = group_by(tellings, lambda telling: telling.day)
    days = []
    for episode in episodes:
        text = episode.text
        for telling in by_day.get(episode.day, ()):
            text = insert_telling(text, telling)
        days.append(episode if text == episode.text else episode.replace(text=text))
    return tuple(days)


def draw_stories(request: StoryRequest) -> Iterator[BehaviourStory]:
    """Draw the stories: the seed decides the order of the tasks."""
    for persona in PERSONAS[: request.each]:
        source = load_tasks(persona)
        for variant in VARIANTS:
            is_wanted = not request.only or variant in request.only
            if is_wanted and (request.can_act or variant == MEMORY):
                yield _write_story(request, source, variant)


def list_missing_parts(request: StoryRequest) -> tuple[str, ...]:
    """List what of the suite a system does not offer."""
    return () if request.can_act else (ACTING,)


def _write_story(request: StoryRequest, source: TaskFile, variant: str) -> BehaviourStory:
    name = f"{variant}-{source.persona}"
    history = load_history(source.persona)
    tellings = [telling for rule in source.rules for telling in rule.told]
    episodes = tell_rules(history.episodes, tellings) if variant == MEMORY else ()
    ordered = RandomStream(request.seed, "behaviour", source.persona).shuffle(source.tasks)
    items = tuple(_make_item(task, source, variant, episodes) for task in ordered)
    steps: list[Step] = [WriteStep(phase=WEEKS, episode=episode.id) for episode in episodes]
    if episodes:
        steps.append(SettleStep(phase=WEEKS))
    steps.append(AskStep(phase=TASKS, items=tuple(item.id for item in items), is_kept=True))
    opaque = sha256(f"{request.seed}\0{name}".encode()).hexdigest()[:12]
    return BehaviourStory(
        scenario=Scenario(id=name, epoch=history.scenario.epoch, episodes=episodes, items=items),
        variant=variant,
        phases=PHASES,
        lanes=(MemoryLane(name=MEMORY, opened_as=opaque, steps=tuple(steps)),),
    )


def _make_item(
    task: ConventionTask, source: TaskFile, variant: str, episodes: tuple[Episode, ...]
) -> Item:
    rules = tuple(source.get_rule(name) for name in task.needs)
    by_day = {episode.day: episode for episode in episodes}
    needs: dict[str, tuple[Evidence, ...]] = {rule.id: () for rule in rules}
    if episodes:
        needs = {
            rule.id: tuple(_locate(telling, by_day[telling.day]) for telling in rule.told)
            for rule in rules
        }
    grading = TaskGrading(form=task.form, checks=task.checks, old=task.old, needs=needs)
    right = next(outcome for outcome in task.outcomes if outcome.kind == "right")
    return Item(
        id=task.id,
        text=describe_task(task, rules if variant == CEILING else ()),
        truth=Truth(
            reference=right.reply,
            category=CATEGORY,
            evidence=tuple(place for places in needs.values() for place in places),
            grading=msgspec.json.encode(grading).decode(),
        ),
        known_from=HISTORY_DAYS if episodes else 1,
        asked_at=datetime.combine(task.asked_on, time()),
        template=rules[0].id,
        kind=task.kind,
    )


def _locate(telling: RuleWording, episode: Episode) -> Evidence:
    """The range of the words that state the rule."""
    start = episode.text.index(telling.text.strip())
    key = (telling.key or telling.text).strip()
    start = episode.text.index(key, start)
    return Evidence(day=telling.day, start=start, end=start + len(key))


class TaskGrading(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How the outcome of one task is checked, as a run folder holds it."""

    form: OutcomeForm
    checks: tuple[OutcomeCheck, ...]
    old: tuple[OutcomeCheck, ...] = ()
    """What an outcome passes that follows a rule which was replaced."""
    needs: dict[str, tuple[Evidence, ...]] = msgspec.field(default_factory=dict)
    """By rule without which the task goes wrong, the places that tell it; any of them will do."""


def decode_grading(truth: Truth) -> TaskGrading:
    """The grading in the truth of a task; DataError if there is none."""
    try:
        return decode_untrusted_json(truth.grading or "", TaskGrading)
    except msgspec.DecodeError as error:
        raise DataError(f"a task of the run cannot be graded: {error}; run it again") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGrade:
    """What came of a task."""

    outcome: TaskOutcome | None
    """None if there is no reply, or none in the form that was asked for."""
    broken: tuple[str, ...]
    """The rules that it breaks, in order; all of them if there is no outcome."""
    is_off: bool
    """Whether it fails a check that belongs to no rule: something other than the task was done."""
    is_old: bool
    """Whether it follows a rule that was replaced."""

    @property
    def is_done(self) -> bool:
        """Whether it passes every check."""
        return self.outcome is not None and not self.broken and not self.is_off


def grade_reply(reply: str, grading: TaskGrading) -> TaskGrade:
    """Grade a reply; an empty one breaks every rule."""
    outcome = read_outcome(reply, grading.form)
    if outcome is None:
        return TaskGrade(outcome=None, broken=tuple(grading.needs), is_off=True, is_old=False)
    broken = {check.rule for check in find_failures(outcome, grading.checks, grading.form)}
    is_old = bool(grading.old) and not find_failures(outcome, grading.old, grading.form)
    return TaskGrade(
        outcome=outcome,
        broken=tuple(rule for rule in grading.needs if rule in broken),
        is_off=None in broken,
        is_old=is_old,
    )


def list_missing_rules(answered: Answered | None, grading: TaskGrading) -> tuple[str, ...]:
    """List the rules that a task needs and no passage of the reply tells."""
    if answered is None or not answered.answer.passages:
        return tuple(grading.needs)
    spans = () if answered.delivery is None else answered.delivery.spans
    passages = FoundPassages.from_passages(answered.answer.passages, spans)
    return tuple(
        rule for rule, places in grading.needs.items() if not any(map(passages.contains, places))
    )


class GradedTask(NamedTuple):
    """One task, as it was done."""

    story: str
    item: Item
    answered: Answered | None
    grading: TaskGrading
    grade: TaskGrade
    is_recalled: bool
    """Whether passages tell every rule that the task needs."""

    @staticmethod
    def of(story: str, result: TrialResult) -> "GradedTask":
        """Grade a task by what its run folder holds."""
        grading, answered = decode_grading(result.item.truth), result.answered
        reply = "" if answered is None else answered.answer.text
        is_recalled = not list_missing_rules(answered, grading)
        grade = grade_reply(reply, grading)
        return GradedTask(story, result.item, answered, grading, grade, is_recalled)

    def make_case(self, subject: str, happened: float) -> Case:
        """A case of a figure; tasks that need the same rule are resampled together."""
        group = f"{self.story}/{self.item.template}"
        return Case(story=self.story, subject=subject, happened=happened, group=group)


_Tasks = Sequence[GradedTask]


def build_procedure_figures(results: SuiteResults) -> tuple[Figure, ...]:
    """Build the figures of a run of the procedures suite."""
    by_variant: dict[str, list[GradedTask]] = {variant: [] for variant in VARIANTS}
    for story in results.stories:
        graded = [GradedTask.of(story, result) for result in results.list_results(story)]
        by_variant[story.partition("-")[0]] += graded
    can_act = ACTING not in get_not_offered(results)
    tasks = by_variant[MEMORY]
    acted = [
        _make_share("done", "tasks done as stated", tasks, is_headline=True),
        # A floor above 0 is no merit: these tasks are done without the memory.
        _make_share("floor", "floor: nothing stated", by_variant[FLOOR], best=0.0),
        _make_share("ceiling", "ceiling: stated with the task", by_variant[CEILING]),
        *_list_failures(tasks),
        *_list_parts(tasks),
    ]
    if not can_act:
        acted = [_mark_not_offered(figure, NOTHING_ACTS) for figure in acted]
    return (*acted[:3], *_list_recall(tasks, can_act=can_act), *acted[3:])


def _mark_not_offered(figure: Figure, why: str) -> Figure:
    return figure.replace(estimate=None, cases=(), is_offered=False, note=why)


def _make_share(
    name: str,
    label: str,
    tasks: _Tasks,
    happened: Callable[[GradedTask], float] = lambda task: task.grade.is_done,
    *,
    best: float = 1.0,
    is_headline: bool = False,
) -> Figure:
    cases = [task.make_case(task.item.id, happened(task)) for task in tasks]
    return make_share(cases, name=name, label=label, best=best, is_headline=is_headline)


def _list_recall(tasks: _Tasks, *, can_act: bool) -> Iterator[Figure]:
    def make_recalled(name: str, label: str, some: _Tasks, *, is_headline: bool = False) -> Figure:
        return _make_share(
            name, label, some, lambda task: task.is_recalled, is_headline=is_headline
        )

    recalled = make_recalled("recalled", "passages tell every rule needed", tasks, is_headline=True)
    if not any(task.answered is not None and task.answered.answer.passages for task in tasks):
        yield _mark_not_offered(recalled, "it returns no passages")
        return
    yield recalled
    for kind in KINDS:
        of_kind = [task for task in tasks if task.item.kind == kind]
        yield make_recalled(f"recalled/{kind}", f"recalled: {_KIND_WORDS[kind]}", of_kind)
    if can_act:
        with_it = [task for task in tasks if task.is_recalled]
        without = [task for task in tasks if not task.is_recalled]
        yield _make_share("done/recalled", "done, where all was recalled", with_it)
        yield _make_share("done/not-recalled", "done, where something was not", without)


def _list_failures(tasks: _Tasks) -> Iterator[Figure]:
    rules = [
        task.make_case(f"{task.item.id}/{rule}", rule not in task.grade.broken)
        for task in tasks
        for rule in task.grading.needs
    ]
    yield make_share(rules, name="done/rules-kept", label="rules kept, each counted", best=1.0)
    revised = [task for task in tasks if task.grading.old]
    yield _make_share(
        "stale", "replaced rule followed", revised, lambda task: task.grade.is_old, best=0.0
    )
    yield _make_share(
        "failed/form",
        "reply not in the form asked for",
        [task for task in tasks if task.answered is not None],
        lambda task: task.grade.outcome is None,
        best=0.0,
    )
    yield _make_share(
        "failed/off-task",
        "something other than the task done",
        [task for task in tasks if task.grade.outcome is not None],
        lambda task: task.grade.is_off,
        best=0.0,
    )


def _list_parts(tasks: _Tasks) -> Iterator[Figure]:
    for kind in KINDS:
        of_kind = [task for task in tasks if task.item.kind == kind]
        yield _make_share(f"done/{kind}", f"done: {_KIND_WORDS[kind]}", of_kind)
    for form, words in _FORM_WORDS.items():
        of_form = [task for task in tasks if task.grading.form is form]
        yield _make_share(f"done/form-{form}", f"done: {words}", of_form)
    for persona, own in group_by(tasks, lambda task: task.story.partition("-")[2]).items():
        yield _make_share(f"done/{persona}", f"done: {persona}", own)
