"""What the world has to tell of a day in one session: its notes, and what must survive of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from recall_bench.lint.atoms import TextValue, find_claims
from recall_bench.world.dates import Dates
from recall_bench.world.narration import DayBlock, LogPage
from recall_bench.world.values import list_spellings


@dataclass(frozen=True)
class DueFact:
    """A value that is told: its subject, and the ways it may be written."""

    about: str
    value: str
    spellings: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether a text holds the value, however it is written."""
        low = text.casefold()
        return any(way.casefold() in low for way in (self.value, *self.spellings))


@dataclass(frozen=True)
class SessionNotes:
    """The blocks of one session on one day."""

    day: int
    session: str
    blocks: tuple[DayBlock, ...]
    facts: tuple[DueFact, ...]

    @cached_property
    def text(self) -> str:
        """The notes as the world would have written them."""
        return "\n\n".join(f"### {block.heading}\n{block.text}" for block in self.blocks)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the subjects that the notes call by their name."""
        found = (block.thread.name for block in self.blocks if block.thread is not None)
        return tuple(dict.fromkeys(name for name in found if name in self.text))

    @cached_property
    def values(self) -> frozenset[str]:
        """The exact values of the notes, by their core."""
        return frozenset(atom.core for atom in self.find_exact_values(self.text))

    @staticmethod
    def find_exact_values(text: str) -> tuple[TextValue, ...]:
        """The values of a text that are right or wrong."""
        return tuple(atom for atom in find_claims(text) if atom.is_exact)


def collect_notes(page: LogPage, sessions: tuple[str, ...], dates: Dates) -> Iterator[SessionNotes]:
    """The notes of every session that has something to tell, in the order of the sessions."""
    for session in sessions:
        own = tuple(block for _, block in page.blocks if block.session == session)
        if own:
            yield SessionNotes(page.day, session, own, tuple(_list_facts(own, page.day, dates)))


def _list_facts(blocks: tuple[DayBlock, ...], day: int, dates: Dates) -> Iterator[DueFact]:
    for block in blocks:
        for telling in block.tellings:
            ways = list_spellings(telling.value, dates, day)
            yield DueFact(telling.thread.name, telling.value.text, ways)


def find_canaries(page: LogPage) -> dict[str, str]:
    """Strings that were planted that day, by the session that alone may hold them."""
    return {
        canary.text: canary.session
        for _, block in page.blocks
        if block.thread is not None
        for canary in block.thread.canaries
        if canary.day == page.day
    }
