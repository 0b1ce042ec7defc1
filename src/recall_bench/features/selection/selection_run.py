"""Run a selection suite: build the job, execute it, write its report."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import UsageError
from recall_bench.core.event import Declared
from recall_bench.core.plan import (
    Checkpoint,
    DatasetCard,
    Lifecycle,
    Plan,
    ScenarioCard,
    build_scenario_card,
)
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.engine.assembly import SettingsCheck, build_plan, check_writable, require
from recall_bench.engine.components import Components
from recall_bench.engine.experiment import RunResult, execute
from recall_bench.engine.job import Job, Observer
from recall_bench.engine.runs.output_paths import choose_run_folder, refuse_clashes
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.selection.selection_report import (
    SelectionReport,
    build_report,
    write_json,
)
from recall_bench.features.selection.selection_scores import EVAL_VERSION, PROTOCOL
from recall_bench.features.selection.selectors.selector import Selector, SelectorSystem
from recall_bench.features.selection.selectors.selector_registry import resolve_selector
from recall_bench.features.selection.suite import EXAMPLE, MEMORY_PREFIX, Suite
from recall_bench.judging.judge_call import Judges
from recall_bench.judging.judges import NoJudge


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """The suite, the selector and the settings of `select run`."""

    selector: str
    memories: Path = EXAMPLE / "memory"
    tests: Path = EXAMPLE / "tests"
    settings: Settings = field(default_factory=lambda: Settings(error_budget=0.0))
    only: Sequence[str] = ()
    """Patterns of test names; empty means all."""


_SPARE_NAMES = 1000
"""Names a selector may return beyond the number of memories before the rest is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionJob:
    """A suite with the job that runs it."""

    request: SelectionRequest
    suite: Suite
    job: Job
    folder: "SelectorFolder"
    """Where programs find `memory/`."""


def assemble_selection(
    request: SelectionRequest, suite: Suite, selector: Selector | None = None
) -> SelectionJob:
    """Build the job; nothing is asked yet.

    A given selector replaces the one the request names.
    """
    folder = SelectorFolder(request.memories)
    try:
        job = _build_job(request, suite, selector, folder.path)
    except BaseException:
        folder.close()
        raise
    return SelectionJob(request=request, suite=suite, job=job, folder=folder)


def _build_job(
    request: SelectionRequest, suite: Suite, selector: Selector | None, folder: Path
) -> Job:
    if not suite.tests:
        raise UsageError("--tests: every prompt is empty, so there is nothing to ask")
    settings = replace(
        request.settings,
        adapter=request.selector,
        top_k=len(suite.memories) + _SPARE_NAMES,
        heatmap_png=False,
    )
    check = SettingsCheck(settings)
    hidden = () if request.tests is None else (request.tests,)
    resolve = partial(resolve_selector, folder=folder, hidden=hidden)
    selector = selector or check.try_call(resolve, request.selector, settings)
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    system = SelectorSystem(require(selector), allowed_usd=settings.max_cost_usd)
    scenario = suite.build_scenario()
    plan = _build_plan(settings, suite, build_scenario_card(scenario), system)
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan, "select-"),
        components=Components(
            system=system,
            judges=Judges(judge=NoJudge()),
            load=lambda name: scenario,  # noqa: ARG005 - there is one
        ),
        questions={
            scenario.id: Declared(
                at=datetime.now(UTC),
                scenario=scenario.id,
                items=scenario.items,
                days=tuple(episode.day for episode in scenario.episodes),
            )
        },
        warnings=list(suite.notes),
    )
    system.add_cost(_sum_earlier_costs(check_writable(job)))
    return job


def _build_plan(
    settings: Settings, suite: Suite, card: ScenarioCard, system: SelectorSystem
) -> Plan:
    plan = build_plan(
        settings,
        cards=(card,),
        checkpoints=(Checkpoint(label="end", days=card.last_day),),
        system=system,
        judges=Judges(judge=NoJudge()),
        reader=None,
        lifecycle=Lifecycle.GROWING,
    )
    tests = DatasetCard(
        name="selection", files=suite.files, protocol=PROTOCOL, eval_version=EVAL_VERSION
    )
    return plan.replace(unjudged=True, dataset=tests)


class SelectorFolder:
    """The folder in which programs find the memories as `memory/`, whatever it is called."""

    def __init__(self, memories: Path) -> None:
        real = memories.resolve()
        self._temporary: TemporaryFolder | None = None
        self.path = real.parent
        if f"{real.name}/" != MEMORY_PREFIX:
            self._temporary = TemporaryFolder("memories")
            self.path = Path(self._temporary.name)
            (self.path / MEMORY_PREFIX.rstrip("/")).symlink_to(real, target_is_directory=True)

    def close(self) -> None:
        """Remove the folder if it was made for this run."""
        if self._temporary is not None:
            self._temporary.cleanup()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRun:
    """A finished or stopped run of a suite, with its report."""

    finished: RunResult
    report: SelectionReport

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        return self.finished.exit_code


def run_selection(prepared: SelectionJob, observe: Observer | None = None) -> SelectionRun:
    """Run every open test, score all of them, and write `select.json` beside the journal."""
    try:
        finished = execute(prepared.job, observe)
    finally:
        prepared.folder.close()
    report = build_report(prepared.suite, finished.folder, finished.summary)
    write_json(report, finished.folder.path)
    return SelectionRun(finished=finished, report=report)


def _sum_earlier_costs(job: Job) -> Usage:
    """The cost of all recorded selections, failed ones included."""
    if not job.journal.exists():
        return Usage()
    folder = RunFolder.open(job.folder)
    usage = folder.service.metered_total
    for name in folder.scenarios:
        for result in folder.results(name):
            if result.answered is not None and result.answered.answer.usage is not None:
                usage = usage + result.answered.answer.usage
    return usage
