"""The sources of a persona that the world makes: a shipped trade under the names of a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from recall_bench.datasets.layout import DEFAULT_ARCS, Layout
from recall_bench.generate.offline.arc_changes import moved_story
from recall_bench.generate.offline.story import fitted
from recall_bench.generate.offline.world_folder import RECIPE, Recipe
from recall_bench.world.build import epoch_of, revised
from recall_bench.world.chance import Chance
from recall_bench.world.plain_yaml import dumped
from recall_bench.world.sources import Persona, Sources, Story
from recall_bench.worlds import sources_of

_WEEK = 7
_SEEDS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which story of whom."""

    recipe: Recipe
    layout: Layout
    days: int
    epoch: date | None = None
    """The date of day 1; None leaves it to the seed."""
    usual_epoch: date | None = None
    """The date of day 1 of other stories of the persona; None if this is the first."""


def seed_of(prompt: str, seed: int) -> int:
    """The world's seed for a description: never 0, which stands for the story as authored."""
    return Chance("offline", " ".join(prompt.split()), seed).between(1, _SEEDS)


def composed(wanted: Wanted) -> Sources:
    """The sources as they are played: named, dated and cut to length."""
    own = revised(sources_of(wanted.recipe.trade, DEFAULT_ARCS), wanted.recipe.seed)
    begins = wanted.epoch or wanted.usual_epoch or epoch_of(own)
    story = _on_its_weekdays(own.story_file, epoch_of(own), begins, wanted.days)
    # Names are final: nothing is left to be renamed.
    persona = {key: part for key, part in own.persona_file.items() if key != "alternatives"}
    usual = wanted.usual_epoch or begins
    persona |= {"id": wanted.layout.id, "epoch": usual.isoformat()}
    story = fitted(story, wanted.days) | {"epoch": begins.isoformat()}
    return msgspec.structs.replace(
        own,
        folder=wanted.layout.folder,
        arcs_name=wanted.layout.arcs,
        persona=msgspec.convert(persona, Persona),
        story=msgspec.convert(story, Story),
        persona_file=persona,
        story_file=story,
    )


def source_files(sources: Sources, recipe: Recipe) -> Mapping[str, bytes]:
    """The files of `world/`, by name: what the play is read back from."""
    documents = {
        "persona.yaml": sources.persona_file,
        "routine.yaml": _lean(msgspec.to_builtins(sources.routine)),
        "voice.yaml": _lean(msgspec.to_builtins(sources.voice)),
        sources.arcs_name: sources.story_file,
    }
    found = {name: dumped(content).encode() for name, content in documents.items()}
    return found | {RECIPE: msgspec.json.format(msgspec.json.encode(recipe), indent=2) + b"\n"}


def _on_its_weekdays(
    story: Mapping[str, Any], authored: date, begins: date, days: int
) -> Mapping[str, Any]:
    """The story moved by less than a week, so that each day of it is the weekday it was."""
    by = (authored.weekday() - begins.weekday()) % _WEEK
    is_over_before = story["arcs"][0]["directives"][0]["day"] + by > days
    return story if is_over_before else moved_story(story, by)


def _lean(content: Any) -> Any:  # noqa: ANN401 - any YAML
    """The same without keys that hold nothing, which is what a key that is absent means."""
    if isinstance(content, dict):
        return {
            key: _lean(part)
            for key, part in content.items()
            if part is not None and part not in ("", [], {})
        }
    return [_lean(part) for part in content] if isinstance(content, list) else content
