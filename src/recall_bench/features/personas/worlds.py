"""Worlds by name: the sources of the trades and of user folders, simulated from any seed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import Problems, UsageError
from recall_bench.core.plan import DrawnStory
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import Scenario
from recall_bench.features.personas.world.build import (
    build_folder,
    choose_new_folder,
    prepare_sources,
    write_whole_folder,
    write_world,
)
from recall_bench.features.personas.world.sources import (
    AuthoredStory,
    WorldOptions,
    WorldSources,
    read_sources,
)
from recall_bench.features.personas.world.validation import find_source_problems
from recall_bench.stories.drawn import SIMULATED_EDITION, BuildProgress, show_nothing
from recall_bench.stories.persona import load_persona
from recall_bench.stories.persona_files import (
    DEFAULT_ARCS,
    Layout,
    list_persona_ids,
    parse_story_days,
)
from recall_bench.stories.seeds import WorldSeed
from recall_bench.stories.shipped import load_catalogue, unpack_story
from recall_bench.stories.story_folders import find_story

SOURCES = Path(__file__).parent / "persona_sources"
"""The simulator's sources of each trade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One story of one persona."""

    persona: str
    arcs: str
    folder: Path | None = None
    """None for a shipped story, which is in the cache."""

    @property
    def name(self) -> str:
        """The persona, and its story unless it is the default one."""
        is_usual = self.folder is not None or self.arcs == DEFAULT_ARCS
        return self.persona if is_usual else f"{self.persona} {self.arcs}"

    def find_folder(self) -> Path:
        """The folder, unpacked first if the story is a shipped one."""
        return self.folder or unpack_story(self.persona, self.arcs)


def find_worlds(names: Collection[str] = (), *, arcs: str | None = None) -> tuple[World, ...]:
    """The stories of these shipped personas and folders; without names, all shipped ones.

    A shipped persona has all its stories unless `arcs` names one. A folder holds one persona or
    several.
    """
    return tuple(
        world for name in dict.fromkeys(names or load_catalogue()) for world in _find(name, arcs)
    )


def _find(name: str, arcs: str | None) -> Iterator[World]:
    persona = load_catalogue().get(name)
    if persona is not None:
        for story in persona.list_stories() if arcs is None else (arcs,):
            yield World(persona=name, arcs=story)
        return
    folder = Path(name)
    if not folder.is_dir():
        raise UsageError(
            f"{name} is neither a folder nor a shipped persona; the package has "
            f"{', '.join(load_catalogue())}"
        )
    within = () if (folder / "persona.yaml").is_file() else list_persona_ids(folder)
    for place in [folder / one for one in within] or [folder]:
        chosen = find_story(place, arcs).arcs
        yield World(persona=Layout(place, chosen).id, arcs=chosen, folder=place)


def build_world(
    persona: str,
    out: Path,
    *,
    arcs: str | None = None,
    days: int | None = None,
    building: BuildProgress = show_nothing,
    knobs: Mapping[str, float] | None = None,
) -> Path:
    """Simulate a trade, or the sources in a folder, into `out`; returns the folder."""
    sources = load_sources(persona, arcs)
    if problems := find_source_problems(sources):
        raise Problems(problems)
    length = days or get_story_length(sources)
    settings = msgspec.convert({**(knobs or {}), "days": length}, WorldOptions)
    with building(sources.persona.id, length) as on_day:
        return build_folder(sources, settings, out, on_day)


def draw_folder(
    story: DrawnStory, seed: int, out: Path, building: BuildProgress = show_nothing
) -> Path:
    """Simulate a story of a trade from a seed into `out`; a story of any length is cut to fit."""
    from recall_bench.features.personas.creation.story_fit import fit_story

    days = parse_story_days(story.arcs)
    if days is None:
        raise UsageError(f"{story.arcs}: its name says no length, such as arcs-180d.yaml")
    sources = prepare_sources(load_sources(story.persona), seed)
    if story.arcs != DEFAULT_ARCS:
        fitted = fit_story(sources.story_file, days)
        sources = msgspec.structs.replace(
            sources,
            arcs_name=story.arcs,
            story=msgspec.convert(fitted, AuthoredStory),
            story_file=fitted,
        )
    folder = choose_new_folder(out, story.persona)
    out.mkdir(parents=True, exist_ok=True)
    with building(story.persona, days) as on_day, write_whole_folder(folder) as partial:
        write_world(sources, WorldOptions(days=days, seed=seed), partial, on_day)
    return folder


SHORT_STORY_DAYS = (42, 84)
"""The lengths of a story drawn to examine a system: its end cannot be guessed."""


def draw_short_story(seed: WorldSeed) -> Scenario:
    """Draw some weeks of some trade; persona, length and values follow the seed."""
    chance = RandomStream(seed.value, "short story")
    persona = chance.choose(list_trades())
    days = chance.draw_between(*SHORT_STORY_DAYS)
    story = DrawnStory(persona=persona, arcs=f"arcs-{days}d.yaml", edition=SIMULATED_EDITION)
    with TemporaryFolder("story") as scratch:
        return load_persona(draw_folder(story, seed.value, Path(scratch)), arcs=story.arcs)


def list_trades() -> tuple[str, ...]:
    """The trades whose sources for the simulator ship with the package, by name."""
    return tuple(sorted(path.parent.name for path in SOURCES.glob("*/routine.yaml")))


def load_sources(persona: str, arcs: str | None = None) -> WorldSources:
    """The sources of a trade, or of a user's folder."""
    folder = SOURCES / persona if persona in list_trades() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a trade; "
            f"there is {', '.join(list_trades())}"
        )
    return read_sources(folder, find_story(folder, arcs).arcs)


def get_story_length(sources: WorldSources) -> int:
    """The length of a story in days: from its file name, else the end of its last arc."""
    return parse_story_days(sources.arcs_name) or max(arc.end_day for arc in sources.story.arcs)
