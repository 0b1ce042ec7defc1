"""A run that can be started, stopped at any moment, and gone on with."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.core.diagnosis import load_diagnosis
from recall_bench.core.errors import DataError, OtherPlan, UsageError
from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Judged,
    RunResumed,
    RunStarted,
    decode_event,
)
from recall_bench.core.fingerprint import list_differences
from recall_bench.core.plan import Plan, ScenarioCard, Shard
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import Executor, Settings
from recall_bench.core.trial_states import TrialState, TrialStates, find_due_reviews
from recall_bench.core.usage import Usage
from recall_bench.core.work_unit import WorkUnit, collect_shard_units, list_states
from recall_bench.running.backlog import is_finished
from recall_bench.running.components import ComponentFactory, Components, RunContext
from recall_bench.running.scheduler import run_plan
from recall_bench.runs.journal import JOURNAL, Journal, read_events, read_with_offsets

_OPENING = b'{"type":"run_started"'
"""How every journal begins, if only its first bytes were written."""

Observer = Callable[[Event, TrialStates], None]

PlanRunner = Callable[[Plan, TrialStates, RunContext], Awaitable[None]]
"""Asks, grades and reviews everything a plan still owes."""


@dataclass(kw_only=True)
class Job:
    """A plan with everyone it takes to carry it out."""

    settings: Settings
    plan: Plan
    folder: Path
    staff: Components
    questions: Mapping[str, Declared]
    """What each scenario is asked, as the journal declares it."""
    hire: ComponentFactory | None = None
    """Calls the same staff together in another process; None if only this one can."""
    warnings: list[str] = field(default_factory=list)
    was_finished: bool = field(default=False, init=False)
    """Whether the folder turned out to hold this run, or this part of it, finished."""
    elsewhere: Callable[[], Usage] = Usage
    """What other runs have spent that keep to the same limits."""
    asks: bool = True
    """Whether the system is fed and asked; if not, answers on record are only judged."""

    @cached_property
    def _planned(self) -> Mapping[str, ScenarioCard]:
        """By id: a dataset may have tens of thousands."""
        return {card.id: card for card in self.plan.scenarios}

    @property
    def journal(self) -> Path:
        """The file that is the run."""
        return self.folder / JOURNAL

    async def run(self, observe: Observer, conduct: PlanRunner = run_plan) -> TrialStates:
        """Ask and grade everything still owed, recording each step before the next.

        Who asks and grades is up to `conduct`; what happens is recorded here.
        """
        with Journal(self.journal) as journal:
            standings = self._resume(journal)

            def record(event: Event) -> None:
                journal.append(event)
                standings.apply_event(event)
                observe(event, standings)

            company = RunContext(
                system=self.staff.system,
                bench=self.staff.bench,
                load=self._load,
                record=record,
                unjudged=partial(self._list_answers, standings),
                judged=partial(self._list_verdicts, standings),
                reader=self.staff.reader,
                meter=self.staff.meter,
                parallelism=self.settings.concurrency,
                skip_catchup=self.settings.skip_catchup_ingest,
                asks=self.asks,
                max_cost_usd=self.settings.max_cost_usd,
                max_tokens=self.settings.max_tokens,
                max_calls=self.settings.max_calls,
                elsewhere=self.elsewhere,
                shards=None if self.shard is None else self._list_units,
            )
            try:
                if not self.was_finished:
                    await conduct(self.plan, standings, company)
            finally:
                await self.staff.close()
        return standings

    @cached_property
    def shard(self) -> Shard | None:
        """The part of the plan that is carried out here; None if all of it."""
        if self.settings.shard is None:
            return None
        if not self.asks:
            raise UsageError("--shard: recorded answers are judged whole; leave it out")
        return Shard.parse(self.settings.shard)

    @cached_property
    def _work_units(self) -> Mapping[str, tuple[WorkUnit, ...]]:
        if self.shard is None:
            raise AssertionError("a whole run has no share of itself")
        items = {name: declared.items for name, declared in self.questions.items()}
        return collect_shard_units(self.plan, items, self.shard)

    def _list_units(self, scenario: str) -> tuple[WorkUnit, ...]:
        return self._work_units.get(scenario, ())

    def list_states(self, standings: TrialStates) -> list[TrialState]:
        """How far each trial of the part has come."""
        return [
            state
            for scenario, shards in self._work_units.items()
            for state in list_states(standings.scenarios[scenario], shards)
        ]

    def is_in_shard(self, scenario: str, checkpoint: str, repeat: int) -> bool:
        """Whether these trials are carried out here, and not by another part."""
        return self.shard is None or any(
            shard.checkpoint in (None, checkpoint) and shard.repeat in (None, repeat)
            for shard in self._list_units(scenario)
        )

    def count_owed(self, standings: TrialStates) -> int:
        """How many trials are carried out here: all there are, or those of the part."""
        if self.shard is not None:
            return len(self.list_states(standings))
        return sum(each.owed_count for each in standings.scenarios.values())

    def _is_complete(self, standings: TrialStates) -> bool:
        """Whether the part has all it owes; no line of its journal says so."""
        known, plan = standings.scenarios, self.plan
        if not self._work_units.keys() <= known.keys():
            return False
        return all(
            is_finished(known[scenario], shards)
            and not (plan.appellate and find_due_reviews(scenario, known[scenario], plan))
            for scenario, shards in self._work_units.items()
        )

    def check_folder(self) -> None:
        """Refuse a folder that holds another run or part, before anything is spent."""
        _ = self.shard
        if not self.journal.exists():
            return
        first = next(read_events(self.journal), None)
        if first is not None:
            _refuse_other_plan(first, self.plan, self.shard, self.folder)
        elif not _OPENING.startswith(self.journal.read_bytes()[: len(_OPENING)]):
            raise UsageError(
                f"{self.journal} is not a journal of ours; choose another folder with --into"
            )

    def _resume(self, journal: Journal) -> TrialStates:
        """Where the run stands, with the journal's first or next line written."""
        standings = TrialStates(self.plan)
        events = read_events(self.journal)
        first = next(events, None)
        if first is None:
            now = datetime.now(UTC)
            journal.append(
                RunStarted(
                    at=now,
                    plan=self.plan,
                    code=get_code_version(),
                    diagnosis=load_diagnosis(self.plan.system),
                    part=self.shard,
                    **self._work,
                )
            )
            self._declare(journal, standings)
            return standings
        _refuse_other_plan(first, self.plan, self.shard, self.folder)
        for number, event in enumerate(events, start=2):
            try:
                standings.apply_event(event)
            except ValueError as error:
                raise DataError(f"{self.journal}, line {number}: {error}") from error
        if self.settings.retry_errors:
            standings.reset_state(TrialState.NOT_ANSWERED)
        self.was_finished = (
            standings.has_ended if self.shard is None else self._is_complete(standings)
        )
        if not self.was_finished:
            resumed = RunResumed(at=datetime.now(UTC), code=get_code_version(), **self._work)
            journal.append(resumed)
            standings.apply_event(resumed)
        self._declare(journal, standings)
        return standings

    @property
    def _work(self) -> dict[str, Any]:
        """Who does the work, as the journal has it."""
        if self.settings.executor is Executor.LOCAL:
            return {}
        return {"executor": str(self.settings.executor), "workers": self.settings.workers}

    def _declare(self, journal: Journal, standings: TrialStates) -> None:
        """Put on record what every scenario owes, before the first of them is begun."""
        for scenario, declared in self.questions.items():
            if scenario not in standings.scenarios:
                journal.append(declared)
                standings.apply_event(declared)

    def _load(self, scenario: str) -> Scenario:
        return self.staff.load_planned(self._planned[scenario])

    def _list_answers(
        self, standings: TrialStates, scenario: str, states: frozenset[TrialState]
    ) -> Iterable[Answered]:
        """Answers on record whose trials stand in one of the states, up to the present end."""
        standing = standings.scenarios[scenario]
        if not standing.count_states(*states):
            return ()
        end = self.journal.stat().st_size

        def iterate() -> Iterator[Answered]:
            for offset, event in read_with_offsets(self.journal, Answered):
                if offset >= end:
                    return
                if event.trial.scenario == scenario and standing.find_state(event.trial) in states:
                    yield event

        return iterate()

    def _list_verdicts(self, standings: TrialStates, scenario: str) -> Iterator[Judged]:
        """The last verdict on record on each judged trial of a scenario."""
        standing = standings.scenarios[scenario]
        last: dict[int, int] = {}
        for offset, verdict in read_with_offsets(self.journal, Judged):
            if verdict.trial.scenario == scenario:
                last[standing.find_slot(verdict.trial)] = offset
        with self.journal.open("rb") as file:
            for slot, offset in last.items():
                file.seek(offset)
                event = decode_event(file.readline())
                if (
                    isinstance(event, Judged)
                    and standing.is_first_verdict_failure(slot) is not None
                ):
                    yield event


def _refuse_other_plan(first: Event, plan: Plan, part: Shard | None, folder: Path) -> None:
    if not isinstance(first, RunStarted):
        raise DataError(
            f"{folder / JOURNAL}: does not begin with a plan; start again in another folder"
        )
    if differing := list_differences(first.plan, plan):
        raise OtherPlan(
            f"{folder} holds a run with other {', other '.join(differing)}; "
            "repeat its settings to go on with it, or choose another folder with --into"
        )
    if first.part != part:
        here, wanted = (
            "the whole run" if each is None else f"part {each} of it" for each in (first.part, part)
        )
        raise OtherPlan(
            f"{folder} holds {here}, and {wanted} was asked for; choose another folder with --into"
        )


def get_code_version() -> str:
    """The version of this package, as the journal records it."""
    return version("recall-bench")
