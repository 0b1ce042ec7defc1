"""A world as files: the public format, and beside it the recipe that it is made from."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import name_beside, sweep_folder
from recall_bench.core.errors import DISK_FULL, DataError, JournalLost, UsageError
from recall_bench.core.folders import join_id
from recall_bench.core.record import Record
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.core.yaml12 import Document, load_yaml
from recall_bench.core.yaml_writer import dump_yaml, format_scalar
from recall_bench.features.personas.simulator.arcs import build_arcs_file
from recall_bench.features.personas.simulator.questions import write_questions
from recall_bench.features.personas.simulator.sources import (
    WorldOptions,
    WorldSources,
    read_sources,
)
from recall_bench.features.personas.simulator.trades import find_trade_folder
from recall_bench.features.personas.simulator.world import World
from recall_bench.stories.drawn import SIMULATED_EDITION
from recall_bench.stories.persona_files import LEDGER_FILE, Layout, list_stories, name_day_file
from recall_bench.stories.persona_story import read_story

RECIPE = "world.json"


def build_persona_file(sources: WorldSources) -> Mapping[str, object]:
    """persona.yaml without the keys that only the simulator needs."""
    return {key: part for key, part in sources.persona_file.items() if key != "alternatives"}


def format_ledger(world: World) -> str:
    """The content of ledger.jsonl: every fact; pages have to be built before."""
    return "".join(
        f"{format_scalar(entry)}\n" for matter in world.matters for entry in matter.list_entries()
    )


def list_question_entries(world: World) -> Iterator[Mapping[str, object]]:
    """The entries of questions.yaml; pages have to be built before."""
    for number, draft in enumerate(write_questions(world), start=1):
        yield draft.build_entry(f"{world.sources.persona.id}-q{number:03}")


def write_world(world: World, layout: Layout, progress: Callable[[int], None]) -> None:
    """Write all files of the public format."""
    layout.memories.mkdir(parents=True)
    layout.questions_file.parent.mkdir()
    _write_text(layout.persona_file, dump_yaml(build_persona_file(world.sources)))
    _write_text(layout.arcs_file, dump_yaml(build_arcs_file(world)))
    for page in world.build_pages():
        _write_text(layout.memories / name_day_file(page.day), page.text)
        progress(page.day)
    entries = (dump_yaml([entry]) for entry in list_question_entries(world))
    _write_text(layout.questions_file, "".join(entries) or "[]\n")
    _write_text(layout.questions_file.with_name(LEDGER_FILE), format_ledger(world))


def _write_text(path: Path, text: str) -> None:
    # The same line ends on every system.
    path.write_text(text, encoding="utf-8", newline="\n")


def build_folder(
    sources: WorldSources, options: WorldOptions, out: Path, progress: Callable[[int], None]
) -> Path:
    """Simulate a persona into a folder of its name below `out`; a failure leaves nothing behind."""
    # The id may come from a stranger's file, so it must not lead elsewhere.
    folder = join_id(out, sources.persona.id, "persona.yaml")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists already; remove it, or name another place with --into")
    arcs = f"arcs-{options.days}d.yaml"
    world = World(sources, options, arcs)
    out.mkdir(parents=True, exist_ok=True)
    with _write_whole_folder(folder) as partial:
        write_world(world, Layout(partial, arcs), progress)
    return folder


@contextmanager
def _write_whole_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears only when all its files are written."""
    sweep_folder(folder.parent)
    partial = name_beside(folder)
    try:
        yield partial
        partial.rename(folder)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise JournalLost(f"{folder}: {JournalLost.FULL_DISK}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


class WorldRecipe(Record, frozen=True, kw_only=True):
    """What a simulated persona is made from; it lies in the persona's folder."""

    trade: str
    seed: int
    epoch: date
    """The date of day 1, unless a story has its own."""
    simulator: int = 1
    """The version of the simulator."""

    def make_world(self, layout: Layout, begins: date, days: int) -> World:
        """The world of one story of the persona."""
        sources = read_sources(find_trade_folder(self.trade), self.seed)
        own = sources.change_persona(id=layout.id, epoch=begins.isoformat())
        return World(own, WorldOptions(days=days, seed=self.seed), layout.arcs)

    def build_persona_file(self, world: World) -> Mapping[str, object]:
        """persona.yaml of the persona; its epoch is that of the first story."""
        return {**build_persona_file(world.sources), "epoch": self.epoch.isoformat()}


def read_recipe(folder: Path) -> WorldRecipe | None:
    """The recipe of the persona in this folder; None if it was not simulated."""
    path = folder / RECIPE
    if not path.is_file():
        return None
    try:
        recipe = decode_untrusted_json(read_regular_file(path), WorldRecipe)
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(
            f"{path}: cannot be used ({error}); create the persona again with --overwrite"
        ) from error
    if recipe.simulator != SIMULATED_EDITION:
        raise UsageError(
            f"{path}: another release made this persona, and its simulator draws other facts; "
            "name a model with --model, or create the persona again with --overwrite"
        )
    return recipe


def open_world(layout: Layout) -> World | None:
    """The simulated world of this story; None if the persona was not simulated.

    UsageError if the simulator did not make the story, or the public files were edited.
    """
    recipe = read_recipe(layout.folder)
    if recipe is None:
        return None
    story = read_story(layout.folder, layout.arcs)
    days = story.last_day
    if layout.arcs != f"arcs-{days}d.yaml":
        others = ", ".join(list_stories(layout.folder))
        raise UsageError(
            f"{layout.id}: the simulator did not make {layout.arcs}; there is {others}. Choose one "
            "with --arcs, add a story with `create-persona --arcs-only`, or name a model with "
            "--model"
        )
    world = recipe.make_world(layout, story.epoch, days)
    for path, ours in (
        (layout.persona_file, recipe.build_persona_file(world)),
        (layout.arcs_file, build_arcs_file(world)),
    ):
        changed = find_changed_key(path, ours)
        if changed is not None:
            raise UsageError(
                f"{layout.name(path)} was edited: its {changed} is not what the simulator made, so "
                "offline cannot write from it; name a model with --model, or undo the edit "
                "(create-persona with --overwrite writes the file again)"
            )
    return world


def find_changed_key(path: Path, ours: Mapping[str, object]) -> str | None:
    """The first of our keys whose value differs in the file; additional keys are ignored."""
    expected, actual = Document(path.name, dump_yaml(ours)).content, load_yaml(path)
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return "content"
    return next((key for key, part in expected.items() if actual.get(key) != part), None)
