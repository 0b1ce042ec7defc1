"""The days of a built written edition, and the values that they state."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

import msgspec

from recall_bench.core.grouping import group_by
from recall_bench.core.json_lines import read_json_lines
from recall_bench.core.languages import Language
from recall_bench.core.multilingual_values import normalise_multilingual_values
from recall_bench.core.scenario import compute_story_date
from recall_bench.datasets.persona_files import STATEMENTS_FILE, Layout, name_day_file
from recall_bench.datasets.persona_story import read_story
from recall_bench.generate.verification.findings import VerificationCode, VerificationFinding
from recall_bench.generate.verification.value_readers import (
    Amount,
    Key,
    PatternReader,
    build_code_reader,
    build_date_reader,
    build_money_reader,
    build_number_reader,
    build_percent_reader,
    build_time_reader,
    fold_text,
)

VALUE_READERS: Mapping[str, Callable[[], PatternReader]] = {
    "money": build_money_reader,
    "percent": build_percent_reader,
    "time": build_time_reader,
    "date": build_date_reader,
    "code": build_code_reader,
    "number": build_number_reader,
}
BARE_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")


class StatementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line of statements.jsonl."""

    fact: str
    state: int
    kind: str
    day: int
    session: str
    start: int
    end: int
    about: str | None = None
    what: str | None = None


@dataclass(frozen=True, slots=True)
class StatementText:
    """A statement with the value read from the text."""

    record: StatementRecord
    surface: str
    key: Key


@dataclass(frozen=True)
class WrittenText:
    """The days of an edition and what they state."""

    days: Mapping[int, str]
    epoch: date
    statements: tuple[StatementText, ...]
    language: Language

    @cached_property
    def folded_days(self) -> Mapping[int, str]:
        """The days without case."""
        return {day: content.casefold() for day, content in self.days.items()}

    @cached_property
    def first(self) -> Mapping[str, StatementText]:
        """Each state, as `fact.number`, with its first statement."""
        found: dict[str, StatementText] = {}
        for statement in self.statements:
            found.setdefault(f"{statement.record.fact}.{statement.record.state}", statement)
        return found

    @cached_property
    def _by_fact(self) -> Mapping[str, list[StatementText]]:
        """Each fact with the first statement of each of its states, in order."""
        found: dict[str, list[StatementText]] = {}
        for each in sorted(self.first.values(), key=lambda each: each.record.state):
            found.setdefault(each.record.fact, []).append(each)
        return found

    @cached_property
    def by_state(self) -> Mapping[tuple[str, int], list[StatementText]]:
        """Each state with all its statements."""
        return group_by(self.statements, lambda each: (each.record.fact, each.record.state))

    @cached_property
    def by_day(self) -> Mapping[int, list[StatementText]]:
        """Each day with its statements."""
        return group_by(self.statements, lambda each: each.record.day)

    @cached_property
    def facts_by_kind(self) -> Mapping[str | None, set[str]]:
        """What a fact says of its subject, with all facts that say it."""
        groups = group_by(self.statements, lambda each: each.record.what)
        return {what: {each.record.fact for each in group} for what, group in groups.items()}

    def list_states(self, fact: str, until: int | None = None) -> list[StatementText]:
        """The states of a fact in the order in which they are stated first, up to a day."""
        found = self._by_fact.get(fact, [])
        return [each for each in found if until is None or each.record.day <= until]

    def get_date(self, statement: StatementText) -> date:
        """The date of its day."""
        return compute_story_date(self.epoch, statement.record.day).date()

    def get_paragraph(self, statement: StatementText) -> str:
        """The paragraph of the statement, with its heading."""
        content = self.days.get(statement.record.day, "")
        start = content.rfind("\n#", 0, statement.record.start)
        end = content.find("\n\n", statement.record.end)
        return content[max(0, start) : end if end > 0 else len(content)]

    def get_moment(self, statement: StatementText) -> date:
        """The date that the statement gives, else the date of its day."""
        return statement.key if isinstance(statement.key, date) else self.get_date(statement)


def read_text(
    layout: Layout, language: Language, findings: list[VerificationFinding]
) -> WrittenText:
    """Read the days and their values; a value that cannot be read becomes a finding."""
    epoch = read_story(layout.folder, layout.arcs).epoch
    path = layout.questions_file.with_name(STATEMENTS_FILE)
    days: dict[int, str] = {}
    statements = []
    for record in read_json_lines(path, StatementRecord, name=layout.name(path)):
        if record.day not in days:
            file = layout.memories / name_day_file(record.day)
            days[record.day] = file.read_text(encoding="utf-8") if file.is_file() else ""
        written = days[record.day][record.start : record.end]
        surface = normalise_multilingual_values(written, language.code).strip()
        key = _read_value(record.kind, surface, compute_story_date(epoch, record.day).date())
        if key is None:
            findings.append(
                VerificationFinding(
                    VerificationCode.UNSTATED,
                    f"day {record.day}",
                    f"“{surface}” is no {record.kind}, as {record.fact} should be",
                )
            )
        else:
            statements.append(StatementText(record, surface, key))
    for file in sorted(layout.memories.glob("day-*.md")):
        days.setdefault(int(file.stem.removeprefix("day-")), file.read_text(encoding="utf-8"))
    return WrittenText(days, epoch, tuple(statements), language)


def _read_value(kind: str, surface: str, today: date) -> Key | None:
    """The value in a surface; None if there is none of its kind."""
    if not surface.strip():
        return None
    if kind == "number" or (kind in ("money", "percent") and surface[-1:].isdigit()):
        found = BARE_NUMBER.search(surface)
        if found and (kind == "number" or found[0] == surface):
            return Amount("", Decimal(found[0].replace(",", "")))
    if kind in VALUE_READERS:
        values = VALUE_READERS[kind]().find(surface, today)
        if values:
            return values[0].key
        return fold_text(surface) if kind == "date" else None
    return fold_text(surface)


def find_conflicts(text: WrittenText) -> Iterator[VerificationFinding]:
    """Statements of one state that give different values."""
    for statement in text.statements:
        record = statement.record
        first = text.first[f"{record.fact}.{record.state}"]
        if not _agree(first.key, statement.key):
            yield VerificationFinding(
                VerificationCode.SECOND_ANSWER,
                f"day {record.day}",
                f"{record.fact}.{record.state} is “{statement.surface}” here and "
                f"“{first.surface}” on day {first.record.day}",
            )


def _agree(one: Key, other: Key) -> bool:
    if isinstance(one, Amount) and isinstance(other, Amount) and bool(one.unit) != bool(other.unit):
        # The number alone may stand for the whole: 3.4 for €3.4 million.
        whole, alone = (one, other) if one.unit else (other, one)
        return any(
            alone.number * scale == whole.number for scale in (1, 1_000, 1_000_000, 1_000_000_000)
        )
    # A date may be stated by its weekday or month alone.
    return one == other or type(one) is not type(other)
