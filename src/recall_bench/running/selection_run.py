"""A suite and a selector become a job of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Declared
from recall_bench.core.fingerprint import build_scenario_card
from recall_bench.core.plan import Checkpoint, DatasetCard, Lifecycle, Plan, ScenarioCard
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage
from recall_bench.datasets.selection.suite import EXAMPLE, MEMORY_PREFIX, Suite
from recall_bench.judging.judges import NoJudge
from recall_bench.running.assembly import SettingsCheck, build_plan, check_writable, require
from recall_bench.running.components import Components
from recall_bench.running.grader import Judges
from recall_bench.running.job import Job
from recall_bench.runs.output_paths import choose_run_folder, refuse_clashes
from recall_bench.runs.run_folder import RunFolder
from recall_bench.systems.selectors.selector import Selector, SelectorSystem
from recall_bench.systems.selectors.selector_registry import resolve_selector


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """A suite and who is to pick."""

    selector: str
    memories: Path = EXAMPLE / "memory"
    tests: Path = EXAMPLE / "tests"
    settings: Settings = field(default_factory=lambda: Settings(error_budget=0.0))
    only: Sequence[str] = ()
    """Patterns of test names; empty means all."""


PROTOCOL, EVAL_VERSION = "selection/exact", "exact-1"
_END = "end"
_SPARE = 1000
"""Names beyond all there are that a selector may give before the rest is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionJob:
    """A suite that is ready to be put to a selector."""

    request: SelectionRequest
    suite: Suite
    job: Job
    place: "SelectorFolder"
    """Where programs find `memory/`."""


def assemble_selection(
    request: SelectionRequest, suite: Suite, selector: Selector | None = None
) -> SelectionJob:
    """A job that puts every test to the selector; nothing is asked yet.

    A selector of one's own may take the place of the one the request names.
    """
    place = SelectorFolder(request.memories)
    try:
        return SelectionJob(
            request=request,
            suite=suite,
            job=_build_job(request, suite, selector, place),
            place=place,
        )
    except BaseException:
        place.close()
        raise


def _build_job(
    request: SelectionRequest, suite: Suite, selector: Selector | None, place: "SelectorFolder"
) -> Job:
    if not suite.tests:
        raise UsageError("--tests: every prompt is empty, so there is nothing to ask")
    settings = replace(
        request.settings,
        adapter=request.selector,
        top_k=len(suite.memories) + _SPARE,
        heatmap_png=False,
    )
    check = SettingsCheck(settings)
    selector = selector or check.try_call(_resolve_target, request.selector, settings, place.folder)
    check.try_call(refuse_clashes, settings)
    check.raise_problems()
    system = SelectorSystem(require(selector), allowed_usd=settings.max_cost_usd)
    scenario = suite.build_scenario()
    plan = _build_plan(settings, suite, build_scenario_card(scenario), system)
    job = Job(
        settings=settings,
        plan=plan,
        folder=choose_run_folder(settings, plan, "select-"),
        staff=Components(
            system=system,
            bench=Judges(judge=NoJudge()),
            load=lambda name: scenario,  # noqa: ARG005 - there is one
        ),
        questions={scenario.id: _declare_scenario(scenario)},
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
        checkpoints=(Checkpoint(label=_END, days=card.last_day),),
        system=system,
        bench=Judges(judge=NoJudge()),
        reader=None,
        lifecycle=Lifecycle.GROWING,
    )
    tests = DatasetCard(
        name="selection", files=suite.files, protocol=PROTOCOL, eval_version=EVAL_VERSION
    )
    return plan.replace(unjudged=True, dataset=tests)


def _declare_scenario(scenario: Scenario) -> Declared:
    return Declared(
        at=datetime.now(UTC),
        scenario=scenario.id,
        items=scenario.items,
        days=tuple(episode.day for episode in scenario.episodes),
    )


class SelectorFolder:
    """The folder in which programs find the memories as `memory/`, whatever theirs is called."""

    def __init__(self, memories: Path) -> None:
        real = memories.resolve()
        self._linked: TemporaryDirectory[str] | None = None
        self.folder = real.parent
        if f"{real.name}/" != MEMORY_PREFIX:
            self._linked = TemporaryDirectory(prefix="memories-")
            self.folder = Path(self._linked.name)
            (self.folder / MEMORY_PREFIX.rstrip("/")).symlink_to(real, target_is_directory=True)

    def close(self) -> None:
        """Take the folder away again, if it was made for this."""
        if self._linked is not None:
            self._linked.cleanup()


def _resolve_target(target: str, settings: Settings, folder: Path) -> Selector:
    return resolve_selector(target, settings, folder=folder)


def _sum_earlier_costs(job: Job) -> Usage:
    """What the selections on record have cost, those that came to nothing included."""
    if not job.journal.exists():
        return Usage()
    folder = RunFolder.open(job.folder)
    usage = folder.service.metered_total
    for name in folder.scenarios:
        for result in folder.results(name):
            if result.answered is not None and result.answered.answer.usage is not None:
                usage = usage + result.answered.answer.usage
    return usage
