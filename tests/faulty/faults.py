"""Adapters that are broken on purpose, each in one way and named for it.

Each is the honest memory with one fault, so a check that fails has found that fault and nothing
else: `recall-bench check-adapter tests.faulty.faults:DropsWrites`. `caught_by` names the contract
checks that find it; where it names none, `battery` says what does: `recall-bench doctor`, or only
the failures of a run. Those have one cause in the attribution, which `lands_in` names.
"""

import re
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import ClassVar, Literal

from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.doctor.honest import Honest, MemoryLine, quote_line
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_VALUE = re.compile(r"\w+")
_NAME = re.compile(r"(?<=\w )[A-Z]\w+")


class Faulty(Honest):
    """An honest memory with one thing wrong."""

    battery: ClassVar[Literal["contract", "doctor", "run"]] = "contract"
    """What finds the fault: a battery of checks, or only the failures of a run."""
    caught_by: ClassVar[tuple[str, ...]] = ()
    """The contract checks that find it, each by itself."""
    lands_in: ClassVar[str | None] = None
    """The cause of the failures it adds to a run; None if it costs no answer."""

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__


class DropsWrites(Faulty):
    """Loses three days in ten, at random by seed."""

    caught_by = ("round-trip",)
    lands_in = "never-written"

    def __init__(self, seed: int = 42, share: float = 0.3) -> None:
        super().__init__()
        self._seed = seed
        self._share = share

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day, or lose it."""
        lot = int.from_bytes(sha256(f"{self._seed}\0{day}".encode()).digest()[:4], "big")
        if lot / 2**32 >= self._share:
            super().ingest_day(day, content, metadata)
        else:
            self.days += 1


class MixesTenants(Faulty):
    """Searches every open memory."""

    caught_by = ("isolation",)
    lands_in = "wrong-session-or-person"
    _open: ClassVar[list["MixesTenants"]] = []

    def setup(self) -> None:
        """Register this memory with the others."""
        super().setup()
        self._open.append(self)

    def teardown(self) -> None:
        """Unregister this memory."""
        if self in self._open:
            self._open.remove(self)

    def list_visible(self, context: QueryContext) -> Iterable[MemoryLine]:
        """List the lines of all memories, its own last."""
        for memory in (*(other for other in self._open if other is not self), self):
            yield from Honest.list_visible(memory, context)


class IgnoresDates(Faulty):
    """Claims to know dates, and does not keep them."""

    caught_by = ("dates",)
    lands_in = "misread"

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the text without its date."""
        super().ingest_day(day, content, metadata)
        self.lines = [line.drop_date() for line in self.lines]


class NeverSettles(Faulty):
    """Claims to be settled, and knows a day only some questions later."""

    caught_by = ("readiness",)
    lands_in = "not-retrieved"

    def __init__(self, after: int = 12) -> None:
        super().__init__()
        self._after = after
        self._asked = 0
        self._known_from: dict[int, int] = {}

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day for later."""
        super().ingest_day(day, content, metadata)
        self._known_from[day] = self._asked + self._after

    def query(self, question: str, context: QueryContext) -> object:
        """Answer, and settle a little more."""
        self._asked += 1
        return super().query(question, context)

    def list_visible(self, context: QueryContext) -> Iterable[MemoryLine]:
        """List the lines that are settled by now."""
        return (
            line
            for line in super().list_visible(context)
            if self._known_from[line.day] < self._asked
        )


class LeaksSessions(Faulty):
    """Claims to separate sessions, and does not."""

    caught_by = ("sessions",)
    lands_in = "leaked"

    def list_visible(self, context: QueryContext) -> Iterable[MemoryLine]:
        """List all lines for every session."""
        return self.lines


class SlowsDown(Faulty):
    """Answers more slowly with every ingested day."""

    battery = "doctor"

    def __init__(self, step_s: float = 0.002) -> None:
        super().__init__()
        self._step_s = step_s

    def query(self, question: str, context: QueryContext) -> object:
        """Answer late."""
        time.sleep(self.days * self._step_s)
        return super().query(question, context)


class CrashesOnSeventh(Faulty):
    """Fails at the seventh question of every memory."""

    caught_by = ("round-trip",)
    lands_in = "infrastructure"

    def __init__(self) -> None:
        super().__init__()
        self._asked = 0

    def query(self, question: str, context: QueryContext) -> object:
        """Answer, except the seventh time."""
        self._asked += 1
        if self._asked == 7:
            raise RuntimeError("the seventh question is too much")
        return super().query(question, context)


class KeepsOldMemories(Faulty):
    """Keeps the content of all memories in one place, and never empties it."""

    caught_by = ("reset", "empty-memory")
    lands_in = "wrong-session-or-person"
    can_snapshot = False
    _kept: ClassVar[list[MemoryLine]] = []

    def setup(self) -> None:
        """Open the shared content."""
        self.days = 0
        self.lines = self._kept


class AnswersErrors(Faulty):
    """Returns errors as answers instead of raising."""

    caught_by = ("errors",)

    def query(self, question: str, context: QueryContext) -> object:
        """Answer, or describe an error."""
        if not _VALUE.search(question):
            return "Error: the query contains no search terms (status 400)"
        return super().query(question, context)


class ForgetsUnicode(Faulty):
    """Keeps only ASCII."""

    caught_by = ("unicode",)
    lands_in = "misread"

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the text as ASCII."""
        super().ingest_day(day, content.encode("ascii", "replace").decode(), metadata)


class RemembersQuestions(Faulty):
    """Stores every question as if it were history."""

    caught_by = ("asking",)
    lands_in = "misread"

    def query(self, question: str, context: QueryContext) -> object:
        """Answer, and store the question."""
        reply = super().query(question, context)
        date = context.date.isoformat()
        self.lines.append(MemoryLine(question, day=0, date=date, session=PRINCIPAL))
        return reply


class LosesTail(Faulty):
    """Loses the last day before it settles."""

    caught_by = ("readiness",)
    lands_in = "never-written"

    def finalize_ingestion(self) -> None:
        """Drop the last day."""
        self.lines = [line for line in self.lines if line.day != self.last_day]


class CountsWrong(Faulty):
    """Reports more days than it ingested."""

    caught_by = ("count",)

    def days_ingested(self) -> int:
        """Count three days too many."""
        return self.days + 3


class Hallucinates(Faulty):
    """Invents an answer when it knows nothing."""

    battery = "doctor"
    lands_in = "fabricated"

    def reply_unknown(self, question: str) -> object:
        """Invent something plausible."""
        number = int.from_bytes(sha256(question.encode()).digest()[:2], "big")
        return f"It is Vandermeer, number {number}; that was settled on the 12th at a quarter past."


class ReversesTime(Faulty):
    """Takes the first value for the latest."""

    caught_by = ("order",)
    lands_in = "stale"

    def rank_lines(self, question: str, context: QueryContext) -> Sequence[MemoryLine]:
        """Rank only the earliest matching line."""
        found = super().rank_lines(question, context)
        best = [line for line in found if line.count_common_words(question) >= 3]
        return [min(best, key=lambda line: line.day)] if best else found


class OverlooksBest(Faulty):
    """Keeps everything, and does not find lines that match in more than one word."""

    caught_by = ("round-trip",)
    lands_in = "not-retrieved"

    def rank_lines(self, question: str, context: QueryContext) -> Sequence[MemoryLine]:
        """Rank the weakly matching lines."""
        found = super().rank_lines(question, context)
        return [line for line in found if line.count_common_words(question) < 2]


class BuriesFinds(Faulty):
    """Returns the right passages far below the cutoff."""

    battery = "doctor"
    lands_in = "cut-by-budget"

    def __init__(self, depth: int = 40) -> None:
        super().__init__()
        self._depth = depth

    def rank_lines(self, question: str, context: QueryContext) -> Sequence[MemoryLine]:
        """Rank lines of other days before those that match."""
        found = super().rank_lines(question, context)
        days = {line.day for line in found}
        others = [line for line in self.list_visible(context) if line.day not in days]
        return [*others[: self._depth], *found] if found else found


class MisreadsFinds(Faulty):
    """Finds the right passages, and answers from another."""

    caught_by = ("dates",)
    lands_in = "misread"

    def query(self, question: str, context: QueryContext) -> object:
        """Answer from the last of the first three lines."""
        reply = super().query(question, context)
        if not isinstance(reply, dict):
            return reply
        return reply | {"answer": quote_line(self.rank_lines(question, context)[:3][-1])}


class RefusesFinds(Faulty):
    """Finds the right passages, and refuses to answer."""

    battery = "doctor"
    lands_in = "refused-though-known"

    def query(self, question: str, context: QueryContext) -> object:
        """Refuse, and return the passages."""
        reply = super().query(question, context)
        if not isinstance(reply, dict):
            return reply
        return reply | {"answer": "I am sorry, but I cannot share that."}


class ConfusesPeople(Faulty):
    """Ignores the names in questions."""

    battery = "run"
    lands_in = "wrong-session-or-person"

    def rank_lines(self, question: str, context: QueryContext) -> Sequence[MemoryLine]:
        """Rank as if the question had no names."""
        return super().rank_lines(_NAME.sub("", question), context)


FAULTS = tuple(Faulty.__subclasses__())
"""Every faulty adapter."""
