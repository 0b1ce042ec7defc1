"""A run folder: the plan, the state of every trial, and each result on demand.

The journal may be far larger than memory. Opening it keeps two file offsets a trial and no answer;
`results` reads the lines it needs from the file, in the order of the schedule, so that two runs
with the same outcomes read the same whatever the order of their events.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from recall_bench.core.environment import EnvironmentCard
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Exchanged,
    FeedFailed,
    Ingested,
    Judged,
    Metered,
    NotAnswered,
    NotJudged,
    RunResumed,
    RunStarted,
    Settled,
    TrialResult,
    decode_event,
)
from recall_bench.core.line_chain import LineChain
from recall_bench.core.plan import Plan, Shard, Trial
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import ScenarioStates, TrialStates, find_due_reviews
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PEOPLE, Finding, JudgeCard
from recall_bench.metrics.marks import ReviewCounts, count_reviews
from recall_bench.runs.journal import JOURNAL, explain_missing, read_lines


@dataclass(slots=True)
class DeliveryCounts:
    """The passages of all answers, counted."""

    answers: int = 0
    """How many answers came with passages."""
    offered: int = 0
    kept: int = 0
    tokens: int = 0
    traced: int = 0
    summaries: int = 0
    """How many of those kept name an episode, and are in no episode's words."""

    @property
    def traced_share(self) -> float | None:
        """The share of the kept passages that were traced to an episode."""
        return self.traced / self.kept if self.kept else None


@dataclass(slots=True)
class ServiceStats:
    """Deliveries, latencies and model usage of a system, folded from the journal."""

    deliveries: DeliveryCounts = field(default_factory=DeliveryCounts)
    reader_usage: Usage = field(default_factory=Usage)
    """What the reader cost, if there is one."""
    metered: dict[str, Usage] = field(default_factory=dict)
    """What the system spent, by stage: at our endpoint, or as an agent reports it."""
    messages: int = 0
    """How many messages an agent was sent."""
    lost_messages: int = 0
    """How many of them got no reply."""
    _seconds: "array[float]" = field(default_factory=lambda: array("f"))

    def note(self, event: Event) -> None:
        """Apply one event."""
        match event:
            case Answered():
                self._note_answer(event)
            case Metered(stage=stage, usage=usage):
                self.metered[stage] = self.metered.get(stage, Usage()) + usage
            case Exchanged(exchange=exchange):
                self.messages += 1
                self.lost_messages += exchange.fault is not None

    def compute_latency(self, share: float) -> float | None:
        """Compute the latency within which this share of the answers came; None without answers."""
        if not self._seconds:
            return None
        ranked = sorted(self._seconds)
        return ranked[max(0, ceil(share * len(ranked)) - 1)]

    @property
    def metered_total(self) -> Usage:
        """The usage of all stages."""
        total = Usage()
        for usage in self.metered.values():
            total = total + usage
        return total

    def _note_answer(self, event: Answered) -> None:
        self._seconds.append(event.seconds)
        if event.reading_usage is not None:
            self.reader_usage = self.reader_usage + event.reading_usage
        if event.delivery is not None:
            found = self.deliveries
            found.answers += 1
            found.offered += event.delivery.offered
            found.kept += event.delivery.kept
            found.tokens += event.delivery.tokens
            found.traced += event.delivery.traced
            found.summaries += event.delivery.summaries


_NOWHERE = -1
_CLOSE = "close"
"""The stage of a feed failure that costs no trial."""


class _TrialIndex:
    """The file offsets of the last events of each trial of one scenario."""

    def __init__(self, standing: ScenarioStates) -> None:
        self.states = standing
        slots = len(standing.grid)
        self.answered = array("q", [_NOWHERE]) * slots
        self.outcome = array("q", [_NOWHERE]) * slots
        self.fault = array("H", [0]) * slots
        self.owed = bytearray(slots)
        self.settled: set[str] = set()
        self.last_times: list[datetime | None] = [None] * len(standing.checkpoint_plans)
        for row in range(len(standing.checkpoint_plans)):
            for repeat, item in standing.list_owed_trials(row):
                self.owed[standing.compute_slot(row, repeat, item)] = 1


class RunFolder:
    """A run on disk. Open one with `RunFolder.open`."""

    def __init__(self, path: Path, first: RunStarted) -> None:
        self.path = path
        self.plan: Plan = first.plan
        self.part: Shard | None = first.part
        """The shard of the plan that this run is; None for all of it."""
        self.states = TrialStates(first.plan)
        self.started: datetime = first.at
        self.ended: datetime = first.at
        """When the last event was recorded."""
        self.stopped_scenarios: set[str] = set()
        """Scenarios whose feeding failed since the run was last started or continued."""
        self._paused = timedelta()
        self._codes = [first.code]
        self._work = [_describe_executor(first)]
        self._environments = [first.environment]
        self.fault_examples: dict[str, str] = {}
        """The first message of each kind of fault, with its trial."""
        imported = first.plan.imported
        self.judges_with_findings: set[JudgeCard] = {
            card
            for card in (first.plan.judge, first.plan.appellate)
            if card and card.rubrics and (imported is None or imported.findings)
        }
        """The judges that report findings: those whose rubrics ask for them, and those that
        reported one."""
        self.diagnosis = first.diagnosis
        """The last result of `doctor` for the system before the run; None without one."""
        self.service = ServiceStats()
        self._faults = [""]
        self._index: dict[str, _TrialIndex] = {}
        self._end = 0
        """Where the next event begins."""
        self._chain = LineChain()
        self.is_chained = False
        """Whether every line carries a checksum; journals of earlier versions do not."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.open({str(self.path)!r})"

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the journal of a folder; raises DataError with the line that cannot be read."""
        journal = path / JOURNAL
        folder: Self | None = None
        chain = LineChain()
        try:
            for number, (offset, line) in enumerate(read_lines(journal), start=1):
                try:
                    event = decode_event(chain.check(line))
                    if folder is None:
                        folder = cls(path, _require_start(event))
                        folder.is_chained = chain.is_started
                    else:
                        folder._note(event, offset)
                except (msgspec.DecodeError, ValueError) as error:
                    raise DataError(f"{journal}, line {number}: {error}") from error
        except OSError as error:
            raise UsageError(explain_missing(path, error)) from error
        if folder is None:
            raise DataError(f"{journal}: holds no event yet; nothing was run here")
        folder._end, folder._chain = offset + len(line) + 1, chain
        return folder

    def read_on(self) -> int:
        """Apply the events that were appended since, and count them.

        What was computed from this folder before is out of date afterwards.
        """
        journal, count = self.path / JOURNAL, 0
        try:
            for offset, line in read_lines(journal, self._end):
                self._note(decode_event(self._chain.check(line)), offset)
                self._end = offset + len(line) + 1
                count += 1
        except (msgspec.DecodeError, ValueError, OSError) as error:
            raise DataError(f"{journal}, byte {self._end}: {error}") from error
        return count

    @property
    def is_finished(self) -> bool:
        """Whether the journal records the end of the run."""
        return self.states.has_ended

    @property
    def active_s(self) -> float:
        """Seconds of work, without the pauses before each continuation."""
        return max(0.0, (self.ended - self.started - self._paused).total_seconds())

    @property
    def executors(self) -> tuple[str, ...]:
        """Descriptions of the executors, each once, first to last."""
        return tuple(dict.fromkeys(self._work))

    @property
    def codes(self) -> tuple[str, ...]:
        """The versions of the harness that worked on this run, each once, first to last."""
        return tuple(dict.fromkeys(self._codes))

    @property
    def environments(self) -> tuple[EnvironmentCard, ...]:
        """What the processes of this run were executed with, each once, first to last."""
        known: list[EnvironmentCard] = []
        for each in self._environments:
            if each is not None and each not in known:
                known.append(each)
        return tuple(known)

    @property
    def usage(self) -> Usage:
        """What judging, reading and our model endpoint cost."""
        service = self.service
        return self.states.usage + service.reader_usage + service.metered_total

    @property
    def last_link(self) -> str | None:
        """The checksum of the last line, which covers all lines; None without checksums."""
        return self._chain.last_link

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that were started, in the order of the plan."""
        return tuple(c.id for c in self.plan.scenarios if c.id in self.states.scenarios)

    @property
    def unstarted(self) -> tuple[str, ...]:
        """The scenarios that were not started yet."""
        return tuple(c.id for c in self.plan.scenarios if c.id not in self.states.scenarios)

    def results(self, scenario: str) -> Iterator[TrialResult]:
        """Read the result of every owed trial, by checkpoint, repeat and asked order."""
        for row in range(len(self.states.scenarios[scenario].checkpoint_plans)):
            yield from self.read_checkpoint_results(scenario, row)

    def read_checkpoint_results(self, scenario: str, row: int) -> Iterator[TrialResult]:
        """Read the results of one checkpoint, by repeat and asked order."""
        return self._read_results(scenario, row, None)

    def _read_results(
        self, scenario: str, row: int, wanted: set[int] | None
    ) -> Iterator[TrialResult]:
        standing, index = self.states.scenarios[scenario], self._index[scenario]
        label = standing.checkpoint_plans[row].checkpoint.label
        with (self.path / JOURNAL).open("rb") as file:
            for repeat, number in standing.list_owed_trials(row):
                if wanted is not None and number not in wanted:
                    continue
                slot = standing.compute_slot(row, repeat, number)
                item = standing.items[number]
                answered = self._read_event(file, index.answered[slot])
                outcome = self._read_event(file, index.outcome[slot])
                yield TrialResult(
                    trial=Trial(scenario=scenario, item=item.id, checkpoint=label, repeat=repeat),
                    item=item,
                    answered=answered if isinstance(answered, Answered) else None,
                    outcome=outcome
                    if isinstance(outcome, Judged | NotJudged | NotAnswered)
                    else None,
                )

    def read_results_of(
        self, scenario: str, wanted: Callable[[Item], bool]
    ) -> Iterator[TrialResult]:
        """Read the results of the wanted questions only, by checkpoint."""
        standing = self.states.scenarios[scenario]
        numbers = {number for number, item in enumerate(standing.items) if wanted(item)}
        for row in range(len(standing.checkpoint_plans) if numbers else 0):
            yield from self._read_results(scenario, row, numbers)

    def count_faults(self) -> dict[str, int]:
        """Count the trials that ended in each kind of fault, by name."""
        counts: Counter[int] = Counter()
        for index in self._index.values():
            counts.update(index.fault)
        named = {self._faults[code]: count for code, count in counts.items() if code}
        return dict(sorted(named.items()))

    def count_reviews(self) -> ReviewCounts:
        """Count the outcomes of reviews, and those still due."""
        standings = self.states.scenarios
        still_open = 0
        if self.plan.appellate is not None and not self.is_finished:
            still_open = sum(
                len(find_due_reviews(name, standing, self.plan))
                for name, standing in standings.items()
            )
        return count_reviews(
            (review for standing in standings.values() for review in standing.reviews.values()),
            still_open=still_open,
        )

    def get_findings(self, judged: Judged) -> tuple[Finding, ...] | None:
        """Return the findings of the final verdict; None if its judge reports none."""
        return self.select_findings(
            judged.verdict.findings, judge=judged.judge, is_reviewed=judged.primary is not None
        )

    def select_findings(
        self, findings: tuple[Finding, ...], *, judge: str | None, is_reviewed: bool
    ) -> tuple[Finding, ...] | None:
        """Return these findings; None if the judge they come from reports none."""
        if judge == PEOPLE:
            # A person says whether an answer leaks, and nothing about refusals.
            return findings or None
        card = self.plan.appellate if is_reviewed else self.plan.judge
        return findings if card in self.judges_with_findings else None

    def is_checkpoint_ready(self, scenario: str, label: str) -> bool:
        """Whether the system has ingested everything up to this checkpoint."""
        return label in self._index[scenario].settled

    def get_last_time(self, scenario: str, row: int) -> datetime | None:
        """Return when the last event of this checkpoint was recorded."""
        return self._index[scenario].last_times[row]

    def list_feed_failures(self, scenario: str) -> tuple[FeedFailed, ...]:
        """List the last failure of each checkpoint with open questions, by days."""
        standing = self.states.scenarios[scenario]
        last = {
            standing.row[failure.checkpoint]: failure
            for failure in standing.failures
            if failure.stage != _CLOSE
        }
        return tuple(
            last[row]
            for row in sorted(last)
            if any(standing.list_open_items(row, repeat) for repeat in range(standing.repeats))
        )

    def _read_event(self, file: BinaryIO, offset: int) -> Event | None:
        if offset == _NOWHERE:
            return None
        try:
            file.seek(offset)
            return decode_event(file.readline())
        except (msgspec.DecodeError, ValueError, OSError) as error:
            raise DataError(
                f"{self.path / JOURNAL}, byte {offset}: changed while it was read ({error})"
            ) from error

    def _note(self, event: Event, offset: int) -> None:
        self.service.note(event)
        if isinstance(event, Answered | Judged | NotAnswered | NotJudged):
            self._note_trial(event, offset)
        else:
            self._note_course(event)
        self.ended = event.at

    def _note_trial(self, event: Answered | Judged | NotAnswered | NotJudged, offset: int) -> None:
        trial = event.trial
        index, row = self._find_place(trial.scenario, trial.checkpoint)
        standing = index.states
        number = standing.index.get(trial.item, _NOWHERE)
        slot = standing.compute_slot(row, trial.repeat, number)
        if number == _NOWHERE or not 0 <= trial.repeat < standing.repeats or not index.owed[slot]:
            raise ValueError(f"{trial} is not a trial this run owes")
        index.last_times[row] = event.at
        index.fault[slot] = 0
        if isinstance(event, Answered):
            index.answered[slot], index.outcome[slot] = offset, _NOWHERE
        else:
            index.outcome[slot] = offset
        match event:
            case Judged():
                self._note_findings(event)
            case NotAnswered(fault=fault, message=message):
                index.answered[slot] = _NOWHERE
                index.fault[slot] = self._index_fault(fault)
                self.fault_examples.setdefault(
                    fault, f"{message[:200]} ({trial.item} at {trial.checkpoint})"
                )
            case NotJudged(fault=fault, message=message):
                index.fault[slot] = self._index_fault(fault)
                self.fault_examples.setdefault(
                    fault, f"{message[:200]} ({trial.item} at {trial.checkpoint})"
                )
        self.states.apply_event(event)

    def _note_findings(self, judged: Judged) -> None:
        if judged.judge == PEOPLE:
            return
        plan, primary = self.plan, judged.primary
        by_first = judged.verdict if primary is None else primary
        if by_first.findings:
            self.judges_with_findings.add(plan.judge)
        if primary is not None and judged.verdict.findings and plan.appellate is not None:
            self.judges_with_findings.add(plan.appellate)

    def _note_course(self, event: Event) -> None:
        match event:
            case Ingested() | Settled():
                index, row = self._find_place(event.scenario, event.checkpoint)
                index.last_times[row] = event.at
                if isinstance(event, Settled):
                    index.settled.add(event.checkpoint)
            case FeedFailed():
                self._find_place(event.scenario, event.checkpoint)
                if event.stage != _CLOSE:
                    self.stopped_scenarios.add(event.scenario)
            case RunResumed(code=code):
                self._codes.append(code)
                self._environments.append(event.environment)
                self._work.append(_describe_executor(event))
                self.stopped_scenarios.clear()
                self._paused += event.at - self.ended
            case Declared(scenario=scenario, items=items, asked=asked):
                if scenario not in self._index:
                    self._index[scenario] = _TrialIndex(self.states.declare(scenario, items, asked))
            case RunStarted():
                raise ValueError("a second run starts in this journal")
        self.states.apply_event(event)

    def _find_place(self, scenario: str, label: str) -> tuple[_TrialIndex, int]:
        index = self._index.get(scenario)
        if index is None:
            raise ValueError(f"{scenario!r} is spoken of before its questions were declared")
        row = index.states.row.get(label)
        if row is None:
            raise ValueError(f"{scenario!r} has no checkpoint {label!r} in this run")
        return index, row

    def _index_fault(self, name: str) -> int:
        if name not in self._faults:
            self._faults.append(name)
        return self._faults.index(name)


def _describe_executor(event: RunStarted | RunResumed) -> str:
    if event.executor is None:
        return "one process"
    return event.executor if event.workers is None else f"{event.workers} × {event.executor}"


def _require_start(event: Event) -> RunStarted:
    if not isinstance(event, RunStarted):
        raise ValueError("the first event is not the start of a run")  # noqa: TRY004
    return event
