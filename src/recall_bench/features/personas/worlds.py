"""Worlds by name: trades and folders of sources, simulated from any seed."""

from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import UsageError
from recall_bench.core.plan import DrawnStory
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import Scenario
from recall_bench.features.personas.simulator.sources import WorldOptions, read_sources
from recall_bench.features.personas.simulator.trades import find_trade_folder, load_trades
from recall_bench.features.personas.simulator.world_files import build_folder
from recall_bench.stories.drawn import SIMULATED_EDITION, BuildProgress, show_nothing
from recall_bench.stories.persona import load_persona
from recall_bench.stories.persona_files import parse_story_days
from recall_bench.stories.seeds import WorldSeed

SHORT_STORY_DAYS = (42, 84)
"""The lengths of a story drawn to examine a system: its end cannot be guessed."""


def build_world(
    persona: str,
    out: Path,
    *,
    days: int = 1000,
    seed: int = 0,
    density: float = 1.0,
    building: BuildProgress = show_nothing,
) -> Path:
    """Simulate a trade, or the sources in a folder, into `out`; returns the folder."""
    folder = find_trade_folder(persona) if persona in load_trades() else Path(persona)
    if not folder.is_dir():
        raise UsageError(
            f"--persona: {persona} is neither a folder nor a trade; "
            f"there is {', '.join(load_trades())}"
        )
    sources = read_sources(folder, seed)
    options = WorldOptions(days=days, seed=seed, density=density)
    with building(sources.persona.id, days) as on_day:
        return build_folder(sources, options, out, on_day)


def draw_folder(
    story: DrawnStory, seed: int, out: Path, building: BuildProgress = show_nothing
) -> Path:
    """Simulate a story of a trade from a seed into `out`."""
    days = parse_story_days(story.arcs)
    if days is None:
        raise UsageError(f"{story.arcs}: its name says no length, such as arcs-180d.yaml")
    return build_world(story.persona, out, days=days, seed=seed, building=building)


def draw_short_story(seed: WorldSeed) -> Scenario:
    """Draw some weeks of some trade; persona, length and values follow the seed."""
    chance = RandomStream(seed.value, "short story")
    persona = chance.choose(sorted(load_trades()))
    days = chance.draw_between(*SHORT_STORY_DAYS)
    story = DrawnStory(persona=persona, arcs=f"arcs-{days}d.yaml", edition=SIMULATED_EDITION)
    with TemporaryFolder("story") as scratch:
        return load_persona(draw_folder(story, seed.value, Path(scratch)), arcs=story.arcs)
