"""Verify the ledger of a life edition: no statement contradicts the state at its date.

It shares no code with the simulator. `life.jsonl` tells what happened; the values are read from
the day files at the places that `statements.jsonl` names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec

from recall_bench.core.errors import DataError, Malformed
from recall_bench.core.json_lines import read_json_lines
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.value_readers import Amount
from recall_bench.generate.verification.written_text import StatementText, WrittenText

LEDGER = "life.jsonl"


class CalendarRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="calendar"):
    """Which days are free."""

    epoch: str
    days: int
    off: tuple[int, ...]
    holidays: tuple[str, ...]
    absences: tuple[tuple[int, int], ...]
    quiet: frozenset[int]

    def explain_free(self, day: int) -> str | None:
        """Why there is no work on a day; None if there is."""
        at = date.fromisoformat(self.epoch) + timedelta(days=day - 1)
        if at.weekday() in self.off:
            return "a day off"
        if f"{at:%m-%d}" in self.holidays:
            return "a holiday"
        if any(first <= day <= last for first, last in self.absences):
            return "an absence"
        return None


class StateRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="state"):
    """A state of an attribute."""

    fact: str
    state: int
    entity: str
    kind: str
    attribute: str
    day: int
    told: str
    moves: str = "any"
    distinct: bool = False
    due: int | None = None
    thread: str | None = None


class StepRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="step"):
    """A step of a thread."""

    thread: str
    process: str
    step: str
    fact: str
    day: int
    entities: tuple[str, ...]
    cause: str | None = None
    ended: int | None = None
    due: tuple[int, ...] = ()


Record = CalendarRecord | StateRecord | StepRecord
Findings = Iterator[VerificationFinding]


@dataclass(frozen=True)
class LifeRecords:
    """The records of a ledger, by what they tell."""

    calendar: CalendarRecord
    states: tuple[StateRecord, ...]
    steps: tuple[StepRecord, ...]

    @cached_property
    def by_fact(self) -> Mapping[str, list[StateRecord]]:
        """Each attribute of an entity with its states, in order."""
        found: dict[str, list[StateRecord]] = {}
        for each in sorted(self.states, key=lambda each: each.state):
            found.setdefault(each.fact, []).append(each)
        return found

    @cached_property
    def by_thread(self) -> Mapping[str, list[StepRecord]]:
        """Each thread with its steps, in the order of the ledger."""
        found: dict[str, list[StepRecord]] = {}
        for each in self.steps:
            found.setdefault(each.thread, []).append(each)
        return found


def check_ledger(records: LifeRecords, text: WrittenText) -> list[VerificationFinding]:
    """Everything in a ledger that contradicts itself, the calendar or the text."""
    return [
        *_check_days(records),
        *_check_due_dates(records),
        *_check_numbers(records),
        *_check_moves(records, text),
        *_check_distinct(records, text),
        *_check_statements(records, text),
        *_check_threads(records),
        *_check_causes(records),
    ]


def read_records(path: Path) -> LifeRecords:
    """The records of a ledger; DataError if it cannot be read."""
    lines: Iterator[Record] = read_json_lines(path, Record, name=path.name)
    try:
        found = list(lines)
    except Malformed as problem:
        raise DataError(f"{problem}; build the edition again") from problem
    calendars = [each for each in found if isinstance(each, CalendarRecord)]
    if len(calendars) != 1:
        raise Malformed(path.name, "has no calendar, or two; build the edition again")
    return LifeRecords(
        calendars[0],
        tuple(each for each in found if isinstance(each, StateRecord)),
        tuple(each for each in found if isinstance(each, StepRecord)),
    )


def _find(code: VerificationCode, day: int, message: str) -> VerificationFinding:
    return VerificationFinding(code, f"day {day}", message)


def _check_days(records: LifeRecords) -> Findings:
    """Nothing happens on a free day or a quiet one."""
    happened = [(each.day, f"{each.fact}.{each.state} is stated") for each in records.states]
    happened += [(each.day, f"{each.thread} has its step {each.step}") for each in records.steps]
    for day, what in happened:
        free = records.calendar.explain_free(day)
        if free is None and day in records.calendar.quiet:
            free = "a quiet day"
        if free is not None:
            yield _find(VerificationCode.CALENDAR, day, f"{what} on {free}")


def _check_due_dates(records: LifeRecords) -> Findings:
    """Nothing is due on a free day."""
    due = [(each.day, each.fact, each.due) for each in records.states if each.due is not None]
    due += [(each.day, each.thread, day) for each in records.steps for day in each.due]
    for day, what, until in due:
        free = records.calendar.explain_free(until)
        if free is not None:
            yield _find(VerificationCode.CALENDAR, day, f"{what} is due on day {until}, {free}")


def _check_numbers(records: LifeRecords) -> Findings:
    """States are counted from one, on later and later days; a wrong report is corrected next."""
    for fact, states in records.by_fact.items():
        if [each.state for each in states] != list(range(1, len(states) + 1)):
            yield _find(VerificationCode.STATE, states[0].day, f"{fact} lacks one of its states")
        for before, after in pairwise(states):
            if after.day <= before.day:
                yield _find(
                    VerificationCode.STATE, after.day, f"{fact} has two states on or before one day"
                )
            if (before.told == "misreported") != (after.told == "corrected"):
                yield _find(
                    VerificationCode.STATE,
                    after.day,
                    f"{fact} is {after.told} after it was {before.told}",
                )


def _check_moves(records: LifeRecords, text: WrittenText) -> Findings:
    """What may only grow grows, and what may only fall falls; values are read from the text."""
    for fact, states in records.by_fact.items():
        if states[0].moves == "any":
            continue
        true = [each for each in states if each.told != "misreported"]
        values = [_measure(text.first.get(f"{fact}.{each.state}")) for each in true]
        for (before, one), (after, other) in pairwise(zip(true, values, strict=True)):
            if one is None or other is None or after.told == "corrected":
                continue
            if (other < one) if states[0].moves == "up" else (other > one):
                yield _find(
                    VerificationCode.STATE,
                    after.day,
                    f"{fact} goes {states[0].moves} only, but from state {before.state} to "
                    f"{after.state} it does not",
                )


def _check_distinct(records: LifeRecords, text: WrittenText) -> Findings:
    """What no two entities of a kind may share they never share at a time."""
    now: dict[tuple[str, str], dict[str, str]] = {}
    for record in sorted(records.states, key=lambda each: each.day):
        statement = text.first.get(f"{record.fact}.{record.state}")
        if not record.distinct or statement is None or record.told == "misreported":
            continue
        held = now.setdefault((record.kind, record.attribute), {})
        held[record.entity] = statement.surface.casefold()
        for other, value in held.items():
            if other != record.entity and value == held[record.entity]:
                yield _find(
                    VerificationCode.STATE,
                    record.day,
                    f"{record.entity} and {other} have the same {record.attribute}, "
                    f"{statement.surface}",
                )


def _measure(statement: StatementText | None) -> Decimal | None:
    key = statement.key if statement is not None else None
    if isinstance(key, Amount):
        return key.number
    return Decimal(key.toordinal()) if isinstance(key, date) else None


def _check_statements(records: LifeRecords, text: WrittenText) -> Findings:
    """A statement gives the state in force; the one before it only where the new one is stated."""
    told_on = {(each.record.fact, each.record.state, each.record.day) for each in text.statements}
    for record in records.states:
        if (record.fact, record.state, record.day) not in told_on:
            yield _find(
                VerificationCode.STATE,
                record.day,
                f"{record.fact}.{record.state} is not stated on its day",
            )
    for statement in text.statements:
        own = statement.record
        states = records.by_fact.get(own.fact)
        if states is None:
            continue
        in_force = [each for each in states if each.day <= own.day]
        now = in_force[-1] if in_force else None
        is_now = now is not None and own.state == now.state
        is_replaced = now is not None and own.state == now.state - 1 and own.day == now.day
        if not (is_now or is_replaced):
            shown = now.state if now is not None else "none"
            yield _find(
                VerificationCode.STATE,
                own.day,
                f"“{statement.surface}” is state {own.state} of {own.fact}, but state {shown} is "
                "in force",
            )


def _check_threads(records: LifeRecords) -> Findings:
    """The steps of a thread follow each other, and an entity has one thread of a process."""
    lives: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for thread, steps in records.by_thread.items():
        days = [each.day for each in steps]
        if any(later <= earlier for earlier, later in pairwise(days)):
            yield _find(VerificationCode.THREAD, days[0], f"the steps of {thread} are in disorder")
        ended = steps[0].ended if steps[0].ended is not None else records.calendar.days
        for entity in steps[0].entities:
            lives.setdefault((steps[0].process, entity), []).append((days[0], ended, thread))
    for (process, entity), spans in lives.items():
        yield from _find_overlaps(process, entity, sorted(spans))


def _find_overlaps(process: str, entity: str, spans: Sequence[tuple[int, int, str]]) -> Findings:
    for (_, ended, one), (began, _, other) in pairwise(spans):
        if began <= ended:
            yield _find(
                VerificationCode.THREAD,
                began,
                f"{other} begins on {entity} while {one}, a {process} too, goes on",
            )


def _check_causes(records: LifeRecords) -> Findings:
    for thread, steps in records.by_thread.items():
        cause = steps[0].cause
        if cause is None:
            continue
        before = records.by_thread.get(cause)
        if before is None or before[0].day >= steps[0].day:
            yield _find(
                VerificationCode.THREAD,
                steps[0].day,
                f"{thread} is said to come from {cause}, which did not begin before it",
            )
