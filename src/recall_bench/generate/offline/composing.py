"""The sources of a persona that the world makes: a shipped trade under the names of a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from recall_bench.datasets.layout import DEFAULT_ARCS, Layout
from recall_bench.generate.offline.arc_changes import move_story
from recall_bench.generate.offline.story import fit_story
from recall_bench.generate.offline.world_folder import RECIPE, WorldRecipe
from recall_bench.world.build import parse_epoch, prepare_sources
from recall_bench.world.chance import RandomStream
from recall_bench.world.plain_yaml import dump_yaml
from recall_bench.world.sources import AuthoredStory, WorldPersona, WorldSources
from recall_bench.worlds import load_sources

_WEEK = 7
_SEEDS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineStoryRequest:
    """Which story of whom."""

    recipe: WorldRecipe
    layout: Layout
    days: int
    epoch: date | None = None
    """The date of day 1; None leaves it to the seed."""
    usual_epoch: date | None = None
    """The date of day 1 of other stories of the persona; None if this is the first."""


def hash_prompt(prompt: str, seed: int) -> int:
    """The world's seed for a description: never 0, which stands for the story as authored."""
    return RandomStream("offline", " ".join(prompt.split()), seed).draw_between(1, _SEEDS)


def compose_sources(wanted: OfflineStoryRequest) -> WorldSources:
    """The sources as they are played: named, dated and cut to length."""
    own = prepare_sources(load_sources(wanted.recipe.trade, DEFAULT_ARCS), wanted.recipe.seed)
    begins = wanted.epoch or wanted.usual_epoch or parse_epoch(own)
    story = _align_weekdays(own.story_file, parse_epoch(own), begins, wanted.days)
    # Names are final: nothing is left to be renamed.
    persona = {key: part for key, part in own.persona_file.items() if key != "alternatives"}
    usual = wanted.usual_epoch or begins
    persona |= {"id": wanted.layout.id, "epoch": usual.isoformat()}
    story = fit_story(story, wanted.days) | {"epoch": begins.isoformat()}
    return msgspec.structs.replace(
        own,
        folder=wanted.layout.folder,
        arcs_name=wanted.layout.arcs,
        persona=msgspec.convert(persona, WorldPersona),
        story=msgspec.convert(story, AuthoredStory),
        persona_file=persona,
        story_file=story,
    )


def dump_sources(sources: WorldSources, recipe: WorldRecipe) -> Mapping[str, bytes]:
    """The files of `world/`, by name: what the play is read back from."""
    documents = {
        "persona.yaml": sources.persona_file,
        "routine.yaml": _drop_empty_keys(msgspec.to_builtins(sources.routine)),
        "voice.yaml": _drop_empty_keys(msgspec.to_builtins(sources.voice)),
        sources.arcs_name: sources.story_file,
    }
    found = {name: dump_yaml(content).encode() for name, content in documents.items()}
    return found | {RECIPE: msgspec.json.format(msgspec.json.encode(recipe), indent=2) + b"\n"}


def _align_weekdays(
    story: Mapping[str, Any], authored: date, begins: date, days: int
) -> Mapping[str, Any]:
    """The story moved by less than a week, so that each day of it is the weekday it was."""
    by = (authored.weekday() - begins.weekday()) % _WEEK
    is_over_before = story["arcs"][0]["directives"][0]["day"] + by > days
    return story if is_over_before else move_story(story, by)


def _drop_empty_keys(content: Any) -> Any:  # noqa: ANN401 - any YAML
    """The same without keys that hold nothing, which is what a key that is absent means."""
    if isinstance(content, dict):
        return {
            key: _drop_empty_keys(part)
            for key, part in content.items()
            if part is not None and part not in ("", [], {})
        }
    return [_drop_empty_keys(part) for part in content] if isinstance(content, list) else content
