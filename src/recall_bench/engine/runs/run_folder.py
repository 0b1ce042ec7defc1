"""A run folder: the plan, the state of every trial, and each result on demand.

The journal may be far larger than memory. Opening it keeps two file offsets a trial and no answer;
`results` reads the lines it needs from the file, in the order of the schedule, so that two runs
with the same outcomes read the same whatever the order of their events.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypeVar

import msgspec

from recall_bench.core.append_log import LineChain
from recall_bench.core.environment import EnvironmentCard
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import (
    Answered,
    BoundsComputed,
    Declared,
    Event,
    FeedFailed,
    Ingested,
    Judged,
    NotAnswered,
    NotJudged,
    OtherVerdict,
    Outcome,
    Paid,
    RunResumed,
    RunStarted,
    Settled,
    TrialResult,
)
from recall_bench.core.event_redaction import redact_event
from recall_bench.core.plan import Plan, Shard, Trial
from recall_bench.core.scenario import Item
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.core.trial_states import (
    ScenarioStates,
    TrialState,
    TrialStates,
    find_due_reviews,
    unpack_status,
)
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PEOPLE, Finding, JudgeCard
from recall_bench.engine.runs.journal import JOURNAL, JournalDecoder, explain_missing, read_lines
from recall_bench.engine.runs.journal_lines import (
    StoredAnswered,
    TextSpan,
    decode_outline,
    decode_stored,
)
from recall_bench.engine.runs.service_stats import ServiceStats
from recall_bench.metrics.marks import ReviewCounts, count_reviews

_Decoded = TypeVar("_Decoded")
_Computed = TypeVar("_Computed")
_Noted = TypeVar("_Noted", Answered, Judged)

_NOWHERE = -1
_CLOSE = "close"
"""The stage of a feed failure that costs no trial."""


class _TrialIndex:
    """The file offsets of the last events of each trial of one scenario."""

    def __init__(self, states: ScenarioStates) -> None:
        self.states = states
        slots = len(states.grid)
        self.answered = array("q", [_NOWHERE]) * slots
        self.outcome = array("q", [_NOWHERE]) * slots
        self.others = [array("q", [_NOWHERE]) * slots for _ in states.others]
        self.fault = array("H", [0]) * slots
        self.owed = bytearray(slots)
        self.settled: set[str] = set()
        self.last_times: list[datetime | None] = [None] * len(states.checkpoint_plans)
        for row in range(len(states.checkpoint_plans)):
            for repeat, item in states.list_owed_trials(row):
                self.owed[states.compute_slot(row, repeat, item)] = 1


class StoredResult(NamedTuple):
    """One trial with its events; texts of passages may be references."""

    trial: Trial
    item: Item
    offset: int
    """Where the answer is in the journal."""
    answered: StoredAnswered | None
    outcome: Outcome | None
    others: tuple[OtherVerdict | None, ...]


class RunFolder:
    """A run on disk. Open one with `RunFolder.open`."""

    def __init__(self, path: Path, first: RunStarted, other_judge: int | None = None) -> None:
        self.path = path
        self.other_judge = other_judge
        """The place in `other_judges` of the judge whose verdicts this view is made of; None for
        the first judge."""
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
        self._decoder = JournalDecoder(path / JOURNAL)
        self.is_chained = False
        """Whether every line carries a checksum; journals of earlier versions do not."""
        self.computed: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}.open({str(self.path)!r})"

    @classmethod
    def open(cls, path: Path, *, other_judge: int | None = None) -> Self:
        """Read the journal of a folder; raises DataError with the line that cannot be read.

        With the place of one of the other judges of the plan, the run reads as if that judge alone
        had judged it.
        """
        journal = path / JOURNAL
        folder: Self | None = None
        chain = LineChain()
        try:
            for number, (offset, line) in enumerate(read_lines(journal), start=1):
                try:
                    event = decode_outline(chain.check(line))
                    if folder is None:
                        first = _require_start(event)
                        folder = cls(path, _select_judge(first, other_judge), other_judge)
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

    def note(self, event: Event, end: int) -> None:
        """Apply an event that was appended to the journal, which ends at `end` since then."""
        if isinstance(event, NotAnswered | NotJudged | FeedFailed):
            # What the folder says is what the journal holds.
            event = redact_event(event)
        self._note(event, self._end)
        self._end = end

    def compute_once(self, name: str, compute: Callable[[Self], _Computed]) -> _Computed:
        """Return what is computed of this folder; it is kept with it."""
        if name not in self.computed:
            self.computed[name] = compute(self)
        figure: _Computed = self.computed[name]
        return figure

    def copy(self) -> Self:
        """The folder as it is now, of which nothing was computed yet, while this one goes on."""
        twin = copy(self)
        twin.computed = {}
        return twin

    def follow_chain(self, chain: LineChain) -> None:
        """Take the link of the last line from the journal's writer, whose events are noted."""
        self._chain = chain

    def read_on(self) -> int:
        """Apply the events that were appended since, and count them; figures are computed anew."""
        self.computed = {}
        journal, count = self.path / JOURNAL, 0
        try:
            for offset, line in read_lines(journal, self._end):
                self._note(decode_outline(self._chain.check(line)), offset)
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
    def doubt(self) -> str | None:
        """Why changes of the journal would go unnoticed; None if they would not."""
        advice = f"changes are not noticed; recall-bench verify {self.path} derives the run again"
        return None if self.is_chained else f"{self.path / JOURNAL} has no checksums: {advice}"

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
        cards: list[EnvironmentCard] = []
        for environment in self._environments:
            if environment is not None and environment not in cards:
                cards.append(environment)
        return tuple(cards)

    @property
    def usage(self) -> Usage:
        """What judging, reading, our model endpoint and the loop agent cost.

        What the agent spent on days, and on questions that it did not answer, is metered.
        """
        service = self.service
        is_ours = self.plan.system.name.startswith(LOOP_PREFIX)
        answers = service.answer_usage if is_ours else Usage()
        return self.states.usage + service.reader_usage + service.metered_total + answers

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
        self, scenario: str, row: int, wanted: set[int] | None, *, reads_passages: bool = True
    ) -> Iterator[TrialResult]:
        index = self._index[scenario]
        with (self.path / JOURNAL).open("rb") as file:
            for trial, item, slot in self._list_trials(scenario, row, wanted):
                offset = index.answered[slot]
                answered = (
                    self._read_event(file, offset)
                    if reads_passages
                    else self._read_line(file, offset, decode_outline)
                )
                yield TrialResult(
                    trial=trial,
                    item=item,
                    answered=answered if isinstance(answered, Answered) else None,
                    outcome=self._read_outcome(file, index.outcome[slot]),
                    others=self._read_others(file, index, slot),
                )

    def _list_trials(
        self, scenario: str, row: int, wanted: set[int] | None = None
    ) -> Iterator[tuple[Trial, Item, int]]:
        """Yield the owed trials of a checkpoint, each with its slot."""
        states = self.states.scenarios[scenario]
        label = states.checkpoint_plans[row].checkpoint.label
        for repeat, number in states.list_owed_trials(row):
            if wanted is None or number in wanted:
                item = states.items[number]
                trial = Trial(scenario=scenario, item=item.id, checkpoint=label, repeat=repeat)
                yield trial, item, states.compute_slot(row, repeat, number)

    def read_results_of(
        self, scenario: str, wanted: Callable[[Item], bool], *, reads_passages: bool = True
    ) -> Iterator[TrialResult]:
        """Read the results of the wanted questions only, by checkpoint.

        Answers without their passages take a fraction of the time.
        """
        states = self.states.scenarios[scenario]
        numbers = {number for number, item in enumerate(states.items) if wanted(item)}
        for row in range(len(states.checkpoint_plans) if numbers else 0):
            yield from self._read_results(scenario, row, numbers, reads_passages=reads_passages)

    def read_stored_results(self, scenario: str) -> Iterator[StoredResult]:
        """Read every owed trial in the order of `results`, without the texts of its passages."""
        index = self._index[scenario]
        with (self.path / JOURNAL).open("rb") as file:
            for row in range(len(self.states.scenarios[scenario].checkpoint_plans)):
                for trial, item, slot in self._list_trials(scenario, row):
                    offset = index.answered[slot]
                    yield StoredResult(
                        trial,
                        item,
                        offset,
                        self._read_line(file, offset, decode_stored),
                        self._read_outcome(file, index.outcome[slot]),
                        self._read_others(file, index, slot),
                    )

    def find_answers(self, scenario: str, wanted: frozenset[TrialState]) -> Iterator[Answered]:
        """Find the answers noted so far whose trials are in one of the states, in order."""
        trials = self.states.scenarios[scenario]
        if not trials.count_states(*wanted):
            return iter(())

        def is_wanted(slot: int) -> bool:
            return unpack_status(trials.grid[slot]).state in wanted

        return self._read_noted(self._index[scenario].answered, Answered, is_wanted)

    def find_verdicts(self, scenario: str) -> Iterator[Judged]:
        """Find the last verdict on each judged trial of a scenario, in order."""
        trials = self.states.scenarios[scenario]

        def is_wanted(slot: int) -> bool:
            return trials.is_first_verdict_failure(slot) is not None

        return self._read_noted(self._index[scenario].outcome, Judged, is_wanted)

    def _read_noted(
        self, offsets: "array[int]", kind: type[_Noted], is_wanted: Callable[[int], bool]
    ) -> Iterator[_Noted]:
        """Read the events at these offsets, if their slots are wanted when it is their turn."""
        # A copy: what is noted from now on is not part of it.
        places = sorted((at, slot) for slot, at in enumerate(offsets) if at != _NOWHERE)

        def iterate() -> Iterator[_Noted]:
            with (self.path / JOURNAL).open("rb") as file:
                for offset, slot in places:
                    if is_wanted(slot):
                        event = self._read_event(file, offset)
                        if isinstance(event, kind):
                            yield event

        return iterate()

    def read_text(self, span: TextSpan | None, before: int) -> str:
        """Read the text that the answer at the offset `before` refers to."""
        try:
            return self._decoder.read_text(span, before)
        except (msgspec.DecodeError, ValueError, OSError) as error:
            raise self._refuse_line(before, error) from error

    def count_faults(self) -> dict[str, int]:
        """Count the trials that ended in each kind of fault, by name."""
        counts: Counter[int] = Counter()
        for index in self._index.values():
            counts.update(index.fault)
        named = {self._faults[code]: count for code, count in counts.items() if code}
        return dict(sorted(named.items()))

    def count_reviews(self) -> ReviewCounts:
        """Count the outcomes of reviews, and those still due."""
        scenarios = self.states.scenarios
        still_open = 0
        if self.plan.appellate is not None and not self.is_finished:
            still_open = sum(
                len(find_due_reviews(name, states, self.plan)) for name, states in scenarios.items()
            )
        return count_reviews(
            (review for states in scenarios.values() for review in states.reviews.values()),
            still_open=still_open,
        )

    def get_findings(self, judged: Judged) -> tuple[Finding, ...] | None:
        """Return the findings of the final verdict; None if its judge reports none."""
        return self.select_findings(
            judged.verdict.findings,
            is_by_people=judged.judge == PEOPLE,
            is_reviewed=judged.primary is not None,
        )

    def select_findings(
        self, findings: tuple[Finding, ...], *, is_by_people: bool, is_reviewed: bool
    ) -> tuple[Finding, ...] | None:
        """Return these findings; None if the judge they come from reports none."""
        if is_by_people:
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
        states = self.states.scenarios[scenario]
        last = {
            states.row[failure.checkpoint]: failure
            for failure in states.failures
            if failure.stage != _CLOSE
        }
        return tuple(
            last[row]
            for row in sorted(last)
            if any(states.list_open_items(row, repeat) for repeat in range(states.repeats))
        )

    def _read_outcome(self, file: BinaryIO, offset: int) -> Outcome | None:
        event = self._read_event(file, offset)
        if isinstance(event, OtherVerdict):
            return event.to_outcome()
        return event if isinstance(event, Judged | NotJudged | NotAnswered) else None

    def _read_others(
        self, file: BinaryIO, index: _TrialIndex, slot: int
    ) -> tuple[OtherVerdict | None, ...]:
        if not index.others:
            return ()
        events = [self._read_event(file, offsets[slot]) for offsets in index.others]
        return tuple(event if isinstance(event, OtherVerdict) else None for event in events)

    def decode_line(self, line: bytes, offset: int) -> Event:
        """Decode the line at this offset, with the texts that it refers to."""
        try:
            return self._decoder.decode(line, offset)
        except (msgspec.DecodeError, ValueError, OSError) as error:
            raise self._refuse_line(offset, error) from error

    def _read_event(self, file: BinaryIO, offset: int) -> Event | None:
        return self._read_line(file, offset, lambda line: self.decode_line(line, offset))

    def _read_line(
        self, file: BinaryIO, offset: int, decode: Callable[[bytes], _Decoded]
    ) -> _Decoded | None:
        if offset == _NOWHERE:
            return None
        try:
            file.seek(offset)
            return decode(file.readline())
        except (msgspec.DecodeError, ValueError, OSError) as error:
            raise self._refuse_line(offset, error) from error

    def _refuse_line(self, offset: int, error: Exception) -> DataError:
        return DataError(
            f"{self.path / JOURNAL}, byte {offset}: was changed after it was written ({error})"
        )

    def _note(self, event: Event, offset: int) -> None:
        if self.other_judge is not None:
            selected = _select_event(event, self.other_judge)
            if selected is None:
                self.ended = event.at
                return
            event = selected
        self.service.note(event)
        if isinstance(event, Answered | Judged | NotAnswered | NotJudged):
            self._note_trial(event, offset)
        elif isinstance(event, OtherVerdict):
            # First: it refuses a judge that the plan does not name.
            self.states.apply_event(event)
            index, slot = self._find_slot(event.trial, event.at)
            index.others[event.judge][slot] = offset
        else:
            self._note_course(event)
        self.ended = event.at

    def _find_slot(self, trial: Trial, at: datetime) -> tuple[_TrialIndex, int]:
        """Find the slot of a trial that had an event at this time."""
        index, row = self._find_place(trial.scenario, trial.checkpoint)
        states = index.states
        number = states.index.get(trial.item, _NOWHERE)
        slot = states.compute_slot(row, trial.repeat, number)
        if number == _NOWHERE or not 0 <= trial.repeat < states.repeats or not index.owed[slot]:
            raise ValueError(f"{trial} is not a trial this run owes")
        index.last_times[row] = at
        return index, slot

    def _note_trial(self, event: Answered | Judged | NotAnswered | NotJudged, offset: int) -> None:
        trial = event.trial
        index, slot = self._find_slot(trial, event.at)
        index.fault[slot] = 0
        if isinstance(event, Answered):
            index.answered[slot], index.outcome[slot] = offset, _NOWHERE
            for offsets in index.others:
                offsets[slot] = _NOWHERE
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


def _select_judge(first: RunStarted, judge: int | None) -> RunStarted:
    """The start of the run with one of the other judges alone; unchanged for the first judge."""
    if judge is None:
        return first
    plan = first.plan
    if not 0 <= judge < len(plan.other_judges):
        raise UsageError(f"the run has {len(plan.other_judges)} other judges; {judge} is not one")
    alone = plan.replace(judge=plan.other_judges[judge], other_judges=(), appellate=None)
    return first.replace(plan=alone)


def _select_event(event: Event, judge: int) -> Event | None:
    """The event in a run with one of the other judges alone; None if it is not part of that."""
    match event:
        case OtherVerdict():
            return event.to_outcome() if event.judge == judge else None
        case Paid():
            return event.replace(judge=None) if event.judge == judge else None
        case Judged():
            return event if event.judge == PEOPLE else None
        case NotJudged() | BoundsComputed():
            return None
    return event


def _describe_executor(event: RunStarted | RunResumed) -> str:
    if event.executor is None:
        return "one process"
    return event.executor if event.workers is None else f"{event.workers} × {event.executor}"


def _require_start(event: Event) -> RunStarted:
    if not isinstance(event, RunStarted):
        raise ValueError("the first event is not the start of a run")  # noqa: TRY004
    return event
