"""The pass `create-persona --model offline`: a shipped trade with new people, values and dates.

The simulator's sources are written to `world/` first, then the arcs, and persona.yaml last, so that
a folder with a persona.yaml is complete.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from anyio.lowlevel import checkpoint

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import UsageError
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.creation.story_fit import fit_story, move_story
from recall_bench.features.personas.creation.trades import (
    check_trade,
    describe_trades,
    find_trade,
    load_trades,
)
from recall_bench.features.personas.pass_request import CreateRequest
from recall_bench.features.personas.pass_run import PassResult, run_pass
from recall_bench.features.personas.world.build import parse_epoch, prepare_sources
from recall_bench.features.personas.world.public_format import build_persona_file
from recall_bench.features.personas.world.sources import AuthoredStory, WorldPersona, WorldSources
from recall_bench.features.personas.world_folder import (
    FOLDER,
    RECIPE,
    WorldFolder,
    WorldRecipe,
    find_changed_key,
    is_file_of,
    is_folder_of,
    prepare_world,
    read_recipe,
    remove_sibling_folders,
    replace_folder,
)
from recall_bench.features.personas.worlds import list_trades, load_sources
from recall_bench.stories.persona_files import DEFAULT_ARCS, Layout
from recall_bench.stories.persona_story import read_persona

_WEEK = 7
_SEEDS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineStoryRequest:
    """The parameters of a simulated story."""

    recipe: WorldRecipe
    layout: Layout
    days: int
    epoch: date | None = None
    """The date of day 1; None for that of the seed."""
    usual_epoch: date | None = None
    """The date of day 1 of the persona's other stories; None for the first story."""


def hash_prompt(prompt: str, seed: int) -> int:
    """The simulator's seed for a description: never 0, which means the story as authored."""
    return RandomStream("offline", " ".join(prompt.split()), seed).draw_between(1, _SEEDS)


def compose_sources(wanted: OfflineStoryRequest) -> WorldSources:
    """The sources with names, dates and length applied."""
    own = prepare_sources(load_sources(wanted.recipe.trade, DEFAULT_ARCS), wanted.recipe.seed)
    begins = wanted.epoch or wanted.usual_epoch or parse_epoch(own)
    story = _align_weekdays(own.story_file, parse_epoch(own), begins, wanted.days)
    # The names are final.
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
    """The files of `world/` by name."""
    documents = {
        "persona.yaml": sources.persona_file,
        "routine.yaml": _drop_empty_keys(msgspec.to_builtins(sources.routine)),
        "voice.yaml": _drop_empty_keys(msgspec.to_builtins(sources.voice)),
        sources.arcs_name: sources.story_file,
    }
    results = {name: dump_yaml(content).encode() for name, content in documents.items()}
    return results | {RECIPE: msgspec.json.format(msgspec.json.encode(recipe), indent=2) + b"\n"}


def _align_weekdays(
    story: Mapping[str, Any], authored: date, begins: date, days: int
) -> Mapping[str, Any]:
    """The story moved by less than a week, so that its weekdays stay the same."""
    by = (authored.weekday() - begins.weekday()) % _WEEK
    is_over_before = story["arcs"][0]["directives"][0]["day"] + by > days
    return story if is_over_before else move_story(story, by)


def _drop_empty_keys(content: Any) -> Any:  # noqa: ANN401 - any YAML
    """The content without empty keys, which mean the same as absent ones."""
    if isinstance(content, dict):
        return {
            key: _drop_empty_keys(part)
            for key, part in content.items()
            if part is not None and part not in ("", [], {})
        }
    return [_drop_empty_keys(part) for part in content] if isinstance(content, list) else content


def create_offline(request: CreateRequest, on_progress: Callable[[str], None]) -> PassResult:
    """Write a simulated persona and its story, or another story of a simulated persona.

    Files that already have the right content are kept. UsageError if a file would be replaced
    without `overwrite`.
    """
    request.check_folder()
    layout = request.story
    plan = (
        _plan_another_story(request)
        if request.arcs_only
        else _plan_first_story(request, on_progress)
    )
    world = prepare_world(compose_sources(plan), plan.recipe)
    sources = dump_sources(world.sources, plan.recipe)
    files = {layout.arcs_file: dump_yaml(world.public_arcs).encode()}
    if request.arcs_only:
        _check_same_persona(layout, world, sources)
    else:
        files[layout.persona_file] = dump_yaml(build_persona_file(world.sources)).encode()
    _check_free(request, files, sources)
    intact = [path for path, content in files.items() if is_file_of(path, content)]

    async def write_files() -> None:
        sweep_folder(layout.folder)
        _write_sources(layout.folder / FOLDER, sources, layout.arcs)
        for path, content in files.items():
            await checkpoint()
            if path not in intact:
                replace_file(path, content)
                on_progress(f"Wrote {path.name}")

    stopped = run_pass(write_files)
    complete = sum(is_file_of(path, content) for path, content in files.items())
    return PassResult(
        what="files",
        folder=str(layout.folder),
        wanted=len(files),
        written=complete - len(intact),
        kept=len(intact),
        notes=tuple(_list_notes(request, world)),
        fill=request.resume_command,
        stopped=stopped,
    )


def _plan_first_story(
    request: CreateRequest, on_progress: Callable[[str], None]
) -> OfflineStoryRequest:
    trade, because = _choose_trade(request)
    on_progress(f"offline there are {len(load_trades())} trades: {describe_trades()}")
    on_progress(f"taking {trade}, as {because}; only a model follows the rest of the prompt")
    recipe = WorldRecipe(trade=trade, seed=hash_prompt(request.prompt, request.seed or 0))
    return OfflineStoryRequest(
        recipe=recipe, layout=request.story, days=request.days, epoch=request.epoch
    )


def _choose_trade(request: CreateRequest) -> tuple[str, str]:
    """The trade, and why it was chosen."""
    if request.trade is not None:
        return check_trade(request.trade), "--trade says"
    if not request.prompt.strip():
        raise UsageError(
            "--prompt is missing; describe the person that the agent works for and their job, or "
            "use --arcs-only for an existing persona"
        )
    results = find_trade(request.prompt)
    if results is None:
        raise UsageError(
            f"--prompt: it names none of the {len(load_trades())} offline trades, which are "
            f"{describe_trades()}; choose one with --trade NAME, or name a model with --model, "
            "which follows any prompt"
        )
    # Three words are enough as a reason.
    return results.trade, f"the prompt says {' and '.join(map(repr, results.words[:3]))}"


def _plan_another_story(request: CreateRequest) -> OfflineStoryRequest:
    recipe = read_recipe(request.persona)
    if recipe is None or not request.story.persona_file.is_file():
        raise UsageError(
            f"--arcs-only: the simulator did not make {request.id}, so it cannot tell another "
            "story of it; name a model with --model, or create a persona without --arcs-only"
        )
    if recipe.trade not in list_trades():
        raise UsageError(
            f"--arcs-only: the trade of {request.id}, {recipe.trade}, does not come with this "
            "release; create a persona in another folder"
        )
    return OfflineStoryRequest(
        recipe=recipe,
        layout=request.story,
        days=request.days,
        epoch=request.epoch,
        usual_epoch=read_persona(request.persona).epoch,
    )


def _check_same_persona(layout: Layout, world: WorldFolder, sources: Mapping[str, bytes]) -> None:
    """Check that the new story fits the existing persona."""
    own = layout.folder / FOLDER
    shared = [name for name in sources if name != layout.arcs]
    edited = [own / name for name in shared if not is_file_of(own / name, sources[name])]
    if find_changed_key(layout.persona_file, build_persona_file(world.sources)) is not None:
        edited.append(layout.persona_file)
    if edited:
        raise UsageError(
            f"--arcs-only: {layout.name(edited[0])} was edited or comes from another release, so "
            "that a new story would not fit it; undo the edit, or create a persona in another "
            "folder"
        )


def _check_free(
    request: CreateRequest, files: dict[Path, bytes], sources: Mapping[str, bytes]
) -> None:
    """Check that no file would be lost."""
    world = request.persona / FOLDER
    if world.exists() and not (world / RECIPE).exists():
        raise UsageError(
            f"{world} exists and was not made by the simulator; move it, or name another folder "
            "with --persona"
        )
    if request.overwrite:
        return
    ours = dict(reversed(files.items()))
    if request.story.persona_file.exists():
        # Without a persona.yaml they are left over from a killed run.
        ours |= {world / name: content for name, content in sources.items()}
    for path, content in ours.items():
        if path.exists() and not is_file_of(path, content):
            raise UsageError(
                f"{path} exists and is not what this command writes; replace it with --overwrite, "
                "or name another folder with --persona"
                + ("" if request.arcs_only else ", or add a story with --arcs-only")
            )


def _write_sources(world: Path, sources: Mapping[str, bytes], arcs: str) -> None:
    """Write the sources; other stories of the same persona are kept."""
    sweep_folder(world)
    remove_sibling_folders(world)
    shared = {name: content for name, content in sources.items() if name != arcs}
    if not is_folder_of(world, shared):
        replace_folder(world, sources)
    elif not is_file_of(world / arcs, sources[arcs]):
        replace_file(world / arcs, sources[arcs])


def _list_notes(request: CreateRequest, world: WorldFolder) -> list[str]:
    notes = []
    last = max(arc.end_day for arc in world.sources.story.arcs)
    if last < request.days:
        notes.append(
            f"its last arc ends on day {last}; the routine of the trade goes on to day "
            f"{request.days}"
        )
    memories = request.story.memories
    if request.overwrite and memories.is_dir() and any(memories.iterdir()):
        notes.append(
            f"{memories} holds days of the story that was there; `recall-bench generate --persona "
            f"{request.persona} --arcs {request.story.arcs} --overwrite` writes them again"
        )
    return notes
