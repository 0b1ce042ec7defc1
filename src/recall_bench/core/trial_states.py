"""The state of every owed trial, folded from the journal, one byte a trial.

Resuming, progress bars, text reports and heatmaps all count from it. 600,000 trials take less than
two megabytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from heapq import nsmallest
from itertools import product

from recall_bench.core.errors import DataError
from recall_bench.core.event import (
    AgentEnded,
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
    Paid,
    ReadingPaid,
    RunEnded,
    RunResumed,
    Settled,
    StoryEnded,
)
from recall_bench.core.plan import Plan, ReviewMode, Trial, digest_questions
from recall_bench.core.scenario import Item
from recall_bench.core.schedule import AskedIds, CheckpointPlan, plan_checkpoints
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PEOPLE, SCALES, Verdict, is_failure


class TrialState(IntEnum):
    """How far one trial is."""

    OPEN = 0
    ANSWERED = 1
    NOT_JUDGED = 2
    NOT_ANSWERED = 3
    JUDGED = 4
    MEASURED = 5
    """Finished without marks: scored by a dataset's protocol, or not to be judged."""


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """The state of one trial and, once judged, its three marks."""

    state: TrialState
    correctness: int = 0
    completeness: int = 0
    grounded: int = 0

    @property
    def composite(self) -> int:
        """Points of six; 0 unless judged."""
        return self.correctness + self.completeness + self.grounded

    @property
    def is_pass(self) -> bool:
        """Whether it is judged, and not a failure."""
        return self.state is TrialState.JUDGED and not is_failure(
            self.correctness, self.completeness, self.grounded
        )


def _pack_verdict(verdict: Verdict) -> int:
    if not verdict.marks:
        return TrialState.MEASURED
    marks = verdict.marks
    return (
        TrialState.JUDGED
        | marks["correctness"] << 3
        | marks["completeness"] << 5
        | marks["grounded"] << 7
    )


_STATUS_OF_BYTE = tuple(
    TrialStatus(
        TrialState(min(byte & 7, TrialState.MEASURED)), byte >> 3 & 3, byte >> 5 & 3, byte >> 7
    )
    for byte in range(256)
)


def unpack_status(byte: int) -> TrialStatus:
    """Unpack the state and marks of a trial from its byte in the grid."""
    return _STATUS_OF_BYTE[byte]


_FAILING_BYTES = frozenset(
    _pack_verdict(verdict)
    for marks in product(*(range(best + 1) for best in SCALES.values()))
    if (verdict := Verdict(marks=dict(zip(SCALES, marks, strict=True)))).is_failure
)


_UNFINISHED_BYTES = bytes(byte for byte in range(256) if byte & 7 < TrialState.NOT_ANSWERED)
WHOLE = slice(None)
"""All questions of a checkpoint."""
_WITHOUT_ANSWER = (TrialState.OPEN, TrialState.NOT_ANSWERED)
JUDGEABLE = frozenset({TrialState.NOT_JUDGED, TrialState.JUDGED, TrialState.MEASURED})
"""The states of a trial that other judges may judge: the first one has done its part."""

_BYTES_WITHOUT_ERROR = bytes(
    byte for byte in range(256) if byte & 7 not in (TrialState.NOT_JUDGED, TrialState.NOT_ANSWERED)
)


@dataclass(frozen=True, slots=True)
class ReviewChange:
    """The outcome of a review."""

    was_failure: bool
    """Whether the first verdict was a failure."""
    change: int | None
    """Points the review added; None if it failed and the first verdict stands."""


@dataclass(slots=True)
class CheckpointTimes:
    """The seconds spent and days fed for one checkpoint."""

    ingest_s: float = 0.0
    settle_s: float = 0.0
    query_s: float = 0.0
    """How long the system was being asked: questions at the same time count once."""
    reading_s: float = 0.0
    days_fed: int = 0
    asked_until: float = 0.0
    """When the last question ended, in seconds since 1970."""

    def add_question(self, end: float, seconds: float) -> None:
        """Count the time of a question that ended at `end`, but for what was counted already."""
        self.query_s += min(seconds, max(0.0, end - self.asked_until))
        self.asked_until = max(end, self.asked_until)

    @property
    def feeding_s(self) -> float:
        """What ingesting and settling took."""
        return self.ingest_s + self.settle_s


@dataclass(slots=True)
class ScenarioStates:
    """One scenario's items, checkpoint plans and the state of each trial."""

    items: tuple[Item, ...]
    checkpoint_plans: tuple[CheckpointPlan, ...]
    repeats: int
    index: dict[str, int] = field(init=False)
    row: dict[str, int] = field(init=False)
    grid: bytearray = field(init=False)
    times: list[CheckpointTimes] = field(init=False)
    failures: list[FeedFailed] = field(default_factory=list)
    reviews: dict[int, ReviewChange] = field(default_factory=dict)
    """By slot, for trials that an appellate judge reviewed."""
    labelled: set[int] = field(default_factory=set)
    """The slots of trials that labels of people decided; they are not reviewed."""
    days: tuple[int, ...] = ()
    """The numbers of the days to feed."""
    eligible: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For an imported run, the eligible questions of each category at each checkpoint, where its
    files count them."""
    last_fed_day: int = 0
    """The last story day the system ingested."""
    bounds: BoundsComputed | None = None
    """What silence and the evidence itself score; None where that was not computed."""
    others: tuple[bytearray, ...] = ()
    """For each other judge of the plan, a grid of its verdicts; a trial that it did not judge is
    open in it."""

    def __post_init__(self) -> None:
        self.index = {item.id: i for i, item in enumerate(self.items)}
        self.row = {point.checkpoint.label: r for r, point in enumerate(self.checkpoint_plans)}
        self.grid = bytearray(len(self.checkpoint_plans) * self.repeats * len(self.items))
        self.times = [CheckpointTimes() for _ in self.checkpoint_plans]

    @property
    def owed_count(self) -> int:
        """The number of owed trials."""
        return self.repeats * sum(len(plan.asked) for plan in self.checkpoint_plans)

    @property
    def done_count(self) -> int:
        """How many of them have their final outcome."""
        return len(self.grid.translate(None, _UNFINISHED_BYTES))

    def count_done(self, row: int) -> int:
        """Count those of one checkpoint that have their final outcome."""
        start, end = self.compute_slot(row, 0, 0), self.compute_slot(row + 1, 0, 0)
        return len(self.grid[start:end].translate(None, _UNFINISHED_BYTES))

    @property
    def error_count(self) -> int:
        """How many of them are not answered or not judged."""
        return len(self.grid.translate(None, _BYTES_WITHOUT_ERROR))

    def get_plan(self, label: str) -> CheckpointPlan:
        """Return what is asked at a checkpoint."""
        return self.checkpoint_plans[self.row[label]]

    def compute_slot(self, row: int, repeat: int, item: int) -> int:
        """Compute the trial's index in the grid."""
        return (row * self.repeats + repeat) * len(self.items) + item

    def find_slot(self, trial: Trial) -> int:
        """Find the trial's index in the grid; ValueError if it is not owed."""
        row, item = self.row.get(trial.checkpoint), self.index.get(trial.item)
        if row is None or item is None or not 0 <= trial.repeat < self.repeats:
            raise ValueError(f"{trial} is not a trial this run owes")
        return self.compute_slot(row, trial.repeat, item)

    def find_state(self, trial: Trial) -> TrialState:
        """Return the trial's state."""
        return _STATUS_OF_BYTE[self.grid[self.find_slot(trial)]].state

    def get_status(self, row: int, repeat: int, item: int) -> TrialStatus:
        """Return the trial's state and marks."""
        return _STATUS_OF_BYTE[self.grid[self.compute_slot(row, repeat, item)]]

    def get_other_status(self, judge: int, slot: int) -> TrialStatus:
        """Return what one of the other judges says about the trial in this slot."""
        return _STATUS_OF_BYTE[self.others[judge][slot]]

    def find_due_verdicts(self) -> frozenset[tuple[int, int]]:
        """Find slot and judge of each verdict that another judge still has to give.

        Every answer is judged by all judges once the first one has judged it, or failed to. Labels
        of people take the place of all judges.
        """
        return frozenset(self._list_due_verdicts()) if self.others else frozenset()

    def _list_due_verdicts(self) -> Iterator[tuple[int, int]]:
        for row in range(len(self.checkpoint_plans)):
            for repeat, item in self.list_owed_trials(row):
                slot = self.compute_slot(row, repeat, item)
                if self.grid[slot] & 7 not in JUDGEABLE or slot in self.labelled:
                    continue
                for judge, grid in enumerate(self.others):
                    if grid[slot] & 7 < TrialState.JUDGED:
                        yield slot, judge

    def is_first_verdict_failure(self, slot: int) -> bool | None:
        """Whether the first verdict on the trial in this slot was a failure; None without one."""
        if self.grid[slot] & 7 != TrialState.JUDGED:
            return None
        review = self.reviews.get(slot)
        return self.grid[slot] in _FAILING_BYTES if review is None else review.was_failure

    def list_owed_trials(self, row: int) -> Iterator[tuple[int, int]]:
        """Yield repeat and item index of every trial owed at this checkpoint, in asked order."""
        for repeat in range(self.repeats):
            for item in self.checkpoint_plans[row].asked:
                yield repeat, item

    def count_new_days(self, row: int) -> int:
        """Count the days to feed since the checkpoint before."""
        before = self.checkpoint_plans[row - 1].cutoff if row else 0
        return sum(before < day <= self.checkpoint_plans[row].cutoff for day in self.days)

    def list_open_items(self, row: int, repeat: int, part: slice = WHOLE) -> list[int]:
        """List the items of the checkpoint that this repeat has not asked yet, in asked order.

        Only those of a part of all that are asked there, if it is given.
        """
        grid, start = self.grid, self.compute_slot(row, repeat, 0)
        return [
            item
            for item in self.checkpoint_plans[row].asked[part]
            if grid[start + item] == TrialState.OPEN
        ]

    def count_states(self, *wanted: TrialState) -> int:
        """Count the owed trials in any of these states."""
        return sum(
            self.grid[self.compute_slot(row, repeat, item)] & 7 in wanted
            for row in range(len(self.checkpoint_plans))
            for repeat, item in self.list_owed_trials(row)
        )

    def reset_state(self, state: TrialState) -> None:
        """Set every trial in this state to open."""
        self.grid = bytearray(TrialState.OPEN if byte & 7 == state else byte for byte in self.grid)

    def drop_failed_reviews(self) -> bool:
        """Make failed reviews due again; whether there was one."""
        failed = [slot for slot, review in self.reviews.items() if review.change is None]
        for slot in failed:
            del self.reviews[slot]
        return bool(failed)

    def is_checkpoint_complete(self, row: int) -> bool:
        """Whether every trial of the checkpoint has its final outcome."""
        return all(
            self.grid[self.compute_slot(row, repeat, item)] & 7 >= TrialState.NOT_ANSWERED
            for repeat, item in self.list_owed_trials(row)
        )

    def has_outcomes(self, owed: Iterable[TrialState] | None = None) -> bool:
        """Whether every trial has its final outcome.

        `owed` are the states of the trials that one shard owes; None for all of the scenario.
        """
        if owed is not None:
            return all(state >= TrialState.NOT_ANSWERED for state in owed)
        return all(self.is_checkpoint_complete(row) for row in range(len(self.checkpoint_plans)))


MAX_TRIALS = 1 << 25
"""How many trials a plan may owe: each takes twenty bytes where a run is opened, and a plan may
come from a stranger."""


class TrialStates:
    """The states of every scenario. Apply the journal, then each event as it happens."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.scenarios: dict[str, ScenarioStates] = {}
        self.has_ended = False
        self.usage = Usage()
        """The cost of all judging, in every process of the run."""
        self.review_usage = Usage()
        """The part of it that reviews cost."""
        self.other_usage = [Usage() for _ in plan.other_judges]
        """The part of it that each of the other judges cost."""
        self.reading_usage = Usage()
        """The cost of the reader and of the loop agent, in every process of the run."""
        self._items = 0
        self.ended_stories: set[str] = set()
        """The stories of a behaviour suite whose steps were all done."""
        self._last_day = {card.id: card.last_day for card in plan.scenarios}
        self._questions_digests = {card.id: card.questions_digest for card in plan.scenarios}

    def declare(
        self, scenario: str, items: Sequence[Item], asked: AskedIds | None = None
    ) -> ScenarioStates:
        """Add a scenario with the trials the plan owes, or those that were `asked`."""
        states = self.scenarios.get(scenario)
        if states is None:
            if scenario not in self._last_day:
                raise ValueError(f"{scenario!r} is not a scenario of this run's plan")
            if digest_questions(items) != self._questions_digests[scenario]:
                raise ValueError(f"the questions of {scenario!r} are not those of this run's plan")
            self._items += len(items)
            most = self._items * len(self.plan.checkpoints) * self.plan.repeats
            if most > MAX_TRIALS:
                raise DataError(
                    f"{scenario}: with it the plan has up to {most:,} trials, and a run can have "
                    f"{MAX_TRIALS:,}; ask at fewer checkpoints, or with fewer repeats"
                )
            owed = plan_checkpoints(
                items,
                self._last_day[scenario],
                self.plan,
                asked,
                left_out=self.plan.list_left_out(scenario),
            )
            states = ScenarioStates(tuple(items), owed, self.plan.repeats)
            states.others = tuple(bytearray(len(states.grid)) for _ in self.plan.other_judges)
            self.scenarios[scenario] = states
        return states

    @property
    def is_done(self) -> bool:
        """Whether nothing of the plan is left to do, though the journal may not say so yet."""
        scenarios, plan = self.scenarios, self.plan
        return all(
            card.id in scenarios and is_scenario_done(card.id, scenarios[card.id], plan)
            for card in plan.scenarios
        )

    def apply_event(self, event: Event) -> None:
        """Apply one event. A later event of a trial supersedes an earlier one."""
        match event:
            case Judged() | OtherVerdict():
                self._apply_verdict(event)
            case Answered():
                self._apply_answer(event)
            case NotAnswered(trial=trial):
                self._set(trial, TrialState.NOT_ANSWERED)
                self._time_question(event)
            case NotJudged(trial=trial, usage=usage):
                self._require_answer(trial)
                self._set(trial, TrialState.NOT_JUDGED)
                self._add_cost(usage)
            case Paid() | AgentEnded() | ReadingPaid():
                self._apply_payment(event)
            case Ingested() | Settled() | FeedFailed():
                self._apply_feeding(event)
            case Declared(scenario=scenario, items=items, asked=asked):
                declared = self.declare(scenario, items, asked)
                declared.days, declared.eligible = event.days, event.eligible or {}
            case BoundsComputed():
                self._find_scenario(event.scenario).bounds = event
            case StoryEnded(scenario=scenario):
                self.ended_stories.add(scenario)
            case RunEnded():
                self.has_ended = True
            case RunResumed():
                self.has_ended = False

    def _apply_payment(self, event: Paid | AgentEnded | ReadingPaid) -> None:
        if isinstance(event, Paid):
            self._add_cost(event.usage, event.review_usage, event.judge)
        elif event.usage is not None:
            self.reading_usage += event.usage

    def reset_state(self, state: TrialState) -> None:
        """Set every trial in this state to open."""
        for states in self.scenarios.values():
            if states.count_states(state):
                self.has_ended = False
                states.reset_state(state)

    def drop_failed_reviews(self) -> None:
        """Make every failed review due again."""
        for states in self.scenarios.values():
            if states.drop_failed_reviews():
                self.has_ended = False

    def _apply_feeding(self, event: Ingested | Settled | FeedFailed) -> None:
        if isinstance(event, FeedFailed):
            self._find_scenario(event.scenario).failures.append(event)
            return
        clock = self._find_times(event.scenario, event.checkpoint)
        if isinstance(event, Settled):
            clock.settle_s += event.seconds
            return
        clock.ingest_s += event.seconds
        clock.days_fed += 1
        states = self.scenarios[event.scenario]
        states.last_fed_day = max(states.last_fed_day, event.day)

    def _apply_answer(self, event: Answered) -> None:
        trial = event.trial
        scenario, slot = self._set(
            trial, TrialState.MEASURED if self.plan.unjudged else TrialState.ANSWERED
        )
        for grid in scenario.others:
            grid[slot] = TrialState.OPEN
        clock = self._time_question(event, event.reading_s or 0.0)
        if event.reading_s is not None:
            clock.reading_s += event.reading_s
            self.reading_usage = self.reading_usage + (event.reading_usage or Usage())

    def _time_question(
        self, event: Answered | NotAnswered, reading_s: float = 0.0
    ) -> CheckpointTimes:
        clock = self._find_times(event.trial.scenario, event.trial.checkpoint)
        if self.plan.imported is None:
            clock.add_question(event.at.timestamp() - reading_s, event.seconds)
        else:
            # The files of others rarely say when a question ended.
            clock.query_s += event.seconds
        return clock

    def _apply_verdict(self, event: Judged | OtherVerdict) -> None:
        if isinstance(event, OtherVerdict):
            self._apply_other_verdict(event)
            return
        verdict, primary = event.verdict, event.primary
        self._require_answer(event.trial)
        scenario, slot = self._set(event.trial, _pack_verdict(verdict))
        if event.judge == PEOPLE:
            if self.plan.labels is None:
                raise ValueError(f"{event.trial} is judged by people, and the plan has no labels")
            scenario.labelled.add(slot)
        if primary is not None:
            change = verdict.composite - primary.composite
            scenario.reviews[slot] = ReviewChange(primary.is_failure, change)
        elif event.review_fault is not None:
            scenario.reviews[slot] = ReviewChange(verdict.is_failure, None)
        self._add_cost(event.usage, event.review_usage)

    def _apply_other_verdict(self, event: OtherVerdict) -> None:
        if not 0 <= event.judge < len(self.plan.other_judges):
            raise ValueError(f"{event.trial} is judged by a judge that the plan does not name")
        self._require_answer(event.trial)
        scenario = self._find_scenario(event.trial.scenario)
        verdict = event.verdict
        packed = TrialState.NOT_JUDGED if verdict is None else _pack_verdict(verdict)
        scenario.others[event.judge][scenario.find_slot(event.trial)] = packed
        self._add_cost(event.usage, judge=event.judge)

    def _require_answer(self, trial: Trial) -> None:
        if self._find_scenario(trial.scenario).find_state(trial) in _WITHOUT_ANSWER:
            raise ValueError(f"{trial} is judged before it was answered")

    def _add_cost(
        self, usage: Usage | None, reviewing: Usage | None = None, judge: int | None = None
    ) -> None:
        if usage is not None:
            self.usage = self.usage + usage
            if judge is not None:
                self.other_usage[judge] += usage
        if reviewing is not None:
            self.review_usage = self.review_usage + reviewing

    def _set(self, trial: Trial, byte: int) -> tuple[ScenarioStates, int]:
        scenario = self._find_scenario(trial.scenario)
        slot = scenario.find_slot(trial)
        scenario.grid[slot] = byte
        if scenario.reviews:
            scenario.reviews.pop(slot, None)
        scenario.labelled.discard(slot)
        return scenario, slot

    def _find_times(self, scenario: str, label: str) -> CheckpointTimes:
        states = self._find_scenario(scenario)
        if label not in states.row:
            raise ValueError(f"{scenario!r} has no checkpoint {label!r} in this run")
        return states.times[states.row[label]]

    def _find_scenario(self, scenario: str) -> ScenarioStates:
        if scenario not in self.scenarios:
            raise ValueError(f"{scenario!r} has events before its questions were declared")
        return self.scenarios[scenario]


_TrialPlace = tuple[int, int, int]
"""Checkpoint row, repeat and item number of a trial."""


def find_due_reviews(scenario: str, states: ScenarioStates, plan: Plan) -> frozenset[int]:
    """Find the slots of the trials whose verdict is still to be reviewed.

    Failures are due at once. Passes are selected once every trial of the scenario has its outcome,
    as many as there are failures, by a hash of the seed and the trial: the selection does not
    depend on when it is made or on the order of the verdicts.
    """
    failures: list[_TrialPlace] = []
    passes: list[_TrialPlace] = []
    for row in range(len(states.checkpoint_plans)):
        for repeat, item in states.list_owed_trials(row):
            slot = states.compute_slot(row, repeat, item)
            failed = states.is_first_verdict_failure(slot)
            if failed is not None and slot not in states.labelled:
                (failures if failed else passes).append((row, repeat, item))
    lots: list[_TrialPlace] = []
    if plan.review is ReviewMode.BALANCED and states.has_outcomes():
        lots = nsmallest(
            len(failures), passes, key=lambda place: _draw_lot(scenario, states, plan.seed, place)
        )
    due = (states.compute_slot(*place) for place in failures + lots)
    return frozenset(slot for slot in due if slot not in states.reviews)


def is_scenario_done(
    scenario: str, states: ScenarioStates, plan: Plan, owed: Iterable[TrialState] | None = None
) -> bool:
    """Whether every trial has its outcome, its review if one is due, and every judge's verdict.

    `owed` are the states of the trials that one shard owes; None for all of the scenario.
    """
    return (
        states.has_outcomes(owed)
        and not (plan.appellate is not None and find_due_reviews(scenario, states, plan))
        and not states.find_due_verdicts()
    )


def _draw_lot(scenario: str, states: ScenarioStates, seed: int, place: _TrialPlace) -> bytes:
    row, repeat, item = place
    trial = Trial(
        scenario=scenario,
        item=states.items[item].id,
        checkpoint=states.checkpoint_plans[row].checkpoint.label,
        repeat=repeat,
    )
    return sha256(f"{seed}\0{trial}".encode()).digest()
