"""Which variants of a system are compared: words in, settings out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import RUNS, Settings
from recall_bench.core.yaml12 import Document
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import Experiment, ExperimentCell, require_result
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import move_outputs
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.ablation_report import AblationVariant
from recall_bench.stories.drawn import BuildProgress
from recall_bench.systems.resolver import resolve_system

BASE = "base"
"""The name of the variant that the others are compared with."""

ParameterGrid = Mapping[str, tuple[object, ...]]
"""The values each setting is tried with."""

_SWITCHES = ("keyword", "vector", "temporal_boost", "lexical_boost", "rerank")
_CHOICES = {
    "neighbours": (0, 1),
    "fusion": ("weighted", "rank"),
    "chunking": ("passage", "turn", "paragraph", "session", "window"),
    "consolidate": ("none", "beside", "only"),
}
_ABLATABLE_SYSTEMS = ("hybrid", "recency")


def read_grid(words: Iterable[str]) -> ParameterGrid:
    """Parse every `--grid KEY=VALUE,VALUE`; each value is read as YAML."""
    grid: dict[str, tuple[object, ...]] = {}
    for word in words:
        key, values = _split_word(word)
        if key in grid:
            raise UsageError(f"--grid: {key} is given twice; put its values into one list")
        grid[key] = tuple(Document(f"--grid {key}", value).content for value in values.split(","))
    return grid


def build_default_grid(adapter: str, base: Mapping[str, object]) -> ParameterGrid:
    """Toggle every part of the built-in system, and try every other choice."""
    if adapter not in _ABLATABLE_SYSTEMS:
        raise UsageError(
            f"--grid: the settings of {adapter} are not known; give them, for example "
            "--grid k=5,10,20"
        )
    switches = {name: (not base[name],) for name in _SWITCHES}
    choices = {
        name: tuple(value for value in values if value != base[name])
        for name, values in _CHOICES.items()
    }
    return {**switches, **choices}


def list_single_changes(grid: ParameterGrid) -> Iterator[AblationVariant]:
    """List the base with one setting changed, for each value of each setting."""
    for key, values in grid.items():
        for value in values:
            yield _make_variant({key: value})


def list_combinations(grid: ParameterGrid) -> Iterator[AblationVariant]:
    """List every combination of one value of every setting."""
    for values in product(*grid.values()):
        yield _make_variant(dict(zip(grid, values, strict=True)))


def _make_variant(changes: Mapping[str, object]) -> AblationVariant:
    return AblationVariant(
        ", ".join(f"{key}={format_value(value)}" for key, value in changes.items()), changes
    )


def format_value(value: object) -> str:
    """Format a value as it is typed."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _split_word(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not (key and sign and value) or "" in value.split(","):
        raise UsageError(f"--grid: {word!r} is not of the form KEY=VALUE,VALUE")
    return key, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The variants to compare, all known to be accepted by the system."""

    settings: Settings
    """The settings of the base."""
    folder: Path
    """Holds a run folder for each variant."""
    variants: tuple[AblationVariant, ...]
    """The base first, none twice."""
    base: Mapping[str, object]
    """The configuration of the base, as its card says."""
    notes: tuple[str, ...] = ()


def plan_ablation(
    settings: Settings, grid: ParameterGrid | None, *, full: bool = False
) -> Ablation:
    """Plan the base and its variants; without a grid, each part of a built-in is toggled.

    A single value that the system refuses is a UsageError; a combination that it refuses, or that
    equals another one, is left out with a note.
    """
    base = _resolve_card(settings, {})
    varied = grid or build_default_grid(settings.adapter, base.config)
    notes: list[str] = []
    accepted: dict[str, AblationVariant] = {base.digest: AblationVariant(BASE, {})}
    if full and grid:
        for variant in list_single_changes(varied):
            _resolve_card(settings, variant.changes)
    for variant in list_combinations(varied) if full else list_single_changes(varied):
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
            f"--grid: {', '.join(varied)}: these are already the settings of {settings.adapter}; "
            "give other values"
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
    """The finished runs of all variants."""

    folders: Mapping[str, RunFolder]
    """By the name of the variant."""
    warnings: tuple[str, ...]
    """The warnings of all runs, each once."""


def run_ablation(
    ablation: Ablation, on_progress: Callable[[str], None], building: BuildProgress | None = None
) -> AblationRuns:
    """Run the variants that have not been run yet.

    What stops a run is raised; the next call continues from there.
    """
    names = [variant.name for variant in ablation.variants]

    def assemble_variant(variant: AblationVariant) -> Job:
        number = names.index(variant.name) + 1
        on_progress(f"{number} of {len(names)}: {variant.name}")
        return assemble(_make_settings(ablation, variant), building=building)

    cells = [
        ExperimentCell(
            label=variant.name,
            folder=ablation.folder / name_folder(variant.name),
            assemble=partial(assemble_variant, variant),
        )
        for variant in ablation.variants
    ]
    folders: dict[str, RunFolder] = {}
    warnings: dict[str, None] = {}
    for outcome in Experiment(cells=cells).run():
        result = require_result(outcome)
        if result.stopped_by is not None:
            raise result.stopped_by
        warnings.update(dict.fromkeys(result.warnings))
        folders[outcome.cell.label] = result.folder
    return AblationRuns(folders=folders, warnings=tuple(warnings))


def _make_settings(ablation: Ablation, variant: AblationVariant) -> Settings:
    settings = move_outputs(ablation.settings, ablation.folder / name_folder(variant.name))
    return replace(settings, config={**settings.config, **variant.changes})


def name_folder(variant: str) -> str:
    """Name a variant's folder; a digest is added if characters had to be dropped."""
    plain = re.sub(r"[^\w.=,-]+", "", variant)[:100]
    is_kept = plain == variant.replace(" ", "")
    return plain if is_kept else f"{plain}-{sha256(variant.encode()).hexdigest()[:8]}"


def _resolve_card(settings: Settings, changes: Mapping[str, object]) -> SystemCard:
    system = resolve_system(replace(settings, config={**settings.config, **changes}))
    run_to_end(system.close)
    return system.card


def _choose_folder(settings: Settings) -> Path:
    name = re.sub(r"[^\w.-]+", "-", settings.adapter).strip("-") or "system"
    settings_words = repr(replace(settings, parallelism=1, retry_errors=False))
    return RUNS / f"ablate-{name}-{sha256(settings_words.encode()).hexdigest()[:8]}"
