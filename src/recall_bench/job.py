"""A run that can be started, stopped at any moment, and gone on with."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Judged,
    RunResumed,
    RunStarted,
    decode,
)
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import DatasetCard, Plan, ScenarioCard
from recall_bench.core.question import Scenario
from recall_bench.core.reader import ReaderCard
from recall_bench.core.standing import Standings, State
from recall_bench.core.verdict import JudgeCard
from recall_bench.diagnoses import last_of
from recall_bench.errors import DataError, UsageError
from recall_bench.journal import JOURNAL, Journal, lines, read
from recall_bench.running.conduct import Company, conduct
from recall_bench.settings import Settings
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
    """Whether the folder turned out to hold this run, finished."""
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
            self.was_finished = standings.ended

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
                parallelism=self.settings.parallelism,
                skip_catchup=self.settings.skip_catchup_ingest,
                asks=self.asks,
                max_cost_usd=self.settings.max_cost_usd,
                max_tokens=self.settings.max_tokens,
            )
            try:
                if not standings.ended:
                    await conduct(self.plan, standings, company)
            finally:
                await self.staff.close()
        return standings

    def check_folder(self) -> None:
        """Refuse a folder that holds another run, before anything is spent."""
        if not self.journal.exists():
            return
        first = next(read(self.journal), None)
        if first is not None:
            _refuse_other_plan(first, self.plan, self.folder)
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
                    code=code_digest(),
                    diagnosis=last_of(self.plan.system),
                )
            )
            self._declare(journal, standings)
            return standings
        _refuse_other_plan(first, self.plan, self.folder)
        for number, event in enumerate(events, start=2):
            try:
                standings.note(event)
            except ValueError as error:
                raise DataError(f"{self.journal}, line {number}: {error}") from error
        if self.settings.retry_errors:
            standings.reopen(State.NOT_ANSWERED)
        if not standings.ended:
            resumed = RunResumed(at=datetime.now(UTC), code=code_digest())
            journal.append(resumed)
            standings.note(resumed)
        self._declare(journal, standings)
        return standings

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
            for offset, line in lines(self.journal):
                if offset >= end:
                    return
                if not line.startswith(b'{"type":"answered"'):
                    continue
                event = decode(line)
                if not isinstance(event, Answered) or event.trial.scenario != scenario:
                    continue
                if standing.state_of(event.trial) in states:
                    yield event

        return found()

    def _judged(self, standings: Standings, scenario: str) -> Iterator[Judged]:
        """The last verdict on record on each judged trial of a scenario."""
        standing = standings.scenarios[scenario]
        last: dict[int, int] = {}
        for offset, line in lines(self.journal):
            if line.startswith(b'{"type":"judged"'):
                event = decode(line)
                if isinstance(event, Judged) and event.trial.scenario == scenario:
                    last[standing.slot_of(event.trial)] = offset
        with self.journal.open("rb") as file:
            for slot, offset in last.items():
                file.seek(offset)
                event = decode(file.readline())
                if isinstance(event, Judged) and standing.failed_at_first(slot) is not None:
                    yield event


def _refuse_other_plan(first: Event, plan: Plan, folder: Path) -> None:
    if not isinstance(first, RunStarted):
        raise DataError(
            f"{folder / JOURNAL}: does not begin with a plan; start again in another folder"
        )
    if first.plan.digest == plan.digest:
        return
    differing = [
        f"{name.replace('_', ' ')} ({_change(old, new)})"
        for name in Plan.__struct_fields__
        if (old := getattr(first.plan, name)) != (new := getattr(plan, name))
    ]
    raise UsageError(
        f"{folder} holds a run with other {', other '.join(differing)}; "
        "repeat its settings to go on with it, or choose another folder with --into"
    )


def _change(old: object, new: object) -> str:
    """Both values in words; where the words are the same, their digests tell them apart."""
    before, after = _short(old), _short(new)
    if before == after:
        before, after = (f"{before} {_digest(value)}" for value in (old, new))
    return f"{before}, now {after}"


def _short(value: object) -> str:
    match value:
        case SystemCard() | JudgeCard() | ReaderCard():
            return f"{value.name} {value.version}"
        case DatasetCard():
            return f"{value.name} ({value.protocol}, {len(value.files)} files)"
        case tuple():
            return " ".join(
                str(getattr(part, "label", getattr(part, "id", part))) for part in value
            )
        case _:
            return str(value)


def _digest(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:8]


@cache
def code_digest() -> str:
    """Version of this package and a digest of its source, as it was when first asked for."""
    root = Path(__file__).parent
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('recall-bench')}+{digest.hexdigest()[:12]}"
