"""Worlds by name: the shipped personas and people's own sources, played into folders."""

import re
from collections.abc import Callable
from pathlib import Path

from recall_bench.errors import Problems, UsageError
from recall_bench.world.sources import Sources

PERSONAS = Path(__file__).parent / "personas"
"""Where the sources of the shipped personas lie."""


def build_world(
    persona: str,
    out: Path,
    *,
    arcs: str | None = None,
    days: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
    **knobs: float,
) -> Path:
    """Play a shipped persona, or the sources in a folder, into `out`; the folder written."""
    from recall_bench.world.build import build
    from recall_bench.world.settings import Knobs
    from recall_bench.world.validation import problems

    sources = sources_of(persona, arcs)
    if found := problems(sources):
        raise Problems(found)
    length = days or story_length(sources)
    return build(sources, Knobs(days=length, **knobs), out, progress)  # type: ignore[arg-type]


def shipped() -> tuple[str, ...]:
    """The personas that come with the package as sources, by name."""
    return tuple(sorted(path.parent.name for path in PERSONAS.glob("*/routine.yaml")))


def sources_of(persona: str, arcs: str | None = None) -> Sources:
    """The sources of a shipped persona, or of a folder of one's own."""
    from recall_bench.world.sources import read_sources

    folder = PERSONAS / persona if persona in shipped() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a shipped persona; "
            f"there is {', '.join(shipped()) or 'none'}"
        )
    stories = sorted(path.name for path in folder.glob("arcs*.yaml"))
    usual = "arcs-1000d.yaml"
    chosen = arcs or (usual if usual in stories or not stories else stories[0])
    return read_sources(folder, chosen)


def story_length(sources: Sources) -> int:
    """The days a story lasts: what its file is named for, else the end of its last arc."""
    named = re.fullmatch(r"arcs-(\d+)d\.ya?ml", sources.arcs_name)
    return int(named[1]) if named else max(arc.end_day for arc in sources.story.arcs)
