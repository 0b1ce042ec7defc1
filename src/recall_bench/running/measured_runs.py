"""What earlier runs show: how long each step took, what it cost, and how marks vary.

A journal states the seconds of every step except opening a memory; older journals state none for
verdicts either. What is missing is computed:

* Opening a memory: from the event before the first ingested day, if one process wrote both.
* Start of the workers: from the start of the run to the first step of any worker.
* Verdicts of a judge that computes (older journals): from the event before the verdict, if one
  process wrote both.
* Verdicts of a judge that is waited for (older journals): each answer is taken as soon as a place
  is free, with as many places as questions were asked concurrently. An answer that could not be
  judged occupies a place and gives no time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.event import (
    INGEST,
    Answered,
    Declared,
    Event,
    Ingested,
    Judged,
    Metered,
    NotAnswered,
    NotJudged,
    RunEnded,
    RunResumed,
    RunStarted,
    Settled,
)
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.settings import RUNS
from recall_bench.core.usage import Usage
from recall_bench.running.step_timings import SingleProcessCheck, Timings
from recall_bench.runs.journal import JOURNAL, explain_missing, read_events

FEED, SETTLE, ASK, READ, JUDGE, REST = "feed", "settle", "ask", "read", "judge", "rest"

MAX_SAMPLE = 256
"""The most answers kept, evenly spread, to build prompts from."""


@dataclass(frozen=True, slots=True)
class _JudgedAnswer:
    """An answer with a verdict, or one that could not be judged."""

    trial: Trial
    at: float
    took: float | None
    """Seconds since the event before; None if there is no verdict."""
    stated: float | None
    """Seconds as the journal states them; None if it does not."""


@dataclass(slots=True)
class MeasuredProcess:
    """One process of a run: which calls were concurrent is known only within a process."""

    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    answers_at: dict[Trial, tuple[float, int]] = field(default_factory=dict)
    """Time and story day of each answer, in the order of the answers."""
    judgements: dict[Trial, _JudgedAnswer] = field(default_factory=dict)
    """The verdicts, or failures to judge, on answers of this process, in their order."""
    openings: dict[str, float] = field(default_factory=dict)
    started: float | None = None
    first_step: float | None = None
    """When the process started, and when its first step did."""
    by_workers: bool = False
    single_process: SingleProcessCheck = field(default_factory=SingleProcessCheck)

    def count_concurrency(self) -> int:
        """The most questions that the system and its reader had at the same time."""
        changes = sorted([(at, 1) for at in self.starts] + [(at, -1) for at in self.ends])
        most = now = 0
        for _, change in changes:
            now += change
            most = max(most, now)
        return max(most, 1)


@dataclass(slots=True)
class MeasuredRun:
    """A fold over one journal: call `note` with every event, then `end`."""

    name: str
    plan: Plan
    timings: dict[str, Timings] = field(default_factory=dict)
    marks: dict[Trial, float] = field(default_factory=dict)
    """Points of six; 0 without an answer."""
    failures: int = 0
    verdicts: int = 0
    judging: Usage = field(default_factory=Usage)
    reviewing: Usage = field(default_factory=Usage)
    reading: Usage = field(default_factory=Usage)
    answers: int = 0
    feeding: Usage = field(default_factory=Usage)
    """Usage of the system at our endpoint during ingestion."""
    asking: Usage = field(default_factory=Usage)
    """Usage of the system for answers, metered or reported."""
    days_fed: int = 0
    sample: list[Answered] = field(default_factory=list)
    wall_s: float = 0.0
    """The run time of its processes, without the pauses between them."""
    concurrency: int = 1
    is_finished: bool = False
    is_shared: bool = False
    """Whether several processes worked at the same time."""
    executors: set[tuple[str | None, int | None]] = field(default_factory=set)
    """Every executor it ran with (None for one process) and the number of workers requested."""
    starts_s: list[float] = field(default_factory=list)
    """Seconds from each start with workers to the first step of a worker."""
    declared: dict[str, Declared] = field(default_factory=dict)
    openings: dict[str, float] = field(default_factory=dict)
    """Seconds to load each scenario and open its memory, before its first day is ingested."""
    _step: int = 1
    _days: dict[tuple[str, str], int] = field(default_factory=dict)
    _before: datetime | None = None
    _process: MeasuredProcess = field(default_factory=MeasuredProcess)
    _judged: set[Trial] = field(default_factory=set)

    def note(self, event: Event) -> None:
        """Take one event into account."""
        if isinstance(event, RunResumed):
            self.end()
        elif self._before is not None:
            self.wall_s += max(0.0, (event.at - self._before).total_seconds())
        match event:
            case RunStarted() | RunResumed():
                self._note_start(event)
            case Declared():
                self._note_declared(event)
            case Ingested():
                self._note_fed(event)
            case Settled(seconds=seconds):
                self._note_first_step(event)
                day = self._days[event.scenario, event.checkpoint]
                self._time(SETTLE, event.scenario, event.checkpoint, day, seconds)
            case Metered():
                self._note_metered(event)
            case Answered() | NotAnswered():
                self._note_reply(event)
            case Judged():
                self._note_verdict(event)
            case NotJudged(trial=trial):
                self._note_judgement(trial, event.at, has_verdict=False)
            case RunEnded():
                self.is_finished = True
            case _:
                pass
        # Questions are declared with the time they were read, which was before the run started.
        self._before = event.at if self._before is None else max(self._before, event.at)

    def end(self) -> None:
        """End the current process and compute the times of its verdicts."""
        process, self._process = self._process, MeasuredProcess()
        self._before = None
        places = process.count_concurrency()
        self.concurrency = max(self.concurrency, places)
        is_shared = process.by_workers or process.single_process.is_broken
        self.is_shared |= is_shared
        if not is_shared:
            for scenario, took in process.openings.items():
                self.openings.setdefault(scenario, took)
        if process.by_workers and process.started is not None and process.first_step is not None:
            self.starts_s.append(max(0.0, process.first_step - process.started))
        computes = self.plan.judge.computes
        judgements = list(process.judgements.values())
        in_order = (trial for trial in process.answers_at if trial in process.judgements)
        for number, trial in enumerate(in_order):
            verdict = process.judgements[trial]
            if verdict.took is None:
                continue
            answered_at, day = process.answers_at[trial]
            free = judgements[number - places].at if number >= places else answered_at
            took = verdict.took if computes else verdict.at - max(answered_at, free)
            if verdict.stated is not None:
                took = verdict.stated
            elif computes and is_shared:
                continue
            self._time(JUDGE, trial.scenario, trial.checkpoint, day, took)

    def get_timing(self, step: str) -> Timings:
        """All the times of one step."""
        return self.timings.setdefault(step, Timings())

    def _time(self, step: str, scenario: str, checkpoint: str, day: int, seconds: float) -> None:
        self.get_timing(step).note((self.name, scenario, checkpoint), day, max(0.0, seconds))

    def _note_start(self, event: RunStarted | RunResumed) -> None:
        self._process.started = event.at.timestamp()
        self._process.by_workers = event.executor is not None
        self.executors.add((event.executor, event.workers))

    def _note_metered(self, event: Metered) -> None:
        if event.stage == INGEST:
            self.feeding += event.usage
        else:
            self.asking += event.usage

    def _note_first_step(self, event: Ingested | Settled | Answered | NotAnswered) -> None:
        process, began = self._process, event.at.timestamp() - event.seconds
        process.single_process.note(event)
        process.first_step = began if process.first_step is None else min(process.first_step, began)

    def _note_declared(self, event: Declared) -> None:
        self.declared[event.scenario] = event
        last = next(each.last_day for each in self.plan.scenarios if each.id == event.scenario)
        for each in self.plan.checkpoints:
            self._days[event.scenario, each.label] = min(each.days, last)

    def _note_fed(self, event: Ingested) -> None:
        self._time(FEED, event.scenario, event.checkpoint, event.day, event.seconds)
        self.days_fed += 1
        self._note_first_step(event)
        openings = self._process.openings
        if event.scenario not in openings and self._before is not None:
            took = (event.at - self._before).total_seconds() - event.seconds
            openings[event.scenario] = max(0.0, took)

    def _note_reply(self, event: Answered | NotAnswered) -> None:
        trial, ended = event.trial, event.at.timestamp()
        day = self._days[trial.scenario, trial.checkpoint]
        self._time(ASK, trial.scenario, trial.checkpoint, day, event.seconds)
        took = event.seconds
        self._note_first_step(event)
        if isinstance(event, NotAnswered):
            self.marks[trial] = 0.0
        else:
            took += event.reading_s or 0.0
            self._note_answer(event, day)
            self._process.answers_at[trial] = (ended, day)
        self._process.starts.append(ended - took)
        self._process.ends.append(ended)

    def _note_answer(self, event: Answered, day: int) -> None:
        trial = event.trial
        if event.reading_s is not None:
            self._time(READ, trial.scenario, trial.checkpoint, day, event.reading_s)
        self.reading += event.reading_usage or Usage()
        self.asking += event.answer.usage or Usage()
        if self.answers % self._step == 0:
            self.sample.append(event)
            if len(self.sample) > MAX_SAMPLE:
                self.sample = self.sample[::2]
                self._step *= 2
        self.answers += 1

    def _note_verdict(self, event: Judged) -> None:
        trial, verdict = event.trial, event.verdict
        self.marks[trial] = (
            float(verdict.composite) if verdict.score is None else 6.0 * verdict.score
        )
        self.judging += event.usage or Usage()
        self.reviewing += event.review_usage or Usage()
        if trial in self._judged:
            return
        self._judged.add(trial)
        self.verdicts += 1
        self.failures += (event.primary or verdict).is_failure
        self._note_judgement(trial, event.at, has_verdict=True, stated=event.seconds)

    def _note_judgement(
        self, trial: Trial, at: datetime, *, has_verdict: bool, stated: float | None = None
    ) -> None:
        """Note a verdict or a failure to judge; ignored if another process asked the question."""
        if trial in self._process.judgements or trial not in self._process.answers_at:
            return
        before = self._before or at
        took = (at - before).total_seconds() if has_verdict else None
        self._process.judgements[trial] = _JudgedAnswer(trial, at.timestamp(), took, stated)


def measure_run(folder: Path) -> MeasuredRun:
    """Measure the run in the folder, finished or not."""
    journal = folder / JOURNAL
    try:
        events = iter(read_events(journal))
        first = next(events, None)
    except OSError as error:
        raise UsageError(explain_missing(folder, error)) from error
    if not isinstance(first, RunStarted):
        raise DataError(f"{journal}: does not begin with a plan; name the folder of a run")
    found = MeasuredRun(name=str(folder), plan=first.plan)
    found.note(first)
    for number, event in enumerate(events, start=2):
        try:
            found.note(event)
        except (KeyError, StopIteration, ValueError) as error:
            raise DataError(f"{journal}, line {number}: {error}") from error
    found.end()
    return found


def merge_timings(runs: Iterable[MeasuredRun], step: str) -> Timings:
    """The times of one step in all runs."""
    merged = Timings()
    for run in runs:
        merged.add(run.get_timing(step))
    return merged


MAX_EARLIER_RUNS = 3
"""The number of newest runs of a system that are read: older ones may come from other machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """Runs to estimate from."""

    of_system: tuple[MeasuredRun, ...] = ()
    of_judge: tuple[MeasuredRun, ...] = ()


def find_earlier_runs(plan: Plan, folder: Path, named: Sequence[Path] = ()) -> EarlierRuns:
    """The runs named, or those of the same system, and of the same judge, near the run's folder.

    A named run counts for the system whatever system it ran, but for the judge only if the judge
    is the same.
    """
    if named:
        runs = tuple(measure_run(path) for path in named)
        return EarlierRuns(
            of_system=runs, of_judge=tuple(each for each in runs if is_same_judge(each.plan, plan))
        )
    found = [(path, each) for path, each in _list_plans(folder) if each.imported is None]
    asked = [path for path, each in found if _is_same_system(each, plan)][:MAX_EARLIER_RUNS]
    judged = [path for path, each in found if is_same_judge(each, plan)][:MAX_EARLIER_RUNS]
    known = {path: measure_run(path) for path in dict.fromkeys(asked + judged)}
    return EarlierRuns(
        of_system=tuple(known[path] for path in asked),
        of_judge=tuple(known[path] for path in judged),
    )


def is_same_judge(one: Plan, other: Plan) -> bool:
    """Whether both have the same judge, with the same model if it has one."""
    ours, theirs = one.judge, other.judge
    return not one.unjudged and (ours.name, ours.model) == (theirs.name, theirs.model)


def _is_same_system(one: Plan, other: Plan) -> bool:
    return one.system.name == other.system.name and one.answers_from is None


def _list_plans(folder: Path) -> Iterator[tuple[Path, Plan]]:
    """Every run below `recall-runs` and beside the folder, newest first."""
    journals = {path.resolve(): path for path in _find_journals((RUNS, folder.parent))}
    for path in sorted(journals.values(), key=lambda each: -each.stat().st_mtime):
        try:
            first = next(read_events(path), None)
        except BenchError:
            continue  # not a run of this version
        if isinstance(first, RunStarted):
            yield path.parent, first.plan


def _find_journals(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from place.glob(f"*/{JOURNAL}")
