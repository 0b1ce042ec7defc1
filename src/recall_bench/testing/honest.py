"""One small honest memory: it keeps every line and finds by words. Nothing is wrong with it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from math import log
from typing import ClassVar, Protocol

from recall_bench.core.question import PRINCIPAL

_WORD = re.compile(r"\w+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SESSION = re.compile(r"# session:\s*(\S+)")
_COMMON = frozenset(
    "a an and are at did do does is it in of on or our over that the to was were what when where "
    "which who why with".split()
)


class Day(Protocol):
    """What an adapter is told about a day besides its text."""

    @property
    def date(self) -> str:
        """ISO 8601."""
        ...


class Asked(Protocol):
    """What an adapter is told about a question besides its text."""

    @property
    def date(self) -> date:
        """Today, in the story."""
        ...

    @property
    def session(self) -> str:
        """Where it is asked from."""
        ...


def words_in(text: str) -> frozenset[str]:
    """The words that say something."""
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a day's log."""

    text: str
    day: int
    date: str | None
    session: str
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", words_in(self.text))

    def shares(self, question: str) -> int:
        """How many of the question's words it has."""
        return len(self.words & words_in(question))

    def undated(self) -> "Line":
        """The same without its date."""
        return self if self.date is None else replace(self, date=None)


class Honest:
    """A Python adapter that keeps the whole contract. The faults are all made from it."""

    name: ClassVar[str] = "Honest"
    version = "1"
    clock = "native"
    honours_sessions = True
    max_concurrency = 4
    can_snapshot = True

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.days = 0
        self.last_day = 0

    def setup(self) -> None:
        """Begin with nothing."""
        self.lines = []
        self.days = 0

    def ingest_day(self, day: int, content: str, metadata: Day) -> None:
        """Keep every line of the day, with its date and its session."""
        self.days += 1
        self.last_day = day
        session = PRINCIPAL
        for text in content.split("\n"):
            if heading := _SESSION.match(text):
                session = heading[1]
            elif text.strip():
                self.lines.append(Line(text, day=day, date=metadata.date, session=session))

    def finalize_ingestion(self) -> None:
        """Everything can be asked about at any time."""

    def query(self, question: str, context: Asked) -> object:
        """Quote the lines that fit, or say that nothing does."""
        found = self.ranked(question, context)
        if not found:
            return self.unknown(question)
        return {
            "answer": "\n".join(_quoted(line) for line in found[:3]),
            "passages": [{"text": line.text, "day": line.day or None} for line in found],
        }

    def days_ingested(self) -> int:
        """How many days it was told."""
        return self.days

    def stored_days(self) -> Iterable[int]:
        """The days it has a line of."""
        return {line.day for line in self.lines if line.day}

    def stored_bytes(self) -> int:
        """What the lines take."""
        return sum(len(line.text.encode("utf-8", "surrogatepass")) for line in self.lines)

    def teardown(self) -> None:
        """Nothing to release."""

    def unknown(self, question: str) -> object:  # noqa: ARG002
        """What it says when it knows nothing."""
        return "There is no record of that."

    def visible(self, context: Asked) -> Iterable[Line]:
        """What whoever asks may see: the principal everything, a session what was said in it."""
        if context.session == PRINCIPAL:
            return self.lines
        return [line for line in self.lines if line.session == context.session]

    def ranked(self, question: str, context: Asked) -> Sequence[Line]:
        """The five best lines: rare words count more, then a date that is named, then lateness."""
        wanted = words_in(question)
        lines = [line for line in self.visible(context) if line.words & wanted]
        named = set(_DATE.findall(question))
        weights = dict(_weights(wanted, lines))
        return sorted(
            lines,
            key=lambda line: (
                sum(weights[word] for word in line.words & wanted) + (line.date in named),
                line.day,
            ),
            reverse=True,
        )[:5]


def _weights(wanted: Iterable[str], lines: Sequence[Line]) -> Iterator[tuple[str, float]]:
    for word in wanted:
        yield word, log(1 + len(lines) / (1 + sum(word in line.words for line in lines)))


def _quoted(line: Line) -> str:
    return f"{line.date}: {line.text}" if line.date else line.text
