"""A run that can be started, stopped at any moment, and gone on with."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from recall_bench.core.event import Answered, Event, RunResumed, RunStarted, decode
from recall_bench.core.memory import Confidant, MemorySystem
from recall_bench.core.plan import Plan
from recall_bench.core.question import Scenario
from recall_bench.core.standing import Standings, State
from recall_bench.errors import DataError, UsageError
from recall_bench.journal import JOURNAL, Journal, lines, read
from recall_bench.profile import Settings
from recall_bench.resolve import Story
from recall_bench.running.conduct import Company, conduct
from recall_bench.running.grade import Bench

Observer = Callable[[Event, Standings], None]


@dataclass(slots=True, kw_only=True)
class Job:
    """A plan with everyone it takes to carry it out."""

    settings: Settings
    plan: Plan
    folder: Path
    system: MemorySystem
    bench: Bench
    stories: Mapping[str, Story]
    warnings: list[str] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        """The file that is the run."""
        return self.folder / JOURNAL

    async def run(self, observe: Observer) -> Standings:
        """Ask and grade everything still owed, recording each step before the next."""
        with Journal(self.journal) as journal:
            standings = self._resumed(journal)

            def record(event: Event) -> None:
                journal.append(event)
                standings.note(event)
                observe(event, standings)

            company = Company(
                system=self.system,
                bench=self.bench,
                load=self._load,
                record=record,
                unjudged=partial(self._unjudged, standings),
                parallelism=self.settings.parallelism,
                skip_catchup=self.settings.skip_catchup_ingest,
            )
            try:
                if not standings.ended:
                    await conduct(self.plan, standings, company)
            finally:
                await self.system.close()
        return standings

    def check_folder(self) -> None:
        """Refuse a folder that holds another run, before anything is spent."""
        if self.journal.exists():
            first = next(read(self.journal), None)
            if first is not None:
                _refuse_other_plan(first, self.plan, self.folder)

    def _resumed(self, journal: Journal) -> Standings:
        """Where the run stands, with the journal's first or next line written."""
        standings = Standings(self.plan)
        events = read(self.journal)
        first = next(events, None)
        if first is None:
            now = datetime.now(UTC)
            journal.append(RunStarted(at=now, plan=self.plan, code=code_digest()))
            return standings
        _refuse_other_plan(first, self.plan, self.folder)
        for event in events:
            standings.note(event)
        if self.settings.retry_errors:
            standings.reopen(State.NOT_ANSWERED)
        if not standings.ended:
            journal.append(RunResumed(at=datetime.now(UTC), code=code_digest()))
        return standings

    def _load(self, scenario: str) -> Scenario:
        loaded = self.stories[scenario].load(self.settings)
        if isinstance(self.system, Confidant):
            from recall_bench.datasets.evidence import supporting_passages

            self.system.confide(scenario, supporting_passages(loaded))
        return loaded

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
                if standing.grid[standing.slot_of(event.trial)] & 7 in states:
                    yield event

        return found()


def _refuse_other_plan(first: Event, plan: Plan, folder: Path) -> None:
    if not isinstance(first, RunStarted):
        raise DataError(
            f"{folder / JOURNAL}: does not begin with a plan; start again in another folder"
        )
    if first.plan.digest == plan.digest:
        return
    differing = [
        f"{name.replace('_', ' ')} ({_short(old)}, now {_short(new)})"
        for name in Plan.__struct_fields__
        if (old := getattr(first.plan, name)) != (new := getattr(plan, name))
    ]
    raise UsageError(
        f"{folder} holds a run with another {'; another '.join(differing)}; "
        "repeat its settings to go on with it, or choose another folder with --into"
    )


def _short(value: object) -> str:
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{name} {getattr(value, 'version', '')}".strip()
    text = str(value)
    return text if len(text) <= 40 else f"digest {sha256(text.encode()).hexdigest()[:8]}"


def code_digest() -> str:
    """Version of this package and a digest of its source."""
    root = Path(__file__).parent
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('recall-bench')}+{digest.hexdigest()[:12]}"
