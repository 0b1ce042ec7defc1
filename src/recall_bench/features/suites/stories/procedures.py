"""Stories of the procedures suite: eight weeks of log with conventions in it, then tasks.

The same tasks are given to an empty memory (the floor), and to an empty one with the conventions
stated in each task (the ceiling).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, time
from functools import cache
from hashlib import sha256

from recall_bench.core.grouping import group_by
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import Episode, Evidence, Item, Scenario, Truth
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    MemoryLane,
    SettleStep,
    Step,
    WriteStep,
)
from recall_bench.features.suites.outcome_checks import CHECKS_VERSION
from recall_bench.features.suites.procedures.task_source import (
    HISTORY_DAYS,
    PERSONAS,
    ConventionTask,
    Rule,
    RuleWording,
    TaskFile,
    describe_task,
    load_tasks,
)
from recall_bench.features.suites.stories.story_writer import StoryRequest
from recall_bench.features.suites.task_grading import TaskGrading, encode_grading
from recall_bench.stories.persona_story import Persona, read_persona
from recall_bench.stories.shipped import unpack_story
from recall_bench.stories.story_folders import load_story

_SESSION = "# session: "


@dataclass(frozen=True, slots=True)
class PersonaHistory:
    """The first weeks of a persona's log, and the persona."""

    persona: Persona
    scenario: Scenario

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The days with the rules in them."""
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
    rules = []
    for episode in episodes:
        text = episode.text
        for telling in by_day.get(episode.day, ()):
            text = insert_telling(text, telling)
        rules.append(episode if text == episode.text else episode.replace(text=text))
    return tuple(rules)


VERSION = f"1.{CHECKS_VERSION}"
CATEGORY = "procedures"

WEEKS, TASKS = "weeks", "tasks"
PHASES = (WEEKS, TASKS)
MEMORY, FLOOR, CEILING = "memory", "floor", "ceiling"
VARIANTS = (MEMORY, FLOOR, CEILING)
ACTING = "acting"
"""What a memory lacks that only returns passages, with no model that reads them."""


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
    steps: list[Step] = [WriteStep(phase=WEEKS, episode=entry.id) for entry in episodes]
    if episodes:
        steps.append(SettleStep(phase=WEEKS))
    item_ids = tuple(item.id for item in items)
    steps.append(AskStep(phase=TASKS, items=item_ids, is_kept=True))
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
    results = {rule.id: _find_evidence(rule, by_day) if episodes else () for rule in rules}
    grading = TaskGrading(form=task.form, checks=task.checks, old=task.old, needs=results)
    right = next(outcome for outcome in task.outcomes if outcome.kind == "right")
    return Item(
        id=task.id,
        text=describe_task(task, rules if variant == CEILING else ()),
        truth=Truth(
            reference=right.reply,
            category=CATEGORY,
            evidence=tuple(outcome for places in results.values() for outcome in places),
            grading=encode_grading(grading),
        ),
        known_from=HISTORY_DAYS if episodes else 1,
        asked_at=datetime.combine(task.asked_on, time()),
        template=rules[0].id,
        kind=task.kind,
    )


def _find_evidence(rule: Rule, by_day: dict[int, Episode]) -> tuple[Evidence, ...]:
    return tuple(_locate(telling, by_day[telling.day]) for telling in rule.told)


def _locate(telling: RuleWording, episode: Episode) -> Evidence:
    """The range of the words that state the rule."""
    start = episode.text.index(telling.text.strip())
    key = (telling.key or telling.text).strip()
    start = episode.text.index(key, start)
    return Evidence(day=telling.day, start=start, end=start + len(key))
