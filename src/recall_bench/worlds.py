"""Worlds by name: the shipped personas and people's own sources, played into folders."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from recall_bench.errors import Problems, UsageError
from recall_bench.shipped import DEFAULT_STORY, SOURCES, Building, silently, story_days
from recall_bench.world.sources import Sources


def build_world(
    persona: str,
    out: Path,
    *,
    arcs: str | None = None,
    days: int | None = None,
    building: Building = silently,
    knobs: Mapping[str, float] | None = None,
) -> Path:
    """Play a shipped persona, or the sources in a folder, into `out`; the folder written."""
    from recall_bench.world.build import build
    from recall_bench.world.settings import Knobs
    from recall_bench.world.validation import problems

    sources = sources_of(persona, arcs)
    if found := problems(sources):
        raise Problems(found)
    length = days or story_length(sources)
    settings = msgspec.convert({**(knobs or {}), "days": length}, Knobs)
    with building(sources.persona.id, length) as told:
        return build(sources, settings, out, told)


def shipped() -> tuple[str, ...]:
    """The personas that come with the package as sources, by name."""
    return tuple(sorted(path.parent.name for path in SOURCES.glob("*/routine.yaml")))


def sources_of(persona: str, arcs: str | None = None) -> Sources:
    """The sources of a shipped persona, or of a folder of one's own."""
    from recall_bench.world.sources import read_sources

    folder = SOURCES / persona if persona in shipped() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a shipped persona; "
            f"there is {', '.join(shipped()) or 'none'}"
        )
    stories = sorted(path.name for path in folder.glob("arcs*.yaml"))
    usual = DEFAULT_STORY if DEFAULT_STORY in stories or not stories else stories[0]
    return read_sources(folder, arcs or usual)


def story_length(sources: Sources) -> int:
    """The days a story lasts: what its file is named for, else the end of its last arc."""
    return story_days(sources.arcs_name) or max(arc.end_day for arc in sources.story.arcs)
