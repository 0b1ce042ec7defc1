"""The composition root: settings become a job, with everything checked first."""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan, ScenarioCard
from recall_bench.core.ranges import NAMED, parse_ranges
from recall_bench.errors import BenchError, Problems, UsageError
from recall_bench.job import Job
from recall_bench.profile import Settings
from recall_bench.resolve import Story, resolve_judge, resolve_stories, resolve_system
from recall_bench.running.grade import Bench

T = TypeVar("T")

RUNS = Path("recall-runs")
"""Where a run goes that was not given a folder."""

_EMBEDDED_RANGES = ("every:5",)
"""The embedded persona lives for thirty days: the usual ranges would be one and the same."""


def assemble(settings: Settings) -> Job:
    """A job whose every part has been looked at; nothing is fed, asked or written yet.

    All that is wrong, with any persona or part, is found before the first call is paid for.
    """
    check = _Check(settings)
    stories = check.of(resolve_stories, settings) or {}
    cards = {name: check.story(story) for name, story in stories.items()}
    system = check.of(resolve_system, settings)
    judge = check.of(resolve_judge, settings.judge)
    appellate = settings.appellate_judge and check.of(resolve_judge, settings.appellate_judge)
    checkpoints = check.of(_checkpoints, settings, [card for card in cards.values() if card])
    if not settings.skip_preflight:
        check.of(_refuse_unwritable, settings)
    check.done()
    plan = _plan(
        settings,
        cards=tuple(card for card in cards.values() if card),
        checkpoints=checkpoints or (),
        system=_present(system),
        bench=Bench(judge=_present(judge), appellate=appellate or None),
    )
    job = Job(
        settings=settings,
        plan=plan,
        folder=_folder(settings, plan),
        system=_present(system),
        bench=Bench(judge=_present(judge), appellate=appellate or None),
        stories=stories,
        warnings=check.warnings + _same_day_twice(plan),
    )
    job.check_folder()
    return job


class _Check:
    """Collects what is wrong instead of stopping at the first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._problems: list[BenchError] = []
        self.warnings: list[str] = []

    def of(self, call: Callable[..., T], *parameters: object) -> T | None:
        """The call's result, or None with the problem noted."""
        try:
            return call(*parameters)
        except Problems as several:
            self._problems += several.problems
        except BenchError as problem:
            self._problems.append(problem)
        return None

    def story(self, story: Story) -> ScenarioCard | None:
        """The story's card, or None with all its problems noted."""
        from recall_bench.datasets.persona import inspect

        found = inspect(
            story.folder,
            arcs=story.arcs,
            allow_gaps=self._settings.allow_gaps,
            calendar=self._settings.calendar,
        )
        self._problems += found.problems
        self.warnings += found.warnings
        return found.card

    def done(self) -> None:
        """Raise what was found."""
        if self._problems:
            raise self._problems[0] if len(self._problems) == 1 else Problems(self._problems)


def _present(part: T | None) -> T:
    if part is None:
        raise AssertionError("a missing part is a problem, and problems end the check")
    return part


def _plan(
    settings: Settings,
    *,
    cards: tuple[ScenarioCard, ...],
    checkpoints: tuple[Checkpoint, ...],
    system: MemorySystem,
    bench: Bench,
) -> Plan:
    return Plan(
        scenarios=cards,
        checkpoints=checkpoints,
        system=system.card,
        judge=bench.judge.card,
        appellate=bench.appellate.card if bench.appellate is not None else None,
        lifecycle=_lifecycle(settings, system),
        repeats=settings.repeats,
        seed=settings.seed,
        sample=settings.sample,
        groups_enabled=settings.groups_enabled,
        dry_run=settings.dry_run,
        answer_timeout_s=settings.timeout_ms / 1000,
        feed_timeout_s=settings.ingest_timeout_ms / 1000,
        judge_timeout_s=settings.judge_timeout_ms / 1000,
        judge_memory_window=settings.judge_memory_window,
        calendar=settings.calendar,
        error_budget=settings.error_budget,
    )


def _lifecycle(settings: Settings, system: MemorySystem) -> Lifecycle:
    wanted = settings.lifecycle
    if settings.skip_catchup_ingest and wanted is not Lifecycle.GROWING:
        raise UsageError(
            "--skip-catchup-ingest goes with --lifecycle growing: "
            "the other lifecycles feed memories of their own"
        )
    if wanted is Lifecycle.FORKED and system.snapshots is None:
        raise UsageError(f"{system.card.name} cannot be copied; use --lifecycle fresh or growing")
    if wanted is not None:
        return wanted
    return Lifecycle.FORKED if system.snapshots is not None else Lifecycle.FRESH


def _checkpoints(settings: Settings, cards: list[ScenarioCard]) -> tuple[Checkpoint, ...]:
    words = settings.ranges or (_EMBEDDED_RANGES if settings.data is None else tuple(NAMED))
    return parse_ranges(words, max((card.last_day for card in cards), default=1))


def _same_day_twice(plan: Plan) -> list[str]:
    """Checkpoints that lie beyond every history ask the same days again."""
    end = max((card.last_day for card in plan.scenarios), default=0)
    beyond = [checkpoint.label for checkpoint in plan.checkpoints if checkpoint.days >= end]
    if len(beyond) < 2 or plan.dry_run:
        return []
    labels = f"{', '.join(beyond[:-1])} and {beyond[-1]}"
    return [f"{labels} all end on day {end} and ask the same; name fewer --ranges to save calls"]


def _folder(settings: Settings, plan: Plan) -> Path:
    """Where the run lives: as told, beside the result it was told to write, or by its digest."""
    if settings.resume is not None:
        return _resumed_folder(settings)
    if settings.into is not None:
        return settings.into
    if settings.json_out is not None:
        return settings.json_out.parent
    name = re.sub(r"[^\w.-]+", "-", plan.system.name).strip("-") or "run"
    return RUNS / f"{name}-{plan.digest[:8]}"


def _resumed_folder(settings: Settings) -> Path:
    resume = settings.resume or Path()
    folder = resume if resume.is_dir() else resume.parent
    if not (folder / "journal.jsonl").is_file():
        raise UsageError(
            f"--resume: {resume} belongs to no run folder (there is no journal.jsonl beside it), "
            "so there are no answers to go on from; start a new run"
        )
    if settings.into is not None and settings.into.resolve() != folder.resolve():
        raise UsageError(f"--resume {resume} and --into {settings.into} name different folders")
    return folder


def _refuse_unwritable(settings: Settings) -> None:
    """Find out now, not after the last answer, that a result cannot be saved."""
    wanted = {
        "--into": settings.into and settings.into / "result.json",
        "--json-out": settings.json_out,
        "--question-log": settings.question_log,
        "--progress-jsonl": settings.progress_jsonl,
        "--failure-log": settings.failure_log,
    }
    for flag, path in wanted.items():
        if path is None:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, probe = tempfile.mkstemp(dir=path.parent)
            os.close(handle)
            Path(probe).unlink()
        except OSError as error:
            raise UsageError(f"{flag}: cannot write {path} ({error.strerror})") from error
        if path.is_dir():
            raise UsageError(f"{flag}: {path} is a folder; name a file")
