"""A small correct memory that keeps every line and finds by words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import ClassVar

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_WORD = re.compile(r"\w+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SESSION = re.compile(r"# session:\s*(\S+)")
_COMMON = frozenset(
    "a an and are at did do does is it in of on or our over that the to was were what when where "
    "which who why with".split()
)


def extract_words(text: str) -> frozenset[str]:
    """Extract the words of a text, without common ones."""
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One line of a day's log."""

    text: str
    day: int
    date: str | None
    session: str
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", extract_words(self.text))

    def count_common_words(self, question: str) -> int:
        """Count the question's words in it."""
        return len(self.words & extract_words(question))

    def drop_date(self) -> "MemoryLine":
        """Copy it without its date."""
        return self if self.date is None else replace(self, date=None)


class Honest:
    """A Python adapter that keeps the whole contract. All faulty adapters derive from it."""

    name: ClassVar[str] = "Honest"
    version = "1"
    clock = "native"
    honours_sessions = True
    max_concurrency = 4
    can_snapshot = True

    def __init__(self) -> None:
        self.lines: list[MemoryLine] = []
        self.days = 0
        self.last_day = 0

    def setup(self) -> None:
        """Start empty."""
        self.lines = []
        self.days = 0

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Keep every line of the day, with its date and its session."""
        self.days += 1
        self.last_day = day
        session = PRINCIPAL
        for text in content.split("\n"):
            if heading := _SESSION.match(text):
                session = heading[1]
            elif text.strip():
                self.lines.append(MemoryLine(text, day=day, date=metadata.date, session=session))

    def finalize_ingestion(self) -> None:
        """Do nothing: everything can be queried at any time."""

    def query(self, question: str, context: QueryContext) -> object:
        """Quote the line that fits best, or say that nothing does."""
        lines = self.rank_lines(question, context)
        if not lines:
            return self.reply_unknown(question)
        return {
            "answer": quote_line(lines[0]),
            "passages": [{"text": line.text, "day": line.day or None} for line in lines],
        }

    def days_ingested(self) -> int:
        """Count the ingested days."""
        return self.days

    def stored_days(self) -> Iterable[int]:
        """List the days it has a line of."""
        return {line.day for line in self.lines if line.day}

    def stored_bytes(self) -> int:
        """Return the size of the lines."""
        return sum(len(line.text.encode("utf-8", "surrogatepass")) for line in self.lines)

    def teardown(self) -> None:
        """Nothing to release."""

    def reply_unknown(self, question: str) -> object:  # noqa: ARG002
        """Reply that there is no record."""
        return "There is no record of that."

    def list_visible(self, context: QueryContext) -> Iterable[MemoryLine]:
        """List the lines the asker may see: the principal all, a session its own."""
        if context.session == PRINCIPAL:
            return self.lines
        return [line for line in self.lines if line.session == context.session]

    def rank_lines(self, question: str, context: QueryContext) -> Sequence[MemoryLine]:
        """Rank the five best lines by rare words, then a named date, then recency."""
        query_words = extract_words(question)
        lines = [line for line in self.list_visible(context) if line.words & query_words]
        named = set(_DATE.findall(question))
        weights = dict(_weigh_words(query_words, lines))
        return sorted(
            lines,
            key=lambda line: (
                sum(weights[word] for word in line.words & query_words) + (line.date in named),
                line.day,
            ),
            reverse=True,
        )[:5]


def _weigh_words(wanted: Iterable[str], lines: Sequence[MemoryLine]) -> Iterator[tuple[str, float]]:
    for word in wanted:
        yield word, log(1 + len(lines) / (1 + sum(word in line.words for line in lines)))


def quote_line(line: MemoryLine) -> str:
    """Quote a line with its date, where it has one."""
    return f"{line.date}: {line.text}" if line.date else line.text
