"""The result of a job that ended or was stopped, and the files that it leaves."""

from copy import copy
from pathlib import Path

from recall_bench.core.errors import BenchError
from recall_bench.core.feature import load_target
from recall_bench.core.settings import Settings
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.engine.job import Job
from recall_bench.engine.runs.output_paths import FAILURES, PICTURES, PROGRESS, QUESTIONS, RESULT
from recall_bench.engine.runs.result_files import export_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.run_result import RunResult, ShardProgress
from recall_bench.engine.runs.summary import Summary, summarise


def build_result(job: Job, stopped_by: BenchError | None) -> RunResult:
    """Write the result files of a job that ended or was stopped, and return its result."""
    if stopped_by is not None and not job.journal.exists():
        raise stopped_by
    # Trials that are asked again count as open in the view of a run, and not in its journal.
    if job.view is None or job.settings.retry_errors:
        folder = RunFolder.open(job.folder)
    else:
        folder = copy(job.view)
    summary = summarise(folder)
    write_views(job.settings, folder, summary)
    return RunResult(
        folder=folder,
        summary=summary,
        warnings=tuple(job.warnings),
        stopped_by=stopped_by,
        was_finished=job.was_finished,
        part=_count_shard(job, folder.states),
    )


def _count_shard(job: Job, states: TrialStates) -> ShardProgress | None:
    if job.shard is None:
        return None
    reached = job.list_states(states)
    still_open = reached.count(TrialState.OPEN) + reached.count(TrialState.ANSWERED)
    return ShardProgress(part=job.shard, owed=len(reached), open=still_open)


def lacks_views(settings: Settings, folder: Path) -> bool:
    """Whether a file is missing that `write_views` writes, because its process was killed."""
    pictures = [folder / name for name in PICTURES] if settings.heatmap_png else []
    wanted = [path for path in _list_views(settings, folder).values() if path is not None]
    return not all(path.exists() for path in wanted + pictures)


def write_views(settings: Settings, folder: RunFolder, summary: Summary) -> None:
    """Every file a run leaves beside its journal, where the settings want it."""
    export_files(folder, **_list_views(settings, folder.path))
    if settings.heatmap_png:
        # Pictures belong to the report, which lies above the engine.
        draw = load_target("recall_bench.reporting.heatmap.heatmap_picture:draw_run")
        draw(folder, summary, *(folder.path / name for name in PICTURES))


def _list_views(settings: Settings, folder: Path) -> dict[str, Path | None]:
    questions = settings.question_log or folder / QUESTIONS
    return {
        "result": settings.json_out or folder / RESULT,
        "progress": settings.progress_jsonl or folder / PROGRESS,
        "questions": questions if settings.write_question_log else None,
        "failures": settings.failure_log or folder / FAILURES,
    }


def write_progress_file(job: Job) -> None:
    """Bring a running job's progress.jsonl up to date."""
    if job.view is None:
        raise AssertionError("a job that runs has a view")
    # A copy, because what is computed from a folder is kept with it, and this one changes.
    folder = copy(job.view)
    export_files(folder, progress=job.settings.progress_jsonl or folder.path / PROGRESS)
