"""The pass `create-persona --model offline`: a trade with new people, values and dates.

The recipe is written first and persona.yaml last, so that a folder with a persona.yaml is complete.
"""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import msgspec
from anyio.lowlevel import checkpoint

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import UsageError
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.pass_request import CreateRequest
from recall_bench.features.personas.pass_run import PassResult, run_pass
from recall_bench.features.personas.simulator.arcs import build_arcs_file
from recall_bench.features.personas.simulator.sources import read_sources
from recall_bench.features.personas.simulator.trades import (
    describe_trades,
    find_trade,
    find_trade_folder,
    load_trades,
)
from recall_bench.features.personas.simulator.world_files import (
    RECIPE,
    WorldRecipe,
    find_changed_key,
    read_recipe,
)
from recall_bench.stories.drawn import SIMULATED_EDITION

_SEEDS = 10**9


def create_offline(request: CreateRequest, on_progress: Callable[[str], None]) -> PassResult:
    """Write a simulated persona and its story, or another story of a simulated persona.

    Files that already have the right content are kept. UsageError if a file would be replaced
    without `overwrite`.
    """
    request.check_folder()
    layout = request.story
    recipe = _read_own_recipe(request) if request.arcs_only else _make_recipe(request, on_progress)
    begins = request.epoch or recipe.epoch
    if (date.max - begins).days < request.days:
        raise UsageError(
            f"--days: {request.days} days from {begins} on end after the year 9999; set an earlier "
            "first day with --epoch"
        )
    world = recipe.make_world(layout, begins, request.days)
    outline = recipe.build_persona_file(world)
    files = {layout.arcs_file: dump_yaml(build_arcs_file(world)).encode()}
    if request.arcs_only:
        if find_changed_key(layout.persona_file, outline) is not None:
            raise UsageError(
                f"--arcs-only: {layout.name(layout.persona_file)} was edited, so that a new story "
                "would not fit it; undo the edit, or create a persona in another folder"
            )
    else:
        written = msgspec.json.format(msgspec.json.encode(recipe), indent=2) + b"\n"
        files = {
            layout.folder / RECIPE: written,
            **files,
            layout.persona_file: dump_yaml(outline).encode(),
        }
    return _write_files(request, files, on_progress)


def _write_files(
    request: CreateRequest, files: Mapping[Path, bytes], on_progress: Callable[[str], None]
) -> PassResult:
    """Write the files in order, each whole; UsageError if another one would be lost."""
    layout = request.story
    intact = [path for path, content in files.items() if is_file_of(path, content)]
    for path in files:
        if path.exists() and path not in intact and not request.overwrite:
            raise UsageError(
                f"{path} exists and is not what this command writes; replace it with --overwrite, "
                "or name another folder with --persona"
                + ("" if request.arcs_only else ", or add a story with --arcs-only")
            )

    async def write_files() -> None:
        sweep_folder(layout.folder)
        for path, content in files.items():
            await checkpoint()
            if path not in intact:
                replace_file(path, content)
                on_progress(f"Wrote {path.name}")

    notes = []
    if request.overwrite and layout.memories.is_dir() and any(layout.memories.iterdir()):
        notes.append(
            f"{layout.memories} holds days of the story that was there; `recall-bench generate "
            f"--persona {request.persona} --arcs {layout.arcs} --overwrite` writes them again"
        )
    stopped = run_pass(write_files)
    complete = sum(is_file_of(path, content) for path, content in files.items())
    return PassResult(
        what="files",
        folder=str(layout.folder),
        wanted=len(files),
        written=complete - len(intact),
        kept=len(intact),
        notes=tuple(notes),
        fill=request.resume_command,
        stopped=stopped,
    )


def _make_recipe(request: CreateRequest, on_progress: Callable[[str], None]) -> WorldRecipe:
    trade, reason = request.trade, "--trade says"
    if trade is None:
        if not request.prompt.strip():
            raise UsageError(
                "--prompt is missing; describe the person that the agent works for and their job, "
                "or use --arcs-only for an existing persona"
            )
        match = find_trade(request.prompt)
        if match is None:
            raise UsageError(
                f"--prompt: it names none of the {len(load_trades())} offline trades, which are "
                f"{describe_trades()}; choose one with --trade NAME, or name a model with --model, "
                "which follows any prompt"
            )
        trade, words = match
        reason = f"the prompt says {' and '.join(map(repr, words[:3]))}"
    on_progress(f"offline there are {len(load_trades())} trades: {describe_trades()}")
    on_progress(f"taking {trade}, as {reason}; only a model follows the rest of the prompt")
    seed = hash_prompt(request.prompt, request.seed or 0)
    sources = read_sources(find_trade_folder(trade), seed)
    return WorldRecipe(
        trade=trade, seed=seed, epoch=request.epoch or sources.epoch, simulator=SIMULATED_EDITION
    )


def hash_prompt(prompt: str, seed: int) -> int:
    """The simulator's seed for a description: never 0, which means names as authored."""
    return RandomStream("offline", " ".join(prompt.split()), seed).draw_between(1, _SEEDS)


def _read_own_recipe(request: CreateRequest) -> WorldRecipe:
    recipe = read_recipe(request.persona)
    if recipe is None or not request.story.persona_file.is_file():
        raise UsageError(
            f"--arcs-only: the simulator did not make {request.id}, so it cannot tell another "
            "story of it; name a model with --model, or create a persona without --arcs-only"
        )
    return recipe


def is_file_of(path: Path, content: bytes) -> bool:
    """Whether the file exists with exactly this content."""
    try:
        return path.read_bytes() == content
    except OSError:
        return False
