"""The personas and stories that a run names, and the ones that an earlier run used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.plan import Calendar, DrawnStory, Ingest, Plan, ScenarioCard, WorldCard
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.stories import shipped
from recall_bench.stories.drawn import (
    BuildProgress,
    choose_drawn_stories,
    draw_story,
    find_drawn_story,
)
from recall_bench.stories.persona_files import (
    Layout,
    choose_story,
    list_persona_ids,
    list_stories,
)
from recall_bench.stories.shipped import find_persona, load_catalogue, unpack_story

if TYPE_CHECKING:
    # Loading stories takes modules that `list` can do without.
    from recall_bench.core.event import Declared
    from recall_bench.stories.persona import Inspection


def load_story(
    persona: str,
    arcs: str | None = None,
    data: str | Path | None = None,
    *,
    edition: int | None = None,
    calendar: Calendar = Calendar.METADATA,
    ingest: Ingest = Ingest.DAYS,
) -> Scenario:
    """A story with its episodes and questions: `load_story("er-physician", "arcs-180d.yaml")`.

    `data` is the folder that holds the persona; without it the persona is one of the package, of
    which `edition` may choose an earlier edition. Without `arcs` the story is the usual one.
    UsageError if there is no such story, Problems if its files are broken.
    """
    settings = Settings(
        data=None if data is None else Path(data),
        personas=(persona,),
        arcs=arcs,
        edition=edition,
        calendar=calendar,
        ingest=ingest,
    )
    return find_story(resolve_personas(settings)[persona], arcs).load(settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFolder:
    """One persona's folder and one of its stories."""

    folder: Path
    arcs: str

    def load(self, settings: Settings) -> Scenario:
        """Load the whole story with its questions."""
        from recall_bench.stories.persona import load_persona

        return load_persona(
            self.folder,
            arcs=self.arcs,
            calendar=settings.calendar,
            allow_gaps=settings.allow_gaps,
            ingest=settings.ingest,
        )


def resolve_personas(
    settings: Settings, building: BuildProgress | None = None
) -> Mapping[str, Path]:
    """The folders of the requested personas, by id; all of them if none is named.

    A shipped persona is unpacked on first use, and simulated if a seed is named.
    """
    if settings.world_seed is not None:
        from recall_bench.stories.seeds import parse_world_seed

        stories = choose_drawn_stories(settings)
        seed = parse_world_seed(settings.world_seed)
        return {story.persona: draw_story(story, seed, building) for story in stories}
    if settings.data is None:
        return {
            name: unpack_story(name, settings.arcs, edition=settings.edition)
            for name in dict.fromkeys(settings.personas or shipped.DEMO)
        }
    data = settings.data
    if not data.is_dir():
        raise UsageError(f"--data: {data} is not a folder; name the one that holds the personas")
    names = list_persona_ids(data)
    if not names and (data / "persona.yaml").exists():
        raise UsageError(f"--data: {data} is a persona itself; name the folder that holds it")
    if not names:
        raise UsageError(
            f"--data: {data} holds no persona; "
            "it should contain one folder with a persona.yaml for each"
        )
    if unknown := [name for name in settings.personas if name not in names]:
        hint = suggest_or_list(unknown[0], names, f"it has {', '.join(names)}")
        raise UsageError(
            f"--personas: {data} has no persona {' or '.join(map(repr, unknown))}; {hint}"
        )
    return {name: data / name for name in dict.fromkeys(settings.personas) or names}


def find_story(folder: Path, arcs: str | None) -> StoryFolder:
    """The named story, else the default one, else the only one."""
    stories = list_stories(folder)
    chosen = arcs or choose_story(stories)
    if chosen is None:
        # Of several stories, the only complete one.
        whole = [name for name in stories if not Layout(folder, name).find_missing()]
        chosen = whole[0] if len(whole) == 1 else None
    if chosen is None:
        raise UsageError(
            f"{folder.name} has several stories; name one with --arcs: {', '.join(stories)}"
        )
    return StoryFolder(folder=folder, arcs=chosen)


FoundStory: TypeAlias = "tuple[StoryFolder, Declared]"
"""A story, and its declared questions."""


def find_stories(
    plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[str, FoundStory]:
    """Every scenario of the plan, below `data` or among the shipped personas.

    UsageError if one is missing, DataError if it is not the one of the plan.
    """
    return {card.id: _find_story(card, plan, data, building) for card in plan.scenarios}


def _find_story(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> FoundStory:
    from recall_bench.core.event import Declared
    from recall_bench.stories.persona import inspect_persona

    visited: list[Inspection] = []
    for story in list_candidates(card, plan.world, data, building):
        results = inspect_persona(
            story.folder,
            arcs=story.arcs,
            allow_gaps=True,
            calendar=plan.calendar,
            ingest=plan.ingest,
        )
        if results.card == card:
            declared = Declared(
                at=datetime.now(UTC), scenario=card.id, items=results.items, days=results.days
            )
            return story, declared
        visited.append(results)
    raise DataError(
        _explain_difference(card, visited, "the package" if data is None else str(data))
    )


def name_released_story(persona: str, story: StoryFolder) -> DrawnStory:
    """Name a story as released, with the edition whose digest its folder in the cache has."""
    editions = (
        released.edition
        for released in find_persona(persona).stories
        if released.arcs == story.arcs and story.folder.parent.name == released.digest[:16]
    )
    return DrawnStory(persona=persona, arcs=story.arcs, edition=next(editions, 1))


def list_candidates(
    card: ScenarioCard, world: WorldCard | None, data: Path | None, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    """Stories that may be the one of the card; UsageError if there is none."""
    if data is not None:
        return _list_below(data, card)
    if world is not None:
        return _list_drawn_stories(card, world, building)
    return _list_shipped_stories(card)


def _list_drawn_stories(
    card: ScenarioCard, world: WorldCard, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    for story in world.stories:
        if story.persona != card.id:
            continue
        if world.seed is not None:
            from recall_bench.stories.seeds import parse_world_seed

            folder = draw_story(story, parse_world_seed(world.seed), building)
        elif (drawn_story := find_drawn_story(story, world.commitment)) is not None:
            folder = drawn_story
        else:
            raise UsageError(
                f"{card.id}: the run was drawn from a secret seed, which is not known here; "
                "once it is revealed, `recall-bench challenge verify` draws it again"
            )
        yield StoryFolder(folder=folder, arcs=story.arcs)


def _list_below(data: Path, card: ScenarioCard) -> Iterator[StoryFolder]:
    folder = data / card.id
    if not (folder / "persona.yaml").is_file():
        raise UsageError(
            f"--data: {data} has no persona {card.id}, which the run used; "
            "name the folder that holds it"
        )
    for arcs in list_stories(folder):
        yield StoryFolder(folder=folder, arcs=arcs)


def _list_shipped_stories(card: ScenarioCard) -> Iterator[StoryFolder]:
    if card.id not in load_catalogue():
        raise UsageError(
            f"{card.id}, which the run used, does not ship with the package; "
            "name the folder that holds it with --data"
        )
    for story in load_catalogue()[card.id].stories:
        if (story.days, story.questions) == (card.episodes, card.items):
            folder = unpack_story(card.id, story.arcs, edition=story.edition)
            yield StoryFolder(folder=folder, arcs=story.arcs)


def _explain_difference(card: ScenarioCard, seen: "Sequence[Inspection]", where: str) -> str:
    cards = [results.card for results in seen if results.card is not None]
    advice = "restore it, or name its folder with --data"
    if any(other.history_digest == card.history_digest for other in cards):
        return f"{card.id}: its questions in {where} are not those of the run; {advice}"
    if any(other.questions_digest == card.questions_digest for other in cards):
        return f"{card.id}: its days in {where} are not those of the run; {advice}"
    return f"{card.id}: no story of it in {where} is the one the run used; {advice}"


def load_day_texts(
    plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[str, dict[int, str]]:
    """The text of each day of each persona, below `data` or among the shipped personas.

    UsageError if one is missing, DataError if its days are not those of the run.
    """
    return {card.id: find_story_days(card, plan, data, building).texts for card in plan.scenarios}


class StoryTexts(NamedTuple):
    """A story, and the text of each of its days."""

    story: StoryFolder
    texts: dict[int, str]


def find_story_days(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> StoryTexts:
    """The days that the run fed of one scenario; errors as of `load_day_texts`."""
    from recall_bench.stories.persona import read_story_days

    if plan.imported is not None:
        raise UsageError(f"{card.id}: the run was imported, and its files do not hold its days")
    for story in list_candidates(card, plan.world, data, building):
        story_days = read_story_days(
            story.folder, arcs=story.arcs, calendar=plan.calendar, ingest=plan.ingest
        )
        if story_days.history_digest == card.history_digest:
            return StoryTexts(story, dict(story_days.texts))
    where = "the package" if data is None else str(data)
    raise DataError(
        f"{card.id}: its days in {where} are not those of the run; name their folder with --data"
    )
