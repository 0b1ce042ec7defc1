"""Turns an evaluation request and an opened dataset into a job, after checking everything."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.event_redaction import redact_plan
from recall_bench.core.folders import find_cache_folder
from recall_bench.core.memory import UNDECLARED, MemorySystem, Reader, SystemCard
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.settings import Settings
from recall_bench.engine.assembly import (
    SettingsCheck,
    build_plan,
    check_writable,
    choose_lifecycle,
    require,
)
from recall_bench.engine.components import Components
from recall_bench.engine.job import Job
from recall_bench.engine.rejudge_assembly import AbsentSystem
from recall_bench.engine.runs.journal import JOURNAL, Journal
from recall_bench.engine.runs.output_paths import (
    FAILURES,
    PICTURES,
    PROGRESS,
    QUESTIONS,
    RESULT,
    choose_run_folder,
    refuse_clashes,
)
from recall_bench.engine.runs.recorded_answers import RecordedRun
from recall_bench.features.datasets.stored_answers import read_from_store
from recall_bench.judging.eval_dataset import EvalMode, EvalRequest, OpenedDataset, open_dataset
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import NoJudge, resolve_judges, split_reading
from recall_bench.judging.methodologies import AnswerCheck
from recall_bench.systems.builtin.options import list_built_ins_with
from recall_bench.systems.models.target import resolve_model
from recall_bench.systems.readers import EXTRACTIVE, resolve_reader
from recall_bench.systems.resolver import resolve_system

END = "end"
"""The checkpoint after the whole history: the only one, unless questions are asked on the way."""
CONTROLS = "controls"
"""Where in a run's folder those beside it are kept."""

_LEFT_BEHIND = (RESULT, PROGRESS, QUESTIONS, FAILURES, *PICTURES, JOURNAL)
"""Every file of a run in its folder; the journal last, for it is the run."""

_CONSOLIDATED: Mapping[str, tuple[str, object]] = {
    "hebb-mind": ("consolidated", True),
}
"""By system, the setting that has it search what it made of a history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledEval:
    """An evaluation that is ready to run."""

    request: EvalRequest
    opened: OpenedDataset
    job: Job

    @property
    def with_answers(self) -> bool:
        """Whether answers are scored, or only retrieval."""
        return not self.request.skip_qa


def assemble_evaluation(
    request: EvalRequest, opened: OpenedDataset, own: MemorySystem | None = None
) -> AssembledEval:
    """Assemble a job that asks a system the questions of a dataset; nothing is fed or asked yet.

    `own` replaces the system that the settings name.
    """
    if request.answers_from is not None:
        return _assemble_recorded(request, opened, request.answers_from)
    settings = request.settings
    check = SettingsCheck(settings)
    system = check.try_call(_resolve_asked_system, request, opened, own)
    judges = check.try_call(_build_judges, request, opened)
    reader = check.try_call(_resolve_reader, request, opened, system)
    checkpoints = _make_checkpoints(opened)
    lifecycle = check.try_call(_choose_lifecycle, settings, system, len(checkpoints))
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    plan = build_plan(
        settings,
        cards=opened.scenarios,
        checkpoints=checkpoints,
        system=require(system),
        judges=require(judges),
        reader=reader,
        lifecycle=require(lifecycle),
    ).replace(dataset=opened.card, unjudged=isinstance(require(judges).judge, NoJudge))
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan, f"{request.dataset}-"),
        components=_make_components(opened, require(system), require(judges), reader),
        factory=None if own is not None else partial(_rebuild_components, request),
        questions=opened.questions,
        warnings=[*opened.notes, *_collect_notes(settings, plan)],
    )
    if request.rebuild:
        _remove_run(job.folder)
    job = check_writable(job, is_rebuilt=request.rebuild)
    return AssembledEval(request=request, opened=opened, job=job)


def _assemble_recorded(request: EvalRequest, opened: OpenedDataset, run: Path) -> AssembledEval:
    """The same for answers on record: the system and its reader are not asked again."""
    recorded = RecordedRun.open(run)
    before, settings = recorded.folder.plan, request.settings
    _refuse_other_questions(before, opened, run)
    if not (request.skip_qa or before.system.answers or before.reader):
        raise UsageError(f"--answers-from: {run} holds passages but no answers; add --skip-qa")
    judges = _build_judges(request, opened)
    changed = before.replace(
        dataset=opened.card,
        judge=judges.judge.card,
        other_judges=tuple(judge.card for judge in judges.others),
        appellate=judges.appellate.card if judges.appellate is not None else None,
        unjudged=isinstance(judges.judge, NoJudge),
        review=settings.review,
        judge_memory_window=settings.judge_memory_window,
        judge_timeout_s=settings.judge_timeout_s,
        answers_from=before.answers_from or before.digest,
    )
    plan = redact_plan(changed)
    folder = choose_run_folder(settings, plan, f"{request.dataset}-")
    if folder.resolve() == run.resolve():
        raise UsageError(f"--into: {folder} holds the answers themselves; name another folder")
    job = Job(
        settings=settings,
        plan=plan,
        folder=folder,
        components=_make_components(opened, AbsentSystem(plan.system), judges, None),
        factory=partial(_rebuild_judges, request, plan.system),
        questions=opened.questions,
        warnings=list(opened.notes),
        asks=False,
    )
    if request.rebuild:
        _remove_run(folder)
    check_writable(job, is_rebuilt=request.rebuild)
    recorded.copy_answers(plan, folder)
    return AssembledEval(request=request, opened=opened, job=job)


def _make_components(
    opened: OpenedDataset, system: MemorySystem, judges: Judges, reader: Reader | None
) -> Components:
    return Components(
        system=system,
        judges=judges,
        load=opened.load,
        reader=reader,
    )


def _rebuild_components(request: EvalRequest) -> Components:
    """Build the components that the request names, in any process."""
    opened = open_dataset(request)
    system = _resolve_asked_system(request, opened, None)
    return _make_components(
        opened, system, _build_judges(request, opened), _resolve_reader(request, opened, system)
    )


def _rebuild_judges(request: EvalRequest, system: SystemCard) -> Components:
    """Build the judges of recorded answers, in any process."""
    opened = open_dataset(request)
    return _make_components(opened, AbsentSystem(system), _build_judges(request, opened), None)


def _refuse_other_questions(before: Plan, opened: OpenedDataset, run: Path) -> None:
    if before.dataset is None or before.scenarios != opened.scenarios:
        dataset = "personas" if before.dataset is None else before.dataset.name
        raise UsageError(
            f"--answers-from: {run} was asked other questions ({dataset}, {len(before.scenarios)} "
            "histories); use its --dataset, --errata, --max-scenarios and --scenario-offset, and a "
            "protocol and --categories that ask the same"
        )


def _make_checkpoints(opened: OpenedDataset) -> tuple[Checkpoint, ...]:
    """Make one checkpoint at the end; where questions are asked on the way, one for each such day.

    Questions of the second kind are open on one day alone.
    """
    questions = [item for declared in opened.questions.values() for item in declared.items]
    last = max(card.last_day for card in opened.scenarios)
    if all(item.known_until is None for item in questions):
        return (Checkpoint(label=END, days=last),)
    days = sorted({last if item.known_until is None else item.known_until for item in questions})
    return tuple(Checkpoint(label=f"after-{day:04}", days=day) for day in days)


def _resolve_asked_system(
    request: EvalRequest, opened: OpenedDataset, own: MemorySystem | None
) -> MemorySystem:
    """Resolve the system; what it stored answers for it where the protocol says so."""
    system = _resolve_system(request, own)
    return read_from_store(system, opened.load) if opened.methodology.reads_store else system


def _resolve_system(request: EvalRequest, own: MemorySystem | None) -> MemorySystem:
    """Resolve the system, configured for the request; `own` is used as it is."""
    if own is not None:
        if request.mode is EvalMode.CONSOLIDATED:
            raise _make_consolidation_error(own.card.name)
        return own
    settings = request.settings
    config = dict(settings.config)
    if settings.top_k > 10 and settings.adapter in list_built_ins_with("k"):
        config.setdefault("k", settings.top_k)
    if request.mode is EvalMode.CONSOLIDATED:
        if settings.adapter not in _CONSOLIDATED:
            raise _make_consolidation_error(settings.adapter)
        key, value = _CONSOLIDATED[settings.adapter]
        config.setdefault(key, value)
    return resolve_system(replace(settings, config=config))


def _make_consolidation_error(system: str) -> UsageError:
    return UsageError(
        f"--mode: it is not known how {system} consolidates; set it with --config, "
        f"or take {', '.join(_CONSOLIDATED)}"
    )


def _build_judges(request: EvalRequest, opened: OpenedDataset) -> Judges:
    """Build the judges; NoJudge if nothing is judged."""
    methodology, settings = opened.methodology, request.settings
    if request.skip_qa or methodology.judging is AnswerCheck.COMPUTED:
        if settings.appellate_judge is not None:
            raise UsageError("--appellate-judge: nothing is judged here; leave it out")
        if settings.judges:
            raise UsageError("--judges: nothing is judged here; leave it out")
        return Judges(judge=NoJudge())
    if methodology.judging is AnswerCheck.JUDGE or methodology.asks is None:
        return resolve_judges(settings)
    if settings.appellate_judge is not None:
        raise UsageError(
            f"--appellate-judge: {methodology.label} has one model judge, and no appeals; "
            "leave it out, or take --protocol strict"
        )
    return _build_protocol_judge(settings, methodology.label, methodology.asks)


def _build_protocol_judge(settings: Settings, label: str, protocol: str) -> Judges:
    """A model that judges by the dataset's own rules."""
    from recall_bench.judging.protocols import registry
    from recall_bench.judging.protocols.protocol import ModelProtocol
    from recall_bench.judging.protocols.registry import ProtocolJudge
    from recall_bench.judging.verdicts import VerdictCache

    protocol_named = registry.find_protocol(protocol)
    cache = VerdictCache(find_cache_folder() / "verdicts") if settings.judge_cache else None
    protocol_judges = []
    for target in settings.judges or (settings.judge,):
        if split_reading(target)[1] is not None:
            raise UsageError(
                f"--judges: {label} has rules of its own, which have no strict or lenient reading; "
                "name the model alone"
            )
        address = "" if settings.judge_base_url is None else f";{settings.judge_base_url}"
        model = resolve_model(f"{target}{address}", "--judge", settings)
        if model is None or not isinstance(protocol_named, ModelProtocol):
            raise UsageError(
                f"--protocol: {label} has a model judge the answers; name one with --judge "
                "provider:model, say --skip-qa, or take --protocol strict"
            )
        protocol_judges.append(ProtocolJudge(protocol_named, model, cache))
    return Judges(judge=protocol_judges[0], others=tuple(protocol_judges[1:]))


def _resolve_reader(
    request: EvalRequest, opened: OpenedDataset, system: MemorySystem | None
) -> Reader | None:
    """Resolve the reader; none with --skip-qa, the extractive one for multiple choice."""
    settings = request.settings
    if request.skip_qa:
        if settings.reader is not None:
            raise UsageError("--reader: with --skip-qa nothing is read; leave one of them out")
        return None
    if opened.has_choices and settings.reader is None:
        settings = replace(settings, reader=EXTRACTIVE)
    return resolve_reader(settings, None if system is None else system.card)


def _choose_lifecycle(
    settings: Settings, system: MemorySystem | None, checkpoints: int
) -> Lifecycle:
    """With one checkpoint and one repeat a memory of its own is all it takes.

    With many checkpoints a system that cannot be copied is asked in place, as upstream does: a
    memory of its own for each would be fed the same sessions again and again.
    """
    is_asked_once = checkpoints == settings.repeats == settings.copies == 1
    if settings.lifecycle is None and is_asked_once:
        return Lifecycle.FRESH
    chosen = choose_lifecycle(settings, system)
    if settings.lifecycle is None and checkpoints > 1 and chosen is Lifecycle.FRESH:
        return Lifecycle.GROWING
    return chosen


def _remove_run(folder: Path) -> None:
    """Forget an earlier run and its controls; what else is in the folder is left as it is.

    UsageError if there is no run, or if another process is writing to it.
    """
    if not folder.exists():
        return
    if not (folder / JOURNAL).is_file():
        raise UsageError(f"--rebuild: {folder} holds no run of recall-bench and was not changed")
    with Journal(folder / JOURNAL):
        if (folder / CONTROLS).is_dir():
            shutil.rmtree(folder / CONTROLS)
        for name in _LEFT_BEHIND:
            (folder / name).unlink(missing_ok=True)


def _collect_notes(settings: Settings, plan: Plan) -> list[str]:
    notes = []
    if plan.system.version == UNDECLARED:
        notes.append(
            f"{plan.system.name} does not declare its version, so a change cannot be detected; "
            "say --rebuild after a change"
        )
    is_asked = "answers_from" not in plan.system.config
    if settings.lifecycle is None and plan.lifecycle is Lifecycle.GROWING and is_asked:
        notes.append(
            f"{plan.system.name} cannot be copied, so one memory is asked on the way "
            "(--lifecycle growing): a question may change what it knows; --lifecycle fresh does not"
        )
    return notes
