"""The simulator's sources in a persona's folder.

A simulated persona has a folder `world/` with the sources, with the names of its seed, and
`world.json` with the other parameters. The files above it are the public format of the same. A
folder of sources for `world build --persona` needs no `world/`.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, Problems, UsageError
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.core.yaml12 import Document, load_yaml
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.world.build import parse_epoch
from recall_bench.features.personas.world.public_format import build_arcs_file, build_persona_file
from recall_bench.features.personas.world.simulation import DayPace, SimulatedDay, Simulation
from recall_bench.features.personas.world.sources import WorldOptions, WorldSources, read_sources
from recall_bench.features.personas.world.validation import find_source_problems
from recall_bench.features.personas.worlds import get_story_length
from recall_bench.stories.persona_files import Layout, list_stories

FOLDER = "world"
RECIPE = "world.json"


class WorldRecipe(Record, frozen=True, kw_only=True):
    """The parameters of a simulated persona besides its sources and their length."""

    trade: str
    """The shipped persona that it is made from."""
    seed: int
    density: float = 1.0
    distance: float = 0.5
    distractors: float = 0.25
    restatements: float = 0.15

    def make_options(self, days: int) -> WorldOptions:
        """The simulator's options for a story of this length."""
        return WorldOptions(
            days=days,
            seed=self.seed,
            density=self.density,
            distance=self.distance,
            distractors=self.distractors,
            restatements=self.restatements,
        )


@dataclass(slots=True, kw_only=True)
class WorldFolder:
    """One story of a persona, ready to be simulated."""

    sources: WorldSources
    """With final names and epoch."""
    options: WorldOptions
    simulation: Simulation
    public_arcs: Mapping[str, object]
    """The story in the public format."""

    @property
    def days(self) -> int:
        """The length of the story."""
        return self.options.days

    def list_days_told(self) -> tuple[int, ...]:
        """The days that will have a page, known before they are simulated."""
        persona, story = self.sources.persona, self.sources.story
        due = {directive.day for arc in story.arcs for directive in arc.directives}
        pace = DayPace(
            persona.week,
            story.away,
            self.simulation.dates,
            seed=self.simulation.seed,
            density=self.options.density,
        )
        days_told = []
        for day in range(1, self.days + 1):
            level = pace.draw_level(day, is_due=day in due)
            if level != "off":
                # Advances the random numbers, as the simulation does.
                pace.draw_word_count(level)
                days_told.append(day)
        return tuple(days_told)

    def simulate_days(self) -> Iterator[SimulatedDay]:
        """Every day that has a page, from day 1 on. Can be iterated once."""
        return self.simulation.simulate_days()


def open_world(layout: Layout) -> WorldFolder | None:
    """The simulator of this story; None if the persona was not simulated.

    UsageError if the sources do not have the story or the public files were edited; Malformed or
    Problems if the sources are broken.
    """
    recipe = read_recipe(layout.folder)
    if recipe is not None:
        own = layout.folder / FOLDER
        if not (own / layout.arcs).is_file():
            raise UsageError(_explain_missing_story(layout, own))
        world = prepare_world(read_sources(own, layout.arcs), recipe)
        _check_public(layout, world)
        return world
    if (layout.folder / "routine.yaml").is_file() and (layout.folder / "voice.yaml").is_file():
        sources = read_sources(layout.folder, layout.arcs)
        return prepare_world(sources, WorldRecipe(trade=sources.persona.id, seed=0))
    return None


def read_recipe(folder: Path) -> WorldRecipe | None:
    """The recipe of the persona in this folder; None if it was not simulated."""
    path = folder / FOLDER / RECIPE
    if not path.is_file():
        return None
    try:
        return decode_untrusted_json(read_regular_file(path), WorldRecipe)
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(
            f"{path}: cannot be used ({error}); create the persona again with --overwrite"
        ) from error


def prepare_world(sources: WorldSources, recipe: WorldRecipe) -> WorldFolder:
    """The sources, ready to be simulated; Problems if they cannot be."""
    if source_problems := find_source_problems(sources):
        raise Problems(source_problems)
    options = recipe.make_options(get_story_length(sources))
    simulation = Simulation(sources, options, parse_epoch(sources))
    # Arcs and days draw from the same phrasings, arcs first.
    arcs = build_arcs_file(sources, simulation, options.days)
    return WorldFolder(sources=sources, options=options, simulation=simulation, public_arcs=arcs)


def _check_public(layout: Layout, world: WorldFolder) -> None:
    for path, ours in (
        (layout.persona_file, build_persona_file(world.sources)),
        (layout.arcs_file, world.public_arcs),
    ):
        changed = find_changed_key(path, ours)
        if changed is not None:
            raise UsageError(
                f"{layout.name(path)} was edited: its {changed} is not what the world in "
                f"{layout.name(layout.folder / FOLDER)} plays, so offline cannot write from it; "
                "name a model with --model, or undo the edit (create-persona with --overwrite "
                "writes the file again)"
            )


def find_changed_key(path: Path, ours: Mapping[str, object]) -> str | None:
    """The first of our keys whose value differs in the file; additional keys are ignored."""
    expected, actual = Document(path.name, dump_yaml(ours)).content, load_yaml(path)
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return "content"
    return next((key for key, part in expected.items() if actual.get(key) != part), None)


def _explain_missing_story(layout: Layout, own: Path) -> str:
    stories = ", ".join(list_stories(own)) or "no story"
    return (
        f"{layout.id}: the world did not make {layout.arcs}; it made {stories}. Choose one with "
        "--arcs, add a story with `create-persona --arcs-only --model offline`, or name a model "
        "with --model"
    )


def remove_sibling_folders(folder: Path) -> None:
    """Remove the temporary folders of a killed run."""
    for sibling in _name_siblings(folder):
        shutil.rmtree(sibling, ignore_errors=True)


def replace_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace the content of the folder by these files, all or none.

    If the process dies between the two renames the folder is missing; the same call repairs that.
    """
    new, old = _name_siblings(folder)
    remove_sibling_folders(folder)
    try:
        for name, content in files.items():
            replace_file(new / name, content)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror or error})") from error
    remove_sibling_folders(folder)


def _name_siblings(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")


def is_folder_of(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether the folder has exactly these contents; other files may be there too."""
    return all(is_file_of(folder / name, content) for name, content in files.items())


def is_file_of(path: Path, content: bytes) -> bool:
    """Whether the file exists with exactly this content."""
    try:
        return path.read_bytes() == content
    except OSError:
        return False
