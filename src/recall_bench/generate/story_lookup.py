"""Find the stories of an earlier run again, recognised by their digests."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Declared
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.datasets.persona import Inspection, inspect_persona, read_story_days
from recall_bench.datasets.persona_files import list_stories
from recall_bench.generate.shipped_personas import (
    SAMPLE,
    SOURCES,
    BuildProgress,
    StoryFolder,
    load_catalogue,
    materialise,
)

FoundStory = tuple[StoryFolder, Declared]
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
    seen: list[Inspection] = []
    for story in list_candidates(card, data, building):
        found = inspect_persona(
            story.folder,
            arcs=story.arcs,
            allow_gaps=True,
            calendar=plan.calendar,
            ingest=plan.ingest,
        )
        if found.card == card:
            asked = Declared(
                at=datetime.now(UTC), scenario=card.id, items=found.items, days=found.days
            )
            return story, asked
        seen.append(found)
    raise DataError(_explain_difference(card, seen, "the package" if data is None else str(data)))


def list_candidates(
    card: ScenarioCard, data: Path | None, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    """Stories that may be the one of the card; UsageError if there is none."""
    return _list_below(data, card) if data is not None else _list_shipped_stories(card, building)


def _list_below(data: Path, card: ScenarioCard) -> Iterator[StoryFolder]:
    folder = data / card.id
    if not (folder / "persona.yaml").is_file():
        raise UsageError(
            f"--data: {data} has no persona {card.id}, which the run used; "
            "name the folder that holds it"
        )
    for arcs in list_stories(folder):
        yield StoryFolder(folder=folder, arcs=arcs)


def _list_shipped_stories(
    card: ScenarioCard, building: BuildProgress | None
) -> Iterator[StoryFolder]:
    if card.id == SAMPLE:
        for arcs in list_stories(SOURCES / SAMPLE):
            yield StoryFolder(folder=SOURCES / SAMPLE, arcs=arcs)
        return
    if card.id not in load_catalogue():
        raise UsageError(
            f"{card.id}, which the run used, does not ship with the package; "
            "name the folder that holds it with --data"
        )
    for arcs, corpus in load_catalogue()[card.id].items():
        if (corpus.days, corpus.questions) == (card.episodes, card.items):
            yield StoryFolder(folder=materialise(card.id, arcs, building), arcs=arcs)


def _explain_difference(card: ScenarioCard, seen: Sequence[Inspection], where: str) -> str:
    cards = [found.card for found in seen if found.card is not None]
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
    return {card.id: _load_texts(card, plan, data, building) for card in plan.scenarios}


def _load_texts(
    card: ScenarioCard, plan: Plan, data: Path | None, building: BuildProgress | None
) -> dict[int, str]:
    if plan.imported is not None:
        raise UsageError(f"{card.id}: the run was imported, and its files do not hold its days")
    for story in list_candidates(card, data, building):
        found = read_story_days(
            story.folder, arcs=story.arcs, calendar=plan.calendar, ingest=plan.ingest
        )
        if found.history_digest == card.history_digest:
            return dict(found.texts)
    where = "the package" if data is None else str(data)
    raise DataError(
        f"{card.id}: its days in {where} are not those of the run; name their folder with --data"
    )
