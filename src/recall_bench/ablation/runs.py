"""One ordinary run for each variant, all in one folder, so that the same command goes on."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import anyio

from recall_bench.ablation.grid import (
    BASE,
    AblationVariant,
    ParameterGrid,
    build_default_grid,
    list_combinations,
    list_single_changes,
)
from recall_bench.assemble import assemble
from recall_bench.core.memory import SystemCard
from recall_bench.ending import execute
from recall_bench.errors import UsageError
from recall_bench.job import Job
from recall_bench.journal import read_events
from recall_bench.outputs import RUNS, move_outputs
from recall_bench.reporting.folder import RunFolder
from recall_bench.resolve.systems import resolve_system
from recall_bench.settings import Settings
from recall_bench.shipped import BuildProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """What is going to be compared, every variant known to be one the system accepts."""

    settings: Settings
    """Of the base."""
    folder: Path
    """Holds a run folder for each variant."""
    variants: tuple[AblationVariant, ...]
    """The base first, none twice."""
    base: Mapping[str, object]
    """What the base is set to, as its card says."""
    notes: tuple[str, ...] = ()


def plan_ablation(
    settings: Settings, grid: ParameterGrid | None, *, full: bool = False
) -> Ablation:
    """The base and its variants; without a grid, each part of a built-in the other way round.

    A value that the system refuses beside the base is a UsageError; a combination of good values
    that it refuses, or that comes to the same as another, is left out with a note.
    """
    base = _resolve_card(settings, {})
    wanted = grid or build_default_grid(settings.adapter, base.config)
    notes: list[str] = []
    accepted: dict[str, AblationVariant] = {base.digest: AblationVariant(BASE, {})}
    if full and grid:
        for variant in list_single_changes(wanted):
            _resolve_card(settings, variant.changes)
    for variant in list_combinations(wanted) if full else list_single_changes(wanted):
        try:
            card = _resolve_card(settings, variant.changes)
        except UsageError as refused:
            if grid and not full:
                raise
            notes.append(f"{variant.name} is left out: {refused}")
            continue
        accepted.setdefault(card.digest, variant)
    if len(accepted) == 1:
        raise UsageError(
            f"--grid: {', '.join(wanted)} as given leave {settings.adapter} as it is; "
            "name another value or setting"
        )
    return Ablation(
        settings=settings,
        folder=settings.into or _choose_folder(settings),
        variants=tuple(accepted.values()),
        base=base.config,
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationRuns:
    """Every variant's run, finished."""

    folders: Mapping[str, RunFolder]
    """By the name of the variant."""
    warnings: tuple[str, ...]
    """What the runs were warned of, each thing once."""


def run_ablation(
    ablation: Ablation, telling: Callable[[str], None], building: BuildProgress | None = None
) -> AblationRuns:
    """Run what has not been run yet.

    What stops a run is raised; the runs so far stay, and the next call goes on from there.
    """
    folders: dict[str, RunFolder] = {}
    warnings: dict[str, None] = {}
    for number, variant in enumerate(ablation.variants, start=1):
        telling(f"{number} of {len(ablation.variants)}: {variant.name}")
        job = assemble(_make_settings(ablation, variant), building=building)
        warnings.update(dict.fromkeys(job.warnings))
        folders[variant.name] = _open_finished(job) or _run_job(job)
    return AblationRuns(folders=folders, warnings=tuple(warnings))


def _open_finished(job: Job) -> RunFolder | None:
    """The run, if there is nothing left to do in it."""
    if not job.journal.exists() or next(read_events(job.journal), None) is None:
        return None
    folder = RunFolder.open(job.folder)
    if not folder.is_finished:
        return None
    anyio.run(job.staff.close)
    return folder


def _run_job(job: Job) -> RunFolder:
    finished = execute(job)
    if finished.stopped_by is not None:
        raise finished.stopped_by
    return finished.folder


def _make_settings(ablation: Ablation, variant: AblationVariant) -> Settings:
    settings = move_outputs(ablation.settings, ablation.folder / name_folder(variant.name))
    return replace(settings, config={**settings.config, **variant.changes})


def name_folder(variant: str) -> str:
    """The variant's name as a folder, told apart by a digest where letters had to go."""
    plain = re.sub(r"[^\w.=,-]+", "", variant)[:100]
    is_kept = plain == variant.replace(" ", "")
    return plain if is_kept else f"{plain}-{sha256(variant.encode()).hexdigest()[:8]}"


def _resolve_card(settings: Settings, changes: Mapping[str, object]) -> SystemCard:
    system = resolve_system(replace(settings, config={**settings.config, **changes}))
    anyio.run(system.close)
    return system.card


def _choose_folder(settings: Settings) -> Path:
    name = re.sub(r"[^\w.-]+", "-", settings.adapter).strip("-") or "system"
    said = repr(replace(settings, parallelism=1, retry_errors=False))
    return RUNS / f"ablate-{name}-{sha256(said.encode()).hexdigest()[:8]}"
