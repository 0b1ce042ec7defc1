"""The personas that can be run. This module imports little, so that `list` answers at once."""

from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.datasets.persona_files import list_persona_ids, list_stories
from recall_bench.datasets.persona_story import read_persona
from recall_bench.generate.shipped_personas import (
    SAMPLE,
    SAMPLE_DAYS,
    SAMPLE_QUESTIONS,
    SOURCES,
    load_catalogue,
)


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
        return _list_shipped_personas()
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


def _list_shipped_personas() -> list[PersonaEntry]:
    """The personas of the package, without simulating them."""
    played = [
        _make_persona_entry(
            SOURCES / name,
            tuple(
                StoryEntry(arcs=arcs, days=corpus.days, questions=corpus.questions, problems=0)
                for arcs, corpus in stories.items()
            ),
        )
        for name, stories in load_catalogue().items()
    ]
    sample = SOURCES / SAMPLE
    stories = tuple(
        StoryEntry(arcs=arcs, days=SAMPLE_DAYS, questions=SAMPLE_QUESTIONS, problems=0)
        for arcs in list_stories(sample)
    )
    return [*played, _make_persona_entry(sample, stories)]


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
    from recall_bench.datasets.persona import inspect_persona

    found = inspect_persona(folder, arcs=arcs)
    return StoryEntry(
        arcs=arcs,
        days=found.card.episodes if found.card else None,
        questions=found.card.items if found.card else None,
        problems=len(found.problems),
    )
