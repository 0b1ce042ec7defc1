"""A job: one run that can be started, stopped at any moment, and continued."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_bench.core.diagnosis import load_diagnosis
from recall_bench.core.distribution import get_version
from recall_bench.core.environment import describe_environment
from recall_bench.core.errors import DataError, OtherPlan, SystemBroken, UsageError
from recall_bench.core.event import Answered, Declared, Event, NotAnswered, RunResumed, RunStarted
from recall_bench.core.folders import refuse_other_files, remove_folder
from recall_bench.core.plan import Plan, ScenarioCard, Shard, Trial, list_differences
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import ScenarioStates, TrialState, TrialStates, is_scenario_done
from recall_bench.core.usage import Usage
from recall_bench.core.work_unit import WorkUnit, collect_shard_units, list_states
from recall_bench.engine.components import ComponentFactory, Components, RunContext
from recall_bench.engine.grader import count_judge_failures
from recall_bench.engine.runs.journal import JOURNAL, Journal, read_events
from recall_bench.engine.runs.output_paths import refuse_links
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.scheduler import run_plan

if TYPE_CHECKING:
    from recall_bench.engine.score_bounds import BoundsComputer


_EXCHANGE = ".exchange"
_OPENING = b'{"type":"run_started"'
"""The first bytes of every journal."""

Observer = Callable[[Event, TrialStates], None]

PlanRunner = Callable[[Plan, TrialStates, RunContext], Awaitable[None]]
"""Asks, judges and reviews everything a plan still owes."""


@dataclass(kw_only=True)
class Job:
    """A plan with everything it takes to execute it."""

    settings: Settings
    plan: Plan
    folder: Path
    components: Components
    questions: Mapping[str, Declared]
    """The questions of each scenario, as the journal declares them."""
    factory: ComponentFactory | None = None
    """Builds the same components in another process; None if only this one can."""
    warnings: list[str] = field(default_factory=list)
    was_finished: bool = field(default=False, init=False)
    """Whether the folder already held this run, or this shard of it, finished."""
    spent_elsewhere: Callable[[], Usage] = Usage
    """Returns what other runs under the same limits have spent."""
    asks: bool = True
    """Whether the system is fed and asked; if not, recorded answers are only judged."""
    bounds: "BoundsComputer | None" = None
    """Computes the floor and ceiling of each scenario before it is run; None for none."""
    own_runner: PlanRunner | None = None
    """Does the work of this job in this process; None feeds, asks and judges."""
    view: RunFolder | None = field(default=None, init=False, repr=False)
    """The folder as far as it was written, once the job runs."""
    _kept: Scenario | None = field(default=None, init=False, repr=False)
    """The scenario whose bounds were computed last, until another is loaded."""

    @cached_property
    def _planned(self) -> Mapping[str, ScenarioCard]:
        """The scenarios by id: a dataset may have tens of thousands."""
        return {card.id: card for card in self.plan.scenarios}

    @property
    def exchange(self) -> Path:
        """The folder where workers exchange snapshots."""
        return self.folder.resolve() / _EXCHANGE

    @property
    def journal(self) -> Path:
        """The journal file."""
        return self.folder / JOURNAL

    async def run(self, observe: Observer, run_plan: PlanRunner = run_plan) -> TrialStates:
        """Ask and judge everything still owed, recording each step before the next.

        `run_plan` does the work; the journal is written here.
        """
        with Journal(self.journal) as journal:
            # A driver that was killed may have left snapshots there; a link would lead elsewhere.
            remove_folder(self.exchange)
            self.view = view = self._resume(journal)
            states = view.states

            failures = 0

            def record(event: Event) -> None:
                nonlocal failures
                journal.append(event)
                view.note(event, journal.end)
                observe(event, states)
                failures = count_judge_failures(event, failures)

            context = RunContext(
                system=self.components.system,
                judges=self.components.judges,
                load=self._load,
                record=record,
                find_answers=view.find_answers,
                find_verdicts=view.find_verdicts,
                reader=self.components.reader,
                meter=self.components.meter,
                parallelism=self.settings.concurrency,
                skip_catchup=self.settings.skip_catchup_ingest,
                asks=self.asks,
                max_cost_usd=self.settings.max_cost_usd,
                max_tokens=self.settings.max_tokens,
                max_calls=self.settings.max_calls,
                spent_elsewhere=self.spent_elsewhere,
                units=None if self.shard is None else self._list_units,
            )
            try:
                if not self.was_finished:
                    await self._compute_bounds(states, record)
                    await run_plan(self.plan, states, context)
            finally:
                await self.components.close()
        return states

    @cached_property
    def shard(self) -> Shard | None:
        """The shard of the plan that this job executes; None if all of it."""
        if self.settings.shard is None:
            return None
        if not self.asks:
            raise UsageError("--shard: recorded answers are judged whole; leave it out")
        return Shard.parse(self.settings.shard)

    @cached_property
    def _work_units(self) -> Mapping[str, tuple[WorkUnit, ...]]:
        if self.shard is None:
            raise AssertionError("a whole run has no shard")
        items = {name: declared.items for name, declared in self.questions.items()}
        return collect_shard_units(self.plan, items, self.shard)

    def _list_units(self, scenario: str) -> tuple[WorkUnit, ...]:
        return self._work_units.get(scenario, ())

    def list_states(self, states: TrialStates) -> list[TrialState]:
        """List the state of each trial of the shard."""
        return [
            state
            for scenario, units in self._work_units.items()
            for state in list_states(states.scenarios[scenario], units)
        ]

    def count_owed_at(self, states: ScenarioStates, trial: Trial) -> int:
        """Count the trials of this job at the checkpoint of a trial."""
        repeats = states.repeats
        if self.shard is not None:
            units = self._list_units(trial.scenario)
            repeats = sum(
                any(
                    unit.checkpoint in (None, trial.checkpoint) and unit.repeat in (None, repeat)
                    for unit in units
                )
                for repeat in range(states.repeats)
            )
        return repeats * len(states.get_plan(trial.checkpoint).asked)

    def count_owed(self, states: TrialStates) -> int:
        """Count the trials of this job: all of the plan, or those of the shard."""
        if self.shard is not None:
            return len(self.list_states(states))
        return sum(scenario.owed_count for scenario in states.scenarios.values())

    def _is_complete(self, states: TrialStates) -> bool:
        """Whether the shard has all its outcomes; its journal has no line that says so."""
        scenarios = states.scenarios
        if not self._work_units.keys() <= scenarios.keys():
            return False
        return all(
            is_scenario_done(name, scenarios[name], self.plan, list_states(scenarios[name], units))
            for name, units in self._work_units.items()
        )

    def check_folder(self, *, is_rebuilt: bool = False) -> None:
        """Refuse a folder with another run or shard, or others' files, before anything is spent.

        The folder of a run that was removed to be rebuilt may hold files of others.
        """
        _ = self.shard
        refuse_links(self.folder)
        if not self.journal.exists():
            if not is_rebuilt:
                refuse_other_files(self.folder, ())
            return
        try:
            first = next(read_events(self.journal), None)
        except OSError as error:
            raise UsageError(
                f"{self.journal} cannot be read ({error.strerror}); choose another folder with "
                "--into"
            ) from error
        if isinstance(first, RunStarted):
            self._refuse_other_run(first.plan, first.part)
        elif first is not None:
            raise DataError(
                f"{self.journal}: does not begin with a plan; start again in another folder"
            )
        elif not _OPENING.startswith(self.journal.read_bytes()[: len(_OPENING)]):
            raise UsageError(
                f"{self.journal} is not a journal of ours; choose another folder with --into"
            )

    def _refuse_other_run(self, plan: Plan, part: Shard | None) -> None:
        """Raise OtherPlan if a run with this plan cannot be continued by this job."""
        if differing := list_differences(plan, self.plan):
            raise OtherPlan(
                f"{self.folder} holds a run with other {', other '.join(differing)}; "
                "repeat its settings to go on with it, or choose another folder with --into"
            )
        if part != self.shard:
            here, named = (
                "the whole run" if shard is None else f"part {shard} of it"
                for shard in (part, self.shard)
            )
            raise OtherPlan(
                f"{self.folder} holds {here}, and {named} was asked for; choose another folder "
                "with --into"
            )

    def _resume(self, journal: Journal) -> RunFolder:
        """Open the folder, and write that the run starts or resumes."""
        if not journal.end:
            journal.append(
                RunStarted(
                    at=datetime.now(UTC),
                    plan=self.plan,
                    code=get_version(),
                    diagnosis=load_diagnosis(self.plan.system),
                    part=self.shard,
                    **self._work,
                )
            )
            view = RunFolder.open(self.folder)
        else:
            view = RunFolder.open(self.folder)
            self._refuse_other_run(view.plan, view.part)
            states = view.states
            if self.settings.retry_errors:
                # NOT_JUDGED needs no reset: a resumed run judges such answers again in any case.
                states.reset_state(TrialState.NOT_ANSWERED)
                states.drop_failed_reviews()
            self.was_finished = (
                states.has_ended if self.shard is None else self._is_complete(states)
            )
            if not self.was_finished:
                resumed = RunResumed(at=datetime.now(UTC), code=get_version(), **self._work)
                journal.append(resumed)
                view.note(resumed, journal.end)
        for scenario, declared in self.questions.items():
            if scenario not in view.states.scenarios:
                # Before the first scenario begins.
                journal.append(declared)
                view.note(declared, journal.end)
        view.follow_chain(journal.chain)
        return view

    @property
    def _work(self) -> dict[str, Any]:
        """The executor and the environment, as the journal records them."""
        is_loaded = self.asks and self.factory is not None
        environment = describe_environment(self.settings.adapter if is_loaded else None)
        if self.settings.executor is Executor.LOCAL:
            return {"environment": environment}
        return {
            "executor": str(self.settings.executor),
            "workers": self.settings.workers,
            "environment": environment,
        }

    async def _compute_bounds(self, states: TrialStates, record: Callable[[Event], None]) -> None:
        """Record the floor and ceiling of every scenario that has none yet."""
        if self.bounds is None:
            return
        for name, trials in states.scenarios.items():
            if trials.bounds is None:
                loaded = self._load(name)
                record(await self.bounds.compute(loaded, trials))
                self._kept = loaded

    def _load(self, scenario: str) -> Scenario:
        """Load a scenario, unless its bounds were computed last: most runs have only one."""
        scenario_before, self._kept = self._kept, None
        if scenario_before is not None and scenario_before.id == scenario:
            return scenario_before
        return self.components.load_planned(self._planned[scenario])


FIRST_QUESTIONS = 20


class EarlyFailureCheck:
    """An observer that raises SystemBroken when the first questions fail in one way."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self._is_watching = True
        self._failures = 0
        self._way: str | None = None

    def __call__(self, event: Event, states: TrialStates) -> None:
        """Pass the event on, and count it while nothing was answered."""
        self._observe(event, states)
        if not self._is_watching:
            return
        match event:
            case Answered():
                self._is_watching = False
            case NotAnswered(fault=fault, message=message):
                self._count_failure(f"{fault}: {message}", states)

    def _count_failure(self, text: str, states: TrialStates) -> None:
        # Durations and counts differ between failures of one kind.
        way = re.sub(r"\d+", "0", text)
        scenarios = states.scenarios.values()
        answered = sum(scenario.done_count - scenario.error_count for scenario in scenarios)
        if answered or self._way not in (None, way):
            self._is_watching = False
            return
        self._way, self._failures = way, self._failures + 1
        if self._failures == FIRST_QUESTIONS:
            raise SystemBroken(
                f"the first {FIRST_QUESTIONS} questions failed in the same way: {text}; fix the "
                "system and use a new folder (--into), or add --keep-going to ask all questions"
            )
