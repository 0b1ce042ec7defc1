"""A request and an opened dataset become a job, with everything checked first."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recall_bench.assemble import Check, bench_of, lifecycle_of, plan_of, present, writable
from recall_bench.core.memory import UNDECLARED, MemorySystem, SystemCard
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.reader import Reader
from recall_bench.errors import UsageError
from recall_bench.evaluation.methodology import Judging
from recall_bench.evaluation.opening import Opened, open_dataset
from recall_bench.evaluation.request import Mode, Request
from recall_bench.job import Job
from recall_bench.journal import JOURNAL, Journal
from recall_bench.judging.nobody import Nobody
from recall_bench.outputs import (
    FAILURES,
    PICTURES,
    PROGRESS,
    QUESTIONS,
    RESULT,
    refuse_clashes,
    run_folder,
)
from recall_bench.rejudging.assembly import Absent
from recall_bench.rejudging.recorded import Recorded
from recall_bench.resolve.models import resolve_model
from recall_bench.resolve.readers import EXTRACTIVE, resolve_reader
from recall_bench.resolve.systems import resolve_system
from recall_bench.running.grade import Bench
from recall_bench.settings import Settings
from recall_bench.shipped import cache_folder
from recall_bench.staff import Staff

END = "end"
"""The one checkpoint there is: when everything has been told."""
CONTROLS = "controls"
"""Where in a run's folder those beside it are kept."""

_LEFT_BEHIND = (RESULT, PROGRESS, QUESTIONS, FAILURES, *PICTURES, JOURNAL)
"""Every file of a run in its folder; the journal last, for it is the run."""

_FINDERS = ("random", "recency", "bm25", "vector", "hybrid")
"""The built-in systems that return as many passages as they are set to."""
_CONSOLIDATED: Mapping[str, tuple[str, object]] = {
    "hybrid": ("consolidate", "only"),
    "recency": ("consolidate", "only"),
    "hebb-mind": ("consolidated", True),
}
"""By system, the setting that has it search what it made of a history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """An evaluation that is ready to be carried out."""

    request: Request
    opened: Opened
    job: Job

    @property
    def with_answers(self) -> bool:
        """Whether what is said is scored, or only what is found."""
        return not self.request.skip_qa


def assemble_evaluation(
    request: Request, opened: Opened, own: MemorySystem | None = None
) -> Assembled:
    """A job that puts a dataset's questions to a system; nothing is fed or asked yet.

    A system of one's own may take the place of the one the settings name.
    """
    if request.answers_from is not None:
        return _again(request, opened, request.answers_from)
    settings = request.settings
    check = Check(settings)
    system = check.of(_system, request, own)
    bench = check.of(_bench, request, opened)
    reader = check.of(_reader, request, opened, system)
    lifecycle = check.of(_lifecycle, settings, system)
    check.of(refuse_clashes, settings)
    check.done()
    plan = plan_of(
        settings,
        cards=opened.scenarios,
        checkpoints=(_end(opened),),
        system=present(system),
        bench=present(bench),
        reader=reader,
        lifecycle=present(lifecycle),
    ).but(dataset=opened.card, unjudged=isinstance(present(bench).judge, Nobody))
    job = Job(
        settings=settings,
        plan=plan,
        folder=run_folder(settings, plan, f"{request.dataset}-"),
        staff=_staff(opened, present(system), present(bench), reader),
        hire=None if own is not None else partial(_called, request),
        questions=opened.questions,
        warnings=[*opened.notes, *_notes(plan)],
    )
    if request.rebuild:
        _wipe(job.folder)
    return Assembled(request=request, opened=opened, job=writable(job))


def _again(request: Request, opened: Opened, run: Path) -> Assembled:
    """The same for answers on record: the system and its reader are not asked again."""
    recorded = Recorded.open(run)
    before, settings = recorded.folder.plan, request.settings
    _refuse_other_questions(before, opened, run)
    if not (request.skip_qa or before.system.answers or before.reader):
        raise UsageError(
            f"--answers-from: {run} has what was found and no answers; say --skip-qa with it"
        )
    bench = _bench(request, opened)
    plan = before.but(
        dataset=opened.card,
        judge=bench.judge.card,
        appellate=bench.appellate.card if bench.appellate is not None else None,
        unjudged=isinstance(bench.judge, Nobody),
        review=settings.review,
        judge_memory_window=settings.judge_memory_window,
        judge_timeout_s=settings.judge_timeout_ms / 1000,
        answers_from=before.answers_from or before.digest,
    )
    folder = run_folder(settings, plan, f"{request.dataset}-")
    if folder.resolve() == run.resolve():
        raise UsageError(f"--into: {folder} holds the answers themselves; name another folder")
    job = Job(
        settings=settings,
        plan=plan,
        folder=folder,
        staff=_staff(opened, Absent(plan.system), bench, None),
        hire=partial(_called_again, request, plan.system),
        questions=opened.questions,
        warnings=list(opened.notes),
        asks=False,
    )
    if request.rebuild:
        _wipe(folder)
    writable(job)
    recorded.carry_over(plan, folder)
    return Assembled(request=request, opened=opened, job=job)


def _staff(opened: Opened, system: MemorySystem, bench: Bench, reader: Reader | None) -> Staff:
    return Staff(
        system=system,
        bench=bench,
        load=opened.load,
        reader=reader,
    )


def _called(request: Request) -> Staff:
    """Those whom the request names, called together once more."""
    opened = open_dataset(request)
    system = _system(request, None)
    return _staff(opened, system, _bench(request, opened), _reader(request, opened, system))


def _called_again(request: Request, system: SystemCard) -> Staff:
    """Those who judge the answers of a system that is not asked again."""
    opened = open_dataset(request)
    return _staff(opened, Absent(system), _bench(request, opened), None)


def _refuse_other_questions(before: Plan, opened: Opened, run: Path) -> None:
    if before.dataset is None or before.scenarios != opened.scenarios:
        asked = "personas" if before.dataset is None else before.dataset.name
        raise UsageError(
            f"--answers-from: {run} was asked other questions ({asked}, {len(before.scenarios)} "
            "histories); repeat its dataset, errata and share of the histories, with a protocol "
            "and categories that ask the same"
        )


def _end(opened: Opened) -> Checkpoint:
    return Checkpoint(label=END, days=max(card.last_day for card in opened.scenarios))


def _system(request: Request, own: MemorySystem | None) -> MemorySystem:
    """The system the settings name, set as the request wants it; or one's own, as it is."""
    if own is not None:
        if request.mode is Mode.CONSOLIDATED:
            raise _cannot_consolidate(own.card.name)
        return own
    settings = request.settings
    config = dict(settings.config)
    if settings.adapter in _FINDERS and settings.top_k > 10:
        config.setdefault("k", settings.top_k)
    if request.mode is Mode.CONSOLIDATED:
        if settings.adapter not in _CONSOLIDATED:
            raise _cannot_consolidate(settings.adapter)
        key, value = _CONSOLIDATED[settings.adapter]
        config.setdefault(key, value)
    return resolve_system(replace(settings, config=config))


def _cannot_consolidate(system: str) -> UsageError:
    return UsageError(
        f"--mode: nobody knows how {system} consolidates; set it with --config, "
        f"or take {', '.join(_CONSOLIDATED)}"
    )


def _bench(request: Request, opened: Opened) -> Bench:
    """Who judges; nobody, where nothing is to be judged."""
    methodology, settings = opened.methodology, request.settings
    if request.skip_qa or methodology.judging is Judging.NOBODY:
        if settings.appellate_judge is not None:
            raise UsageError("--appellate-judge: nothing is judged here; leave it out")
        return Bench(judge=Nobody())
    if methodology.judging is Judging.JUDGE or methodology.asks is None:
        return bench_of(settings)
    if settings.appellate_judge is not None:
        raise UsageError(
            f"--appellate-judge: {methodology.label} has one model judge, and no appeals; "
            "leave it out, or take --protocol strict"
        )
    return _protocol_bench(settings, methodology.label, methodology.asks)


def _protocol_bench(settings: Settings, label: str, protocol: str) -> Bench:
    """A model that judges by the dataset's own rules."""
    from recall_bench.judging.protocols import registry
    from recall_bench.judging.protocols.judge import ProtocolJudge
    from recall_bench.judging.protocols.score import Asked
    from recall_bench.judging.rubric.cache import VerdictCache

    target = settings.judge
    if settings.judge_base_url is not None:
        target = f"{target};{settings.judge_base_url}"
    asked = registry.find(protocol)
    model = resolve_model(target, "--judge", settings)
    if model is None or not isinstance(asked, Asked):
        raise UsageError(
            f"--protocol: {label} has a model judge the answers; name one with --judge "
            "provider:model, say --skip-qa, or take --protocol strict"
        )
    cache = VerdictCache(cache_folder() / "verdicts") if settings.judge_cache else None
    return Bench(judge=ProtocolJudge(asked, model, cache))


def _reader(request: Request, opened: Opened, system: MemorySystem | None) -> Reader | None:
    """Who answers: nobody where that is skipped, and somebody wherever letters are asked for."""
    settings = request.settings
    if request.skip_qa:
        if settings.reader is not None:
            raise UsageError("--reader: with --skip-qa nothing is read; leave one of them out")
        return None
    if opened.has_choices and settings.reader is None:
        settings = replace(settings, reader=EXTRACTIVE)
    return resolve_reader(settings, None if system is None else system.card)


def _lifecycle(settings: Settings, system: MemorySystem | None) -> Lifecycle:
    """With one checkpoint and one repeat a memory of its own is all it takes."""
    if settings.lifecycle is None and settings.repeats == 1:
        return Lifecycle.FRESH
    return lifecycle_of(settings, system)


def _wipe(folder: Path) -> None:
    """Forget an earlier run and its controls; what else is in the folder is left as it is.

    UsageError if there is no run, or if another process is writing to it.
    """
    if not folder.exists():
        return
    if not (folder / JOURNAL).is_file():
        raise UsageError(f"--rebuild: {folder} holds no run of ours; it is left as it is")
    with Journal(folder / JOURNAL):
        if (folder / CONTROLS).is_dir():
            shutil.rmtree(folder / CONTROLS)
        for name in _LEFT_BEHIND:
            (folder / name).unlink(missing_ok=True)


def _notes(plan: Plan) -> list[str]:
    if plan.system.version != UNDECLARED:
        return []
    note = (
        f"{plan.system.name} does not say its version, so nobody can tell when it was changed; "
        "say --rebuild after a change"
    )
    return [note]
