"""The paths of a run's files, and whether they can be written."""

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Plan, Shard
from recall_bench.core.settings import RUNS, Settings
from recall_bench.engine.runs.journal import JOURNAL

RESULT, PROGRESS = "result.json", "progress.jsonl"
QUESTIONS, FAILURES = "questions.jsonl", "failures.jsonl"
LABELS = "labels.jsonl"
"""The labels that people gave in the explorer."""
PICTURES = ("heatmap.png", "heatmap.svg")
REPORT = "report"
RESULT_FILES = (RESULT, PROGRESS, QUESTIONS, FAILURES, *PICTURES, LABELS, REPORT)
"""What stands in a run folder beside the journal."""


def choose_run_folder(settings: Settings, plan: Plan, prefix: str = "") -> Path:
    """Choose the run folder: as given, beside the result file, or named by the plan.

    A folder named by the plan starts with the prefix, the kind of run, and ends with the shard.
    """
    if settings.resume is not None:
        return _find_resume_folder(settings.resume, settings.into)
    named = _find_named_folder(settings)
    if named is not None:
        return named
    name = re.sub(r"[^\w.-]+", "-", plan.system.name).strip("-") or "run"
    part = "" if settings.shard is None else _format_shard(Shard.parse(settings.shard))
    return RUNS / f"{prefix}{name}-{plan.digest[:8]}{part}"


def _format_shard(part: Shard) -> str:
    return f"-part-{part.number}-of-{part.of}"


def move_outputs(settings: Settings, into: Path) -> Settings:
    """Change the settings to those of another run in its own folder, without files outside it.

    A named output file can hold one run only, and a run beside a shard is not sharded.
    """
    return replace(
        settings,
        into=into,
        resume=None,
        shard=None,
        json_out=None,
        question_log=None,
        progress_jsonl=None,
        failure_log=None,
        heatmap_png=False,
    )


def _find_named_folder(settings: Settings) -> Path | None:
    if settings.into is not None:
        return settings.into
    result = settings.json_out
    if result is None:
        return None
    return result.parent if result.name == RESULT else result.with_suffix("")


def _find_resume_folder(resume: Path, into: Path | None) -> Path:
    folder = resume if resume.is_dir() else resume.parent
    if not (folder / JOURNAL).is_file():
        raise UsageError(
            f"--resume: {folder} is not a run folder (it has no {JOURNAL}); give the folder of a "
            "run, or use --into to start one"
        )
    if into is not None and into.resolve() != folder.resolve():
        raise UsageError(f"--resume {resume} and --into {into} name different folders")
    return folder


def _list_named_files(settings: Settings) -> dict[str, Path]:
    """List the named output files by flag."""
    named = {
        "--json-out": settings.json_out,
        "--question-log": settings.question_log if settings.write_question_log else None,
        "--progress-jsonl": settings.progress_jsonl,
        "--failure-log": settings.failure_log,
    }
    return {flag: path for flag, path in named.items() if path is not None}


def refuse_clashes(settings: Settings) -> None:
    """Refuse two outputs with one path, before anything is asked."""
    for flag, path in {"--into": settings.into, "--resume": settings.resume}.items():
        if path is not None and not path.parts:
            raise UsageError(f"{flag}: no folder is named")
    folder = _find_named_folder(settings)
    taken: dict[Path, str] = {}
    if folder is not None:
        taken = {_resolve(folder / name): name for name in (JOURNAL, *PICTURES)}
    for flag, path in _list_named_files(settings).items():
        if not path.parts:
            raise UsageError(f"{flag}: no file is named")
        if path.exists() and not path.is_file():
            raise UsageError(f"{flag}: {path} is not a file; name one")
        other = taken.setdefault(_resolve(path), flag)
        if other != flag:
            raise UsageError(f"{flag}: {path} is taken by {other}; name another file")


def refuse_links(folder: Path) -> None:
    """Refuse a run folder with links where files are written: they would be followed."""
    for path in (*folder.glob("*"), *(folder / REPORT).rglob("*")):
        if path.is_symlink():
            raise UsageError(f"{path}: is a link, and files would be written elsewhere; remove it")


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError as error:
        raise UsageError(f"{path}: is a link to itself; remove it") from error


def refuse_unwritable(settings: Settings) -> None:
    """Refuse outputs that cannot be written, before anything is asked."""
    files = _list_named_files(settings)
    if settings.into is not None:
        files["--into"] = settings.into / RESULT
    for flag, path in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, probe = tempfile.mkstemp(dir=path.parent)
            os.close(handle)
            Path(probe).unlink()
        except OSError as error:
            place = path.parent if flag == "--into" else path
            raise UsageError(f"{flag}: cannot write {place} ({error.strerror})") from error
