"""Import the public files of a run as a run folder, completely or not at all."""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from recall_bench.core.atomic_file import name_beside, sweep_folder
from recall_bench.core.errors import UsageError
from recall_bench.core.event import Event
from recall_bench.core.plain_text import NO_DATA, format_fact
from recall_bench.core.plan import ImportCard
from recall_bench.core.record import Record
from recall_bench.core.settings import RUNS
from recall_bench.engine.runs.journal import JOURNAL, encode_events
from recall_bench.engine.runs.result_format import HeaderRow
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.features.archive.import_checkpoints import gather_visits
from recall_bench.features.archive.import_evaluations import (
    CheckpointVisit,
    FaultCounts,
    average_grades,
    find_disagreements,
)
from recall_bench.features.archive.import_events import (
    audit_evaluations,
    build_events,
    count_shared_days,
)
from recall_bench.features.archive.import_files import RunFiles, read_files
from recall_bench.features.archive.import_plan import (
    PUBLIC,
    ImportedQuestions,
    build_import_plan,
    collect_questions,
    digest_asked_ids,
    find_setting,
    is_ours,
    is_whole,
)

OURS = "recall-bench"
_SHOWN = 3


class ImportResult(Record, frozen=True, kw_only=True):
    """The result of an import."""

    folder: str
    system: str
    card: ImportCard
    personas: tuple[str, ...]
    checkpoints: int
    questions: int
    evaluations: int
    stored_mean: float | None
    """The mean over all checkpoints as stored; None if the files store no means."""
    graded_mean: float | None
    """The same from the rows, as graded."""
    mean: float | None
    """The mean after the repairs, as in every report."""
    disagreeing: tuple[str, ...]
    """The first stored means that differ from their rows."""


def import_run(
    paths: Sequence[Path], into: Path | None = None, *, as_graded: bool = False
) -> ImportResult:
    """Import the files as a run folder; leave nothing if that fails.

    Placeholder answers of failed queries count as not answered, unless `as_graded`.
    """
    if into is not None:
        _refuse_taken(into)
    files, faults = read_files(paths), FaultCounts()
    visits = gather_visits(files, faults)
    questions = collect_questions(visits, faults)
    scope = audit_evaluations(visits, faults, as_graded=as_graded, is_ours=is_ours(files))
    differing = list(find_disagreements(visits))
    faults.note("means", len(differing))
    faults.note("shared-times", 0 if is_ours(files) else count_shared_days(visits))
    card = _build_card(files, visits, questions, faults).replace(findings=scope.findings)
    plan = build_import_plan(files, visits, questions, card)
    name = re.sub(r"[^\w.-]+", "-", plan.system.name).strip("-.") or "run"
    folder = into or RUNS / f"imported-{name[:60]}-{plan.digest[:8]}"
    _refuse_taken(folder)
    mean = _write_folder(folder, build_events(plan, files, visits, questions, scope))
    return ImportResult(
        folder=str(folder),
        system=plan.system.name,
        card=card,
        personas=tuple(questions),
        checkpoints=len(plan.checkpoints),
        questions=sum(card.items for card in plan.scenarios),
        evaluations=sum(len(visit.evaluations) for visit in visits),
        stored_mean=_compute_stored_mean(visits),
        graded_mean=average_grades(
            evaluation for visit in visits for evaluation in visit.evaluations
        )[0],
        mean=mean,
        disagreeing=tuple(differing[:_SHOWN]),
    )


def _build_card(
    files: RunFiles,
    visits: list[CheckpointVisit],
    questions: dict[str, ImportedQuestions],
    faults: FaultCounts,
) -> ImportCard:
    setting, ours = find_setting(files), is_ours(files)
    is_reconstructed = getattr(setting, "reconstructed", False)
    faults.note("reconstructed", int(is_reconstructed))
    faults.note("not-reached", _count_missing_checkpoints(files, visits))
    if setting.appellate_judge_model is not None and not ours:
        _count_reviews(files, visits, faults)
    is_cut = any(faults[name] for name in ("not-reached", "no-rows", "short"))
    is_open = any(evaluation.is_open for visit in visits for evaluation in visit.evaluations)
    asked = {
        name: {v.place[1]: own.list_ids(v.evaluations) for v in visits if v.place[0] == name}
        for name, own in questions.items()
    }
    return ImportCard(
        written_by=OURS if ours else PUBLIC,
        files=files.cards,
        repairs=faults.list_repairs(),
        reconstructed=is_reconstructed,
        complete=is_whole(files) and not is_cut and not is_open,
        dataset=setting.dataset_digest,
        asked=None if setting.dataset_digest is not None else digest_asked_ids(asked),
    )


def _count_reviews(files: RunFiles, visits: Iterable[CheckpointVisit], faults: FaultCounts) -> None:
    judged = [
        (evaluation, evaluation.score)
        for visit in visits
        for evaluation in visit.evaluations
        if evaluation.score is not None
    ]
    reviews = sum(verdict.primary is not None for verdict, _ in judged)
    recorded = None if files.result is None else files.result.metadata.appellate_invocations
    if recorded is not None:
        faults.note("uncounted-reviews", max(0, reviews - recorded))
    faults.note(
        "not-judged-twice",
        sum(verdict.primary is None and score.verdict.is_failure for verdict, score in judged),
    )


def _count_missing_checkpoints(files: RunFiles, visits: Iterable[CheckpointVisit]) -> int:
    """Count the configured checkpoints that no persona reached."""
    headers = [line for line in files.progress if isinstance(line, HeaderRow)]
    source = files.result or (headers[-1] if headers else None)
    configured = set() if source is None else {span.label for span in source.ranges}
    labels = {visit.place[1] for visit in visits}
    if files.result is not None:
        parts = (part for persona in files.result.personas for part in persona.range_results)
        labels |= {part.range.label for part in parts}
    return len(configured - labels)


def _compute_stored_mean(visits: Iterable[CheckpointVisit]) -> float | None:
    means = [v.stored for v in visits if v.stored is not None and v.stored.mean is not None]
    count = sum(stored.count for stored in means)
    total = sum((stored.mean or 0.0) * stored.count for stored in means)
    return total / count if count else None


def _refuse_taken(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder}: exists and was not changed; name another with --into")


def _write_folder(folder: Path, events: Iterable[Event]) -> float | None:
    """Write the journal to a temporary folder, check it by reading it, and rename the folder."""
    sweep_folder(folder.parent)
    beside = name_beside(folder)
    try:
        beside.mkdir(parents=True)
        with (beside / JOURNAL).open("wb") as file:
            file.writelines(encode_events(events))
            file.flush()
            os.fsync(file.fileno())
        mean = summarise(RunFolder.open(beside)).overall.mean
        beside.rename(folder)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be written ({error.strerror}); choose another with --into"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return mean


def render_import(result: ImportResult) -> str:
    """Render the result as text."""
    card = result.card
    end = "complete" if card.complete else "incomplete"
    stored, rows, mean = (
        NO_DATA if value is None else f"{value:.4f}"
        for value in (result.stored_mean, result.graded_mean, result.mean)
    )
    agreement = ""
    if result.stored_mean is not None:
        agreement = ", which do not agree everywhere" if result.disagreeing else ", which agree"
    facts = [
        ("Run", f"{result.system}, run by {card.written_by}, {end}"),
        ("Read", ", ".join(f"{file.name} ({file.bytes:,} bytes)" for file in card.files)),
        (
            "Holds",
            (
                f"{result.evaluations:,} evaluations of {result.questions:,} questions · personas "
                f"{', '.join(result.personas)} · {result.checkpoints} checkpoints"
            ),
        ),
        (
            "Mean of 6",
            f"{stored} as stored · {rows} from the rows{agreement} · {mean} in every view",
        ),
        *(("Repaired" if fault.is_repaired else "Marked", fault.said) for fault in card.repairs),
        *(("", words) for words in result.disagreeing),
        ("Folder", result.folder),
    ]
    return "\n".join(line for label, words in facts for line in format_fact(label, words))
