"""A run that can be started, stopped at any moment, and gone on with."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.core.difference import differences
from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Judged,
    RunResumed,
    RunStarted,
    decode,
)
from recall_bench.core.part import Part
from recall_bench.core.plan import Plan, ScenarioCard
from recall_bench.core.question import Scenario
from recall_bench.core.review import reviews_due
from recall_bench.core.shard import Shard, part_of, states
from recall_bench.core.standing import Standings, State
from recall_bench.core.usage import Usage
from recall_bench.diagnoses import last_of
from recall_bench.errors import DataError, OtherPlan, UsageError
from recall_bench.journal import JOURNAL, Journal, placed, read
from recall_bench.running.company import Company
from recall_bench.running.conduct import conduct
from recall_bench.running.owing import is_finished
from recall_bench.settings import Executor, Settings
from recall_bench.staff import Hiring, Staff

_OPENING = b'{"type":"run_started"'
"""How every journal begins, if only its first bytes were written."""

Observer = Callable[[Event, Standings], None]

Conduct = Callable[[Plan, Standings, Company], Awaitable[None]]
"""Asks, grades and reviews everything a plan still owes."""


@dataclass(kw_only=True)
class Job:
    """A plan with everyone it takes to carry it out."""

    settings: Settings
    plan: Plan
    folder: Path
    staff: Staff
    questions: Mapping[str, Declared]
    """What each scenario is asked, as the journal declares it."""
    hire: Hiring | None = None
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

    async def run(self, observe: Observer, conduct: Conduct = conduct) -> Standings:
        """Ask and grade everything still owed, recording each step before the next.

        Who asks and grades is up to `conduct`; what happens is recorded here.
        """
        with Journal(self.journal) as journal:
            standings = self._resumed(journal)

            def record(event: Event) -> None:
                journal.append(event)
                standings.note(event)
                observe(event, standings)

            company = Company(
                system=self.staff.system,
                bench=self.staff.bench,
                load=self._load,
                record=record,
                unjudged=partial(self._unjudged, standings),
                judged=partial(self._judged, standings),
                reader=self.staff.reader,
                meter=self.staff.meter,
                parallelism=self.settings.at_once,
                skip_catchup=self.settings.skip_catchup_ingest,
                asks=self.asks,
                max_cost_usd=self.settings.max_cost_usd,
                max_tokens=self.settings.max_tokens,
                max_calls=self.settings.max_calls,
                elsewhere=self.elsewhere,
                shards=None if self.part is None else self._shards,
            )
            try:
                if not self.was_finished:
                    await conduct(self.plan, standings, company)
            finally:
                await self.staff.close()
        return standings

    @cached_property
    def part(self) -> Part | None:
        """The part of the plan that is carried out here; None if all of it."""
        if self.settings.shard is None:
            return None
        if not self.asks:
            raise UsageError("--shard: recorded answers are judged whole; leave it out")
        return Part.parse(self.settings.shard)

    @cached_property
    def _share(self) -> Mapping[str, tuple[Shard, ...]]:
        if self.part is None:
            raise AssertionError("a whole run has no share of itself")
        items = {name: declared.items for name, declared in self.questions.items()}
        return part_of(self.plan, items, self.part)

    def _shards(self, scenario: str) -> tuple[Shard, ...]:
        return self._share.get(scenario, ())

    def outcomes(self, standings: Standings) -> list[State]:
        """How far each trial of the part has come."""
        return [
            state
            for scenario, shards in self._share.items()
            for state in states(standings.scenarios[scenario], shards)
        ]

    def holds(self, scenario: str, checkpoint: str, repeat: int) -> bool:
        """Whether these trials are carried out here, and not by another part."""
        return self.part is None or any(
            shard.checkpoint in (None, checkpoint) and shard.repeat in (None, repeat)
            for shard in self._shards(scenario)
        )

    def owed(self, standings: Standings) -> int:
        """How many trials are carried out here: all there are, or those of the part."""
        if self.part is not None:
            return len(self.outcomes(standings))
        return sum(each.owed_in_all for each in standings.scenarios.values())

    def _is_over(self, standings: Standings) -> bool:
        """Whether the part has all it owes; no line of its journal says so."""
        known, plan = standings.scenarios, self.plan
        if not self._share.keys() <= known.keys():
            return False
        return all(
            is_finished(known[scenario], shards)
            and not (plan.appellate and reviews_due(scenario, known[scenario], plan))
            for scenario, shards in self._share.items()
        )

    def check_folder(self) -> None:
        """Refuse a folder that holds another run or part, before anything is spent."""
        _ = self.part
        if not self.journal.exists():
            return
        first = next(read(self.journal), None)
        if first is not None:
            _refuse_other_plan(first, self.plan, self.part, self.folder)
        elif not _OPENING.startswith(self.journal.read_bytes()[: len(_OPENING)]):
            raise UsageError(
                f"{self.journal} is not a journal of ours; choose another folder with --into"
            )

    def _resumed(self, journal: Journal) -> Standings:
        """Where the run stands, with the journal's first or next line written."""
        standings = Standings(self.plan)
        events = read(self.journal)
        first = next(events, None)
        if first is None:
            now = datetime.now(UTC)
            journal.append(
                RunStarted(
                    at=now,
                    plan=self.plan,
                    code=code_version(),
                    diagnosis=last_of(self.plan.system),
                    part=self.part,
                    **self._work,
                )
            )
            self._declare(journal, standings)
            return standings
        _refuse_other_plan(first, self.plan, self.part, self.folder)
        for number, event in enumerate(events, start=2):
            try:
                standings.note(event)
            except ValueError as error:
                raise DataError(f"{self.journal}, line {number}: {error}") from error
        if self.settings.retry_errors:
            standings.reopen(State.NOT_ANSWERED)
        self.was_finished = standings.ended if self.part is None else self._is_over(standings)
        if not self.was_finished:
            resumed = RunResumed(at=datetime.now(UTC), code=code_version(), **self._work)
            journal.append(resumed)
            standings.note(resumed)
        self._declare(journal, standings)
        return standings

    @property
    def _work(self) -> dict[str, Any]:
        """Who does the work, as the journal has it."""
        if self.settings.executor is Executor.LOCAL:
            return {}
        return {"executor": str(self.settings.executor), "workers": self.settings.workers}

    def _declare(self, journal: Journal, standings: Standings) -> None:
        """Put on record what every scenario owes, before the first of them is begun."""
        for scenario, declared in self.questions.items():
            if scenario not in standings.scenarios:
                journal.append(declared)
                standings.note(declared)

    def _load(self, scenario: str) -> Scenario:
        return self.staff.loaded(self._planned[scenario])

    def _unjudged(
        self, standings: Standings, scenario: str, states: frozenset[State]
    ) -> Iterable[Answered]:
        """Answers on record whose trials stand in one of the states, up to the present end."""
        standing = standings.scenarios[scenario]
        if not standing.count(*states):
            return ()
        end = self.journal.stat().st_size

        def found() -> Iterator[Answered]:
            for offset, event in placed(self.journal, Answered):
                if offset >= end:
                    return
                if event.trial.scenario == scenario and standing.state_of(event.trial) in states:
                    yield event

        return found()

    def _judged(self, standings: Standings, scenario: str) -> Iterator[Judged]:
        """The last verdict on record on each judged trial of a scenario."""
        standing = standings.scenarios[scenario]
        last: dict[int, int] = {}
        for offset, verdict in placed(self.journal, Judged):
            if verdict.trial.scenario == scenario:
                last[standing.slot_of(verdict.trial)] = offset
        with self.journal.open("rb") as file:
            for slot, offset in last.items():
                file.seek(offset)
                event = decode(file.readline())
                if isinstance(event, Judged) and standing.failed_at_first(slot) is not None:
                    yield event


def _refuse_other_plan(first: Event, plan: Plan, part: Part | None, folder: Path) -> None:
    if not isinstance(first, RunStarted):
        raise DataError(
            f"{folder / JOURNAL}: does not begin with a plan; start again in another folder"
        )
    if differing := differences(first.plan, plan):
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


def code_version() -> str:
    """The version of this package, as the journal records it."""
    return version("recall-bench")
