"""The personas that can be run. This module imports little, so that `list` answers at once."""

from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.stories.persona_files import list_persona_ids, list_stories
from recall_bench.stories.persona_story import read_persona
from recall_bench.stories.shipped import load_catalogue


class StoryEntry(Record, frozen=True, kw_only=True):
    """One story of a persona, as `list` shows it."""

    arcs: str
    days: int | None
    """None if the story has problems."""
    questions: int | None
    problems: int
    """The number of problems; `run` lists them."""


class PersonaEntry(Record, frozen=True, kw_only=True):
    """One persona, as `list` shows it."""

    id: str
    name: str
    role: str
    domain: str
    stories: tuple[StoryEntry, ...]


def list_personas(data: str | Path | None = None) -> list[PersonaEntry]:
    """The personas of a data folder, or those of the package."""
    if data is None:
        return [
            PersonaEntry(
                id=persona.id,
                name=persona.name,
                role=persona.role,
                domain=persona.domain,
                stories=tuple(
                    StoryEntry(
                        arcs=story.arcs, days=story.days, questions=story.questions, problems=0
                    )
                    for story in persona.list_stories().values()
                ),
            )
            for persona in load_catalogue().values()
        ]
    if not isinstance(data, str | Path):
        raise UsageError(f"data: expected a path, got {data!r}")
    root = Path(data)
    if not root.is_dir():
        raise UsageError(f"--data: {root} is not a folder; name the one that holds the personas")
    return [
        _make_persona_entry(
            root / name,
            tuple(_make_story_entry(root / name, arcs) for arcs in list_stories(root / name)),
        )
        for name in list_persona_ids(root)
    ]


def _make_persona_entry(folder: Path, stories: tuple[StoryEntry, ...]) -> PersonaEntry:
    persona = read_persona(folder)
    return PersonaEntry(
        id=persona.id,
        name=persona.name,
        role=persona.role,
        domain=persona.domain,
        stories=stories,
    )


def _make_story_entry(folder: Path, arcs: str) -> StoryEntry:
    from recall_bench.stories.persona import inspect_persona

    story_entry = inspect_persona(folder, arcs=arcs)
    return StoryEntry(
        arcs=arcs,
        days=story_entry.card.episodes if story_entry.card else None,
        questions=story_entry.card.items if story_entry.card else None,
        problems=len(story_entry.problems),
    )
