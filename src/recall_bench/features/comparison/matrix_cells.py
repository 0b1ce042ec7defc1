"""The cells of a matrix: one run each, all checked before the first is begun."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

from recall_bench.core.errors import BenchError, OtherPlan, Problems, SystemGone, UsageError
from recall_bench.core.feature import require_part
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.engine.assembly import assemble
from recall_bench.engine.executor import refuse_impossible
from recall_bench.engine.experiment import ExperimentCell
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import move_outputs
from recall_bench.features.comparison.matrix_file import Matrix, MatrixSuite
from recall_bench.judging.eval_dataset import EvalMode, EvalRequest, open_dataset
from recall_bench.stories.drawn import BuildProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One system with one setting and one seed: over all personas, a dataset or in a suite."""

    setting: str
    seed: int
    system: str
    settings: Settings
    suite: MatrixSuite | None = None
    request: EvalRequest | None = None
    """The evaluation on a public dataset; None for a run on personas."""

    @property
    def label(self) -> str:
        """Names the cell in the matrix, as its folder does."""
        return f"{self.setting}/{self.seed}/{_name_folder(self.system, self.suite)}"

    @property
    def folder(self) -> Path:
        """The run folder."""
        if self.settings.into is None:
            raise AssertionError("every cell has a folder of its own")
        return self.settings.into


def list_cells(matrix: Matrix, given: Mapping[str, Any] | None = None) -> tuple[MatrixCell, ...]:
    """List every cell by setting, seed and system; flags in `given` override the file.

    Cells over personas or datasets come first, then those of each suite.
    """
    has_personas = matrix.has_recall and not matrix.datasets
    kinds: tuple[MatrixSuite | None, ...] = (None,) if has_personas else ()
    datasets = _list_dataset_cells(matrix, given or {}) if matrix.has_recall else ()
    rest = tuple(
        MatrixCell(
            setting=setting.name,
            seed=seed,
            system=system.name,
            settings=_make_settings(
                matrix,
                {**matrix.shared, **setting.given, **system.given, **(given or {}), "seed": seed},
                Path(setting.name, str(seed), _name_folder(system.name, suite)),
                suite,
            ),
            suite=suite,
        )
        for suite, setting, seed, system in product(
            (*kinds, *matrix.suites), matrix.settings, matrix.seeds, matrix.systems
        )
    )
    return (*datasets, *rest)


def _name_folder(system: str, suite: MatrixSuite | None) -> str:
    return system if suite is None else f"{system}+{suite.name}"


def _make_settings(
    matrix: Matrix, given: dict[str, Any], place: Path, suite: MatrixSuite | None
) -> Settings:
    if suite is not None:
        allowed = require_part("suites.settings", "a suite of a matrix")
        given = {name: value for name, value in given.items() if name in allowed}
    settings = move_outputs(apply_overrides(Settings(), given), matrix.into / place)
    pictures = bool(given.get("heatmap_png", False))
    return replace(settings, max_calls=matrix.limits.max_calls, heatmap_png=pictures)


def _list_dataset_cells(matrix: Matrix, given: Mapping[str, Any]) -> Iterator[MatrixCell]:
    """Every dataset under every setting is a row of the report."""
    axes = product(matrix.datasets, matrix.settings, matrix.seeds, matrix.systems)
    for dataset, setting, seed, system in axes:
        has_one = len(matrix.settings) == 1
        name = dataset.name if has_one else f"{dataset.name}+{setting.name}"
        options = dict(dataset.given)
        own: dict[str, Any] = {"data": options.pop("data")} if "data" in options else {}
        settings = _make_settings(
            matrix,
            {**matrix.shared, **setting.given, **system.given, **own, **given, "seed": seed},
            Path(name, str(seed), system.name),
            None,
        )
        yield MatrixCell(
            setting=name,
            seed=seed,
            system=system.name,
            settings=settings,
            request=_build_request(options, settings),
        )


def _build_request(asked: dict[str, Any], settings: Settings) -> EvalRequest:
    several: dict[str, Any] = {
        key: tuple(map(str, asked[key])) for key in ("errata", "categories") if key in asked
    }
    if asked.get("mode", EvalMode.RAW) not in list(EvalMode):
        raise UsageError(
            f"mode: {asked['mode']!r} is not valid; choose one of {', '.join(EvalMode)}"
        )
    mode: dict[str, Any] = {"mode": EvalMode(asked["mode"])} if "mode" in asked else {}
    return EvalRequest(settings=settings, floors=False, **{**asked, **several, **mode})


def select_cells(cells: Sequence[MatrixCell], patterns: Sequence[str]) -> tuple[MatrixCell, ...]:
    """Select the cells whose system or label matches a pattern; all without patterns."""
    if not patterns:
        return tuple(cells)
    selected = tuple(
        cell
        for cell in cells
        if any(
            fnmatchcase(name, pattern) for pattern in patterns for name in (cell.system, cell.label)
        )
    )
    if not selected:
        systems = ", ".join(dict.fromkeys(cell.system for cell in cells))
        raise UsageError(
            f"--only: {' '.join(patterns)} matches no cell; the systems are {systems}, and --list "
            "shows every cell"
        )
    return selected


def assemble_cells(
    cells: Sequence[MatrixCell], building: BuildProgress | None = None
) -> tuple[ExperimentCell, ...]:
    """A job for every cell; all that is wrong with any of them is raised at once.

    So is what an executor cannot do, before any cell is begun. A system that cannot be reached just
    now does not fail the matrix: its cell has no job, and the other cells run.
    """
    assembled: list[ExperimentCell] = []
    problems: dict[str, BenchError] = {}
    others: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        try:
            job = _assemble_cell(cell, building)
            assembled.append(ExperimentCell.from_job(job, cell.label))
            refuse_impossible(job)
        except SystemGone as gone:
            assembled.append(_make_unreachable_cell(cell, gone))
        except OtherPlan as other:
            others.setdefault(str(other).removeprefix(f"{cell.folder} "), []).append(cell)
        except Problems as several:
            problems |= {_describe_problem(cell, problem): problem for problem in several.problems}
        except BenchError as problem:
            problems[_describe_problem(cell, problem)] = problem
    problems |= {words: UsageError(words) for words in _describe_other_plans(others)}
    if problems:
        for assembled_cell in assembled:
            if assembled_cell.job is not None:
                run_to_end(assembled_cell.job.components.close)
        raise Problems(
            [_make_error(words, assembled_cell) for words, assembled_cell in problems.items()]
        )
    return tuple(assembled)


def _assemble_cell(cell: MatrixCell, building: BuildProgress | None) -> Job:
    suite = cell.suite
    if cell.request is not None:
        evaluate = require_part("datasets.assemble", "a dataset of a matrix")
        job: Job = evaluate(cell.request, open_dataset(cell.request)).job
        return job
    if suite is None:
        return assemble(cell.settings, building=building)
    build = require_part("suites.assemble", "a suite of a matrix")
    suite_job: Job = build(
        suite.name,
        cell.settings,
        stories=suite.stories,
        is_owned=suite.is_owned,
        patience_s=suite.patience_s,
        load_s=suite.load_s,
    )
    return suite_job


def _make_unreachable_cell(cell: MatrixCell, gone: SystemGone) -> ExperimentCell:
    def raise_again() -> NoReturn:
        raise gone

    return ExperimentCell(label=cell.label, folder=cell.folder, assemble=raise_again)


def _describe_problem(cell: MatrixCell, problem: BenchError) -> str:
    """The problem, with the cell's name unless it is the same in all: a file is missing once."""
    text = str(problem)
    return text if str(cell.folder) in text else f"{cell.system}: {text}"


def _describe_other_plans(others: Mapping[str, Sequence[MatrixCell]]) -> Iterator[str]:
    """One sentence for all folders that hold another run in the same way."""
    for words, (first, *more) in others.items():
        count = f" and {format_quantity(len(more), 'more cell')}: each" if more else ""
        yield f"{first.folder}{count} {words}; or go on with the other cells by --only"


def _make_error(words: str, problem: BenchError) -> BenchError:
    if problem.exit_code == UsageError.exit_code:
        return UsageError(words)
    other = BenchError(words)
    other.exit_code = problem.exit_code
    return other
